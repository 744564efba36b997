"""The line that a run stands in: earlier runs of the same model, and what they got right of the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select, tuple_

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.store import schema
from variantbench.plugins.store.store import Store

MOST = 12  # earlier runs
_TAG = "tag:"


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers of one model to one part (base, variants, or a logic batch) in one format: right, of judged."""

    model: str
    benchmark: str
    format: str
    part: str
    right: int
    judged: int


def earlier_runs(store: Store, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The newest `MOST` complete runs before this one that belong to its line, the oldest first.

    They hold a model of the same name, or stood for the baseline by name with which this run was compared.
    """
    names = _models(run)
    compared = run["manifest"].get("gate", {}).get("baseline") or ""
    stood = {row["run_id"] for row in store.baselines(compared.removeprefix(_TAG))} if compared.startswith(_TAG) else ()
    found = [
        other
        for other in store.runs()
        if other["status"] == "complete" and other["started"] < run["started"]
        and (names & _models(other) or other["id"] in stood)
    ]  # fmt: skip
    return found[:MOST][::-1]


def tallies(store: Store, run_id: str, *, asked_in: str) -> Iterator[Tally]:
    """What a run got right, by the robust grades, of the questions that ``asked_in`` was asked as well."""
    records, items, newer = schema.records.c, schema.items.c, schema.records.alias("newer").c
    part = case((items.batch.is_not(None), items.batch), (items.variant == 0, "base"), else_="variants")
    right = func.sum(case((records.robust_verdict == Verdict.CORRECT.value, 1), else_=0))
    graded_again = select(newer.grader).where(
        newer.run_id == records.run_id,
        newer.case_id == records.case_id,
        tuple_(func.length(newer.grader), newer.grader) > tuple_(func.length(records.grader), records.grader),
    )
    keys = (records.model, items.benchmark, records.format, part)
    query = (
        select(*keys, right, func.count())
        .join_from(schema.records, schema.items, items.hash == records.item_hash)
        .where(
            records.run_id == run_id,
            records.robust_verdict != Verdict.ERROR.value,
            records.item_hash.in_(select(newer.item_hash).where(newer.run_id == asked_in)),
            ~graded_again.correlate(schema.records).exists(),
        )
        .group_by(*keys)
        .order_by(*keys)
    )
    with store.reading() as connection:
        for model, benchmark, form, name, successes, judged in connection.execute(query):
            yield Tally(model, benchmark, form, name, int(successes), int(judged))


def _models(run: Mapping[str, Any]) -> set[str]:
    return {model["name"] for model in run["manifest"].get("models", ())}
