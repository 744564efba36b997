"""McNemar's test of paired right and wrong answers, and the smallest difference it can see.

The mid-p is the default (Fagerland, Lydersen & Laake 2013, BMC Med Res Methodol 13:91): near its level where the exact
test is too cautious. The continuity correction is not offered. R: ``exact2x2::mcnemar.exact(x, midp = TRUE)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from variantbench.stats.cells import Floats


@dataclass(frozen=True, slots=True)
class McNemar:
    """``p`` is the mid-p; ``b`` pairs are right in the first answer only, ``c`` in the second only; ``difference`` is
    first minus second, as a share of all pairs.
    """

    p: float
    p_exact: float
    a: int
    b: int
    c: int
    d: int
    difference: float

    @property
    def pairs(self) -> int:
        """All pairs."""
        return self.a + self.b + self.c + self.d


def mcnemar(a: int, b: int, c: int, d: int) -> McNemar:
    """The test of counts: both right, first only, second only, both wrong. No discordant pair gives p = 1.

    Raises ValueError for a negative count or no pair at all. Deviation from statsmodels: its corrected asymptotic test
    gives p = 0 for b = c = 0 and 0.80 for b = c = 8; both are 1 here.

    >>> round(mcnemar(1, 1, 7, 12).p, 7)
    0.0390625
    """
    check_counts(a, b, c, d)
    pairs, fewer = b + c, min(b, c)
    exact = min(1.0, 2 * float(binom.cdf(fewer, pairs, 0.5)))
    mid = 1.0 if b == c else 2 * float(binom.cdf(fewer, pairs, 0.5)) - float(binom.pmf(fewer, pairs, 0.5))
    return McNemar(mid, exact, a, b, c, d, (b - c) / (a + b + c + d))


def mcnemar_pairs(first: ArrayLike, second: ArrayLike) -> McNemar:
    """The test of two lists of 0/1 answers to the same items, (pairs,) each.

    >>> mcnemar_pairs([1, 1, 0, 1], [1, 0, 0, 0]).b
    2
    """
    return mcnemar(*count_pairs(first, second))


def count_pairs(first: ArrayLike, second: ArrayLike) -> tuple[int, int, int, int]:
    """Both right, first only, second only, both wrong. Raises ValueError for unequal lengths or other answers."""
    x, y = binary(first, "first"), binary(second, "second")
    if x.shape != y.shape:
        raise ValueError(f"{len(x)} first and {len(y)} second answers: pairs have one of each")
    return int((x * y).sum()), int((x * (1 - y)).sum()), int(((1 - x) * y).sum()), int(((1 - x) * (1 - y)).sum())


def check_counts(a: int, b: int, c: int, d: int) -> None:
    """Raises ValueError for counts that are no table of pairs."""
    if min(a, b, c, d) < 0 or a + b + c + d == 0:
        raise ValueError(f"counts {a}, {b}, {c}, {d}: none below 0, and at least one pair")


def binary(values: ArrayLike, name: str) -> Floats:
    """The values as an array of 0 and 1."""
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~((array == 0) | (array == 1))]
    if array.ndim != 1 or len(wrong):
        raise ValueError(
            f"{name} {array.shape}{f' holds {wrong[0]:g}' if len(wrong) else ''}: a list of 0 (wrong) and 1 (right)"
        )
    return array
