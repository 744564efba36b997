"""What a study could have seen: minimum detectable effects and the data needed, beside every "not significant"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binom, norm

from variantbench.stats.cells import Floats


@dataclass(frozen=True, slots=True)
class Needed:
    """The least number of each that detects the effect, the others staying as they are; inf where no number does."""

    templates: float
    variants: float
    replicates: float


def detectable(se: float, *, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest effect, in units of ``se``'s estimate, that a two-sided test at ``level`` finds with ``power``.

    >>> round(detectable(0.3), 3)
    0.84
    """
    if not se > 0:
        raise ValueError(f"standard error {se}: above 0")
    return float(norm.ppf(1 - level / 2) + norm.ppf(power)) * se


def glmm_standard_error(share: ArrayLike, *, variants: float = 50, replicates: float = 1) -> float:
    """The standard error of a variant effect in a mixed logistic model with as many answers.

    ``share`` (templates,) right in each template, ``replicates`` base answers and ``variants`` a template: the
    information of each is q(1 - q) m v / (m + v). Infinite where every template is all right or all wrong.

    >>> round(glmm_standard_error([0.5] * 40), 3)
    0.319
    """
    q = np.asarray(share, dtype=np.float64)
    if q.ndim != 1 or ((q < 0) | (q > 1)).any():
        raise ValueError("share: a list of numbers between 0 and 1, one a template")
    information = float((q * (1 - q)).sum()) * replicates * variants / (replicates + variants)
    return 1 / sqrt(information) if information > 0 else inf


def glmm_needed(
    effect: float,
    share: ArrayLike,
    *,
    variants: float = 50,
    replicates: float = 1,
    power: float = 0.8,
    level: float = 0.05,
) -> Needed:
    """What a mixed logistic model needs to find a log odds ratio of ``effect``, with templates like these.

    >>> glmm_needed(0.5, [0.5] * 40)
    Needed(templates=129.0, variants=inf, replicates=4.0)
    """
    if effect == 0:
        raise ValueError("effect 0: nothing finds no effect; give the least effect that matters")
    q = np.asarray(share, dtype=np.float64)
    one = float((q * (1 - q)).mean())
    wanted = (float(norm.ppf(1 - level / 2) + norm.ppf(power)) / effect) ** 2
    if one == 0:
        return Needed(inf, inf, inf)
    pairs = wanted / (one * len(q))  # needed value of m v / (m + v)
    return Needed(
        templates=float(ceil(wanted / (one * replicates * variants / (replicates + variants)) - 1e-9)),
        variants=_other(pairs, replicates),
        replicates=_other(pairs, variants),
    )


def _other(harmonic: float, given: float) -> float:
    """The x for which given x / (given + x) reaches ``harmonic``."""
    return float(ceil(harmonic * given / (given - harmonic) - 1e-9)) if given > harmonic else inf


def mcnemar_power(difference: float, *, pairs: int, discordance: float, level: float = 0.05) -> float:
    """The chance that the mid-p test finds a ``difference`` of shares among ``pairs``, a share ``discordance``
    discordant.

    By enumeration of all tables. Raises ValueError unless |difference| <= discordance <= 1.

    >>> round(mcnemar_power(0.117, pairs=108, discordance=0.2), 2)
    0.8
    """
    if not abs(difference) <= discordance <= 1 or pairs < 1:
        raise ValueError(f"difference {difference}, discordance {discordance}: |difference| <= discordance <= 1")
    odds = 0.5 + (difference / discordance / 2 if discordance else 0.0)
    discordant = np.arange(pairs + 1)
    weight = binom.pmf(discordant, pairs, discordance)
    below = _largest_rejected(pairs, level)
    reject = binom.cdf(below, discordant, odds) + binom.cdf(below, discordant, 1 - odds)
    return float(weight @ np.where(below >= 0, reject, 0.0))


def mcnemar_detectable(*, pairs: int, discordance: float, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest difference of shares that the mid-p test finds with ``power``; inf where none does.

    >>> round(mcnemar_detectable(pairs=108, discordance=0.2), 3)
    0.117
    """

    def short(difference: float) -> float:
        return mcnemar_power(difference, pairs=pairs, discordance=discordance, level=level) - power

    return float(brentq(short, 0.0, discordance, xtol=1e-8)) if short(discordance) > 0 else inf


def mcnemar_needed(difference: float, *, discordance: float, power: float = 0.8, level: float = 0.05) -> int:
    """The least number of pairs, up to the test's small steps, for which the mid-p test finds ``difference``.

    >>> mcnemar_needed(0.117, discordance=0.2)
    108
    """
    if difference == 0:
        raise ValueError("difference 0: nothing finds no difference; give the least that matters")
    low, high = 1, 2
    while mcnemar_power(difference, pairs=high, discordance=discordance, level=level) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = mcnemar_power(difference, pairs=middle, discordance=discordance, level=level) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def gate_detectable(difference: ArrayLike, *, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest change of accuracy a gate sees, from templates' mean differences (templates,) of an earlier run."""
    d = np.asarray(difference, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise ValueError(f"differences {d.shape}: (templates,), of at least two")
    return detectable(float(d.std(ddof=1) / sqrt(len(d))), power=power, level=level)


@cache
def _largest_rejected(pairs: int, level: float) -> Floats:
    """For 0..pairs discordant pairs, the largest smaller count at which mid-p <= level; -1 where none."""
    found = np.full(pairs + 1, -1.0)
    for n in range(1, pairs + 1):
        k = np.arange((n + 1) // 2)  # below the middle, where mid-p is 1
        mid = 2 * binom.cdf(k, n, 0.5) - binom.pmf(k, n, 0.5)
        found[n] = k[mid <= level].max(initial=-1)
    return found
