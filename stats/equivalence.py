"""Equivalence on a margin: what an interval shows, and what it leaves open.

A p above 0.05 is no evidence of no difference; an interval within the margin is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from variantbench.stats.tango import tango


class Shown(StrEnum):
    """What the interval shows."""

    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The verdict on an interval and a margin, all on the scale of the difference."""

    shown: Shown
    estimate: float
    low: float
    high: float
    margin: float


def equivalence(low: float, high: float, *, margin: float, estimate: float | None = None) -> Equivalence:
    """Equivalent where the interval lies within +-margin, different where it lies beyond the margin on one side.

    Two one-sided tests at 2.5 % with a 95 % interval, at 5 % with a 90 % one (Schuirmann 1987). Raises ValueError for a
    margin that is not above 0.

    >>> equivalence(-0.02, 0.04, margin=0.05).shown
    <Shown.EQUIVALENT: 'equivalent'>
    """
    _check(low, high, margin)
    shown = Shown.EQUIVALENT if -margin < low and high < margin else Shown.UNDECIDED
    if low > margin or high < -margin:
        shown = Shown.DIFFERENT
    return Equivalence(shown, (low + high) / 2 if estimate is None else estimate, low, high, margin)


def paired_equivalence(a: int, b: int, c: int, d: int, *, margin: float, confidence: float = 0.95) -> Equivalence:
    """`equivalence` of paired answers by Tango's interval: both right, first only, second only, both wrong.

    >>> paired_equivalence(60, 12, 5, 31, margin=0.1).shown
    <Shown.UNDECIDED: 'undecided'>
    """
    interval = tango(a, b, c, d, confidence=confidence)
    return equivalence(interval.low, interval.high, margin=margin, estimate=interval.estimate)


def _check(low: float, high: float, margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"margin {margin}: above 0, on the scale of the difference (0.03 is 3 points)")
    if not low <= high:
        raise ValueError(f"interval {low} to {high}: the lower end first")
