"""Right and wrong answers drawn so that accuracies, the templates' spread and the variant effect are as wanted."""

from __future__ import annotations

from math import isfinite, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from variantbench.plugins.published import VariantRow
from variantbench.stats.conditional import conditional_counts

# The study's 57 clean fits have template variances of 5.0 to 25.7, 11.1 in the mean.
USUAL_SIGMA = 11.1**0.5
_SIGMAS = (0.3, 12.0)
_TELLING = 0.15  # a smaller effect says nothing of sigma: both accuracies are rounded
_SHARED = 0.75  # correlation of the templates' difficulty between models and formats
_TRIES = 12


def sigma_of(row: VariantRow, u: NDArray[np.float64]) -> float:
    """The templates' standard deviation with which the row's effect makes its accuracies; else a usual one.

    ``u`` (templates,) are the templates' standardised difficulties. The more they differ, the less an effect on the
    log-odds moves the accuracy.
    """
    if abs(row.log_odds_ratio) < _TELLING or not 0 < row.base < 1 or not 0 < row.variants < 1:
        return USUAL_SIGMA

    def excess(sigma: float) -> float:
        level = _level(row.variants, sigma, u)
        return float(expit(level - row.log_odds_ratio + sigma * u).mean()) - row.base

    low, high = (excess(sigma) for sigma in _SIGMAS)
    return float(brentq(excess, *_SIGMAS)) if low * high < 0 else USUAL_SIGMA


def draw(
    row: VariantRow, *, templates: int, per_template: int, difficulty: NDArray[np.float64], seed: int
) -> NDArray[np.bool_]:
    """Answers (templates, 1 + per_template), the base one first, True where right.

    Both accuracies are met to the answer; of a dozen draws the one whose conditional estimate is nearest to the row's
    effect is taken. ``difficulty`` (templates,) is what models share.
    """
    best, nearest = None, float("inf")
    for attempt in range(_TRIES):
        rng = np.random.default_rng([seed, attempt])
        own = _SHARED * difficulty + (1 - _SHARED**2) ** 0.5 * rng.standard_normal(templates)
        u = norm.ppf((np.argsort(np.argsort(own)) + 0.5) / templates)
        right = _once(row, u, per_template, rng)
        distance = abs(_estimate(right) - row.log_odds_ratio)
        if best is None or distance < nearest:
            best, nearest = right, distance
    assert best is not None  # noqa: S101 - there is a first attempt
    return best


def _once(row: VariantRow, u: NDArray[np.float64], per_template: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    sigma = sigma_of(row, u)
    latent = sigma * u[:, None] + rng.logistic(size=(len(u), 1 + per_template))
    right = np.zeros(latent.shape, dtype=bool)
    for part, share in ((right[:, :1], row.base), (right[:, 1:], row.variants)):
        values = latent[:, : part.shape[1]] if part.shape[1] == 1 else latent[:, 1:]
        count = round(share * values.size)
        threshold = np.sort(values, axis=None)[::-1][count - 1] if count else np.inf
        part[:] = values >= threshold
    return right


def _estimate(right: NDArray[np.bool_]) -> float:
    templates, answers = right.shape
    ones = np.ones(templates, dtype=np.int64)
    found = conditional_counts(ones, right[:, 0], ones * (answers - 1), right[:, 1:].sum(axis=1)).beta
    return found if isfinite(found) else float("inf")


def _level(share: float, sigma: float, u: NDArray[np.float64]) -> float:
    """The intercept with which the templates' mean chance is ``share``."""
    reach = abs(log(share / (1 - share))) + 4 * sigma + 5
    return float(brentq(lambda level: float(expit(level + sigma * u).mean()) - share, -reach, reach))
