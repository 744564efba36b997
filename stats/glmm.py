"""The mixed logistic model of the study: a right or wrong answer, fixed effects, a random intercept per group.

logit P(right) = beta_0 + x'beta + sigma u_group with u ~ N(0, 1). R: ``lme4::glmer(y ~ x + (1 | group), binomial)`` or
``glmmTMB::glmmTMB(y ~ x + (1 | group), family = binomial)`` for ``method="laplace"``. Deviations: the maximum is found
with analytic derivatives, so standard errors are right where lme4's are not (lme4 issue 998); ``method="exact"``, the
default, integrates the random intercept exactly; a p is given only where it means something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, norm

from variantbench.stats.cells import Cells, Floats, collapse
from variantbench.stats.glmm_likelihood import Contributions
from variantbench.stats.glmm_newton import LIKELIHOODS, Maximum, Problem, first_guess, maximise, problem
from variantbench.stats.glmm_profile import likelihood_ratio, profile_intervals
from variantbench.stats.glmm_status import (
    FEW_GROUPS,
    Remark,
    Status,
    hopeless,
    informative_groups,
    separation,
)
from variantbench.stats.table import Table, read_table

OWN = "variantbench"  # the backend that is ours

_SUSPECT = 0.05  # least eigenvalue of the information below which other starting points are tried too
_FLAT = 1e-3  # ... and below which separation is looked for
_SIGMA_ZERO = 1e-4
_OTHER_SIGMAS = (0.3, 1.0, 3.0, 8.0, 25.0)
_SEVERAL = 1e-6  # log-likelihood by which two maxima are two


@dataclass(frozen=True, slots=True)
class Effect:
    """One coefficient, on the log-odds scale. What cannot be given is nan; an infinite estimate or end is inf.

    ``se_cluster`` is the cluster-robust (CR1) standard error; ``low`` and ``high`` are the ends of the profile
    interval; ``lrt_p`` is the verdict. The intercept has no likelihood ratio test and no profile.
    """

    name: str
    beta: float
    se: float = nan
    se_cluster: float = nan
    lrt_chisq: float = nan
    lrt_p: float = nan
    low: float = nan
    high: float = nan

    @property
    def z(self) -> float:
        """Wald's statistic."""
        return self.beta / self.se

    @property
    def wald_p(self) -> float:
        """Wald's two-sided p."""
        return float(2 * norm.sf(abs(self.z)))

    @property
    def odds_ratio(self) -> float:
        """exp(beta)."""
        return (
            exp(min(self.beta, 700.0))
            if isfinite(self.beta)
            else (inf if self.beta > 0 else 0.0 if self.beta < 0 else nan)
        )


@dataclass(frozen=True, slots=True)
class GlmmFit:
    """A fitted model. ``loglik`` is that of the 0/1 rows; ``covariance`` (coefficients, sigma) is empty without SE.

    ``backend`` is what fitted it and ``messages`` what that said: both are of interest for lme4 only.
    """

    method: str
    effects: tuple[Effect, ...]
    sigma: float
    sigma_se: float
    loglik: float
    covariance: Floats
    remarks: tuple[Remark, ...]
    n_rows: int
    n_dropped: int
    n_groups: int
    n_informative: int
    max_gradient: float
    iterations: int
    backend: str = OWN
    messages: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Effect:
        for effect in self.effects:
            if effect.name == name:
                return effect
        raise KeyError(f"no effect {name!r}: this fit has {', '.join(effect.name for effect in self.effects)}")

    def has(self, status: Status) -> bool:
        """Whether a remark of this status was made."""
        return any(remark.status == status for remark in self.remarks)


def fit_glmm(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    method: str = "exact",
    tests: bool = True,
    missing: str = "raise",
) -> GlmmFit:
    """The fit of ``response`` (rows,) of 0 and 1 on ``covariates`` (rows, k) with a random intercept per ``group``
    (rows,).

    ``tests=False`` leaves out likelihood ratio tests and profile intervals; ``missing="drop"`` leaves out rows with a
    NaN covariate, as R does, and counts them. Raises ValueError for data that no model can be fitted to.

    >>> answers = [1, 1, 0, 1, 0, 0] * 10 + [0, 1, 0, 0, 1, 0] * 10
    >>> fit = fit_glmm(answers, [[0], [1], [1]] * 40, [row // 6 for row in range(120)], names=["is_variant"])
    >>> round(fit["is_variant"].beta, 3), round(fit["is_variant"].lrt_p, 3)
    (-0.511, 0.192)
    """
    if method not in LIKELIHOODS:
        raise ValueError(f"method {method!r}: one of {', '.join(LIKELIHOODS)}")
    return fit_table(read_table(response, covariates, group, names=names, missing=missing), method=method, tests=tests)


