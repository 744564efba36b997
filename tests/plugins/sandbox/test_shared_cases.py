"""All shared cases, in each kind of box, as the command runs them; and all shared grading cases through a box."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.plugins.sandbox.conftest import BACKENDS
from variantbench.plugins.cli import variantbench
from variantbench.plugins.sandbox.cases import load_sandbox_cases


def run(*arguments: str):
    result = CliRunner().invoke(variantbench, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout.splitlines()


@pytest.mark.parametrize("name", BACKENDS)
def test_every_shared_case_ends_as_agreed_and_no_sentinel_is_lost(shared, open_or_skip, name):
    open_or_skip(name)
    path = shared / "cases" / "sandbox-cases.jsonl"
    status, lines = run("sandbox", "cases", str(path), "--sandbox", name)
    count = len(load_sandbox_cases(path))
    assert (status, lines[0], lines[1]) == (0, f"{count}/{count} agreed", "0 sentinels lost"), lines


@pytest.mark.parametrize("name", BACKENDS)
def test_every_shared_grading_case_of_code_agrees(shared, open_or_skip, name):
    open_or_skip(name)
    path = shared / "cases" / "grading-cases.jsonl"
    status, lines = run("cases", str(path), "--kind", "code", "--sandbox", name)
    count = sum('"kind": "code"' in line for line in path.read_text().splitlines())
    assert (status, lines) == (0, [f"{count}/{count} agreed"])


def case(**values) -> str:
    return json.dumps({"id": "a", "code": "def solution():\n    return 5", "expected_class": "ok", **values}) + "\n"


def test_what_does_not_agree_is_named(tmp_path, open_or_skip):
    open_or_skip("bubblewrap")
    path = tmp_path / "cases.jsonl"
    path.write_text(
        case(id="right", expected_value=5)
        + case(id="other class", expected_class="timeout", also_ok=["memory"])
        + case(id="other value", expected_value=6)
        + case(id="bool", expected_value=True)
        + case(id="forbidden", forbidden=True)
    )
    status, lines = run("sandbox", "cases", str(path), "--sandbox", "bubblewrap")
    assert status == 1
    assert lines[:6] == [
        "other class: expected timeout or memory, got ok ()",
        "other value: expected the value 6, got int 5",
        "bool: expected the value True, got int 5",
        "forbidden: the study's filter of strings should match",
        "1/5 agreed",
        "0 sentinels lost",
    ]
    status, lines = run("sandbox", "cases", str(path), "--sandbox", "bubblewrap", "--json")
    assert [json.loads(line)["agrees"] for line in lines] == [True, False, False, False, False]


@pytest.mark.parametrize("line", ["{", "{}", case(expected_class="fine"), case(code=5)])
def test_a_line_that_is_no_case_is_named(tmp_path, line):
    path = tmp_path / "cases.jsonl"
    path.write_text(case() + line)
    result = CliRunner().invoke(variantbench, ["sandbox", "cases", str(path)])
    assert ":2: no case" in str(result.exception)
