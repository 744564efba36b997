"""Whether the numbers in variants are distributed as in the base questions: Kolmogorov and Smirnov, and a fair p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ks_2samp

from variantbench.stats.cells import Floats, codes


@dataclass(frozen=True, slots=True)
class KolmogorovSmirnov:
    """``distance`` between the two distribution functions. ``p`` takes every number for independent and continuous;
    ``p_permutation``, nan where it was not asked for, takes only questions of a template for exchangeable.
    """

    distance: float
    p: float
    p_permutation: float = float("nan")


def ks(base: ArrayLike, variants: ArrayLike) -> KolmogorovSmirnov:
    """The two-sample test of numbers (any count each). Raises ValueError for an empty sample.

    R: ``ks.test(base, variants)``: equal distance; R's asymptotic p differs in the second digit.
    """
    x, y = np.asarray(base, dtype=np.float64), np.asarray(variants, dtype=np.float64)
    if not len(x) or not len(y):
        raise ValueError(f"{len(x)} base and {len(y)} variant numbers: at least one of each")
    found = ks_2samp(x, y)
    return KolmogorovSmirnov(float(found.statistic), float(found.pvalue))


def ks_templates(
    number: ArrayLike,
    question: ArrayLike,
    template: ArrayLike,
    is_variant: ArrayLike,
    *,
    seed: int,
    permutations: int = 999,
) -> KolmogorovSmirnov:
    """The test with a permutation p: in each template any of its questions might have been the base one.

    ``number``, its ``question``, that question's ``template`` and whether it ``is_variant``: (numbers,) each. Numbers
    of a question stay together. p = (1 + distances at least as large) / (1 + permutations).
    """
    values, variant = np.asarray(number, dtype=np.float64), np.asarray(is_variant, dtype=bool)
    which, questions = codes(np.asarray(question))
    first = np.zeros(questions, dtype=np.int64)
    first[which] = np.arange(len(which))
    of_template, base = codes(np.asarray(template))[0][first], ~variant[first]
    if not ((variant == ~base[which]).all()):
        raise ValueError("a question holds base and variant numbers: it is one or the other")
    found = ks(values[~variant], values[variant])
    level, levels = codes(values)

    def counts(of: NDArray[np.bool_]) -> Floats:
        return np.bincount(level[of[which]], minlength=levels).astype(np.float64)

    total = counts(np.ones(questions, dtype=bool))
    rng = np.random.default_rng(seed)
    seen = _distance(counts(base), total)
    starts = np.searchsorted(np.sort(of_template), np.arange(of_template.max() + 1))
    take = np.bincount(of_template, weights=base).astype(np.int64)
    at_least = 0
    for _ in range(permutations):
        shuffled = np.argsort(of_template + rng.random(questions))  # each template's questions, in random order
        rank = np.arange(questions) - starts[of_template[shuffled]]
        chosen = np.zeros(questions, dtype=bool)
        chosen[shuffled[rank < take[of_template[shuffled]]]] = True
        at_least += _distance(counts(chosen), total) >= seen - 1e-12
    return KolmogorovSmirnov(found.distance, found.p, (1 + at_least) / (1 + permutations))


def _distance(base: Floats, total: Floats) -> float:
    rest = total - base
    return float(np.abs(np.cumsum(base) / max(base.sum(), 1) - np.cumsum(rest) / max(rest.sum(), 1)).max())
