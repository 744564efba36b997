"""Records -> what a report shows: accuracy with intervals by model, benchmark, format and part. No drawing."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.datatypes import Verdict, label_in_doubt
from variantbench.plugins.report.baselines import Baseline, baselines
from variantbench.plugins.store import Store
from variantbench.stats.proportions import Proportion, wilson


@dataclass(frozen=True, slots=True)
class Line:
    """One part (base, variants, or a logic batch) of one model x benchmark x format.

    `accuracy` is None where nothing could be judged. `not_judged` counts answers that failed through our fault.
    """

    model: str
    benchmark: str
    format: str
    part: str
    counts: Mapping[Verdict, int]
    accuracy: Proportion | None
    truncated: int
    doubtful_labels: int

    @property
    def judged(self) -> int:
        """How many answers count."""
        return sum(self.counts.values()) - self.not_judged

    @property
    def not_judged(self) -> int:
        """How many could not be judged, through no fault of the model."""
        return self.counts.get(Verdict.ERROR, 0)


@dataclass(frozen=True, slots=True)
class Report:
    """What one run measured."""

    run: Mapping[str, Any]
    lines: tuple[Line, ...]
    baselines: Mapping[str, tuple[Baseline, ...]]  # by logic batch: what answering without reading would score


def build_report(store: Store, run_id: str, *, with_doubtful_labels: bool = True) -> Report:
    """The report of a stored run, on request without the items whose label may be wrong by their own notes."""
    run = store.find_run(run_id)
    asked: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    groups: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for record in store.records(run_id):
        if not with_doubtful_labels and has_doubtful_label(record):
            continue
        groups[record["model"], record["benchmark"], record["format"], part_of(record)].append(record)
        if record["batch"]:
            asked[record["batch"]][record["item_hash"]] = (record["question"], record["target"])
    return Report(
        run,
        tuple(_line(*key, rows) for key, rows in sorted(groups.items())),
        {batch: baselines(list(answers.values())) for batch, answers in sorted(asked.items())},
    )


def has_doubtful_label(record: Mapping[str, Any]) -> bool:
    """Whether a note of the item says that its label may be wrong."""
    return label_in_doubt(json.loads(record["notes"]))


def part_of(record: Mapping[str, Any]) -> str:
    """Which part of its benchmark a record belongs to."""
    return record["batch"] or ("base" if record["variant"] == 0 else "variants")


def _line(model: str, benchmark: str, form: str, part: str, rows: Iterable[Mapping[str, Any]]) -> Line:
    rows = list(rows)
    counts = Counter(Verdict(row["robust_verdict"]) for row in rows)
    judged = sum(counts.values()) - counts[Verdict.ERROR]
    return Line(
        model=model,
        benchmark=benchmark,
        format=form,
        part=part,
        counts=counts,
        accuracy=wilson(counts[Verdict.CORRECT], judged) if judged else None,
        truncated=sum(row["finish_reason"] == "length" for row in rows),
        doubtful_labels=sum(map(has_doubtful_label, rows)),
    )
