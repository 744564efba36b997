"""Is a checkpoint worse than its baseline on the same items? The decision, its power, and what it needs.

Pairs are clustered by template: the difference is (right now - right before) / pairs, its standard error the linearised
one of a ratio over templates, its interval Student's t; the p value of a drop is the larger of t's and that of flipping
the sign of whole templates' sums. A drop within the tolerance is no regression, and only an interval that excludes the
margin is a pass: neither is what an interval around zero shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, inf, isinf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import nct, norm, t

from variantbench.stats.cells import Floats, Integers, codes
from variantbench.stats.clustered import law_of_signs

# What is planned with where nothing is measured yet: the share of items whose verdict differs between two checkpoints,
# and the standard deviation of templates' own changes. At 100 templates of 51 that is a standard error of 0.0118;
# between checkpoints 0.0066 to 0.0135 was seen.
DISCORDANCE = 0.2
SPREAD = 0.1
_MARGINS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)


class Decision(StrEnum):
    """PASS: a drop beyond the margin is excluded. REGRESSION: a drop beyond the tolerance is shown."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Change:
    """New minus baseline on the same items, as shares.

    ``low`` and ``high`` are each a one-sided bound at the level asked for, ``se`` a standard error that includes the
    noise of repeating a run, ``p`` that of a drop beyond the tolerance.
    """

    pairs: int
    clusters: int
    baseline: float
    new: float
    estimate: float
    se: float
    low: float
    high: float
    p: float


def paired_change(
    before: ArrayLike,
    after: ArrayLike,
    cluster: ArrayLike,
    *,
    tolerance: float = 0.01,
    level: float = 0.05,
    noise: float = 0.0,
) -> Change:
    """The change of 0/1 answers ``before`` and ``after`` (pairs,), by ``cluster`` (pairs,).

    ``noise`` is the share of items whose verdict flips when the same model runs again; its variance, noise / pairs, is
    added to the clustered one. Without a discordant pair the bounds are those of none among so many, 1 - level^(1/n).
    Raises ValueError unless the three have one length, of at least one pair. One cluster gives no interval.
    """
    x, y, labels = np.asarray(before, float), np.asarray(after, float), np.asarray(cluster)
    if not x.shape == y.shape == labels.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"before {x.shape}, after {y.shape}, cluster {labels.shape}: (pairs,) each, one at least")
    code, _ = codes(labels)
    size = np.bincount(code).astype(np.int64)
    sums = np.bincount(code, weights=y - x).astype(np.float64)
    pairs, clusters = len(x), len(size)
    estimate = float(sums.sum() / pairs)
    residual = sums - estimate * size
    se = sqrt(float((residual**2).sum()) * clusters / max(clusters - 1, 1) / pairs**2 + noise / pairs)
    if clusters < 2:
        return Change(pairs, clusters, float(x.mean()), float(y.mean()), estimate, inf, -1.0, 1.0, 1.0)
    half = max(float(t.ppf(1 - level, clusters - 1)) * se, 1 - level ** (1 / pairs))
    return Change(
        pairs,
        clusters,
        baseline=float(x.mean()),
        new=float(y.mean()),
        estimate=estimate,
        se=se,
        low=max(-1.0, estimate - half),
        high=min(1.0, estimate + half),
        p=_p_of_drop(sums, size, estimate, se, tolerance=tolerance, level=level),
    )


def decide(change: Change, *, p: float | None = None, margin: float = 0.03, level: float = 0.05) -> Decision:
    """The decision on a change; ``p`` takes the place of its own where it is adjusted for a family of slices.

    A drop that is shown to exceed the tolerance is a regression even where the margin is excluded.
    """
    if (change.p if p is None else p) <= level:
        return Decision.REGRESSION
    return Decision.PASS if change.low > -margin else Decision.INCONCLUSIVE


def pairs_to_settle(change: Change, *, margin: float, tolerance: float, level: float = 0.05) -> float:
    """How many more pairs, in templates like these, would decide if the estimate stays; inf where none would.

    >>> pairs_to_settle(Change(100, 20, 0.5, 0.5, 0.0, 0.05, -0.086, 0.086, 0.4), margin=0.05, tolerance=0.01)
    199.0
    """
    distances = [change.estimate + margin, -tolerance - change.estimate]
    furthest = max(distance for distance in distances)
    if furthest <= 0 or change.clusters < 2 or isinf(change.se):
        return inf
    factor = (float(t.ppf(1 - level, change.clusters - 1)) * change.se / furthest) ** 2
    return float(max(0, ceil(change.pairs * (factor - 1))))


