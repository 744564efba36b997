"""Intervals for a share of right answers: independent answers, answers in clusters, and repeated questions."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, norm, t

_ALIKE = 1e-12  # a standard error below is the rounding of clusters that do not differ


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its confidence interval; all three between 0 and 1."""

    estimate: float
    low: float
    high: float


def wilson(successes: float, trials: float, *, confidence: float = 0.95) -> Proportion:
    """The share of successes with Wilson's score interval.

    Raises ValueError unless 0 <= successes <= trials and trials > 0. Source: Wilson 1927, JASA 22. R:
    ``prop.test(successes, trials, correct = FALSE)$conf.int``.

    >>> wilson(8, 10)
    Proportion(estimate=0.8, low=0.49016..., high=0.94331...)
    """
    _check(successes, trials)
    z = float(norm.ppf(0.5 + confidence / 2))
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Proportion(share, low, high)


def clopper_pearson(successes: int, trials: int, *, confidence: float = 0.95) -> Proportion:
    """The share of successes with the exact interval. R: ``binom.test(successes, trials)$conf.int``.

    >>> clopper_pearson(0, 10).high
    0.30849...
    """
    _check(successes, trials)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return Proportion(successes / trials, low, high)


def clustered(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Proportion:
    """The share of all successes, for new clusters like these: ``successes`` and ``trials`` (clusters,).

    Linearised ratio variance with t on clusters - 1 degrees of freedom (Miller 2024, arXiv 2411.00640; Cochran 1977,
    11.8). Where no cluster differs from another, the interval is Wilson's with a trial a cluster: what so many can say
    at the most. Raises ValueError with fewer than two clusters. R: ``survey::svyciprop(~y, svydesign(~cluster), method
    = "mean")``.

    >>> clustered([5, 0, 5, 0], [5, 5, 5, 5])
    Proportion(estimate=0.5, low=0.0, high=1.0)
    >>> clustered([5, 5, 5, 5], [5, 5, 5, 5]).low
    0.51010...
    """
    y, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if y.shape != n.shape or y.ndim != 1 or len(y) < 2:
        raise ValueError(f"successes {y.shape}, trials {n.shape}: (clusters,) each, of at least two clusters")
    _check(float(y.sum()), float(n.sum()))
    clusters, share = len(y), float(y.sum() / n.sum())
    error = sqrt(clusters / (clusters - 1) * float(((y - share * n) ** 2).sum())) / float(n.sum())
    if error < _ALIKE:
        return wilson(share * clusters, clusters, confidence=confidence)
    half = float(t.ppf(0.5 + confidence / 2, clusters - 1)) * error
    return Proportion(share, max(0.0, share - half), min(1.0, share + half))


def by_questions(successes: int, answers: int, questions: int, *, confidence: float = 0.95) -> Proportion:
    """The share of successes where ``questions`` were each asked several times: Wilson's interval with that many
    trials.

    Repeated answers to a question count once, so the interval is right when they all agree and cautious otherwise. With
    answers by question at hand, `clustered` uses how far they do agree.

    >>> by_questions(648, 1296, 108)
    Proportion(estimate=0.5, low=0.4073..., high=0.5926...)
    """
    if not 0 < questions <= answers:
        raise ValueError(f"{questions} questions for {answers} answers: at least one, and no more than answers")
    _check(successes, answers)
    return wilson(successes / answers * questions, questions, confidence=confidence)


def _check(successes: float, trials: float) -> None:
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} successes of {trials} trials: between 0 and the trials, of at least one")
