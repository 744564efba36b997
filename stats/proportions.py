"""Intervals for a share of right answers."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from scipy.stats import norm


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its confidence interval; all three between 0 and 1."""

    estimate: float
    low: float
    high: float


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Proportion:
    """The share of successes with Wilson's score interval.

    Raises ValueError unless 0 <= successes <= trials and trials > 0. Source: Wilson 1927, JASA 22. R:
    ``prop.test(successes, trials, correct = FALSE)$conf.int``.

    >>> wilson(8, 10)
    Proportion(estimate=0.8, low=0.49016..., high=0.94331...)
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} successes of {trials} trials: between 0 and the trials, of at least one")
    z = float(norm.ppf(0.5 + confidence / 2))
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return Proportion(share, max(0.0, middle - half), min(1.0, middle + half))
