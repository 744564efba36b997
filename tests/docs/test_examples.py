"""What the pages show works: each page's blocks run in order in a folder of its own (`blocks.py` has the rules)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import Block, read_blocks
from tests.docs.commands import check_command

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {path.relative_to(ROOT).as_posix(): read_blocks(path, ROOT) for path in PAGES}
INSTEAD = tomllib.loads((Path(__file__).parent / "instead.toml").read_text("utf-8"))["instead"]

# Commands that are parsed, not run. Whoever makes this number larger has tried to run the command here first.
NOT_RUN = 29

RUNNABLE = ("pytest", "variantbench", "python", "cat", "docs/ci/is-it-worse.sh")
SHOWN = ("text", "sql")  # pictures, tables and output; nothing to run
RUN_IDS = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
TIMES = re.compile(r"\d+\.\d+s\b")


def executable(block: Block) -> bool:
    return block.language not in SHOWN and not block.reason


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if any(map(executable, blocks))])
def test_examples_run(page, workshop, tmp_path, needs):
    if any("sandbox" in block.text for block in BLOCKS[page] if executable(block)):
        needs(sandbox_works(), "no sandbox works here")
    shutil.copytree(workshop, tmp_path, dirs_exist_ok=True)
    printed, python = "", ""
    for block in BLOCKS[page]:
        if block.is_output:
            assert_printed(block, printed)
        elif executable(block):
            if block.title:
                (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / block.title).write_text(block.text, "utf-8")
            elif block.language == "python":
                python += replaced(block.text, tmp_path)
                printed = run(block, [sys.executable, "-c", python], tmp_path)
            else:
                printed = run_commands(block, tmp_path)


@cache
def sandbox_works() -> bool:
    command = [sys.executable, "-m", "variantbench.plugins.cli", "doctor"]
    return subprocess.run(command, capture_output=True).returncode == 0


def run_commands(block: Block, folder: Path) -> str:
    assert block.language == "bash", f"{block.place}: how is a block of {block.language!r} run? {__doc__}"
    commands = block.commands()
    printed = ""
    for number, command in enumerate(commands, 1):
        status = block.status if number == len(commands) else 0
        assert command.split()[0] in RUNNABLE, f"{block.place}: {command!r} is not run here: say why above the block"
        printed += run(block, ["bash", "-c", replaced(command, folder)], folder, status=status)
    return printed


def replaced(command: str, folder: Path) -> str:
    """The command that runs in place of the one shown: instead.toml has all that can differ."""
    kinds: set[str] = set()
    for each in INSTEAD:
        if each["kind"] not in kinds and re.search(each["text"], command):
            kinds.add(each["kind"])
            put = stored_runs(folder)[each["newest"]] if "newest" in each else each["run"]
            command = re.sub(each["text"], lambda match, put=put: match.expand(put), command)
    return command


def stored_runs(folder: Path) -> list[str]:
    """The ids of the runs in the page's store, newest first."""
    command = [sys.executable, "-m", "variantbench.plugins.cli", "runs"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def run(block: Block, command: list[str], folder: Path, *, status: int = 0) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    shown = f"{block.place}: {shlex.join(command)}\n{done.stdout}{done.stderr}"
    assert done.returncode == status, f"exit status {done.returncode}, not {status}: {shown}"
    return done.stdout + done.stderr


def assert_printed(block: Block, printed: str) -> None:
    assert re.search(pattern_of(block.text), printed, re.MULTILINE), f"{block.place}: not what was printed:\n{printed}"


def pattern_of(shown: str) -> str:
    """A pattern for the output: `...` may be anything, run ids and times differ from run to run."""
    lines = []
    for line in shown.rstrip("\n").splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        text = re.escape(TIMES.sub("{time}", RUN_IDS.sub("{run}", line.rstrip())))
        text = text.replace(r"\{run\}", RUN_IDS.pattern).replace(r"\{time\}", TIMES.pattern)
        lines.append(text.replace(r"\.\.\.", ".*?") + r"[ \t]*\n")
    return "^" + "".join(lines).removesuffix(r"\n")


NOT_RUN_BLOCKS = [block for blocks in BLOCKS.values() for block in blocks if block.reason]


@pytest.mark.parametrize("block", NOT_RUN_BLOCKS, ids=lambda block: block.place)
def test_what_is_not_run_can_be_parsed(block):
    assert block.language in ("bash", "yaml", "python"), block.place
    if block.language == "python":
        compile(block.text, block.place, "exec")
    for command in block.commands() if block.language == "bash" else ():
        check_command(command)


def test_what_is_not_run_is_counted():
    assert sum(len(block.commands()) for block in NOT_RUN_BLOCKS if block.language == "bash") == NOT_RUN


def test_each_substitute_is_of_use():
    commands = [command for blocks in BLOCKS.values() for block in blocks for command in block.commands()]
    for each in INSTEAD:
        assert any(re.search(each["text"], command) for command in commands), each


def test_the_test_sees_wrong_output():
    block = Block("page", 1, "text", "", "one ... three\n...\nrun 20261130-000000-abcd in 1.5s\n", "", 0, True)
    assert_printed(block, "one two three\nmore\nrun 20261201-111111-0123 in 22.75s\n")
    with pytest.raises(AssertionError, match="not what was printed"):
        assert_printed(block, "one two three\nmore\nrun somewhere\n")
