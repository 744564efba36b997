"""``variantbench cases``: the public conformance test of the graders."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from variantbench.plugins.cli import variantbench
from variantbench.plugins.conformance import load_cases, run_cases
from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.errors import UserError

RIGHT = {"id": "n1", "kind": "number", "text": "The final answer is 5. No: The final answer is 7.", "gold": 7,
         "expected": {"verdict": "correct", "value": 7}}  # fmt: skip
WRONG = {"id": "n2", "kind": "number", "text": "The final answer is 7.", "gold": 8, "expected": {"verdict": "correct"}}
RANGE = {"id": "n3", "kind": "number", "text": "5-7", "gold": 7, "expected": {"verdict": "incorrect", "value": None}}
LUCKY = {"id": "n4", "kind": "number", "text": "6", "gold": 7, "expected": {"verdict": "incorrect", "value": None}}
VOID = {
    "id": "y1",
    "kind": "yesno",
    "text": "Maybe",
    "gold": "no",
    "position": "start",
    "expected": {"verdict": "void"},
}
CODE = {"id": "c1", "kind": "code", "text": "    return 7\n", "gold": 7, "prefill": "def solution():\n",
        "expected": {"verdict": "correct", "value": 7}}  # fmt: skip
NO_CODE = {**CODE, "id": "c2", "text": "Seven.", "expected": {"verdict": "incorrect", "value": None}}


@pytest.fixture
def cases(tmp_path):
    """Runs the command on some cases; gives its exit status and its lines."""

    def run(given, *options):
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(case) + "\n" for case in given), encoding="utf-8")
        result = CliRunner().invoke(variantbench, ["cases", str(path), *options])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, result.stdout.splitlines()

    return run


def test_agreement_is_exit_status_zero(cases):
    assert cases([RIGHT, RANGE, VOID, NO_CODE]) == (0, ["4/4 agreed"])


def test_a_disagreement_is_named_with_what_was_expected_and_got(cases):
    status, lines = cases([RIGHT, WRONG])
    assert status == 1
    assert lines == ["n2: expected correct, got incorrect 7 (7 is not 8)", "1/2 agreed"]


def test_a_number_read_where_none_may_be_read_is_a_disagreement(cases):
    status, lines = cases([LUCKY])
    assert status == 1
    assert lines[0].startswith("n4: expected incorrect, got incorrect 6")


def test_code_is_reported_as_not_executed_and_not_as_agreement(cases):
    status, lines = cases([RIGHT, CODE], "--sandbox", "off")
    assert status == 1
    assert lines[0] == "1/1 agreed"
    assert lines[1].startswith("1 code cases not executed")
    assert cases([RIGHT, CODE], "--kind", "number")[0] == 0


def test_code_runs_where_there_is_a_sandbox(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(CODE), encoding="utf-8")
    seen = []

    def execute(source: str, *, profile: str = "python") -> Execution:
        seen.append(source)
        return Execution(ExecutionClass.OK, "7")

    (outcome,) = run_cases(load_cases(path, protocol="robust"), protocol="robust", execute=execute)
    assert outcome.agrees
    assert "def solution():\n\n    return 7\n" in seen


def test_the_paper_protocol_has_expectations_of_its_own(cases):
    assert cases([RIGHT], "--protocol", "paper")[0] == 1
    own = {**RIGHT, "expected": {**RIGHT["expected"], "paper_verdict": "incorrect"}}
    assert cases([own], "--protocol", "paper")[0] == 0


def test_json_is_one_object_a_case(cases):
    status, lines = cases([RIGHT, WRONG, CODE], "--json", "--sandbox", "off")
    outcomes = [json.loads(line) for line in lines]
    assert status == 1
    assert [(o["id"], o["agrees"], o["executed"]) for o in outcomes] == [
        ("n1", True, True),
        ("n2", False, True),
        ("c1", False, False),
    ]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", '{"id": "x", "kind": "poem", "text": "", "gold": 1, "expected": {"verdict": "correct"}}',
     '{"id": "x", "kind": "number", "text": "", "gold": "y", "expected": {"verdict": "correct"}}',
     '{"id": "x", "kind": "number", "text": "", "gold": 1, "expected": {"verdict": "maybe"}}'],
)  # fmt: skip
def test_a_line_that_is_no_case_is_named(tmp_path, line):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(RIGHT) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"cases\.jsonl:2: no case"):
        load_cases(path, protocol="robust")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        load_cases(tmp_path / "none.jsonl", protocol="robust")
