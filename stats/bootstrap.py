"""Bootstraps of the mixed logistic model, all replicates in one batched Newton.

A cluster bootstrap draws groups with replacement: here only their multiplicities change, no table is rebuilt. A
parametric bootstrap draws new answers from the fitted model. No replicate is dropped: one whose estimate is infinite
counts as such. R: ``lme4::bootMer`` for the parametric one; for clusters a loop over ``glmer``, 500 to 1,000 times
slower.

The percentile interval is the least well calibrated interval of this package (notes, section 4): a display of
sensitivity, never the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from variantbench.stats.cells import Cells, Floats, collapse
from variantbench.stats.glmm_newton import Problem, first_guess, maximise, problem
from variantbench.stats.glmm_status import SENTENCES, hopeless
from variantbench.stats.table import Table, read_table

_DECREMENT = 1e-6  # before the last step, which squares what is left
_CHUNK = 150_000  # cells times lanes at once: about 50 MB
_INFINITE = 8.0  # log-odds over the range of a covariate, where the information is as flat as _FLAT
_FLAT = 1e-4


@dataclass(frozen=True)
class Bootstrap:
    """``estimates`` (replicates, coefficients and sigma) beside ``original`` (coefficients and sigma).

    ``jackknife`` (groups, coefficients and sigma) serves the BCa interval of a cluster bootstrap and is empty
    otherwise. ``infinite`` counts replicates with an infinite coefficient, ``unfinished`` those whose search did not
    end.
    """

    names: tuple[str, ...]
    original: Floats
    estimates: Floats
    jackknife: Floats
    infinite: int
    unfinished: int
    seed: int | None

    def interval(self, name: str, *, kind: str = "percentile", confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the ``percentile`` or the ``bca`` interval (Efron 1987, JASA 82) of one coefficient or of sigma.

        R: ``boot::boot.ci(type = "perc")`` and ``"bca"``, up to interpolation.
        """
        at = self.names.index(name)
        values = self.estimates[:, at]
        levels = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        if kind == "bca":
            levels = self._bca_levels(values, at, levels)
        elif kind != "percentile":
            raise ValueError(f"kind {kind!r}: 'percentile' or 'bca'")
        low, high = np.quantile(values, levels, method="inverted_cdf")
        return float(low), float(high)

    def _bca_levels(self, values: Floats, at: int, levels: Floats) -> Floats:
        if not len(self.jackknife):
            raise ValueError("no jackknife: the BCa interval needs a cluster bootstrap")
        left = self.jackknife[:, at]
        finite = left[np.isfinite(left)]
        away = finite.mean() - finite if len(finite) else finite
        spread = float((away**2).sum())
        acceleration = float((away**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
        below = (np.sum(values < self.original[at]) + 0.5 * np.sum(values == self.original[at])) / len(values)
        bias = float(ndtri(np.clip(below, 0.5 / len(values), 1 - 0.5 / len(values))))
        z = bias + ndtri(levels)
        return np.asarray(ndtr(bias + z / (1 - acceleration * z)))


def cluster_bootstrap(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    seed: int | None = None,
    replicates: int = 1000,
    multiplicities: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    method: str = "laplace",
    missing: str = "raise",
    jackknife: bool = True,
    kernel: str = "numpy",
) -> Bootstrap:
    """Estimates when groups are drawn with replacement, ``replicates`` times from ``seed``.

    ``multiplicities`` (replicates, groups), groups in sorted order of their labels, takes the place of drawing, so that
    models measured on the same groups share their draws. ``jackknife=False`` saves one fit a distinct group, and with
    it the BCa interval. ``kernel="numba"`` needs the `speed` extra, compiles for some seconds once, and is
    several times faster. Raises ValueError for data no model can be fitted to.
    """
    if kernel not in ("numpy", "numba"):
        raise ValueError(f"kernel {kernel!r}: 'numpy' or 'numba'")
    table = read_table(response, covariates, group, names=names, missing=missing)
    cells = collapse(table.response, table.standardised, table.group)
    _refuse(cells)
    if multiplicities is None:
        drawn = draw_multiplicities(len(cells.pattern_of_group), replicates, _stated(seed))
    else:
        drawn = np.asarray(multiplicities, dtype=np.float64)
        if drawn.ndim != 2 or drawn.shape[1] != len(cells.pattern_of_group):
            raise ValueError(f"multiplicities {drawn.shape}: (replicates, {len(cells.pattern_of_group)} groups)")
    start = _start(problem(cells, method))
    task = Problem(cells, method, cells.successes[:, None], cells.multiplicity[:, None], kernel)
    weights = cells.fold(drawn.T)
    estimates, unfinished = _estimates(task, start, weights, None)
    left = np.empty((0, estimates.shape[1]))
    if jackknife:
        without = np.maximum(cells.multiplicity[:, None] - np.eye(cells.n_patterns), 0.0)
        left = _estimates(task, start, without, None)[0][cells.pattern_of_group]
    return _bootstrap(table, start[0], estimates, left, unfinished, seed)


def parametric_bootstrap(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    seed: int,
    replicates: int = 1000,
    names: Sequence[str] | None = None,
    method: str = "laplace",
    missing: str = "raise",
) -> Bootstrap:
    """Estimates from answers simulated from the fitted model, ``replicates`` times from ``seed``."""
    table = read_table(response, covariates, group, names=names, missing=missing)
    cells = collapse(table.response, table.standardised, table.group, fold=False)
    _refuse(cells)
    task = problem(cells, method)
    start = _start(task)
    answers = simulate(cells, start[0][:, 0], replicates, np.random.default_rng(seed))
    estimates, unfinished = _estimates(task, start, None, answers)
    return _bootstrap(table, start[0], estimates, np.empty((0, estimates.shape[1])), unfinished, seed)


def bootstrap_test(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    effect: int,
    *,
    seed: int,
    replicates: int = 999,
    method: str = "laplace",
) -> float:
    """The p of the likelihood ratio test of covariate ``effect`` against its law in answers simulated without the
    effect.

    R: ``pbkrtest::PBmodcomp`` (Davison & Hinkley 1997, 4.2): (1 + ratios at least as large) / (1 + replicates).
    """
    table = read_table(response, covariates, group)
    cells = collapse(table.response, table.standardised, table.group, fold=False)
    _refuse(cells)
    task = problem(cells, method)
    best, mode = _start(task)
    held = np.zeros(best.shape, dtype=bool)
    held[effect + 1] = True
    null = maximise(task, np.where(held, 0.0, best), held=held, start=mode)
    seen = 2 * (maximise(task, best, start=mode).loglik[0] - null.loglik[0])
    answers = simulate(cells, null.theta[:, 0], replicates, np.random.default_rng(seed))
    at_least = 0
    for part in _chunks(cells, replicates):
        here = Problem(cells, method, answers[:, part], task.weights)
        theta = np.repeat(null.theta, here.successes.shape[1], axis=1)
        full = maximise(here, theta, limit=40)
        reduced = maximise(here, theta, held=np.repeat(held, theta.shape[1], axis=1), limit=40)
        at_least += int((2 * (full.loglik - reduced.loglik) >= seen - 1e-9).sum())
    return (1 + at_least) / (1 + replicates)


def draw_multiplicities(groups: int, replicates: int, seed: int) -> Floats:
    """How often each group is drawn, (replicates, groups); each row sums to ``groups``."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(groups, np.full(groups, 1 / groups), size=replicates).astype(np.float64)


def simulate(cells: Cells, theta: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    """Successes (cells, replicates) of a model with parameters ``theta`` (k,), every pattern standing for one group."""
    u = rng.standard_normal((cells.n_patterns, replicates))
    eta = (cells.x @ theta[:-1])[:, None] + theta[-1] * u[cells.pattern]
    return rng.binomial(cells.trials.astype(np.int64)[:, None], 1 / (1 + np.exp(-eta))).astype(np.float64)


def _stated(seed: int | None) -> int:
    if seed is None:
        raise ValueError("no seed: a bootstrap states its seed, or is given multiplicities")
    return seed


def _refuse(cells: Cells) -> None:
    """Raises ValueError, with the remark's sentence, where there is no estimate to resample."""
    status = hopeless(cells)
    if status is not None:
        raise ValueError(SENTENCES[status])


def _start(task: Problem) -> tuple[Floats, Floats]:
    theta, mode = first_guess(task.cells)
    best = maximise(task, theta, start=mode)
    return best.theta, best.mode


def _chunks(cells: Cells, lanes: int) -> list[slice]:
    size = int(np.clip(_CHUNK // len(cells.pattern), 1, 250))
    return [slice(at, min(at + size, lanes)) for at in range(0, lanes, size)]


def _estimates(
    task: Problem, start: tuple[Floats, Floats], weights: Floats | None, answers: Floats | None
) -> tuple[Floats, int]:
    """Parameters (lanes, k) on the standardised scale, infinite ones as such, and how many lanes did not finish."""
    theta, mode = start
    lanes = weights.shape[1] if weights is not None else answers.shape[1] if answers is not None else 0
    found, unfinished = np.empty((lanes, len(theta))), 0
    reach = _INFINITE / np.ptp(task.cells.x[:, 1:], axis=0)
    for part in _chunks(task.cells, lanes):
        w = task.weights if weights is None else weights[:, part]
        y = task.successes if answers is None else answers[:, part]
        width = part.stop - part.start
        here = Problem(task.cells, task.method, y, w, task.kernel)
        end = maximise(
            here, np.repeat(theta, width, axis=1), start=np.repeat(mode, width, axis=1), decrement=_DECREMENT, limit=40
        )
        values = (end.theta + np.where(end.converged, end.step, 0.0)).T
        flat = np.linalg.eigvalsh(-end.hessian)[:, 0] < _FLAT
        gone = flat[:, None] & (np.abs(values[:, 1:-1]) > reach)
        values[:, 1:-1][gone] = np.copysign(np.inf, values[:, 1:-1][gone])
        found[part] = values
        unfinished += int((~end.converged & ~gone.any(axis=1)).sum())
    found[:, -1] = np.abs(found[:, -1])
    return found, unfinished


def _bootstrap(
    table: Table, theta: Floats, estimates: Floats, jackknife: Floats, unfinished: int, seed: int | None
) -> Bootstrap:
    return Bootstrap(
        names=("(Intercept)", *table.names, "sigma"),
        original=_given(table, theta.T)[0],
        estimates=_given(table, estimates),
        jackknife=_given(table, jackknife),
        infinite=int(np.isinf(estimates).any(axis=1).sum()),
        unfinished=unfinished,
        seed=seed,
    )


def _given(table: Table, rows: Floats) -> Floats:
    """Parameters on the scale of the given covariates; the intercept beside an infinite effect goes the other way."""
    slopes = rows[:, 1:-1] / table.scale
    intercept = rows[:, 0] - (slopes * np.where(table.mean == 0, 1e-300, table.mean)).sum(axis=1)
    return np.column_stack([intercept, slopes, rows[:, -1]])