def fit_table(table: Table, *, method: str = "exact", tests: bool = True) -> GlmmFit:
    """`fit_glmm` of data that were read already."""
    cells = collapse(table.response, table.standardised, table.group)
    remarks = _remarks_of_data(cells)
    pointless = {remark.status for remark in remarks} & {Status.CONSTANT_RESPONSE, Status.RANK_DEFICIENT}
    if pointless or (method == "exact" and Remark(Status.SIGMA_INFINITE) in remarks):
        return _without_maximum(table, cells, method, remarks)
    task = problem(cells, method)
    best, several = _maximum(task)
    found, direction = _infinite(cells, best)
    return _result(table, task, best, remarks, found, direction, tests=tests, several=several)


def _remarks_of_data(cells: Cells) -> list[Remark]:
    status = hopeless(cells)
    if status is None and informative_groups(cells) < FEW_GROUPS:
        status = Status.FEW_INFORMATIVE_GROUPS
    return [] if status is None else [Remark(status)]


def _maximum(task: Problem) -> tuple[Maximum, bool]:
    """The maximum, from several starting points where the first one looks doubtful, and whether there are several
    maxima.

    The other starting points are sifted with Laplace's approximation, whose maxima are where the likelihood's are or
    more.
    """
    theta, start = first_guess(task.cells)
    first = maximise(task, theta, start=start)
    least = np.linalg.eigvalsh(-first.hessian[0])[0]
    if first.converged[0] and least > _SUSPECT and first.theta[-1, 0] > _SIGMA_ZERO:
        return first, False
    others = np.repeat(theta, len(_OTHER_SIGMAS), axis=1)
    others[-1] = _OTHER_SIGMAS
    more = maximise(problem(task.cells), others)
    if task.method == "laplace":
        several = float(np.ptp(np.append(more.loglik[more.converged], first.loglik[0]))) > _SEVERAL
        best = _lane(more, int(np.argmax(more.loglik)))
        return (best if best.loglik[0] > first.loglik[0] + _SEVERAL else first), several
    best = _lane(more, int(np.argmax(more.loglik)))
    if np.abs(best.theta[-1, 0] - first.theta[-1, 0]) < 0.5 * (1 + first.theta[-1, 0]):
        return first, False
    again = maximise(task, best.theta, start=best.mode)
    several = abs(float(again.loglik[0] - first.loglik[0])) > _SEVERAL
    return (again if again.loglik[0] > first.loglik[0] + _SEVERAL else first), several


def _lane(found: Maximum, lane: int) -> Maximum:
    at = slice(lane, lane + 1)
    return Maximum(
        found.theta[:, at],
        found.loglik[at],
        found.gradient[at],
        found.hessian[at],
        found.mode[:, at],
        found.converged[at],
        found.iterations,
        found.step[:, at],
    )


def _infinite(cells: Cells, best: Maximum) -> tuple[Status | None, Floats]:
    """The kind of separation, and the sign of each infinite coefficient (0 for a finite one), intercept first."""
    none = np.zeros(cells.x.shape[1])
    if best.converged[0] and np.linalg.eigvalsh(-best.hessian[0])[0] > _FLAT:
        return None, none
    found = separation(cells)
    if found is None:
        return None, none
    status, direction = found
    return status, np.where(np.abs(direction) > 1e-6, np.sign(direction), 0.0)


