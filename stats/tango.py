"""Tango's score interval for a difference of paired proportions."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from scipy.optimize import brentq
from scipy.stats import norm

from variantbench.stats.mcnemar import check_counts


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """First minus second proportion with its interval; each between -1 and 1."""

    estimate: float
    low: float
    high: float


def tango(a: int, b: int, c: int, d: int, *, confidence: float = 0.95) -> PairedDifference:
    """The difference (b - c) / n of counts: both right, first only, second only, both wrong.

    Source: Tango 1998, Stat Med 17:891; Fagerland, Lydersen & Laake 2014, Stat Med 33:2850 (coverage .941-.957 at n =
    108). R: ``PropCIs::scoreci.mp(b, c, n, conf.level)`` with the sign turned. Raises ValueError without pairs.

    >>> interval = tango(1, 1, 7, 12)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.517, -0.026)
    """
    check_counts(a, b, c, d)
    n = a + b + c + d
    z = float(norm.ppf(0.5 + confidence / 2))
    estimate = (b - c) / n

    def score(delta: float) -> float:
        return _score(b, c, n, delta)

    low = -1.0 if score(-1 + 1e-12) < z else float(brentq(lambda t: score(t) - z, -1 + 1e-12, estimate, xtol=1e-14))
    high = 1.0 if score(1 - 1e-12) > -z else float(brentq(lambda t: score(t) + z, estimate, 1 - 1e-12, xtol=1e-14))
    return PairedDifference(estimate, low, high)


def _score(b: int, c: int, n: int, delta: float) -> float:
    """The score statistic at a difference of ``delta``, with the restricted estimate of P(second only)."""
    first, second, third = 2 * n, -b - c + (2 * n - b + c) * delta, -c * delta * (1 - delta)
    q = (sqrt(max(0.0, second * second - 4 * first * third)) - second) / (2 * first)
    variance = n * (2 * q + delta * (1 - delta))
    gap = b - c - n * delta
    if abs(gap) < 1e-9 * n:
        return 0.0
    return gap / sqrt(max(variance, 1e-300))
