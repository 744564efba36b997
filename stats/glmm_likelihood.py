"""The likelihood of a logistic model with a random intercept, with analytic gradient and Hessian, for many lanes at
once.

A lane is one data set or one point: lanes share the design (`Cells`) and may differ in parameters, successes and
multiplicities. Parameters are (coefficients, sigma) with eta = x'beta + sigma u, u ~ N(0, 1) per group. The likelihood
is even in sigma, so sigma = 0 is an ordinary stationary point; these functions take sigma >= 0.

Sums run over cells; every result is per pattern, so that weights (bootstrap multiplicities) enter afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from variantbench.stats.cells import Cells, Floats, Integers, weighted_sums

_MODE_TOLERANCE = 1e-7  # the step that is applied last: the error left is of the order of its square
_DROP = 34.0  # log units below the mode where the integrand is cut: 2e-15
_BLOCK = 2_000_000  # cell-node pairs evaluated at once: 16 MB an array


@dataclass(frozen=True, slots=True)
class Contributions:
    """What each pattern adds in each lane: ``loglik`` (patterns, lanes), ``gradient`` (k, patterns, lanes),
    ``hessian`` (k, k, patterns, lanes) for k = columns + 1 parameters, and the ``mode`` of u (patterns, lanes).
    """

    loglik: Floats
    gradient: Floats
    hessian: Floats
    mode: Floats


def mode(cells: Cells, successes: Floats, fixed: Floats, sigma: Floats, start: Floats) -> Floats:
    """The mode of u given the data, (patterns, lanes), by Newton within a bracket.

    ``successes`` (cells, lanes or 1), ``fixed`` (cells, lanes) = x'beta, ``sigma`` (lanes,). The step is bisected when
    it leaves the bracket or does not halve: plain Newton cycles for all-right and all-wrong groups at large sigma.
    """
    right = cells.sum_matrix @ successes
    trials = cells.trials[:, None]
    low = -sigma * (cells.pattern_trials[:, None] - right)
    high = sigma * right + 0.0 * low
    u = np.clip(start, low, high)
    before = np.full(u.shape, np.inf)
    last = before
    for _ in range(200):
        eta = np.take(u, cells.pattern, axis=0)
        eta *= sigma
        eta += fixed
        mean = _expit(eta)
        expected = trials * mean
        slope = sigma * (right - cells.sum_matrix @ expected) - u
        np.subtract(1.0, mean, out=mean)
        mean *= expected
        step = slope / (1.0 + sigma**2 * (cells.sum_matrix @ mean))
        size = np.abs(step)
        if float(size.max(initial=0.0)) < _MODE_TOLERANCE:
            return np.asarray(u + step)
        low = np.where(slope > 0, u, low)
        high = np.where(slope < 0, u, high)
        new = u + step
        bisect = ((new < low) | (new > high) | (size > 0.5 * before)) & (size >= _MODE_TOLERANCE)
        if bisect.any():
            new = np.where(bisect, 0.5 * (low + high), new)
        before, last, u = last, np.abs(new - u), new
    return u


def laplace(cells: Cells, successes: Floats, theta: Floats, start: Floats) -> Contributions:
    """Laplace's approximation, as lme4 (nAGQ = 1) and glmmTMB define it. ``theta`` (k, lanes).

    Per pattern: g(u^) - log(h) / 2 with h = 1 + sigma^2 sum n w; derivatives by implicit differentiation of u^.
    """
    columns = cells.x.shape[1]
    k, sigma = columns + 1, theta[-1]
    fixed = cells.x @ theta[:-1]
    u = mode(cells, successes, fixed, sigma, start)
    eta = fixed + sigma * np.take(u, cells.pattern, axis=0)
    value, residual, mean, w = _cell_terms(cells.trials[:, None], successes, eta)
    s1 = cells.trials[:, None] * w
    shape = u.shape
    m1 = _products(cells, s1, shape)
    m2 = _products(cells, s1 * (1 - 2 * mean), shape)
    m3 = _products(cells, s1 * (1 - 6 * w), shape)
    r = (cells.column_matrix @ residual).reshape(columns, *shape)

    total1, total2 = m1[0, 0], m2[0, 0]
    h = 1 + sigma**2 * total1
    is_sigma = np.zeros((k, 1, 1))
    is_sigma[-1] = 1.0
    partial = is_sigma * u  # d eta / d theta at fixed u, beside the columns of x
    du = (is_sigma * r[0] - sigma * (m1[0] + partial * total1)) / h
    c = partial + sigma * du  # total d eta / d theta = x_j + c_j
    t1 = m1[0] + c * total1
    t2 = m2[0] + c * total2
    dh = 2 * sigma * is_sigma * total1 + sigma**2 * t2
    gradient = partial * r[0] - 0.5 * dh / h
    gradient[:-1] += r

    across, down = is_sigma[None, :], is_sigma[:, None]
    a = down * du[None] + across * du[:, None]
    e2 = _spread(m2, c)
    d2u = -(across * t1[:, None] + down * t1[None] + sigma * (e2 + total1 * a)) / h
    d2h = sigma**2 * (_spread(m3, c) + total2 * (a + sigma * d2u))
    d2h += 2 * sigma * (down * t2[None] + across * t2[:, None])
    d2h[-1, -1] += 2 * total1
    hessian = down * (r[0] * du)[None] - 0.5 * (d2h / h - dh[:, None] * dh[None] / h**2)
    hessian -= m1 + c[None] * m1[0][:, None] + partial[:, None] * t1[None]
    loglik = cells.sum_matrix @ value - 0.5 * u**2 - 0.5 * np.log(h)
    return Contributions(loglik, gradient, hessian, u)


def exact(cells: Cells, successes: Floats, theta: Floats, start: Floats) -> Contributions:
    """The integral by the trapezoid rule about the mode: error about 1e-13 (Trefethen & Weideman 2014, SIAM Rev 56).

    Derivatives by Louis' identity are those of the rule itself. Each pattern of each lane has its own step and range.
    """
    k, sigma = cells.x.shape[1] + 1, theta[-1]
    fixed = cells.x @ theta[:-1]
    u = mode(cells, successes, fixed, sigma, start)
    successes = np.broadcast_to(successes, fixed.shape)
    peak, left, right, step = _range(cells, successes, fixed, sigma, u)
    nodes = (np.ceil((left + right) / step) + 1).astype(np.int64)
    bucket = np.ceil(np.log2(np.maximum(nodes, 16)) * 2).astype(np.int64)
    loglik = np.empty(u.shape)
    gradient = np.empty((k, *u.shape))
    hessian = np.empty((k, k, *u.shape))
    sizes = np.diff(cells.starts)
    for width in np.unique(bucket):
        pattern, lane = np.nonzero(bucket == width)
        most = int(nodes[pattern, lane].max())
        cumulated = np.cumsum(sizes[pattern]) * most
        for part in np.split(np.arange(len(pattern)), np.flatnonzero(np.diff(cumulated // _BLOCK)) + 1):
            p, b = pattern[part], lane[part]
            at = (u[p, b] - left[p, b])[:, None] + step[p, b][:, None] * np.arange(most)
            result = _integrate(cells, successes, fixed, sigma, p, b, at, peak[p, b], step[p, b])
            loglik[p, b], gradient[:, p, b], hessian[:, :, p, b] = result
    return Contributions(loglik, gradient, hessian, u)


def _integrate(
    cells: Cells,
    successes: Floats,
    fixed: Floats,
    sigma: Floats,
    pattern: Integers,
    lane: Integers,
    at: Floats,
    peak: Floats,
    step: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Log integral, gradient and Hessian of tasks (pattern, lane) with nodes ``at`` (tasks, nodes)."""
    cell, starts = _cells_of(cells, pattern)
    task = np.repeat(np.arange(len(pattern)), np.diff(starts))
    s = sigma[lane][:, None]
    eta = (s * at)[task] + fixed[cell, lane[task]][:, None]
    trials = cells.trials[cell][:, None]
    value, residual, _, w = _cell_terms(trials, successes[cell, lane[task]][:, None], eta)
    w *= trials
    shape = at.shape
    columns = cells.x.shape[1]
    log = (weighted_sums(np.ones((1, len(cell))), starts) @ value) - 0.5 * at**2 - peak[:, None]
    probability = np.exp(log)
    total = probability.sum(axis=1)
    probability /= total[:, None]
    r = (weighted_sums(np.ascontiguousarray(cells.x[cell].T), starts) @ residual).reshape(columns, *shape)
    score = np.concatenate([r, (at * r[0])[None]])
    gradient = np.einsum("tn,jtn->jt", probability, score)
    curved = (weighted_sums(cells.products[:, cell], starts) @ w).reshape(-1, *shape)
    m = curved[_triangle(columns)]
    second = np.einsum("tn,jtn,ltn->jlt", probability, score, score, optimize=True)
    second[:-1, :-1] -= np.einsum("tn,jltn->jlt", probability, m)
    crossed = np.einsum("tn,jtn->jt", probability * at, m[0])
    second[-1, :-1] -= crossed
    second[:-1, -1] -= crossed
    second[-1, -1] -= np.einsum("tn,tn->t", probability * at**2, m[0, 0])
    loglik = peak + np.log(total * step) - 0.5 * np.log(2 * np.pi)
    return loglik, gradient, second - gradient[:, None] * gradient[None]


