"""Options of pytest and of the `variantbench` command with whatever somebody may type."""

from __future__ import annotations

import argparse
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.conftest import EXAMPLES, refused_in_one_line
from variantbench.plugins.cli import variantbench
from variantbench.plugins.gate import policy_of
from variantbench.plugins.options import add_options, read_options
from variantbench.plugins.run import check, engine_arguments
from variantbench.plugins.shards import parse_shard

WORDS = (
    "",
    " ",
    "-",
    "--",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "9" * 400,
    "1/2",
    "2/1",
    "0/0",
    "1/" + "9" * 99,
    "3pp",
    "-3%",
    "1e400%",
    "x=",
    "=x",
    "=",
    "a=b=c",
    "truncated=2%",
    "empty=nan",
    "ünï",
    "\n",
    "../..",
    "/",
    "~",
    "~nobody/x",
    "x" * 3_000,
    "http://",
    "http://[::1",
    "x://y",
    "sqlite:///",
    "postgresql://u:secret@h:x/db",
    "postgresql+psycopg://@/?x=%",
    "jsonl:",
    "jsonl:/",
    "apple:/@p1",
    "hub:p9",
    "raganato:/none",
    "gsm",
    "gsm-nospace-nospace",
    "/none.toml",
    "cuda:99999",
    "cuda:x",
    "{}",
    "[",
    '{"a": NaN}',
    "a={}",
    "a=[",
    "tag:",
    "tag:none",
    "\udcff",
)
# an operating system hands over neither null bytes nor half letters, but bytes that are no UTF-8 (\\udcff)
words = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


class Parser:
    """Takes our declarations as pytest's parser does, into argparse."""

    def __init__(self) -> None:
        self.inner = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
        self.names: dict[str, bool] = {}

    def getgroup(self, name: str) -> Parser:
        return self

    def addoption(self, name: str, **settings: Any) -> None:
        self.inner.add_argument(name, **{**settings, "help": None})
        self.names[name] = settings.get("action") != "store_true" and settings.get("action") != "store_false"


PARSER = Parser()
add_options(PARSER)  # type: ignore[arg-type]


@EXAMPLES
@given(st.lists(st.tuples(st.sampled_from(sorted(PARSER.names)), words), min_size=1, max_size=4))
def test_any_options_make_a_run_or_one_line(chosen):
    given_words = [f"{name}={word}" if PARSER.names[name] else name for name, word in chosen]
    try:
        option = PARSER.inner.parse_args(given_words)
    except argparse.ArgumentError:  # pytest shows it as usage
        return
    with refused_in_one_line():
        run = read_options(option)
        parse_shard(run.shard)
        policy_of(run)
        engine_arguments(run.engine_args)
        check(run)


# What waits, draws, serves or changes the machine is not started with anything.
LEFT_OUT = {
    "view",
    "doctor",
    "noise",
    "sandbox build",
    "sandbox check",
    "sandbox bench",
    "sandbox cases",
    "models get",
    "simulate",
}


def commands(group: click.Group, before: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= commands(command, f"{before}{name} ")
        found[before + name] = command
    return {name: command for name, command in found.items() if name not in LEFT_OUT}


COMMANDS = commands(variantbench)


@st.composite
def command_lines(draw: st.DrawFn, name: str) -> list[str]:
    """The command with some of its parameters, each with a word."""
    line = name.split()
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Argument):
            line += [draw(words)] if parameter.required or draw(st.booleans()) else []
        elif draw(st.booleans()) or parameter.required:
            line.append(parameter.opts[0])
            line += [] if getattr(parameter, "is_flag", False) else [draw(words)]
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_any_command_line_ends_without_a_traceback(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())

    @EXAMPLES
    @given(command_lines(name))
    def check_one(line):
        with refused_in_one_line() as said:
            done = CliRunner().invoke(variantbench, line, standalone_mode=True)
            if done.exception and not isinstance(done.exception, SystemExit):
                raise done.exception
        if said or done.exit_code:
            assert set(tmp_path.iterdir()) == before, "it failed and left something"

    check_one()
