"""The mixed model with a weak normal prior on its effects: finite where the likelihood alone runs to infinity.

This is a Bayesian posterior mode (MAP) and no test: it has no p. The intercept has a wider prior of its own, sigma has
none. Source: Gelman et al. 2008, Ann Appl Stat 2 (scales 2.5 and 10), in the normal form. R: ``blme::bglmer(y ~ x +
(1 | group), binomial, fixef.prior = normal(sd = c(10, 2.5)), cov.prior = NULL)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import ArrayLike

from variantbench.stats.cells import collapse
from variantbench.stats.glmm_newton import LIKELIHOODS, Problem, first_guess, maximise
from variantbench.stats.table import Table, read_table

PRIOR_SD, INTERCEPT_SD = 2.5, 10.0
_SIGMAS = (0.3, 3.0, 12.0)


@dataclass(frozen=True, slots=True)
class MapEffect:
    """One effect's posterior mode and the standard deviation of the normal that fits its top, on the log-odds scale."""

    name: str
    beta: float
    sd: float


@dataclass(frozen=True, slots=True)
class MapFit:
    """The posterior mode under normal priors of ``prior_sd``; ``log_posterior`` is up to a constant."""

    method: str
    prior_sd: float
    effects: tuple[MapEffect, ...]
    sigma: float
    log_posterior: float
    converged: bool

    def __getitem__(self, name: str) -> MapEffect:
        for effect in self.effects:
            if effect.name == name:
                return effect
        raise KeyError(f"no effect {name!r}: there are {', '.join(effect.name for effect in self.effects)}")


def fit_map(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    prior_sd: float = PRIOR_SD,
    method: str = "exact",
    missing: str = "raise",
) -> MapFit:
    """The mode: arguments as in `fit_glmm`, ``prior_sd`` on the log-odds scale for one unit of a covariate.

    >>> answers = [1, 1, 1, 1, 1, 0, 1, 0, 0] * 8  # every base answer is right
    >>> fit = fit_map(answers, [[0], [1], [1]] * 24, [row // 3 for row in range(72)], names=["is_variant"])
    >>> round(fit["is_variant"].beta, 2)
    -4.07
    """
    table = read_table(response, covariates, group, names=names, missing=missing)
    return fit_map_table(table, prior_sd=prior_sd, method=method)


def fit_map_table(table: Table, *, prior_sd: float = PRIOR_SD, method: str = "exact") -> MapFit:
    """`fit_map` of data that were read already. Raises ValueError for a prior that is none."""
    if not (isfinite(prior_sd) and prior_sd > 0):
        raise ValueError(f"prior_sd {prior_sd}: a standard deviation above 0, such as {PRIOR_SD}")
    cells = collapse(table.response, table.standardised, table.group)
    columns = cells.x.shape[1]
    if method not in LIKELIHOODS:
        raise ValueError(f"method {method!r}: one of {', '.join(LIKELIHOODS)}")
    given = np.array([1 / INTERCEPT_SD**2, *[1 / prior_sd**2] * (columns - 1), 0.0])  # on the covariates' own scale
    precision = table.back.T @ np.diag(given) @ table.back
    task = Problem(cells, method, cells.successes[:, None], cells.multiplicity[:, None], precision=precision)
    theta, mode = first_guess(cells)
    starts = np.repeat(theta, 1 + len(_SIGMAS), axis=1)
    starts[-1, 1:] = _SIGMAS
    found = maximise(task, starts, start=np.repeat(mode, starts.shape[1], axis=1))
    best = int(np.argmax(found.loglik))
    information = table.back @ np.linalg.pinv(-found.hessian[best]) @ table.back.T
    beta, spread = table.back @ found.theta[:, best], np.diag(information)
    regular = bool(found.converged[best]) and bool((np.linalg.eigvalsh(-found.hessian[best]) > 1e-9).all())
    sd = np.sqrt(spread) if regular else np.full(columns + 1, nan)
    effects = [MapEffect(name, float(beta[j]), float(sd[j])) for j, name in enumerate(table.names, start=1)]
    return MapFit(method, prior_sd, tuple(effects), float(found.theta[-1, best]), float(found.loglik[best]), regular)
