"""Cochran's Q: whether the same items are answered equally well under several conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2


@dataclass(frozen=True, slots=True)
class CochranQ:
    """``q`` is chi-squared on ``df`` = conditions - 1; ``informative`` items are answered differently by condition."""

    q: float
    df: int
    p: float
    informative: int


def cochran_q(answers: ArrayLike) -> CochranQ:
    """The test of ``answers`` (items, conditions) of 0 and 1.

    Where every item is answered alike everywhere there is no evidence: q = 0, p = 1 (statsmodels' ``cochrans_q`` gives
    NaN). Source: Cochran 1950, Biometrika 37. R: ``DescTools::CochranQTest``. Raises ValueError for other values or one
    condition.

    >>> cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]]).q
    2.666...
    """
    table = np.asarray(answers, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        raise ValueError(f"answers {table.shape}: (items, conditions) of at least two conditions")
    if not ((table == 0) | (table == 1)).all():
        raise ValueError("answers other than 0 (wrong) and 1 (right)")
    conditions = table.shape[1]
    by_condition, by_item = table.sum(axis=0), table.sum(axis=1)
    spread = float((by_item * (conditions - by_item)).sum())
    q = 0.0
    if spread > 0:
        q = conditions * (conditions - 1) * float(((by_condition - by_condition.mean()) ** 2).sum()) / spread
    informative = int(((by_item > 0) & (by_item < conditions)).sum())
    return CochranQ(q, conditions - 1, float(chi2.sf(q, conditions - 1)), informative)
