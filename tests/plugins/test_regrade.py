"""``variantbench regrade``: new grades beside the old ones, and what changed."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from variantbench.plugins.cli import variantbench
from variantbench.plugins.datatypes import (
    Completion,
    Decoding,
    Extraction,
    ExtractionStatus,
    FinishReason,
    Grade,
    Item,
    Prompt,
    Record,
    Verdict,
)
from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import GRADER, grade
from variantbench.plugins.regrade import regrade, summary_lines
from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.store import open_store, schema
from variantbench.plugins.store.frame import answers_and_questions
from variantbench.plugins.store.rows import record_rows
from variantbench.prompts.format import load_format

OLD = "1"
ANSWERS = {
    # case: answer, the old grader's verdict; the right answer is always 12
    "self-corrected": ("The final answer is 9. Wait, no. The final answer is 12.", Verdict.INCORRECT),
    "range": ("The final answer is 12-15.", Verdict.CORRECT),
    "plain": ("The final answer is 12.", Verdict.CORRECT),
    "wrong": ("The final answer is 13.", Verdict.INCORRECT),
}


def stored(case: str, text: str, verdict: Verdict, *, form: str = "gsm") -> tuple[Record, Prompt, Completion]:
    item = Item(f"{case}-base", "gsm", case, f"How many {case}?", "12")
    prompt = Prompt(item.id, form, "prefix", case, Decoding(16))
    completion = Completion(text, FinishReason.END, 3, 5, "scripted")
    old = Grade(verdict, Extraction(ExtractionStatus.OK, "9", "regex"))
    record = Record(
        case, "model", item, prompt, completion, paper=old, robust=old, grader=OLD, completion_key=f"key-{case}"
    )
    return record, prompt, completion


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "runs.db"))


def fill(store, entries) -> None:
    store.add_texts(["prefix"])
    store.add_model("identity", "model", {})
    store.start_run("run-1", {"models": [{"name": "model"}]})
    keyed = [(record.completion_key, prompt, completion) for record, prompt, completion in entries]
    store.add_completions(keyed, model_identity="identity", settings={})
    store.add_records("run-1", [record_rows(record) for record, *_ in entries])
    store.finish_run("run-1", "complete", {"models": [{"name": "model"}]})


@pytest.fixture
def run(store):
    fill(store, [stored(case, text, verdict) for case, (text, verdict) in ANSWERS.items()])
    return store


def verdicts(store, grader: str) -> dict[str, str]:
    table = schema.records
    with store.engine.connect() as connection:
        query = select(table.c.case_id, table.c.robust_verdict).where(table.c.grader == grader)
        return {row.case_id: row.robust_verdict for row in connection.execute(query)}


def test_new_grades_stand_beside_the_old(run):
    regrade(run, "run-1")
    assert verdicts(run, OLD) == {case: verdict.value for case, (_, verdict) in ANSWERS.items()}
    assert verdicts(run, GRADER) == {
        "self-corrected": "correct",
        "range": "no_answer",
        "plain": "correct",
        "wrong": "incorrect",
    }


def test_the_difference_says_how_many_which_way_and_examples(run):
    lines = list(summary_lines(regrade(run, "run-1")))
    assert lines[0] == f"run run-1: 4 answers graded by version {GRADER}, before by version 1"
    assert "robust: 2 verdicts changed" in lines
    assert "       1  incorrect -> correct" in lines
    assert "       1  correct -> no answer" in lines
    assert "paper: 0 verdicts changed" in lines
    (example,) = [line for line in lines if line.startswith("self-corrected [robust]")]
    assert "expected 12: incorrect (9) -> correct (12): " in example


def test_grading_twice_adds_nothing(run):
    regrade(run, "run-1")
    again = regrade(run, "run-1")
    assert (again.graded, again.changes) == (0, ())
    assert list(summary_lines(again)) == [f"run run-1: every answer is graded by version {GRADER} already"]


def test_reports_and_counts_take_the_newest_grade_of_each_answer_once(run):
    regrade(run, "run-1")
    (line,) = accuracy(*answers_and_questions(run, "run-1")).lines
    assert (line.counts[Verdict.CORRECT], line.judged) == (2, 4)
    assert run.find_run("run-1")["records"] == 4


def test_at_most_ten_examples_are_shown(store):
    text = ANSWERS["range"][0]
    fill(store, [stored(f"case{number}", text, Verdict.CORRECT) for number in range(15)])
    lines = list(summary_lines(regrade(store, "run-1")))
    assert "robust: 15 verdicts changed" in lines
    assert sum(line.startswith("case") for line in lines) == 10


def test_code_keeps_its_grade_where_nothing_can_execute_it(store):
    fill(store, [stored("code", "\n    return 12\n", Verdict.CORRECT, form="simple_code")])
    done = regrade(store, "run-1")
    assert (done.graded, done.not_executed) == (0, 1)
    assert [row["robust_verdict"] for row in store.records("run-1")] == ["correct"]
    assert any("1 answers that are code keep their grade" in line for line in summary_lines(done))


OWN = """title = "Own"
source = "here"
licence = "MIT"
kind = "yesno"
chat = false
[decoding]
max_new_tokens = 8
[text]
question = "{question}"
"""


def test_a_run_in_a_format_of_ones_own_is_graded_with_its_file(store, tmp_path):
    fill(store, [stored("own", "The final answer is 12.", Verdict.INCORRECT, form="terse")])
    with pytest.raises(UserError, match="asked in the format 'terse'.*give its file with --prompts terse.toml"):
        regrade(store, "run-1")
    (tmp_path / "terse.toml").write_text(OWN.replace("yesno", "text"))
    command = ["regrade", "run-1", f"--store={tmp_path / 'runs.db'}", f"--prompts={tmp_path / 'terse.toml'}"]
    done = CliRunner().invoke(variantbench, command)
    assert done.exit_code == 0, done.output
    assert verdicts(store, GRADER) == {"own": "correct"}


def test_a_format_of_ones_own_does_not_take_the_name_of_one_of_ours(tmp_path):
    for name in ("gsm", "gsm-nospace"):
        (tmp_path / f"{name}.toml").write_text(OWN)
        with pytest.raises(UserError, match=f"{name} is a format of variantbench's.*rename"):
            load_format(str(tmp_path / f"{name}.toml"))


def test_an_engine_failure_stays_one(store):
    record, *_ = stored("dead", "", Verdict.ERROR)
    failed = Grade(Verdict.ERROR, Extraction(ExtractionStatus.EMPTY), "the engine died")
    store.start_run("run-1", {"models": []})
    rows = record_rows(
        Record("dead", "model", record.item, record.prompt, record.completion, failed, failed, grader=OLD)
    )
    store.add_records("run-1", [rows])
    regrade(store, "run-1")
    (row,) = store.records("run-1")
    assert (row["grader"], row["robust_verdict"], row["robust_reason"]) == (GRADER, "error", "the engine died")


def test_regrading_gives_what_grading_at_first_would_have_given(run):
    regrade(run, "run-1")
    for row in run.records("run-1"):
        text = ANSWERS[row["case_id"]][0]
        first = grade(Item("", "", "", "", "12"), load_format("gsm"), Completion(text, FinishReason.END, 0, 0, ""))
        assert row["robust_reason"] == first.robust.reason
        assert row["paper_value"] == first.paper.extraction.value


def test_the_command(run, tmp_path):
    result = CliRunner().invoke(variantbench, ["regrade", "run-1", "--store", str(tmp_path / "runs.db")])
    assert result.exit_code == 0
    assert f"4 answers graded by version {GRADER}" in result.output
