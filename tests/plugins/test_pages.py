"""Pages of answers, on SQLite and PostgreSQL: they hold what the records hold, in the same order, each answer once."""

from __future__ import annotations

import os
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, text

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.logic import load_items as load_logic_items
from variantbench.plugins.errors import StoreError
from variantbench.plugins.published import LogicRow, VariantRow
from variantbench.plugins.simulate import simulate
from variantbench.plugins.store import open_store
from variantbench.plugins.store.pages import PAGE, Pages

SCHEMA = "variantbench_pages"  # its own, as other tests empty the one that is there


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request, needs, tmp_path_factory):
    """Two runs of two models: word problems in two formats, and logic."""
    url = str(tmp_path_factory.mktemp("pages") / "runs.db") if request.param == "sqlite" else _schema(needs)
    gsm, logic = load_items(sample=6, variants_per_template=20), load_logic_items()
    with open_store(url) as opened:
        for seed in (1, 2):
            rows = [VariantRow(model, form, 0.7, 0.5, -0.8) for model in ("a", "b") for form in ("gsm", "simple_code")]
            simulate(opened, [*rows, LogicRow("a", "zero_shot", "Q3", 0.6)], gsm=gsm, logic=logic, seed=seed)
        with opened.engine.begin() as connection:
            connection.execute(text("update completions set finish_reason = 'length' where key like 'a%'"))
            connection.execute(text("update records set paper_verdict = 'error' where completion_key like 'b%'"))
        yield opened


def _schema(needs) -> str:
    url = os.environ.get("VARIANTBENCH_POSTGRES", "")
    needs(bool(url), "no PostgreSQL: VARIANTBENCH_POSTGRES is not set")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"drop schema if exists {SCHEMA} cascade"))
        connection.execute(text(f"create schema {SCHEMA}"))
    engine.dispose()
    return f"{url}?options={quote(f'-csearch_path={SCHEMA}')}"


@pytest.fixture(scope="module")
def runs(store) -> tuple[str, str]:
    second, first = (run["id"] for run in store.runs())
    return first, second


FILTERS = [
    ({}, lambda row: True),
    ({"outcome": "incorrect"}, lambda row: row["robust_verdict"] == "incorrect"),
    ({"outcome": "error"}, lambda row: False),
    ({"outcome": "cut_off"}, lambda row: row["finish_reason"] == "length"),
    ({"outcome": "grades_differ"}, lambda row: row["robust_verdict"] != row["paper_verdict"]),
    ({"model": "simulated-b"}, lambda row: row["model"] == "simulated-b"),
    ({"form": "gsm"}, lambda row: row["format"] == "gsm"),
    ({"batch": "Q3"}, lambda row: row["batch"] == "Q3"),
    (
        {"model": "simulated-a", "form": "gsm", "outcome": "incorrect"},
        lambda row: (row["model"], row["format"], row["robust_verdict"]) == ("simulated-a", "gsm", "incorrect"),
    ),
]


@pytest.mark.parametrize("few", [500, 3])  # beyond that, cut-off answers and batches are not looked up by name
@pytest.mark.parametrize(
    ("filters", "belongs"), FILTERS, ids=lambda value: str(value) if isinstance(value, dict) and value else None
)
def test_pages_lead_through_what_belongs_there_once_and_back(store, runs, filters, belongs, few, monkeypatch):
    monkeypatch.setattr("variantbench.plugins.store.pages._FEW", few)
    expected = {row["case_id"] for row in store.records(runs[0]) if belongs(row)}
    pages = Pages(store)
    where = pages.where(**filters)
    seen, after = [], ""
    while page := pages.answers(runs[0], where, after=after, before=""):
        seen += [row["case_id"] for row in page[:PAGE]]
        after = seen[-1]
    assert set(seen) == expected
    assert len(seen) == len(expected) == pages.count(runs[0], where)
    if len(seen) > PAGE:
        back = pages.answers(runs[0], where, after="", before=seen[PAGE])
        assert [row["case_id"] for row in back] == seen[:PAGE]
        assert pages.neighbour(runs[0], where, seen[PAGE], back=True) == seen[PAGE - 1]
        assert pages.neighbour(runs[0], where, seen[PAGE - 1], back=False) == seen[PAGE]


def test_a_template_has_its_questions(store, runs):
    group = next(row["group_id"] for row in store.records(runs[0]) if row["benchmark"] == "gsm")
    pages = Pages(store)
    expected = {row["case_id"] for row in store.records(runs[0]) if row["group_id"] == group}
    where = pages.where(template=group)
    assert pages.count(runs[0], where) == len(expected) == 4 * 21
    assert {row["case_id"] for row in pages.answers(runs[0], where, after="", before="")} < expected
    assert pages.count(runs[0], pages.where(template="no such")) == 0


def test_choices_are_those_of_the_run(store, runs):
    pages = Pages(store)
    assert pages.choices(runs[0]) == {
        "models": ["simulated-a", "simulated-b"],
        "formats": ["gsm", "simple_code", "zero_shot"],
    }
    assert pages.batches(runs[0]) == ["Q3"]
    assert pages.choices("no such run") == {"models": [], "formats": []}


@pytest.mark.parametrize("counted", [10_000, 20])  # beyond that, pages are found in order
@pytest.mark.parametrize("form", ["", "gsm"])
@pytest.mark.parametrize(
    ("flip", "belongs"),
    [
        ("lost", lambda before, now: before and not now),
        ("won", lambda before, now: now and not before),
        ("same", lambda before, now: before == now),
        ("any", lambda before, now: True),
    ],
)
def test_pairs_are_those_of_the_records(store, runs, form, flip, belongs, counted, monkeypatch):
    monkeypatch.setattr("variantbench.plugins.store.pages.COUNTED", counted)
    right = [
        {
            (row["id"], row["format"], row["seed"]): row["robust_verdict"]
            for row in store.records(run)
            if row["model"] == "simulated-a" and form in ("", row["format"])
        }
        for run in runs
    ]
    expected = {
        key for key, verdict in right[0].items()
        if (verdict == right[1][key] if flip == "same" else belongs(verdict == "correct", right[1][key] == "correct"))
    }  # fmt: skip
    pages, seen, after = Pages(store), [], ""
    while (found := pages.pairs(runs, ("simulated-a", "simulated-a"), form, flip, after))[0]:
        rows, count = found
        assert count == min(len(expected), counted + 1)
        assert all(one["item"] == two["item"] for one, two in rows)
        seen += [(one["item"], one["format"], one["seed"]) for one, _ in rows[:PAGE]]
        after = rows[:PAGE][-1][0]["case_id"]
    assert len(seen) == len(expected) > 0
    assert set(seen) == expected


def test_a_page_behind_a_case_that_is_not_there_is_refused(store, runs):
    with pytest.raises(StoreError, match=r"no answer to 'nowhere' in run .*: start from the first page"):
        Pages(store).answers(runs[0], [], after="nowhere", before="")


def test_an_answer_has_its_question_prompt_and_text(store, runs):
    [first, *_] = store.records(runs[0])
    answer = Pages(store).answer(runs[0], first["case_id"])
    assert (answer["question"], answer["text"], answer["target"]) == (first["question"], first["text"], first["target"])
    others = Pages(store).elsewhere(runs[0], answer["item_hash"])
    assert {row["case_id"] for row in others} == {
        row["case_id"] for row in store.records(runs[0]) if row["item_hash"] == answer["item_hash"]
    }
