"""Likelihood ratio tests and profile intervals of the mixed logistic model, all effects and both ends as lanes of one
search.

R: ``anova(full, reduced)``, ``confint(fit, method = "profile")``. Deviation: an end that the likelihood does not close
is given as infinite, where R gives NA or an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from variantbench.stats.cells import Floats
from variantbench.stats.glmm_newton import Maximum, Problem, first_guess, maximise

_REACH = 60.0  # log-odds over the range of a covariate beyond which an end is called infinite
_SIGMAS = (0.3, 3.0, 12.0)


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
    ends = np.full((len(effects), 2), np.nan)
    lanes = [(j, side) for j in effects for side in (-1, 1) if direction[j - 1] != side]
    for j in effects[direction != 0]:
        ends[j - 1, int(direction[j - 1] > 0)] = direction[j - 1] * np.inf
    effect, side = (np.array(column, dtype=np.int64) for column in zip(*lanes, strict=True))
    estimate = best.theta[effect, 0]
    infinite = direction[effect - 1] != 0
    deviation = _deviations(best)[effect]
    at = np.where(infinite, 0.0, estimate + side * z * deviation)
    near = np.where(infinite, -side * np.inf, estimate)  # where the fall is too small
    far = side * np.inf  # where it is too large
    reach = _REACH / np.ptp(task.cells.x, axis=0)[effect] + 2 * np.where(infinite, 0.0, np.abs(estimate))
    open_lanes = np.arange(len(effect))
    theta, mode = _starts(task, best, len(effect))
    if infinite.any():
        guess, start = first_guess(task.cells)
        theta[:, infinite], mode[:, infinite] = guess, start
    for _ in range(60):
        here = open_lanes
        fall, g, t, u = _held(task, best, effect[here], at[here], (theta[:, here], mode[:, here]), robust=robust)
        theta[:, here], mode[:, here] = t, u
        root = np.sqrt(np.maximum(fall, 1e-12))
        miss = root - z
        done = np.abs(miss) < 1e-7
        short, long = miss < 0, miss > 0
        near[here[short]] = at[here[short]]
        far[here[long]] = at[here[long]]
        rate = np.where(side[here] * -g > 0, -g / root, side[here] * 1e-3)
        new = at[here] - np.clip(miss / rate, -0.5 * reach[here], 0.5 * reach[here])
        low, high = np.minimum(near[here], far[here]), np.maximum(near[here], far[here])
        outside = (new <= low) | (new >= high)
        new[outside] = 0.5 * (low + high)[outside]
        gone = short & (np.abs(at[here]) > reach[here])
        ends[effect[here[done]] - 1, (side[here[done]] + 1) // 2] = at[here[done]]
        ends[effect[here[gone]] - 1, (side[here[gone]] + 1) // 2] = side[here[gone]] * np.inf
        at[here] = new
        open_lanes = here[~(done | gone)]
        if not len(open_lanes):
            break
    return ends


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
