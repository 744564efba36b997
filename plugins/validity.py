"""Whether a run measured the model at all: how often answers were cut off, empty, void, or lost by our own fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from variantbench.plugins.datatypes import ExtractionStatus, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.options import share

Row = Mapping[str, Any]

_IS: Mapping[str, Callable[[Row], bool]] = {
    "truncated": lambda row: row["finish_reason"] == FinishReason.LENGTH,
    "void": lambda row: row["robust_status"] == ExtractionStatus.VOID,
    "empty": lambda row: row["robust_status"] in (ExtractionStatus.EMPTY, ExtractionStatus.EMPTY_AFTER_TRIM),
    "errors": lambda row: row["robust_verdict"] == Verdict.ERROR and not was_not_executed(row),
}

# The share of a model's answers above which a run is invalid. A weak model may write on and on, so the first three are
# mild: they catch a wrong chat template, a missing stop string, an end token that is not one.
DEFAULT_LIMITS: Mapping[str, float] = {"truncated": 0.5, "void": 0.5, "empty": 0.5, "errors": 0.0}

# From so many answers on, a model that has none right is a fault of the set-up until somebody shows otherwise.
ENOUGH = 100


def was_not_executed(row: Row) -> bool:
    """Whether a program could not run for want of a sandbox."""
    return bool(row["robust_status"] == ExtractionStatus.NOT_EXECUTED)


def read_limits(texts: Iterable[str]) -> dict[str, float]:
    """The limits, changed as ``truncated=10%`` or ``void=0.2`` say."""
    limits = dict(DEFAULT_LIMITS)
    for text in texts:
        name, _, value = text.partition("=")
        if name not in limits or not value:
            raise UserError(f"--limit {text!r}: write NAME=RATE, NAME one of {', '.join(limits)}, as in truncated=10%")
        limits[name] = share(value, option=f"--limit {name}")
    return limits


def faults(rows: Iterable[Row], limits: Mapping[str, float] = DEFAULT_LIMITS) -> list[str]:
    """What makes a run invalid, in words; empty if nothing does."""
    models: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        models[row["model"]].append(row)
    found = [fault for model, answers in sorted(models.items()) for fault in _faults_of(model, answers, limits)]
    return found or ([] if models else ["no answers were graded"])


def _faults_of(model: str, rows: list[Row], limits: Mapping[str, float]) -> Iterable[str]:
    for name, limit in limits.items():
        count = sum(map(_IS[name], rows))
        if count > limit * len(rows):
            yield (
                f"{model}: {count:,} of {len(rows):,} answers {_WORDS[name]} ({count / len(rows):.1%}, "
                f"limit {limit:.1%}; --limit {name}=RATE)"
            )
    judged = [row for row in rows if row["robust_verdict"] != Verdict.ERROR]
    if len(judged) >= ENOUGH and not any(row["robust_verdict"] == Verdict.CORRECT for row in judged):
        yield f"{model}: accuracy 0.0000 of {len(judged):,} answers: look at some before you believe it"


_WORDS = {
    "truncated": "were cut off at their length limit",
    "void": "are void",
    "empty": "are empty",
    "errors": "were lost through our own fault",
}
