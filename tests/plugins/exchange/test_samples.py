"""Logs that each tool wrote itself (tests/data/README.md): every item is accounted for, accuracies are the tool's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from variantbench.plugins.commands.exchange import FORMATS, TARGETS
from variantbench.plugins.exchange.formats import READERS, reader_of
from variantbench.plugins.exchange.importing import summary_lines
from variantbench.plugins.exchange.table import COLUMNS
from variantbench.plugins.store.check import check

DATA = Path(__file__).parent.parent.parent / "data"
FILES = {
    "lm-eval": ("lm_eval/samples_*.jsonl", {}, 36, 18),
    "lm-eval, the other filter": ("lm_eval/samples_*.jsonl", {"reading": "flexible-extract"}, 36, 18),
    "inspect .eval": ("inspect/*.eval", {}, 36, 36),
    "inspect .eval, the other scorer": ("inspect/*.eval", {"reading": "pattern"}, 36, 36),
    "inspect .json": ("inspect/*.json", {}, 6, 6),
    "helm": ("helm/per_instance_stats.json", {}, 10, 10),
    "lighteval": ("lighteval/details_*.parquet", {}, 18, 18),
}


@pytest.mark.parametrize(("pattern", "choices", "rows", "answers"), FILES.values(), ids=FILES)
def test_a_log_is_imported_whole_with_the_accuracy_that_the_tool_states(data, take, pattern, choices, rows, answers):
    (path,) = data.glob(pattern)
    done, stored = take(path, **choices)
    assert (done.rows, done.answers, len(stored)) == (rows, answers, answers)
    assert done.answers + sum(done.left_out.values()) == done.rows
    ((_, count),) = done.counts.items()
    assert count.stated is not None
    assert count.right / count.judged == pytest.approx(count.stated, abs=1e-12)
    assert Counter(row["robust_verdict"] for row in stored)["correct"] == count.right


def test_what_lm_eval_printed_is_what_is_imported(data, take):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    (results,) = data.glob("lm_eval/results_*.json")
    printed = json.loads(results.read_text())["results"]["vb_words"]
    done, rows = take(path)
    right = sum(row["robust_verdict"] == "correct" for row in rows)
    assert right / len(rows) == printed["exact_match,strict-match"] > 0
    assert done.left_out == {"another reading of an answer: exact_match,flexible-extract": 18}
    assert done.files[0]["version"] == "0.4.13"


def test_a_row_holds_what_lm_eval_says_of_it(data, take):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    first = json.loads(path.read_text().splitlines()[0])
    _, rows = take(path)
    row = next(row for row in rows if row["id"] == first["doc"]["id"])
    assert row["question"] == first["doc"]["question"]
    assert row["target"] == first["target"]
    assert row["text"] == first["resps"][0][0]
    assert row["robust_value"] == first["filtered_resps"][0]
    assert (row["group_id"], row["variant"]) == (first["doc"]["group"], first["doc"]["variant"])
    assert row["grader"] == "lm-eval exact_match,strict-match"
    settings = json.loads(row["settings"])
    assert settings["engine"] == "lm-eval"
    assert settings["decoding"]["max_new_tokens"] == 40
    assert settings["decoding"]["stops"] == ["\n\n"]


def test_the_prompt_is_stored_as_shared_prefix_and_own_suffix(data, store, take):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    first = json.loads(path.read_text().splitlines()[0])
    _, rows = take(path)
    row = next(row for row in rows if row["id"] == first["doc"]["id"])
    assert store.text(row["prefix_hash"]) + row["suffix"] == first["arguments"]["gen_args_0"]["arg_0"]
    assert len({row["prefix_hash"] for row in rows}) == 1


def test_repeats_of_inspect_are_seeds(data, take):
    (path,) = data.glob("inspect/*.eval")
    _, rows = take(path)
    assert Counter(row["seed"] for row in rows) == {0: 18, 1: 18}
    assert {row["prompt_tokens"] for row in rows} == {20}


def test_an_imported_run_says_so(data, store, take):
    (path,) = data.glob("inspect/*.eval")
    done, _ = take(path)
    run = store.find_run(done.run_id)
    (file,) = run["manifest"]["imported"]["files"]
    assert (file["tool"], file["name"], len(file["sha256"])) == ("inspect", path.name, 64)
    assert run["manifest"]["models"][0]["imported"] is True
    assert run["status"] == "complete"
    assert check(store).faults == ()


def test_every_file_is_recognised(data):
    for pattern, name in (
        ("lm_eval/samples_*.jsonl", "lm-eval"),
        ("inspect/*", "inspect"),
        ("helm/per_instance_stats.json", "helm"),
        ("lighteval/details_*.parquet", "lighteval"),
    ):
        for path in data.glob(pattern):
            assert reader_of(path).name == name


def test_the_summary_names_what_was_left_out(data, take):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    done, _ = take(path)
    lines = list(summary_lines(done))
    assert "18 of 36 rows of 1 file(s) imported (lm-eval 0.4.13)" in lines[0]
    assert "18 left out: another reading of an answer: exact_match,flexible-extract, such as" in lines[1]
    assert lines[-1].endswith("9/18 = 0.5000; the tool states 0.5000")


def test_the_command_and_the_docs_name_every_format():
    docs = (DATA.parent.parent / "docs" / "exchange.md").read_text()
    assert ("auto", *READERS) == FORMATS
    for name in READERS:
        assert f"| `{name}` |" in docs
    for column in COLUMNS:
        assert f"`{column}`" in docs, column
    for target in TARGETS:
        assert f"`{target}`" in docs
