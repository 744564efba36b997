"""Laplace's likelihood compiled by numba (the `speed` extra): the formulas of `glmm_likelihood.laplace`, lane by lane.

Worth its seconds of compiling for bootstraps only. It leaves out patterns that a lane does not count.
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
from numba import njit

from variantbench.stats.cells import Floats, Integers

_TOLERANCE = 1e-7
_ROUNDS = 200


@njit(cache=True)  # type: ignore[untyped-decorator]  # numba ships no types
def _mode(
    trials: Floats, successes: Floats, fixed: Floats, first: int, last: int, lane: int, sigma: float, start: float
) -> float:
    """The mode of u of one pattern: Newton within a bracket, as in `glmm_likelihood.mode`."""
    right, n = 0.0, 0.0
    for c in range(first, last):
        right += successes[c, lane]
        n += trials[c]
    low, high = -sigma * (n - right), sigma * right
    u = min(max(start, low), high)
    before, previous = np.inf, np.inf
    for _ in range(_ROUNDS):
        expected, information = 0.0, 0.0
        for c in range(first, last):
            mean = 1.0 / (1.0 + exp(-(fixed[c] + sigma * u)))
            expected += trials[c] * mean
            information += trials[c] * mean * (1.0 - mean)
        slope = sigma * (right - expected) - u
        step = slope / (1.0 + sigma * sigma * information)
        if abs(step) < _TOLERANCE:
            return u + step
        if slope > 0:
            low = u
        else:
            high = u
        new = u + step
        if new < low or new > high or abs(step) > 0.5 * before:
            new = 0.5 * (low + high)
        before, previous = previous, abs(new - u)
        u = new
    return u


@njit(cache=True)  # type: ignore[untyped-decorator]  # numba ships no types
def laplace_lanes(
    x: Floats, trials: Floats, starts: Integers, successes: Floats, weights: Floats, theta: Floats, start: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log-likelihood (lanes,), gradient (lanes, k), Hessian (lanes, k, k) and modes (patterns, lanes).

    ``successes`` (cells, lanes or 1), ``weights`` (patterns, lanes or 1), ``theta`` (k, lanes),
    ``start`` (patterns, lanes).
    """
    cells, columns = x.shape
    k, lanes, patterns = columns + 1, theta.shape[1], len(starts) - 1
    loglik, gradient, hessian = np.zeros(lanes), np.zeros((lanes, k)), np.zeros((lanes, k, k))
    mode = start.copy()
    fixed = np.empty(cells)
    m1, m2, m3 = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    r, du, partial, s = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    t1, t2, dh = np.empty(k), np.empty(k), np.empty(k)
    for b in range(lanes):
        sigma = theta[k - 1, b]
        by, bw = min(b, successes.shape[1] - 1), min(b, weights.shape[1] - 1)
        for c in range(cells):
            fixed[c] = 0.0
            for j in range(columns):
                fixed[c] += x[c, j] * theta[j, b]
        for p in range(patterns):
            weight = weights[p, bw]
            if weight == 0.0:
                continue
            first, last = starts[p], starts[p + 1]
            u = _mode(trials, successes, fixed, first, last, by, sigma, start[p, b])
            mode[p, b] = u
            m1[:], m2[:], m3[:], r[:], partial[:] = 0.0, 0.0, 0.0, 0.0, 0.0
            value = 0.0
            for c in range(first, last):
                eta = fixed[c] + sigma * u
                e = exp(-abs(eta))
                up = 1.0 / (1.0 + e)
                mean = up if eta > 0 else e * up
                w = e * up * up
                n, y = trials[c], successes[c, by]
                value += y * eta - n * (max(eta, 0.0) + log1p(e))
                s1 = n * w
                s2, s3 = s1 * (1.0 - 2.0 * mean), s1 * (1.0 - 6.0 * w)
                for j in range(columns):
                    r[j] += (y - n * mean) * x[c, j]
                    for i in range(j + 1):
                        product = x[c, i] * x[c, j]
                        m1[i, j] += s1 * product
                        m2[i, j] += s2 * product
                        m3[i, j] += s3 * product
            for j in range(columns):
                for i in range(j):
                    m1[j, i], m2[j, i], m3[j, i] = m1[i, j], m2[i, j], m3[i, j]
            partial[k - 1] = u
            h = 1.0 + sigma * sigma * m1[0, 0]
            for j in range(k):
                own = 1.0 if j == k - 1 else 0.0
                du[j] = (own * r[0] - sigma * (m1[0, j] + partial[j] * m1[0, 0])) / h
                s[j] = partial[j] + sigma * du[j]
                t1[j] = m1[0, j] + s[j] * m1[0, 0]
                t2[j] = m2[0, j] + s[j] * m2[0, 0]
                dh[j] = 2.0 * sigma * own * m1[0, 0] + sigma * sigma * t2[j]
                gradient[b, j] += weight * (r[j] + partial[j] * r[0] - 0.5 * dh[j] / h)
            loglik[b] += weight * (value - 0.5 * u * u - 0.5 * log(h))
            for j in range(k):
                mine = 1.0 if j == k - 1 else 0.0
                for i in range(k):
                    other = 1.0 if i == k - 1 else 0.0
                    a = mine * du[i] + other * du[j]
                    e2 = m2[j, i] + s[j] * m2[0, i] + s[i] * m2[0, j] + s[j] * s[i] * m2[0, 0]
                    e3 = m3[j, i] + s[j] * m3[0, i] + s[i] * m3[0, j] + s[j] * s[i] * m3[0, 0]
                    d2u = -(other * t1[j] + mine * t1[i] + sigma * (e2 + m1[0, 0] * a)) / h
                    d2h = sigma * sigma * (e3 + m2[0, 0] * (a + sigma * d2u))
                    d2h += 2.0 * sigma * (mine * t2[i] + other * t2[j]) + 2.0 * mine * other * m1[0, 0]
                    curve = mine * r[0] * du[i] - 0.5 * (d2h / h - dh[j] * dh[i] / (h * h))
                    curve -= m1[j, i] + s[i] * m1[0, j] + partial[j] * t1[i]
                    hessian[b, j, i] += weight * curve
    return loglik, gradient, hessian, mode