def _range(
    cells: Cells, successes: Floats, fixed: Floats, sigma: Floats, u: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Height of the mode, reach to the left and right, and step of the rule: each (patterns, lanes).

    The log integrand bends at least as much as a normal's, so 8.25 is beyond both ends; Newton from outside a concave
    function never passes the root, so each round keeps the bound and tightens it.
    """

    def drop(at: Floats) -> tuple[Floats, Floats, Floats]:
        eta = fixed + sigma * np.take(at, cells.pattern, axis=0)
        value, residual, _, w = _cell_terms(cells.trials[:, None], successes, eta)
        height = cells.sum_matrix @ value - 0.5 * at**2
        return height, sigma * (cells.sum_matrix @ residual) - at, cells.sum_matrix @ (cells.trials[:, None] * w)

    peak, _, information = drop(u)
    reach = []
    for sign in (-1.0, 1.0):
        t = np.full(u.shape, np.sqrt(2 * _DROP))
        for _ in range(4):
            height, slope, _ = drop(u + sign * t)
            t = t - (height - peak + _DROP) / (sign * slope)
        reach.append(t)
    step = 2 * np.pi / (7.4 + sigma * (np.maximum(20.0, 7.4 * np.sqrt(information)) + 7))
    return peak, np.ceil(reach[0] / step) * step, reach[1], step


def _cell_terms(trials: Floats, successes: Floats, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Log-likelihood, residual, mean and variance of one trial, cell by cell, without cancellation at either end."""
    e = np.exp(-np.abs(eta))
    up = 1.0 / (1.0 + e)
    down = e * up
    mean = up - (eta < 0) * (up - down)  # faster than np.where
    value = successes * eta - trials * (np.maximum(eta, 0.0) + np.log1p(e))
    return value, successes - trials * mean, mean, up * down


def _expit(eta: Floats) -> Floats:
    """1 / (1 + exp(-eta)), overwriting ``eta``."""
    np.negative(eta, out=eta)
    with np.errstate(over="ignore"):
        np.exp(eta, out=eta)
    eta += 1.0
    return np.asarray(np.reciprocal(eta, out=eta))


def _triangle(columns: int) -> Integers:
    """Where the product of columns j and l stands among the upper triangle: (columns, columns)."""
    index = np.zeros((columns, columns), dtype=np.int64)
    rows, across = np.triu_indices(columns)
    index[rows, across] = index[across, rows] = np.arange(len(rows))
    return index


def _products(cells: Cells, terms: Floats, shape: tuple[int, ...]) -> Floats:
    """Sums of terms times products of columns, (k, k, patterns, lanes); the row and column of sigma are 0."""
    columns = cells.x.shape[1]
    full = np.zeros((columns + 1, columns + 1, *shape))
    full[:-1, :-1] = (cells.product_matrix @ terms).reshape(-1, *shape)[_triangle(columns)]
    return full


def _spread(m: Floats, c: Floats) -> Floats:
    """Sums of terms times (x_j + c_j)(x_l + c_l), from the sums with products of columns."""
    first = m[0]
    return np.asarray(m + c[:, None] * first[None] + c[None] * first[:, None] + c[:, None] * c[None] * m[0, 0])


def _cells_of(cells: Cells, pattern: Integers) -> tuple[Integers, Integers]:
    """The cells of the given patterns one after another, and where each pattern's start (with the end)."""
    sizes = np.diff(cells.starts)[pattern]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(starts[-1]) + np.repeat(cells.starts[pattern] - starts[:-1], sizes), starts
