"""The reference pages are what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.generated import generate
from variantbench.plugins.cli import variantbench

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]

# Options of other programs that the pages name.
FOREIGN = {"--collect-only", "--gpus", "--help", "--junitxml", "--lf", "--pyargs", "--rm", "--version"}
_CODE = re.compile(r"`([^`\n]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def known_options() -> set[str]:
    ours = {name for action in generate.option_parser()._actions for name in action.option_strings}
    subcommands = [command for _, command in generate.commands(variantbench, ())]
    return ours.union(*(option.opts for command in subcommands for option in command.params))


def test_the_reference_is_made_from_this_code():
    check = [sys.executable, "docs/generate.py", "--check"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"old: {done.stdout}{done.stderr}python docs/generate.py writes them anew"


@pytest.mark.parametrize("action", generate.option_parser()._actions, ids=lambda action: action.option_strings[0])
def test_every_option_says_what_it_does(action):
    assert action.help


@pytest.mark.parametrize(("path", "command"), list(generate.commands(variantbench, ())))
def test_every_command_says_what_it_does(path, command):
    assert command.help


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_option_named_is_one(page):
    named = {option for code in _CODE.findall(page.read_text("utf-8")) for option in _OPTION.findall(code)}
    assert named <= known_options() | FOREIGN
