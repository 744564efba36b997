"""Columns made of columns: the within/between split of a covariate, and interactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from variantbench.stats.cells import Floats, codes


@dataclass(frozen=True, slots=True)
class WithinBetween:
    """``within`` (rows,) is the covariate less its group's mean, ``between`` (rows,) that mean."""

    within: Floats
    between: Floats


def within_between(covariate: ArrayLike, group: ArrayLike) -> WithinBetween:
    """Mundlak's split, so that a covariate's effect within templates is not mixed with what makes templates hard.

    NaN rows stay NaN and do not count in their group's mean. Source: Mundlak 1978, Econometrica 46. R:
    ``x - ave(x, group)`` and ``ave(x, group)``.

    >>> within_between([1.0, 3.0, 5.0], ["a", "a", "b"]).within.tolist()
    [-1.0, 1.0, 0.0]
    """
    x, labels = np.asarray(covariate, dtype=np.float64), np.asarray(group)
    if x.ndim != 1 or x.shape != labels.shape:
        raise ValueError(f"covariate {x.shape}, group {labels.shape}: (rows,) each")
    code, groups = codes(labels)
    known = ~np.isnan(x)
    count = np.bincount(code[known], minlength=groups)
    mean = np.bincount(code[known], weights=x[known], minlength=groups) / np.maximum(count, 1)
    between = np.where(known, mean[code], np.nan)
    return WithinBetween(x - between, between)


def interaction(first: ArrayLike, second: ArrayLike) -> Floats:
    """The product (rows,) of two columns: with both beside it, whether one's effect depends on the other.

    R: ``first:second``.

    >>> interaction([0, 1, 1], [1, 0, 1]).tolist()
    [0.0, 0.0, 1.0]
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"first {x.shape}, second {y.shape}: (rows,) each")
    return np.asarray(x * y)
