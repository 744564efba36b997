"""Stored answers as a pandas DataFrame: for analyses, notebooks and reports of many runs.

One row an answer, by the newest grader:

| column | content |
| --- | --- |
| ``run_id``, ``case_id``, ``grader`` | where the row comes from |
| ``model`` | its name; ``name (run)`` where several of the runs hold a model of that name and are not shards of one |
| ``format``, ``seed`` | how it was asked |
| ``benchmark``, ``item``, ``group_id``, ``variant``, ``batch``, ``target`` | the item; variant 0 is the base question |
| ``doubtful_label`` | whether a note of the item says that its label may be wrong |
| ``robust_verdict``, ``robust_status``, ``robust_method``, ``robust_value`` | the grade by the robust protocol |
| ``paper_verdict``, ``paper_status``, ``paper_method``, ``paper_value`` | the grade by the paper protocol |
| ``finish_reason``, ``prompt_tokens``, ``new_tokens`` | the completion; missing where the engine failed |
| one for each covariate of the items | such as ``gamma``, ``gamma_code``; NaN where an item has none |
| ``question``, ``answer`` | only with ``texts=True`` |

Columns of repeated text are categorical. The view ``answers`` holds the same for people with SQL, texts included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import pandas
from sqlalchemy import select

from variantbench.plugins.datatypes import label_in_doubt
from variantbench.plugins.errors import StoreError
from variantbench.plugins.shards import wholes
from variantbench.plugins.store import schema
from variantbench.plugins.store.store import Store, open_store

_GRADES = [f"{kind}_{part}" for kind in ("robust", "paper") for part in ("verdict", "status", "method", "value")]
_RECORD = ("run_id", "case_id", "grader", "model", "format", "seed", "item_hash", *_GRADES)
_COMPLETION = ("finish_reason", "prompt_tokens", "new_tokens")
_ITEM = ("id", "benchmark", "group_id", "variant", "batch", "target")
_REPEATED = (
    "run_id", "grader", "model", "format", "finish_reason", "benchmark", "item", "group_id", "batch", "target",
    *(name for name in _GRADES if not name.endswith("value")),
)  # fmt: skip


def _any_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have pandas keep text as Python does: pyarrow, its choice where it is installed, takes no lone surrogates."""

    @wraps(function)
    def with_python_strings(*given: Any, **named: Any) -> Any:
        with pandas.option_context("mode.string_storage", "python"):
            return function(*given, **named)

    return with_python_strings


@_any_text
def frame(url: str | Store, run: str | Sequence[str] | None = None, *, texts: bool = False) -> Any:
    """The answers of a run, or of several, in the order of runs and cases; of the newest run if none is named.

    ``run`` is the beginning of a run's id, or a list of such. StoreError if there is no such store or run.
    """
    store, runs = _runs(url, run)
    answers = _answers(store, [one["id"] for one in runs], texts=texts)
    return _with_items(answers, _items(store, answers["item_hash"].unique(), texts=texts), runs)


@_any_text
def answers_and_questions(
    url: str | Store, run: str | Sequence[str] | None = None, *, with_doubtful_labels: bool = True
) -> tuple[Any, Any]:
    """`frame`, and the questions of the same runs, one row each: ``item`` to ``target`` as there, and ``question``.

    On request without the items whose label may be wrong by their own notes. The items are read once for both.
    """
    store, runs = _runs(url, run)
    answers = _answers(store, [one["id"] for one in runs], texts=False)
    items = _items(store, answers["item_hash"].unique(), texts=True)
    answers = _with_items(answers, items.drop(columns="question"), runs)
    questions = items.sort_values(["benchmark", "group_id", "variant", "item", "question"]).reset_index(drop=True)
    if with_doubtful_labels:
        return answers, questions
    return answers[~answers["doubtful_label"]], questions[~questions["doubtful_label"]]


