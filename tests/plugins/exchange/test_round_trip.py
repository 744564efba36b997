"""Ours out and in again: nothing that a log can hold is lost, and the other tool's own reader reads it."""

from __future__ import annotations

import json

import pytest

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Item, Prompt, Record, Verdict, text_hash
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.exporting import export_run
from variantbench.plugins.exchange.importing import import_logs
from variantbench.plugins.grading import GRADER, grade
from variantbench.plugins.store import open_store
from variantbench.plugins.store.rows import record_rows
from variantbench.prompts.format import load_format

TEXTS = (
    " It is 8. The final answer is 8.",
    "Nine, \"quoted\",\r\nwith\ttabs\n\n   \nand NUL \0 and half a character \ud83d. The final answer is 9.",
    "",
    "unfinished",
    " The final answer is 1.",
)  # fmt: skip
KEPT = (
    "id", "benchmark", "group_id", "variant", "batch", "question", "target", "covariates", "notes", "model", "format",
    "seed", "item_hash", "robust_verdict", "robust_value", "text", "finish_reason", "prompt_tokens", "new_tokens",
    "grader",
)  # fmt: skip


@pytest.fixture
def run(store):
    """A stored run of ours: two models, two formats, repeats, an error, every kind of verdict."""
    store.start_run("ours", {"models": [{"name": "one/model"}, {"name": "two"}], "grader": GRADER})
    for model in ("one/model", "two"):
        store.add_model(text_hash(model), model, {})
        for name in ("gsm", "simple_nl"):
            form = load_format(name)
            store.add_texts([form.prefix()])
            records = [_record(store, model, form, number, text) for number, text in enumerate(TEXTS)]
            store.add_records("ours", [record_rows(record) for record in [*records, _failed(model, form)]])
    store.finish_run("ours", "complete", {"models": [{"name": "one/model"}, {"name": "two"}], "grader": GRADER})
    return "ours"


def _item(number):
    return Item(
        f"0042-v{number}", "gsm", "0042", f"How many are {number} + 8?", str(number + 8), number,
        batch="Q1" if number == 3 else None,
        covariates={"gamma": 0.5 + number}, notes=("a note",),
    )  # fmt: skip


def _record(store, model, form, number, text):
    cut = FinishReason.LENGTH if text == "unfinished" else FinishReason.STOP
    item, done = _item(number), Completion(text, cut, 700 + number, 5, "scripted", "b", 0.5)
    prompt = Prompt(item.id, form.name, form.prefix(), form.ask(item.question), Decoding(64, 0.5, 0.9, ("Q:",)), number)
    grades = grade(item, form, done)
    key = text_hash(f"{model} {form.name} {number}")
    store.add_completions([(key, prompt, done)], model_identity=text_hash(model), settings={"engine": "scripted"})
    case = f"{model}[{form.name}-{item.id}]"
    return Record(case, model, item, prompt, done, grades.paper, grades.robust, GRADER, key)


def _failed(model, form):
    item, done = _item(9), Completion("the engine died", FinishReason.ERROR, 0, 0, "scripted")
    prompt = Prompt(item.id, form.name, form.prefix(), form.ask(item.question), Decoding(64))
    grades = grade(item, form, done)
    return Record(f"{model}[{form.name}-9]", model, item, prompt, done, grades.paper, grades.robust, GRADER)


def _kept(rows):
    def key(row):
        return row["model"], row["format"], row["id"], row["seed"]

    return [{name: row[name] for name in KEPT} for row in sorted(rows, key=key)]


@pytest.mark.parametrize("target", ["lm-eval", "inspect", "csv", "parquet"])
def test_a_run_comes_back_as_it_was(store, run, tmp_path, target):
    output = tmp_path / {"csv": "run.csv", "parquet": "run.parquet"}.get(target, "logs")
    done = export_run(store, run, target, output)
    logs = [path for path in done.files if not path.name.startswith("results_")]
    ours = list(store.records(run))
    with open_store(str(tmp_path / "other.db")) as other:  # where no item, text or completion is known yet
        imported = import_logs(other, logs)
        rows = list(other.records(imported.run_id))
        prompts = [
            {held.text(row["prefix_hash"]) + row["suffix"] for row in some if row["suffix"]}
            for held, some in ((other, rows), (store, ours))
        ]
    assert done.answers == imported.answers == imported.rows == len(ours) == 24
    assert _kept(rows) == _kept(ours)
    assert {row["robust_verdict"] for row in rows} == set(Verdict)
    assert prompts[0] == prompts[1] != set()
    decodings = [[json.loads(row["settings"])["decoding"] for row in some if row["settings"]] for some in (rows, ours)]
    assert decodings[0] == decodings[1] != []


def test_inspect_reads_our_log(store, run, tmp_path):
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    done = export_run(store, run, "inspect", tmp_path / "logs")
    assert len(done.files) == 4
    for path in done.files:
        log = read_eval_log(str(path))
        assert (log.status, len(log.samples)) == ("success", 6)
        assert log.results.scores[0].metrics["accuracy"].value == 0.4
        scores = {sample.id: sample.scores["variantbench"].value for sample in log.samples if sample.scores}
        assert scores == {"0042-v0": "C", "0042-v1": "C", "0042-v2": "N", "0042-v3": "N", "0042-v4": "I"}
        assert next(sample for sample in log.samples if sample.id == "0042-v0").output.completion == TEXTS[0]
        assert [sample.id for sample in log.samples if sample.error] == ["0042-v9"]
        assert len(read_eval_log_sample_summaries(str(path))) == 6


def test_our_samples_have_the_fields_of_lm_eval(store, run, tmp_path, data):
    done = export_run(store, run, "lm-eval", tmp_path / "logs")
    (theirs,) = data.glob("lm_eval/samples_*.jsonl")
    wanted = json.loads(theirs.read_text().splitlines()[0])
    samples = [path for path in done.files if path.name.startswith("samples_")]
    assert len(samples) == 4
    for path in samples:
        for row in map(json.loads, path.read_text().splitlines()):
            assert set(row) == set(wanted)
            assert {name: type(value) for name, value in row.items()} == {n: type(v) for n, v in wanted.items()} | {
                "filtered_resps": list
            }


def test_exporting_twice_gives_the_same_again(store, run, take, tmp_path):
    export_run(store, run, "csv", tmp_path / "one.csv")
    again, _ = take(tmp_path / "one.csv")
    export_run(store, again.run_id, "csv", tmp_path / "two.csv")
    one, two = ((tmp_path / name).read_text().splitlines() for name in ("one.csv", "two.csv"))
    assert sorted(one) == sorted(two)


def test_nothing_is_overwritten_and_nothing_half_is_left(store, run, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match="there is there already"):
        export_run(store, run, "inspect", tmp_path / "there")
    with pytest.raises(UserError, match="no folder"):
        export_run(store, run, "csv", tmp_path / "absent" / "run.csv")
    assert sorted(path.name for path in tmp_path.iterdir() if ".db" not in path.name) == ["there"]
