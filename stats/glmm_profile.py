"""Likelihood ratio tests and profile intervals of the mixed logistic model, all effects and both ends as lanes of one
search.

R: ``anova(full, reduced)``, ``confint(fit, method = "profile")``. Deviation: an end that the likelihood does not close
is given as infinite, where R gives NA or an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from variantbench.stats.cells import Floats
from variantbench.stats.glmm_newton import Maximum, Problem, first_guess, maximise

_REACH = 60.0  # log-odds over the range of a covariate beyond which an end is called infinite
_SIGMAS = (0.3, 3.0, 12.0)
_ROUNDS = 60
_MISS = 1e-7  # in standard errors


def likelihood_ratio(task: Problem, best: Maximum, *, robust: bool) -> Floats:
    """Twice the log-likelihood lost by each effect's absence (effects,)."""
    effects = np.arange(1, task.cells.x.shape[1])
    lost, *_ = _held(task, best, effects, np.zeros(len(effects)), _starts(task, best, len(effects)), robust=robust)
    return np.maximum(0.0, lost)


def profile_intervals(
    task: Problem,
    best: Maximum,
    direction: Floats,
    *,
    robust: bool,
    confidence: float = 0.95,
) -> Floats:
    """Ends (effects, 2) where twice the profile log-likelihood has fallen by the quantile, on the standardised scale.

    ``direction`` (effects,) is the sign of an infinite
    estimate. Newton on the signed root of the fall, which is nearly linear, kept within a bracket.
    """
    z = float(norm.ppf(0.5 + confidence / 2))
    effects = np.arange(1, task.cells.x.shape[1])
    ends = np.column_stack([np.where(direction < 0, -np.inf, np.nan), np.where(direction > 0, np.inf, np.nan)])
    lanes = [(j, side) for j in effects for side in (-1, 1) if direction[j - 1] != side]
    effect, side = (np.array(column, dtype=np.int64) for column in zip(*lanes, strict=True))
    infinite = direction[effect - 1] != 0
    search = _search(task, best, effect, side, infinite, z)
    theta, mode = _starts(task, best, len(effect))
    if infinite.any():
        theta[:, infinite], mode[:, infinite] = first_guess(task.cells)
    wanted = np.arange(len(effect))
    for _ in range(_ROUNDS):
        start = theta[:, wanted], mode[:, wanted]
        fall, slope, theta[:, wanted], mode[:, wanted] = _held(
            task, best, effect[wanted], search.at[wanted], start, robust=robust
        )
        ended = search.advance(wanted, fall, slope, z)
        known = ~np.isnan(ended)
        ends[effect[wanted[known]] - 1, (side[wanted[known]] + 1) // 2] = ended[known]
        wanted = wanted[~known]
        if not len(wanted):
            break
    return ends


@dataclass(frozen=True)
class _Search:
    """Where each end is looked for: ``side`` -1 or 1, the value tried now, the nearest and farthest values known to be
    short of the end and beyond it, and the distance at which an end is called infinite; (lanes,) each.
    """

    side: NDArray[np.int64]
    at: Floats
    near: Floats
    far: Floats
    reach: Floats

    def advance(self, lanes: NDArray[np.int64], fall: Floats, slope: Floats, z: float) -> Floats:
        """Moves ``lanes`` on, given the fall and slope where they are; the end where it was reached, else nan."""
        at, side = self.at[lanes], self.side[lanes]
        root = np.sqrt(np.maximum(fall, 1e-12))
        miss = root - z
        self.near[lanes] = np.where(miss < 0, at, self.near[lanes])
        self.far[lanes] = np.where(miss > 0, at, self.far[lanes])
        rate = np.where(side * -slope > 0, -slope / root, side * 1e-3)
        longest = 0.5 * self.reach[lanes]
        new = at - np.clip(miss / rate, -longest, longest)
        low, high = np.minimum(self.near[lanes], self.far[lanes]), np.maximum(self.near[lanes], self.far[lanes])
        self.at[lanes] = np.where((new <= low) | (new >= high), 0.5 * (low + high), new)
        beyond = (miss < 0) & (np.abs(at) > self.reach[lanes])
        return np.where(np.abs(miss) < _MISS, at, np.where(beyond, side * np.inf, np.nan))


def _search(
    task: Problem,
    best: Maximum,
    effect: NDArray[np.int64],
    side: NDArray[np.int64],
    infinite: NDArray[np.bool_],
    z: float,
) -> _Search:
    """The search from Wald's ends, or from 0 where the estimate is infinite."""
    estimate = np.where(infinite, 0.0, best.theta[effect, 0])
    return _Search(
        side=side,
        at=estimate + np.where(infinite, 0.0, side * z * _deviations(best)[effect]),
        near=np.where(infinite, -side * np.inf, estimate),
        far=np.where(side > 0, np.inf, -np.inf),
        reach=_REACH / np.ptp(task.cells.x, axis=0)[effect] + 2 * np.abs(estimate),
    )


def _deviations(best: Maximum) -> Floats:
    """Standard deviations (k,) of the parameters, cautious where the information is nearly singular."""
    values, vectors = np.linalg.eigh(-best.hessian[0])
    return np.asarray(np.sqrt((vectors**2 / np.maximum(values, 1e-2)).sum(axis=1)))


def _starts(task: Problem, best: Maximum, lanes: int) -> tuple[Floats, Floats]:
    """A starting point for each lane: the maximum, or the first guess where the maximum lies at infinity."""
    theta, mode = best.theta, best.mode
    if np.abs(theta[:-1] * np.ptp(task.cells.x, axis=0).clip(1)[:, None]).max() > 20:
        theta, mode = first_guess(task.cells)
    return np.repeat(theta, lanes, axis=1), np.repeat(mode, lanes, axis=1)


def _held(
    task: Problem,
    best: Maximum,
    effect: NDArray[np.int64],
    at: Floats,
    start: tuple[Floats, Floats],
    *,
    robust: bool,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Twice the fall with ``effect`` held ``at`` its value, the slope, the parameters and the modes, lane by lane."""
    theta, mode = (part.copy() for part in start)
    lanes = len(effect)
    if robust:  # several starting points a lane, since the restricted likelihood may have several maxima
        theta = np.concatenate([theta, *(np.vstack([theta[:-1], np.full(lanes, s)]) for s in _SIGMAS)], axis=1)
        mode = np.tile(mode, (1, 1 + len(_SIGMAS)))
        effect, at = np.tile(effect, 1 + len(_SIGMAS)), np.tile(at, 1 + len(_SIGMAS))
    across = np.arange(len(effect))
    theta[effect, across] = at
    held = np.zeros(theta.shape, dtype=bool)
    held[effect, across] = True
    found = maximise(task, theta, held=held, start=mode)
    pick = found.loglik.reshape(-1, lanes).argmax(axis=0) * lanes + np.arange(lanes)
    fall = 2 * (best.loglik[0] - found.loglik[pick])
    return fall, found.gradient[pick, effect[pick]], found.theta[:, pick], found.mode[:, pick]
