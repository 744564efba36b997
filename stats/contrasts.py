"""Variant effects that share templates: how they differ between formats or checkpoints, and their mean over models.

Each effect is the conditional estimate of `stats/conditional.py`, which assumes nothing about the templates. The same
questions stand behind all of them, so they are not independent: the covariance comes from the templates' scores
(sandwich, CR1), and is right whatever the dependence within a template. R: ``survival::clogit(y ~ variant:model +
strata(model, template) + cluster(template))``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import t

from variantbench.stats.cells import Floats, Integers
from variantbench.stats.conditional import conditional_counts


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of effects, on the log-odds scale, with its t interval and two-sided p on ``df``."""

    estimate: float
    se: float
    low: float
    high: float
    p: float
    df: int


@dataclass(frozen=True, slots=True)
class JointEffects:
    """``beta`` (effects,) with ``covariance`` (effects, effects) over ``clusters`` templates that inform any of them.

    An effect that is infinite, or that the data say nothing of, is nan with its row and column.
    """

    beta: Floats
    covariance: Floats
    clusters: int

    def contrast(self, weights: ArrayLike, *, confidence: float = 0.95) -> Contrast:
        """The weighted sum; effects of weight 0 do not matter. nan where one that matters is nan."""
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != self.beta.shape:
            raise ValueError(f"weights {w.shape}: {self.beta.shape}, one an effect")
        used = w != 0
        estimate = float(w[used] @ self.beta[used])
        variance = float(w[used] @ self.covariance[np.ix_(used, used)] @ w[used])
        df = self.clusters - 1
        if not (variance > 0 and df > 0):
            return Contrast(estimate, nan, nan, nan, nan, df)
        se = float(np.sqrt(variance))
        half = float(t.ppf(0.5 + confidence / 2, df)) * se
        return Contrast(estimate, se, estimate - half, estimate + half, float(2 * t.sf(abs(estimate / se), df)), df)

    def difference(self, first: int, second: int) -> Contrast:
        """Effect ``first`` minus effect ``second``: the interaction of the variant with what sets them apart."""
        weights = np.zeros(len(self.beta))
        weights[first] += 1
        weights[second] -= 1
        return self.contrast(weights)

    def mean(self) -> Contrast:
        """The mean of the effects that have an estimate."""
        known = np.isfinite(self.beta)
        if not known.any():
            return Contrast(nan, nan, nan, nan, nan, self.clusters - 1)
        return self.contrast(known / known.sum())


def joint_effects(
    base: ArrayLike, base_right: ArrayLike, variants: ArrayLike, variants_right: ArrayLike
) -> JointEffects:
    """The effects of counts (effects, templates) each: base answers, right ones among them, variant answers, right
    ones.

    Raises ValueError for other shapes.

    >>> base, right = [[1] * 6] * 2, [[1, 1, 1, 0, 1, 0], [1, 0, 1, 0, 0, 0]]
    >>> effects = joint_effects(base, right, [[9] * 6] * 2, [[5, 4, 6, 2, 3, 1], [5, 4, 6, 2, 3, 1]])
    >>> round(effects.difference(0, 1).estimate, 2)
    -1.56
    """
    n0, y0, n1, y1 = (
        np.atleast_2d(np.asarray(a, dtype=np.int64)) for a in (base, base_right, variants, variants_right)
    )
    if not n0.shape == y0.shape == n1.shape == y1.shape or n0.ndim != 2:
        raise ValueError(f"counts {n0.shape}, {y0.shape}, {n1.shape}, {y1.shape}: (effects, templates) each")
    rows = [_influence(*row) for row in zip(n0, y0, n1, y1, strict=True)]
    beta, influence = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    informs = (np.nan_to_num(influence) != 0).any(axis=0)
    clusters = int(informs.sum())
    factor = clusters / (clusters - 1) if clusters > 1 else nan
    return JointEffects(beta, np.asarray(influence @ influence.T * factor), clusters)


def _influence(n0: Integers, y0: Integers, n1: Integers, y1: Integers) -> tuple[float, Floats]:
    """The estimate, and how far each template pulls it: its score over the information of all."""
    beta = conditional_counts(n0, y0, n1, y1).beta
    if not np.isfinite(beta):
        return nan, np.full(len(n0), nan)
    mean, variance = _moments(n0, n1, y0 + y1, beta)
    return beta, -(y0 - mean) / variance.sum()  # a template with more right base answers pulls the effect down


def _moments(n0: Integers, n1: Integers, total: Integers, beta: float) -> tuple[Floats, Floats]:
    """Mean and variance (templates,) of the right base answers given the total, tilted by exp(-beta s)."""
    s = np.arange(int(n0.max(initial=0)) + 1)[:, None]
    inside = (s <= np.minimum(n0, total)) & (total - s <= n1)
    k = np.where(inside, s, np.minimum(n0, total))  # keeps the logarithms finite where nothing can be
    log_weight = _log_choose(n0, k) + _log_choose(n1, np.clip(total - k, 0, n1)) - beta * s
    log_weight = np.where(inside, log_weight, -np.inf)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight /= weight.sum(axis=0)
    mean = (s * weight).sum(axis=0)
    return mean, ((s - mean) ** 2 * weight).sum(axis=0)


def _log_choose(n: Integers, k: Integers) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
