"""Newton's method for the mixed logistic model: many lanes at once, each with its own weights and held parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from variantbench.stats.cells import Cells, Floats
from variantbench.stats.glmm_likelihood import Contributions, exact, laplace

Likelihood = Callable[[Cells, Floats, Floats, Floats], Contributions]
LIKELIHOODS: dict[str, Likelihood] = {"laplace": laplace, "exact": exact}

DECREMENT = 1e-11  # twice the log-likelihood still to gain: coefficients to about 3e-6 standard errors
_SMALL_SIGMA = 1e-3
_CAP = 3.0  # longest step, in standard deviations of a covariate, plus half the size of the parameters


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where each lane ended: ``theta`` (k, lanes) with sigma >= 0, ``loglik`` (lanes,), ``gradient`` (lanes, k),
    ``hessian`` (lanes, k, k), ``mode`` of u (patterns, lanes), ``converged`` (lanes,), ``iterations`` in all,
    and the ``step`` (k, lanes) that would come next.
    """

    theta: Floats
    loglik: Floats
    gradient: Floats
    hessian: Floats
    mode: Floats
    converged: NDArray[np.bool_]
    iterations: int
    step: Floats


@dataclass(frozen=True, slots=True)
class Problem:
    """What is maximised: the design, the likelihood's name, ``successes`` (cells, lanes or 1) and ``weights``
    (patterns, lanes or 1), the times each pattern counts. ``kernel`` "numba" evaluates Laplace's likelihood with the
    `speed` extra. ``precision`` (k, k) is that of a normal prior about 0, none where it is None.
    """

    cells: Cells
    method: str
    successes: Floats
    weights: Floats
    kernel: str = "numpy"
    precision: Floats | None = None

    def lanes(self, at: NDArray[np.int64]) -> Problem:
        """The same problem for some lanes only."""
        pick = [a if a.shape[1] == 1 else a[:, at] for a in (self.successes, self.weights)]
        return Problem(self.cells, self.method, pick[0], pick[1], self.kernel, self.precision)

    def evaluate(self, theta: Floats, start: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Log-likelihood (lanes,), gradient (lanes, k), Hessian (lanes, k, k) and mode of u; with the prior, if any."""
        value, gradient, hessian, mode = self._likelihood(theta, start)
        if self.precision is None:
            return value, gradient, hessian, mode
        pull = self.precision @ theta
        return value - 0.5 * (pull * theta).sum(axis=0), gradient - pull.T, hessian - self.precision, mode

    def _likelihood(self, theta: Floats, start: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        if self.kernel == "numba" and self.method == "laplace":
            return self._compiled(theta, start)
        part = LIKELIHOODS[self.method](self.cells, self.successes, theta, start)
        lanes = theta.shape[1]
        if self.weights.shape[1] == 1:
            w = self.weights[:, 0]
            hessian = np.moveaxis(np.moveaxis(part.hessian, 2, 3) @ w, 2, 0)
            return w @ part.loglik, (np.moveaxis(part.gradient, 1, 2) @ w).T, hessian, part.mode
        w = np.broadcast_to(self.weights, (self.weights.shape[0], lanes))
        gradient = np.einsum("jgb,gb->bj", part.gradient, w)
        return (part.loglik * w).sum(axis=0), gradient, np.einsum("jlgb,gb->bjl", part.hessian, w), part.mode

    def _compiled(self, theta: Floats, start: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        from variantbench.stats.glmm_numba import laplace_lanes  # numba is an extra, and slow to import

        cells, whole = self.cells, np.ascontiguousarray
        found: tuple[Floats, Floats, Floats, Floats] = laplace_lanes(
            whole(cells.x),
            cells.trials,
            cells.starts,
            whole(self.successes),
            whole(self.weights),
            whole(theta),
            whole(start),
        )
        return found


def problem(cells: Cells, method: str = "laplace") -> Problem:
    """One lane: the data as they are."""
    return Problem(cells, method, cells.successes[:, None], cells.multiplicity[:, None])


def maximise(
    task: Problem,
    theta: Floats,
    *,
    held: NDArray[np.bool_] | None = None,
    start: Floats | None = None,
    decrement: float = DECREMENT,
    limit: int = 100,
) -> Maximum:
    """The maximum of each lane from ``theta`` (k, lanes), damped where the likelihood would fall.

    ``held`` (k, lanes) marks parameters that stay as given; ``start`` (patterns, lanes) is a first guess of the mode.
    Directions without curvature take the absolute eigenvalue, so a saddle at sigma = 0 is left again.
    """
    k, lanes = theta.shape
    theta = theta.copy()
    held = np.zeros((k, lanes), dtype=bool) if held is None else held
    mode = np.zeros((task.cells.n_patterns, lanes)) if start is None else start.copy()
    loglik = np.full(lanes, -np.inf)
    gradient, hessian = np.zeros((lanes, k)), np.zeros((lanes, k, k))
    step, converged = np.zeros((k, lanes)), np.zeros(lanes, dtype=bool)
    active = np.arange(lanes)
    iteration = 0
    while len(active) and iteration < limit:
        iteration += 1
        trial = theta[:, active] + step[:, active]
        trial[-1] = np.abs(trial[-1])
        here = task if len(active) == lanes else task.lanes(active)
        value, g, hess, u = here.evaluate(trial, mode[:, active])
        better = value >= loglik[active] - 1e-12 * np.abs(value) - 1e-12
        moved = active[better]
        theta[:, moved], loglik[moved] = trial[:, better], value[better]
        gradient[moved], hessian[moved], mode[:, moved] = g[better], hess[better], u[:, better]
        step[:, active[~better]] *= 0.25
        new, left = _steps(theta[:, moved], gradient[moved], hessian[moved], held[:, moved])
        step[:, moved] = new
        converged[moved] = left < decrement
        short = np.abs(step[:, active]).max(axis=0) < 1e-14
        active = active[~(converged[active] | short)]
    return Maximum(theta, loglik, gradient, hessian, mode, converged, iteration, step)


def _steps(theta: Floats, gradient: Floats, hessian: Floats, held: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Newton's step (k, lanes) over the free parameters and the decrement g'H^-1 g (lanes,)."""
    free = ~held.T
    g = np.where(free, gradient, 0.0)
    h = np.where(free[:, :, None] & free[:, None, :], -hessian, 0.0)
    diagonal = np.arange(h.shape[1])
    h[:, diagonal, diagonal] += ~free
    values, vectors = np.linalg.eigh(h)
    size = np.maximum(np.abs(values), 1e-12)
    across = np.einsum("bji,bj->bi", vectors, g)
    step = np.einsum("bji,bi->bj", vectors, across / size).T
    decrement = (across**2 / size).sum(axis=1)
    saddle = (theta[-1] < _SMALL_SIGMA) & (hessian[:, -1, -1] > 1e-6) & free[:, -1]
    step[-1, saddle] = 0.5
    decrement = np.where(saddle, np.inf, decrement)
    longest = np.abs(step).max(axis=0)
    cap = _CAP + 0.5 * np.abs(theta).max(axis=0)
    return step * np.minimum(1.0, cap / np.maximum(longest, 1e-300)), decrement


def first_guess(cells: Cells) -> tuple[Floats, Floats]:
    """Parameters (k, 1) from the spread of the groups' logits, coefficients 0 beside the intercept, and modes of u."""
    n, y = cells.pattern_trials, cells.pattern_successes
    logit = np.log((y + 0.5) / (n - y + 0.5))
    w = cells.multiplicity / cells.multiplicity.sum()
    centre = float(w @ logit)
    noise = 1 / (y + 0.5) + 1 / (n - y + 0.5)
    sigma = float(np.sqrt(max(w @ ((logit - centre) ** 2) - w @ noise, 0.04)))
    theta = np.zeros((cells.x.shape[1] + 1, 1))
    theta[0], theta[-1] = centre, sigma
    return theta, ((logit - centre) / sigma)[:, None]
