"""Accuracy with intervals by model, benchmark, format and part, from a frame of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from variantbench.plugins.datatypes import ExtractionStatus, FinishReason, Verdict
from variantbench.plugins.errors import StoreError
from variantbench.plugins.report.baselines import Baseline, baselines
from variantbench.stats.proportions import Proportion, clustered, wilson

_EMPTY = (ExtractionStatus.EMPTY, ExtractionStatus.EMPTY_AFTER_TRIM)
_KEYS = ["model", "benchmark", "format", "part"]


@dataclass(frozen=True, slots=True)
class Line:
    """One part (base, variants, or a logic batch) of one model x benchmark x format.

    `accuracy` is None where nothing could be judged; `new` is the interval for new templates (logic: new questions),
    None with fewer than two. `counts` are robust verdicts, `paper_counts` those of the paper protocol. `not_judged`
    counts answers that failed through our fault.
    """

    model: str
    benchmark: str
    format: str
    part: str
    counts: Mapping[Verdict, int]
    paper_counts: Mapping[Verdict, int]
    accuracy: Proportion | None
    new: Proportion | None
    truncated: int
    empty: int
    doubtful_labels: int

    @property
    def judged(self) -> int:
        """How many answers count."""
        return sum(self.counts.values()) - self.not_judged

    @property
    def right(self) -> int:
        """How many of them are right."""
        return self.counts.get(Verdict.CORRECT, 0)

    @property
    def not_judged(self) -> int:
        """How many could not be judged, through no fault of the model."""
        return self.counts.get(Verdict.ERROR, 0)

    @property
    def paper_accuracy(self) -> float:
        """The share right by the paper protocol; nan if it could judge none."""
        judged = sum(self.paper_counts.values()) - self.paper_counts.get(Verdict.ERROR, 0)
        return self.paper_counts.get(Verdict.CORRECT, 0) / judged if judged else float("nan")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What runs measured, before any test."""

    lines: tuple[Line, ...]
    baselines: Mapping[str, tuple[Baseline, ...]]  # by logic batch: what answering without reading would score


def accuracy(answers: Any, questions: Any) -> Accuracy:
    """The accuracy in a frame of answers to these questions (`plugins/store/frame.py`: `answers_and_questions`)."""
    rows = answers.assign(part=parts(answers))
    lines = [_line(key, some) for key, some in rows.groupby(_KEYS, observed=True, sort=True)]
    return Accuracy(tuple(lines), _baselines(questions))


def parts(answers: Any) -> Any:
    """Which part of its benchmark each answer belongs to: its batch, or base, or variants."""
    kind = np.where(answers["variant"] == 0, "base", "variants")
    batch = answers["batch"].astype(object)
    return batch.where(batch.notna(), kind)


def _line(key: tuple[str, str, str, str], rows: Any) -> Line:
    model, benchmark, form, part = map(str, key)
    counts, paper = _counts(rows["robust_verdict"]), _counts(rows["paper_verdict"])
    judged = sum(counts.values()) - counts[Verdict.ERROR]
    return Line(
        model=model,
        benchmark=benchmark,
        format=form,
        part=part,
        counts=counts,
        paper_counts=paper,
        accuracy=wilson(counts[Verdict.CORRECT], judged) if judged else None,
        new=_for_new_clusters(rows),
        truncated=int((rows["finish_reason"] == FinishReason.LENGTH.value).sum()),
        empty=int(rows["robust_status"].isin([status.value for status in _EMPTY]).sum()),
        doubtful_labels=int(rows["doubtful_label"].sum()),
    )


def _counts(verdicts: Any) -> Counter[Verdict]:
    unknown = set(verdicts.dropna().unique()) - set(Verdict)
    if unknown:
        raise StoreError(f"the store holds the verdicts {sorted(map(str, unknown))}, which no variantbench gives")
    return Counter({Verdict(name): int(count) for name, count in verdicts.value_counts().items() if count})


def _for_new_clusters(rows: Any) -> Proportion | None:
    """By template; by question where several answers are to the same one."""
    judged = rows[rows["robust_verdict"] != Verdict.ERROR.value]
    cluster = judged["item"] if judged["batch"].notna().any() else judged["group_id"]
    right = (judged["robust_verdict"] == Verdict.CORRECT.value).to_numpy(float)
    codes = cluster.astype("category").cat.remove_unused_categories().cat.codes.to_numpy()
    trials = np.bincount(codes) if len(codes) else np.zeros(0)
    return clustered(np.bincount(codes, weights=right), trials) if len(trials) > 1 else None


def _baselines(questions: Any) -> Mapping[str, tuple[Baseline, ...]]:
    """By batch, over the questions that were asked; none where there are no batches."""
    asked = questions[questions["batch"].notna()]
    return {
        str(batch): baselines(list(some[["question", "target"]].itertuples(index=False, name=None)))
        for batch, some in asked.groupby("batch", sort=True)
    }
