"""Adjusted p values for a stated family of tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from variantbench.stats.cells import Floats


@dataclass(frozen=True, slots=True)
class Adjusted:
    """P values (tests,) and the same adjusted by ``method`` over ``family``, which says in words what is counted.

    A test without a p (nan) stays nan and is not counted; ``size`` is the number that is.
    """

    method: str
    family: str
    p: Floats
    adjusted: Floats

    @property
    def size(self) -> int:
        """Tests in the family."""
        return int(np.isfinite(self.p).sum())

    def significant(self, level: float = 0.05) -> int:
        """How many are below the level after adjustment."""
        return int((self.adjusted < level).sum())


def holm(p: ArrayLike, *, family: str) -> Adjusted:
    """Holm's step-down adjustment: controls any false claim in the family. R: ``p.adjust(p, "holm")``.

    Source: Holm 1979, Scand J Stat 6. Raises ValueError for a p outside 0 to 1.

    >>> holm([0.01, 0.04, 0.03], family="3 models").adjusted.tolist()
    [0.03, 0.06, 0.06]
    """
    values, known = _checked(p)
    ordered = np.argsort(values[known], kind="stable")
    raised = np.maximum.accumulate(values[known][ordered] * np.arange(known.sum(), 0, -1))
    return Adjusted("holm", family, values, _placed(values, known, ordered, np.minimum(1.0, raised)))


def benjamini_hochberg(p: ArrayLike, *, family: str) -> Adjusted:
    """Benjamini and Hochberg's q values: controls the expected share of false claims. R: ``p.adjust(p, "BH")``.

    >>> benjamini_hochberg([0.01, 0.04, 0.03], family="3 models").adjusted.tolist()
    [0.03, 0.04, 0.04]
    """
    values, known = _checked(p)
    adjusted = np.full(values.shape, np.nan)
    if known.any():
        adjusted[known] = false_discovery_control(values[known], method="bh")
    return Adjusted("bh", family, values, adjusted)


def westfall_young(statistics: ArrayLike, resampled: ArrayLike, *, family: str) -> Adjusted:
    """Step-down maxT adjustment: uses how the tests hang together, so it claims at least as much as Holm.

    ``statistics`` (tests,), large in absolute value against no effect; ``resampled`` (replicates, tests), their values
    under no effect, each row from one resampling shared by all tests, such as bootstrap estimates less the estimate,
    over its standard error. ``p`` is the unadjusted one of the same resampling. Source: Westfall & Young 1993,
    algorithm 2.8; Romano & Wolf 2005. R: ``multtest::mt.maxT``.
    """
    seen, null = np.abs(np.asarray(statistics, dtype=np.float64)), np.abs(np.asarray(resampled, dtype=np.float64))
    if seen.ndim != 1 or null.ndim != 2 or null.shape[1] != len(seen) or not len(null):
        raise ValueError(f"statistics {seen.shape}, resampled {null.shape}: (tests,) and (replicates, tests)")
    if not (np.isfinite(seen).all() and np.isfinite(null).all()):
        raise ValueError("statistics or resampled values are not finite: leave such tests out of the family")
    order = np.argsort(-seen, kind="stable")
    largest = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]  # over this test and all smaller ones
    replicates = len(null)
    raised = np.maximum.accumulate((1 + (largest >= seen[order]).sum(axis=0)) / (1 + replicates))
    adjusted = np.empty(len(seen))
    adjusted[order] = raised
    return Adjusted("westfall-young", family, (1 + (null >= seen).sum(axis=0)) / (1 + replicates), adjusted)


def _checked(p: ArrayLike) -> tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    values = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(values)
    if values.ndim != 1 or ((values[known] < 0) | (values[known] > 1)).any():
        raise ValueError(f"p {values}: a list of numbers between 0 and 1, nan where there is none")
    return values, known


def _placed(
    values: Floats,
    known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    ordered: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    adjusted: Floats,
) -> Floats:
    placed = np.full(values.shape, np.nan)
    placed[np.flatnonzero(known)[ordered]] = adjusted
    return placed
