"""Whether a command that cannot run here could: its options exist, its values are allowed, its files are there."""

from __future__ import annotations

import argparse
import configparser
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from tests.docs.generated import generate
from variantbench.plugins.cli import variantbench
from variantbench.plugins.options import read_options

ROOT = Path(__file__).parent.parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

# Programs of others: nothing here knows their options.
FOREIGN = (
    ".",
    "apt",
    "cd",
    "createdb",
    "docker",
    "git",
    "llama-server",
    "mypy",
    "pre-commit",
    "ruff",
    "sbatch",
    "vllm",
)


def check_command(command: str) -> None:
    """AssertionError, or the parser's own error, if the command cannot be what it should."""
    for part in re.split(r"&&|\|\||>>|[;|]", command):
        words = shlex.split(part)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words = words[1:]
        if not words:
            continue
        check = PROGRAMS.get(Path(words[0]).name)
        if check:
            check(words[1:])
        elif "/" in words[0]:
            assert (ROOT / words[0]).exists() or words[0].startswith(("with-r/", "/")), f"no {words[0]}"
        else:
            assert words[0] in FOREIGN or words[0].startswith("$"), f"{words[0]!r}: what is this program? {command}"


def _pytest(words: list[str]) -> None:
    parser = generate.option_parser()
    for names, settings in PYTEST_OPTIONS.items():
        parser.add_argument(*names, **settings)
    parser.add_argument("paths", nargs="*")
    read_options(argparse.Namespace(**{k: v for k, v in vars(parser.parse_args(words)).items() if k.startswith("vb_")}))


PYTEST_OPTIONS: Mapping[tuple[str, ...], Mapping[str, object]] = {
    ("-k",): {},
    ("-m",): {},
    ("-n",): {},
    ("-p",): {},
    ("-q",): {"action": "store_true"},
    ("-x",): {"action": "store_true"},
    ("--lf",): {"action": "store_true"},
    ("--pyargs",): {"action": "store_true"},
}


def _variantbench(words: list[str]) -> None:
    command: click.Command = variantbench
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, words)


def _pip(words: list[str]) -> None:
    for extras in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
        assert set(extras.split(",")) <= EXTRAS.keys(), f"no such extra in {extras}"


def _tox(words: list[str]) -> None:
    if not words:
        return
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert words[0] == "-e", words
    for name in words[1].split(","):
        assert f"testenv:{name}" in tox, f"no tox environment {name}"


def _python(words: list[str]) -> None:
    if words[:2] == ["-m", "pytest"]:
        _pytest(words[2:])
    elif words[:1] == ["-m"]:
        path = ROOT / f"{words[1].replace('.', '/')}.py"
        assert words[1] in ("pip", "venv") or path.is_file(), f"no module {words[1]}"
    else:
        assert (ROOT / words[0]).is_file(), f"no {words[0]}"


PROGRAMS: Mapping[str, Callable[[list[str]], None]] = {
    "pytest": _pytest,
    "variantbench": _variantbench,
    "pip": _pip,
    "tox": _tox,
    "python": _python,
    "python3": _python,
}
