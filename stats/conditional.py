"""The exact conditional test of a variant effect: no random-effect distribution, no optimiser, no degenerate case.

Given a group's number of right answers, and no effect, every subset of its answers is equally likely to be the right
ones. So the right base answers of a group are hypergeometric and their sum S over groups has a known distribution; an
effect of beta tilts it by exp(-beta s). R: ``mantelhaen.test(exact = TRUE)`` (its interval is not the mid-p one, its p
sums the less likely outcomes; here p is twice the smaller tail), ``survival::clogit`` for the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from statsmodels.discrete.conditional_models import ConditionalLogit

from variantbench.stats.cells import Floats, Integers, codes
from variantbench.stats.table import Table, read_table

_FAR = 700.0
_LEAST = 1e-320  # probabilities below the smallest float
_COLLINEAR = 1e-9  # the least eigenvalue of a correlation matrix that is not taken for 0
_STEP_TO_INFINITY = 0.1  # in log odds: where the search stopped short of a maximum, Newton's next step is about 1


@dataclass(frozen=True, slots=True)
class ConditionalTest:
    """The conditional estimate ``beta`` (log odds ratio, variant against base), its mid-p interval and two p values.

    ``informative`` is the number of base answers in groups that hold right and wrong answers; where it is 0 there is no
    estimate, the interval is the whole line and p is 1. ``base_right`` is S, ``expected`` its mean under no effect.
    """

    beta: float
    se: float
    low: float
    high: float
    p_exact: float
    p_mid: float
    base_right: int
    expected: float
    informative: int


@dataclass(frozen=True, slots=True)
class ConditionalEffect:
    """One coefficient of the conditional logistic model; infinite, with ``se`` nan, where the groups separate it."""

    name: str
    beta: float
    se: float


def conditional_test(
    response: ArrayLike, is_variant: ArrayLike, group: ArrayLike, *, confidence: float = 0.95
) -> ConditionalTest:
    """The test of rows: ``response`` (rows,) 0/1, ``is_variant`` (rows,) 0 for base and 1 for variant, ``group``
    (rows,).

    >>> test = conditional_test([1, 0, 0, 1, 1, 0, 0, 0, 1], [0, 1, 1] * 3, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> round(test.p_mid, 4), test.base_right, test.informative
    (0.4815, 2, 3)
    """
    table = read_table(response, is_variant, group, names=["is_variant"])
    variant = table.covariates[:, 0]
    if not ((variant == 0) | (variant == 1)).all():
        raise ValueError("is_variant is not only 0 (base) and 1 (variant): use conditional_logit for covariates")
    code, groups = codes(table.group)
    counts = np.bincount(code * 4 + (variant * 2 + table.response).astype(np.int64), minlength=4 * groups).reshape(
        -1, 4
    )
    return conditional_counts(
        counts[:, 0] + counts[:, 1], counts[:, 1], counts[:, 2] + counts[:, 3], counts[:, 3], confidence=confidence
    )


def conditional_counts(
    base: ArrayLike, base_right: ArrayLike, variants: ArrayLike, variants_right: ArrayLike, *, confidence: float = 0.95
) -> ConditionalTest:
    """The test of counts by group, each (groups,): base answers, right ones among them, variant answers, right ones."""
    n0, y0, n1, y1 = (np.asarray(a, dtype=np.int64) for a in (base, base_right, variants, variants_right))
    total = y0 + y1
    seen = int(y0.sum())
    useful = (np.maximum(0, total - n1) < np.minimum(n0, total)) & (total > 0)
    if not useful.any():
        return ConditionalTest(nan, nan, -inf, inf, 1.0, 1.0, seen, float(seen), 0)
    n0, n1, total = n0[useful], n1[useful], total[useful]
    s = seen - int(y0[~useful].sum())
    least, most = int(np.maximum(0, total - n1).sum()), int(np.minimum(n0, total).sum())
    kinds = _kinds(n0, n1, total)
    beta = _estimate(kinds, s, least, most)
    centre = beta if abs(beta) < inf else 0.0
    support = np.arange(least, most + 1)
    weight = np.log(kinds.sum_law(centre)) + centre * support
    law = _Law(support, weight - logsumexp(weight), s)
    tail = (1 - confidence) / 2
    return ConditionalTest(
        beta=beta,
        se=law.deviation(beta) ** -1 if abs(beta) < inf else nan,
        low=-inf if beta == -inf else _solve(lambda b: law.below(b, 0.5) - tail),
        high=inf if beta == inf else _solve(lambda b: tail - law.above(b, 0.5)),
        p_exact=min(1.0, 2 * min(law.below(0.0, 1.0), law.above(0.0, 1.0))),
        p_mid=min(1.0, 2 * min(law.below(0.0, 0.5), law.above(0.0, 0.5))),
        base_right=seen,
        expected=law.mean(0.0) + seen - s,
        informative=int(n0.sum()),
    )


def conditional_logit(
    response: ArrayLike, covariates: ArrayLike, group: ArrayLike, *, names: Sequence[str] | None = None
) -> tuple[ConditionalEffect, ...]:
    """The purely within-group effects of ``covariates`` (rows, k): statsmodels' ConditionalLogit with a tight stop.

    One along which no answer of any group becomes less likely is infinite. Raises ValueError where no group holds right
    and wrong answers, or the covariates do not vary within groups or vary there in step.
    R: ``survival::clogit(y ~ x + strata(group))``.
    """
    table = read_table(response, covariates, group, names=names)
    code, groups = codes(table.group)
    right, trials = np.bincount(code, weights=table.response, minlength=groups), np.bincount(code, minlength=groups)
    keep = ((right > 0) & (right < trials))[code]
    if not keep.any():
        raise ValueError("no group holds both right and wrong answers: nothing can be compared within groups")
    within = _within_deviation(table, code, groups)[keep]
    scale = within.std(axis=0)
    if (scale < 1e-9 * np.maximum(1.0, np.abs(table.covariates).max(axis=0))).any():
        name = table.names[int(np.argmin(scale))]
        raise ValueError(f"{name} does not vary within groups: the conditional model has no estimate for it")
    unit = within / scale
    if np.linalg.eigvalsh(unit.T @ unit / len(unit))[0] < _COLLINEAR:
        raise ValueError(f"{', '.join(table.names)} are collinear within groups: the conditional model has no estimate")
    model = ConditionalLogit(table.response[keep], table.covariates[keep] / scale, groups=code[keep])
    found = model.fit(method="bfgs", gtol=1e-8, maxiter=500, disp=False, skip_hessian=False)
    step = found.cov_params() @ model.score(found.params) * np.abs(unit).max(axis=0)
    finite = np.abs(step) < _STEP_TO_INFINITY
    beta = np.where(finite, found.params / scale, np.copysign(inf, found.params))
    se = np.where(finite, found.bse / scale, nan)
    return tuple(ConditionalEffect(*one) for one in zip(table.names, beta.tolist(), se.tolist(), strict=True))


def _within_deviation(table: Table, code: Integers, groups: int) -> Floats:
    trials = np.bincount(code, minlength=groups)
    means = np.column_stack([np.bincount(code, weights=x, minlength=groups) / trials for x in table.covariates.T])
    return np.asarray(table.covariates - means[code])


@dataclass(frozen=True, slots=True)
class _Law:
    """The law of S under no effect, as logarithms, and the value seen."""

    support: Integers
    log: Floats
    seen: int

    def at(self, beta: float) -> Floats:
        tilted = self.log - beta * (self.support - self.seen)
        return np.asarray(np.exp(tilted - logsumexp(tilted)))

    def below(self, beta: float, share: float) -> float:
        """P(S < seen) + share P(S = seen)."""
        p = self.at(beta)
        return float(p[self.support < self.seen].sum() + share * p[self.support == self.seen].sum())

    def above(self, beta: float, share: float) -> float:
        """P(S > seen) + share P(S = seen)."""
        p = self.at(beta)
        return float(p[self.support > self.seen].sum() + share * p[self.support == self.seen].sum())

    def mean(self, beta: float) -> float:
        return float(self.at(beta) @ self.support)

    def deviation(self, beta: float) -> float:
        p = self.at(beta)
        return float(np.sqrt(p @ (self.support - p @ self.support) ** 2))


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Distinct kinds of groups: the possible numbers of right base answers ``s`` (kinds, width), the logarithms of
    their weights under no effect (-inf where impossible), and how many groups are of each kind.
    """

    s: Integers
    log: Floats
    times: Integers

    def laws(self, beta: float) -> Floats:
        """Probabilities (kinds, width)."""
        tilted = self.log - beta * self.s
        return np.asarray(np.exp(tilted - logsumexp(tilted, axis=1, keepdims=True)))

    def sum_law(self, beta: float) -> Floats:
        """The law of S less its least value: convolved directly, so that small probabilities keep their digits."""
        laws = self.laws(beta)
        possible = np.isfinite(self.log)
        parts = [law[at] for law, at, k in zip(laws, possible, self.times, strict=True) for _ in range(k)]
        while len(parts) > 1:
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [np.convolve(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
        return np.asarray(np.maximum(parts[0], _LEAST))


def _kinds(n0: Integers, n1: Integers, total: Integers) -> _Kinds:
    kinds, times = np.unique(np.column_stack([n0, n1, total]), axis=0, return_counts=True)
    base, variants, right = (column[:, None] for column in kinds.T)
    first, last = np.maximum(0, right - variants), np.minimum(base, right)
    s = first + np.arange(int((last - first).max()) + 1)
    with np.errstate(invalid="ignore"):
        log = -gammaln(s + 1) - gammaln(base - s + 1) - gammaln(right - s + 1) - gammaln(variants - right + s + 1)
    return _Kinds(s, np.where(s <= last, log, -np.inf), times)


def _estimate(kinds: _Kinds, seen: int, least: int, most: int) -> float:
    """The conditional maximum likelihood estimate: the tilt under which S has the mean that was seen."""
    if seen == least:
        return inf
    if seen == most:
        return -inf
    return _solve(lambda beta: seen - float(kinds.times @ (kinds.laws(beta) * kinds.s).sum(axis=1)))


def _solve(rising: Callable[[float], float]) -> float:
    """The root of a rising function of the effect, from a bracket that is widened until it holds it."""
    reach = 2.0
    while reach < _FAR and not (rising(-reach) <= 0 <= rising(reach)):
        reach *= 2
    return float(brentq(rising, -reach, reach, xtol=1e-12, rtol=1e-12))
