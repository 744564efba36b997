"""Stored answers as a data frame."""

from __future__ import annotations

import pytest

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.datatypes import label_in_doubt
from variantbench.plugins.errors import StoreError
from variantbench.plugins.grading import GRADER
from variantbench.plugins.published import VariantRow
from variantbench.plugins.simulate import simulate
from variantbench.plugins.store import frame as frame_module
from variantbench.plugins.store import open_store
from variantbench.plugins.store.frame import frame

ROW = VariantRow("m", "gsm", 0.5, 0.4, -0.8)


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


@pytest.fixture
def items():
    return load_items(sample=6, variants_per_template=3)


def test_a_row_is_an_answer_and_the_columns_are_the_documented_ones(store, items):
    run = simulate(store, [ROW], gsm=items)
    found = frame(store)
    assert len(found) == 24
    documented = {
        name.strip("` ")
        for line in frame_module.__doc__.splitlines()
        if line.startswith("| ``")
        for name in line.split("|")[1].split(",")
    }
    assert set(found.columns) == documented - {"question", "answer"} | {"gamma", "gamma_code"}
    first = found.iloc[0]
    assert (first["run_id"], first["model"], first["format"], first["variant"]) == (run, "simulated-m", "gsm", 0)
    by_id = {item.id: item for item in items}
    for row in found.itertuples():
        assert row.gamma == by_id[row.item].covariates["gamma"]
        assert row.target == by_id[row.item].target


def test_texts_come_when_asked_for(store, items):
    simulate(store, [ROW], gsm=items)
    found = frame(store, texts=True)
    assert found["question"].iloc[0] == items[0].question
    assert found["answer"].str.len().sum() > 0


def test_the_newest_run_or_those_named(store, items, tmp_path):
    first = simulate(store, [ROW], gsm=items)
    second = simulate(store, [VariantRow("other", "gsm", 0.5, 0.4, -0.8)], gsm=items)
    assert set(frame(str(tmp_path / "runs.db"), first)["run_id"]) == {first}
    assert set(frame(store, [first, second])["model"]) == {"simulated-m", "simulated-other"}


def test_one_name_in_two_runs_is_two_models(store, items):
    runs = [simulate(store, [ROW], gsm=items), simulate(store, [ROW], gsm=items)]
    assert set(frame(store, runs)["model"]) == {f"simulated-m ({run})" for run in runs}


def test_the_newest_grader_counts(store, items):
    run = simulate(store, [ROW], gsm=items)
    row = next(iter(store.records(run)))
    kept = ("case_id", "model", "format", "seed", "item_hash", "completion_key", "execution")
    grades = {name: value for name, value in row.items() if name.startswith(("paper_", "robust_"))}
    changed = "incorrect" if grades["robust_verdict"] == "correct" else "correct"
    newer = {name: row[name] for name in kept} | grades | {"grader": f"1{GRADER}", "robust_verdict": changed}
    store.add_grades(run, [newer])
    found = frame(store)
    assert len(found) == 24
    assert found.set_index("case_id").loc[row["case_id"], "robust_verdict"] == changed


def test_no_such_run(store, items):
    simulate(store, [ROW], gsm=items)
    with pytest.raises(StoreError, match="no run zzz"):
        frame(store, "zzz")


def test_which_notes_doubt_the_label():
    assert label_in_doubt(["wording: odd", "label: may be wrong"])
    assert not label_in_doubt(["wording: the label: is fine"])


def test_a_run_without_answers_is_an_empty_frame(store):
    store.start_run("run-1", {"models": []})
    assert len(frame(store)) == 0