def _result(
    table: Table,
    task: Problem,
    best: Maximum,
    remarks: list[Remark],
    separated: Status | None,
    direction: Floats,
    *,
    tests: bool,
    several: bool,
) -> GlmmFit:
    columns = task.cells.x.shape[1]
    back = table.back
    information = -best.hessian[0]
    regular = separated is None and bool(best.converged[0]) and float(np.linalg.eigvalsh(information)[0]) > 1e-9
    covariance = back @ np.linalg.inv(information) @ back.T if regular else np.empty((0, 0))
    beta = (back @ best.theta[:, 0])[:columns]
    cluster = _cluster_covariance(task, best, back) if regular else covariance
    beta[direction != 0] = direction[direction != 0] * inf
    beta[0] = nan if direction.any() else beta[0]
    remarks = list(remarks)
    if separated:
        remarks += [Remark(separated, name) for name, d in zip(table.names, direction[1:], strict=True) if d]
    elif not regular:
        remarks.append(Remark(Status.NOT_CONVERGED))
    sigma = float(best.theta[-1, 0])
    if sigma < _SIGMA_ZERO:
        remarks.append(Remark(Status.SIGMA_ZERO))
    ratio, ends = np.full(columns - 1, nan), np.full((columns - 1, 2), nan)
    if tests and (regular or separated):
        ratio = likelihood_ratio(task, best, robust=several)
        ends = profile_intervals(task, best, direction[1:], robust=several) / table.scale[:, None]
    effects = _effects(table.names, beta, covariance, cluster, ratio, ends)
    return GlmmFit(
        method=task.method,
        effects=effects,
        sigma=sigma,
        sigma_se=float(np.sqrt(covariance[-1, -1])) if regular else nan,
        loglik=float(best.loglik[0]),
        covariance=covariance,
        remarks=tuple(remarks),
        n_rows=len(table.response),
        n_dropped=table.n_dropped,
        n_groups=len(task.cells.pattern_of_group),
        n_informative=informative_groups(task.cells),
        max_gradient=float(np.abs(best.gradient).max()),
        iterations=best.iterations,
    )


def _effects(
    names: tuple[str, ...], beta: Floats, covariance: Floats, cluster: Floats, ratio: Floats, ends: Floats
) -> tuple[Effect, ...]:
    """Coefficients with their standard errors (none without a covariance), tests and intervals; the intercept first."""
    none = np.full(len(beta), nan)
    se, robust = (np.sqrt(np.diag(v))[: len(beta)] if len(v) else none for v in (covariance, cluster))
    found = [Effect("(Intercept)", float(beta[0]), float(se[0]), float(robust[0]))]
    for j, name in enumerate(names, start=1):
        chisq = float(ratio[j - 1])
        low, high = (float(end) for end in ends[j - 1])
        p = float(chi2.sf(chisq, 1))
        found.append(Effect(name, float(beta[j]), float(se[j]), float(robust[j]), chisq, p, low, high))
    return tuple(found)


def _cluster_covariance(task: Problem, best: Maximum, back: Floats) -> Floats:
    """The sandwich over groups with the factor G / (G - 1) (CR1). R: ``clubSandwich`` has it for linear models."""
    part: Contributions = LIKELIHOODS[task.method](task.cells, task.successes, best.theta, best.mode)
    scores = part.gradient[:, :, 0]
    weights = task.weights[:, 0]
    groups = weights.sum()
    meat = (scores * weights) @ scores.T * groups / (groups - 1)
    half = back @ np.linalg.inv(best.hessian[0])
    return np.asarray(half @ meat @ half.T)


def _without_maximum(table: Table, cells: Cells, method: str, remarks: list[Remark]) -> GlmmFit:
    """The result where nothing can be estimated: no number that could be mistaken for one."""
    infinite = Remark(Status.SIGMA_INFINITE) in remarks
    constant = Remark(Status.CONSTANT_RESPONSE) in remarks
    full = (-inf, inf) if infinite or constant else (nan, nan)
    nothing = [Effect(name, nan, low=full[0], high=full[1]) for name in table.names]
    return GlmmFit(
        method=method,
        effects=(Effect("(Intercept)", nan), *nothing),
        sigma=inf if infinite else nan,
        sigma_se=nan,
        loglik=0.0 if constant else _all_or_nothing(cells) if infinite else nan,
        covariance=np.empty((0, 0)),
        remarks=tuple(remarks),
        n_rows=len(table.response),
        n_dropped=table.n_dropped,
        n_groups=len(cells.pattern_of_group),
        n_informative=0 if infinite or constant else informative_groups(cells),
        max_gradient=nan,
        iterations=0,
    )


def _all_or_nothing(cells: Cells) -> float:
    """The least upper bound of the likelihood as sigma grows, where all groups share one design: that of G coins."""
    means: NDArray[np.float64] = (cells.column_matrix @ cells.trials).reshape(
        -1, cells.n_patterns
    ) / cells.pattern_trials
    if float(np.ptp(means, axis=1).max()) > 1e-9:
        return nan
    right = float(cells.multiplicity[cells.pattern_successes > 0].sum())
    wrong = float(cells.multiplicity.sum()) - right
    return right * log(right / (right + wrong)) + wrong * log(wrong / (right + wrong))
