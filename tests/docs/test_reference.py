"""The reference pages are what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import commands, option_parser
from variantbench.plugins.cli import variantbench

ROOT = Path(__file__).parent.parent.parent


def test_the_reference_is_made_from_this_code():
    check = [sys.executable, "docs/generate.py", "--check"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"old: {done.stdout}{done.stderr}python docs/generate.py writes them anew"


@pytest.mark.parametrize("action", option_parser()._actions, ids=lambda action: action.option_strings[0])
def test_every_option_says_what_it_does(action):
    assert action.help


@pytest.mark.parametrize(("path", "command"), list(commands(variantbench, ())))
def test_every_command_says_what_it_does(path, command):
    assert command.help
