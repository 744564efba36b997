"""Stored answers -> one frozen `Report` of tables and figures. Nothing draws here; the same input gives the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.report.sections import SECTIONS
from variantbench.plugins.report.source import Source, source
from variantbench.plugins.report.tables import Example, Report
from variantbench.plugins.report.words import findings
from variantbench.plugins.store import Store
from variantbench.plugins.store.frame import texts

_EXAMPLES = 24


def build_report(
    store: Store,
    runs: Sequence[str] | str | None = None,
    *,
    backend: str = "variantbench",
    with_doubtful_labels: bool = True,
) -> Report:
    """The report of stored runs (beginnings of ids; the newest if none is named), from the store alone."""
    return report_of(store, source(store, runs, backend=backend, with_doubtful_labels=with_doubtful_labels))


def report_of(store: Store, found: Source) -> Report:
    """The report of a source whose analyses are done."""
    return Report(
        title=_title(found),
        runs=found.runs,
        findings=tuple(sorted(findings(found), key=lambda one: one.model)),
        sections=tuple(part for make in SECTIONS if (part := make(found)) is not None),
        examples=tuple(_examples(store, found)),
    )


def _title(found: Source) -> str:
    models = sorted(map(str, found.answers["model"].unique()))
    if len(models) <= 3:
        return ", ".join(models) or "no answers"
    return f"{len(models)} models in {len(found.runs)} runs" if len(found.runs) > 1 else f"{len(models)} models"


def _examples(store: Store, found: Source) -> Iterator[Example]:
    """The first answer of each way to go wrong, by model and format: which they are depends on their ids alone."""
    rows = found.answers
    wrong = rows[rows["robust_verdict"].isin([Verdict.INCORRECT.value, Verdict.NO_ANSWER.value])]
    kinds = ["model", "format", "robust_verdict", "robust_status"]
    first = wrong.drop_duplicates(kinds)  # a frame comes in the order of cases
    chosen = first[["run_id", "case_id", *kinds, "item", "target"]].astype(str).sort_values(kinds).head(_EXAMPLES)
    found_texts = texts(store, list(chosen[["run_id", "case_id"]].itertuples(index=False, name=None)))
    for row in chosen.to_dict("records"):
        question, answer = found_texts.get((row["run_id"], row["case_id"]), ("", ""))
        what = f"{row['robust_verdict']} ({row['robust_status']})".replace("_", " ")
        yield Example(row["model"], row["format"], row["item"], what, question, row["target"], answer)