def texts(store: Store, cases: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Question and answer of a few cases, by run and id; the answer is empty where the engine failed."""
    records, items, completions = schema.records.c, schema.items.c, schema.completions.c
    query = (
        select(records.run_id, records.case_id, items.question, completions.text)
        .join_from(schema.records, schema.items, items.hash == records.item_hash)
        .join(schema.completions, completions.key == records.completion_key, isouter=True)
    )
    found: dict[tuple[str, str], tuple[str, str]] = {}
    with store.reading() as connection:
        for run_id, case_id in cases:
            rows = connection.execute(query.where(records.run_id == run_id, records.case_id == case_id))
            found |= {(run, case): (question, answer or "") for run, case, question, answer in rows}
    return found


def _runs(url: str | Store, run: str | Sequence[str] | None) -> tuple[Store, list[dict[str, Any]]]:
    store = url if isinstance(url, Store) else open_store(url, create=False)
    names = [run] if run is None or isinstance(run, str) else list(run)
    return store, list({one["id"]: one for one in (store.find_run(name) for name in names)}.values())


def _answers(store: Store, run_ids: Sequence[str], *, texts: bool) -> Any:
    columns = [schema.records.c[name] for name in _RECORD]
    columns += [schema.completions.c[name] for name in _COMPLETION]
    names = [*_RECORD, *_COMPLETION]
    if texts:
        columns.append(schema.completions.c.text)
        names.append("answer")
    query = (
        select(*columns)
        .join(schema.completions, schema.completions.c.key == schema.records.c.completion_key, isouter=True)
        .where(schema.records.c.run_id.in_(run_ids))
    )
    with store.reading() as connection:
        rows = connection.execute(query).fetchall()
    return pandas.DataFrame.from_records(rows, columns=names)


def _with_items(answers: Any, items: Any, runs: Sequence[dict[str, Any]]) -> Any:
    """The newest gradings, each with its item."""
    place = items.index.get_indexer(answers.pop("item_hash"))
    for name in items.columns:
        answers[name] = items[name].array.take(place)
    answers = _newest(answers)
    answers["model"] = _distinct_models(answers, runs)
    for name in _REPEATED:
        answers[name] = answers[name].astype("category")
    return answers


def _items(store: Store, hashes: Sequence[str], *, texts: bool) -> Any:
    """The items by their hash, a column for each covariate."""
    names = [*_ITEM, *(["question"] if texts else [])]
    wanted = set(hashes)
    query = select(
        schema.items.c.hash, schema.items.c.notes, schema.items.c.covariates, *(schema.items.c[n] for n in names)
    )
    with store.reading() as connection:
        rows = [row for row in connection.execute(query) if row[0] in wanted]
    items = pandas.DataFrame.from_records(
        [row[3:] for row in rows], columns=names, index=pandas.Index([row[0] for row in rows])
    ).rename(columns={"id": "item"})
    doubtful = {notes: label_in_doubt(map(str, store.decoded(notes, list))) for notes in {row[1] for row in rows}}
    items["doubtful_label"] = [doubtful[row[1]] for row in rows]
    covariates = pandas.DataFrame([store.decoded(row[2], dict) for row in rows], index=items.index)
    try:
        return items.join(covariates.astype(float))
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"store {store.url} holds a covariate that is no number ({error}): `covariates` of `items`"
        ) from None


def _newest(answers: Any) -> Any:
    """Of an answer that was graded several times, the row of the newest grader."""
    order = ["run_id", "case_id"]
    if answers["grader"].nunique() > 1:
        answers["_age"] = answers["grader"].map(lambda grader: (len(grader), grader))
        answers = answers.sort_values([*order, "_age"]).drop_duplicates(order, keep="last").drop(columns="_age")
    else:
        answers = answers.sort_values(order)
    return answers.reset_index(drop=True)


def _distinct_models(answers: Any, runs: Sequence[dict[str, Any]]) -> Any:
    first = {run["id"]: whole[0]["id"] for whole in wholes(runs) for run in whole}
    run_ids = answers["run_id"].map(first)
    pairs = answers[["model"]].assign(run_id=run_ids).drop_duplicates()
    doubled = set(pairs["model"][pairs["model"].duplicated()])
    if not doubled:
        return answers["model"]
    named = answers["model"] + " (" + run_ids + ")"
    return answers["model"].where(~answers["model"].isin(doubled), named)