def default_margin(templates: int, per_template: float, *, tolerance: float = 0.0) -> float:
    """The round margin next to what an unchanged model passes 4 times in 5, with so many answers.

    It is twice the tolerance at least.

    >>> default_margin(100, 51), default_margin(108, 1)
    (0.03, 0.1)
    """
    seen = (float(norm.ppf(0.95)) + float(norm.ppf(0.8))) * planned_se(templates, per_template)
    return max(min(_MARGINS, key=lambda margin: abs(np.log(margin / seen))), 2 * tolerance)


def planned_se(
    templates: int, per_template: float, *, discordance: float = DISCORDANCE, spread: float = SPREAD
) -> float:
    """The standard error to expect of the difference: sqrt((spread^2 + discordance / per_template) / templates).

    >>> round(planned_se(100, 51), 4)
    0.0118
    """
    if templates < 1 or per_template <= 0 or not 0 <= discordance <= 1 or spread < 0:
        raise ValueError(f"{templates} templates of {per_template}, discordance {discordance}, spread {spread}")
    return sqrt((spread**2 + discordance / per_template) / templates)


def pass_power(margin: float, se: float, clusters: int, *, change: float = 0.0, level: float = 0.05) -> float:
    """The chance that a checkpoint which truly changed by ``change`` passes.

    >>> round(pass_power(0.03, 0.0118, 100), 2)
    0.81
    """
    return _power((margin + change) / se if se else inf, clusters, level)


def regression_power(drop: float, se: float, clusters: int, *, tolerance: float = 0.01, level: float = 0.05) -> float:
    """The chance that a true ``drop`` is shown to exceed the tolerance.

    >>> round(regression_power(0.05, 0.0118, 100), 2)
    0.96
    """
    return _power((drop - tolerance) / se if se else inf, clusters, level)


def templates_needed(
    margin: float,
    per_template: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    discordance: float = DISCORDANCE,
    spread: float = SPREAD,
) -> int:
    """The least number of templates with which an unchanged checkpoint passes with ``power``.

    >>> templates_needed(0.03, 51)
    98
    """
    if not 0 < margin < 1 or not level < power < 1:
        raise ValueError(f"margin {margin}, power {power}: margin from 0 to 1, power from the level {level} to 1")
    one = planned_se(1, per_template, discordance=discordance, spread=spread)
    low = max(2, ceil(0.5 * ((norm.ppf(1 - level) + norm.ppf(power)) * one / margin) ** 2))
    while pass_power(margin, one / sqrt(low), low, level=level) < power:
        low += max(1, low // 200)
    return int(low)


def _power(effect: float, clusters: int, level: float) -> float:
    if clusters < 2:
        return 0.0
    if isinf(effect):
        return 1.0
    return float(nct.sf(t.ppf(1 - level, clusters - 1), clusters - 1, effect))


def _p_of_drop(sums: Floats, size: Integers, estimate: float, se: float, *, tolerance: float, level: float) -> float:
    """One-sided p of "the difference is at least -tolerance": the larger of the t test's and the sign flips'."""
    distance = estimate + tolerance
    if se == 0:
        return 1.0 if distance >= 0 else _flips(sums, size, tolerance)
    p = float(t.cdf(distance / se, len(size) - 1))
    return p if p > level else max(p, _flips(sums, size, tolerance))  # no flip can lower it


def _flips(sums: Floats, size: Integers, tolerance: float) -> float:
    """The share of all 2^clusters signs of the shifted sums whose total is no larger than the one seen."""
    step = Fraction(tolerance).limit_denominator(1000)
    shifted = step.denominator * np.rint(sums).astype(np.int64) + step.numerator * size
    shifted //= max(1, int(np.gcd.reduce(shifted)))
    law = law_of_signs(np.abs(shifted))
    seen = (int(shifted.sum()) + len(law) - 1) // 2
    return min(1.0, float(law[: seen + 1].sum()))
