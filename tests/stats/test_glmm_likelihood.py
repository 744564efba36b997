from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from variantbench.stats.cells import Cells, Floats, collapse
from variantbench.stats.glmm_likelihood import Contributions, exact, laplace, mode

Likelihood = Callable[[Cells, Floats, Floats, Floats], Contributions]


def table(seed: int, groups: int = 12, rows: int = 9) -> Cells:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rows)
    x = np.column_stack([np.tile(np.arange(rows) > 0, groups), rng.integers(0, 3, groups * rows)]).astype(float)
    eta = rng.normal(0, 2, groups)[group] - 0.5 * x[:, 0] + 0.3 * x[:, 1]
    return collapse((rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), x, group)


def total(likelihood: Likelihood, cells: Cells, theta: Floats) -> tuple[Floats, Floats, Floats]:
    start = np.zeros((cells.n_patterns, theta.shape[1]))
    part = likelihood(cells, cells.successes[:, None], theta, start)
    w = cells.multiplicity
    return w @ part.loglik, np.einsum("jgb,g->jb", part.gradient, w), np.einsum("jlgb,g->jlb", part.hessian, w)


@pytest.mark.parametrize("likelihood", [laplace, exact])
@pytest.mark.parametrize("sigma", [0.0, 0.4, 2.0, 5.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gradient_and_hessian_are_those_of_finite_differences(likelihood: Likelihood, sigma: float, seed: int) -> None:
    cells = table(seed)
    theta = np.array([0.3, -0.7, 0.4, sigma])[:, None]
    _, gradient, hessian = total(likelihood, cells, theta)
    h = 2e-4
    k = len(theta)

    def differences(function: Callable[[Floats], Floats]) -> Floats:  # five points: error of order h^4
        far, near = np.hstack([theta + 2 * h * np.eye(k), theta - 2 * h * np.eye(k)]), h * np.eye(k)
        f2, f1 = function(far), function(np.hstack([theta + near, theta - near]))
        return (8 * (f1[..., :k] - f1[..., k:]) - (f2[..., :k] - f2[..., k:])) / (12 * h)

    free = range(k) if sigma > 0 else range(k - 1)  # sigma < 0 is its mirror image, which these functions do not take
    slope = differences(lambda t: total(likelihood, cells, np.vstack([t[:-1], np.abs(t[-1])]))[0])
    assert slope == pytest.approx(gradient[:, 0], abs=1e-7)
    curve = differences(lambda t: total(likelihood, cells, np.vstack([t[:-1], np.abs(t[-1])]))[1])
    for j in free:
        assert curve[:, j] == pytest.approx(hessian[:, j, 0], abs=1e-7)
    assert hessian[:, :, 0] == pytest.approx(hessian[:, :, 0].T, abs=1e-10)


@pytest.mark.parametrize("right", [0, 1, 25, 50, 51])
@pytest.mark.parametrize("sigma", [0.1, 1.0, 3.0, 6.0, 30.0])
def test_exact_integral_is_that_of_adaptive_quadrature(right: int, sigma: float) -> None:
    answers = np.arange(51) < right
    cells = collapse(np.tile(answers, 2).astype(float), np.tile([[0.0]] + [[1.0]] * 50, (2, 1)), np.repeat([0, 1], 51))
    theta = np.array([-2.0, -0.4, sigma])[:, None]
    part = exact(cells, cells.successes[:, None], theta, np.zeros((cells.n_patterns, 1)))
    eta0 = -2.0 - 0.4 * np.r_[0.0, np.ones(50)]
    peak = float(part.mode[0, 0])

    def height(u: float) -> float:
        eta = eta0 + sigma * u
        return float(answers @ eta - np.logaddexp(0, eta).sum() - 0.5 * u * u)

    top = height(peak)
    width = 1 / np.sqrt(1 + sigma**2)
    points = sorted({peak + step * width for step in (-20, -5, -1, 0, 1, 5, 20)})
    edges = [peak - 9, *[p for p in points if abs(p - peak) < 9], peak + 9]
    pieces = [
        quad(lambda u: np.exp(height(u) - top), a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in pairwise(edges)
    ]
    assert part.loglik[0, 0] == pytest.approx(top + np.log(sum(pieces)) - 0.5 * np.log(2 * np.pi), abs=1e-9)


@pytest.mark.parametrize("right", [0, 51])
@pytest.mark.parametrize("sigma", [3.0, 4.0, 5.0, 6.0, 40.0])
@pytest.mark.parametrize("intercept", [-8.0, 0.0, 8.0])
def test_mode_of_constant_templates_is_found_from_zero(right: int, sigma: float, intercept: float) -> None:
    # plain Newton cycles here, and a bracket alone crawls
    cells = collapse(
        np.tile(np.arange(51) < right, 2).astype(float), np.tile([[0.0], [1.0], [1.0]], (34, 1)), np.repeat([0, 1], 51)
    )
    eta0 = np.full((len(cells.pattern), 1), intercept)
    u = mode(cells, cells.successes[:, None], eta0, np.array([sigma]), np.zeros((cells.n_patterns, 1)))
    slope = sigma * (right - 51 / (1 + np.exp(-(intercept + sigma * u)))) - u
    curvature = 1 + sigma**2 * 51 * np.exp(-np.logaddexp(0, intercept + sigma * u) * 2 + intercept + sigma * u)
    assert np.abs(slope / curvature).max() < 1e-9


@pytest.mark.parametrize("likelihood", [laplace, exact])
def test_splitting_cells_and_groups_apart_changes_nothing(likelihood: Likelihood) -> None:
    cells = table(4)
    theta = np.array([0.2, -0.5, 0.1, 1.7])[:, None]
    twice = np.repeat(np.arange(len(cells.pattern)), 2)
    halves = np.tile([0, 1], len(cells.pattern))
    trials = np.where(halves == 0, 1, cells.trials[twice] - 1)
    successes = np.where(halves == 0, np.minimum(cells.successes[twice], 1), np.maximum(cells.successes[twice] - 1, 0))
    split = Cells(cells.x[twice], trials, successes, cells.pattern[twice], cells.multiplicity, cells.pattern_of_group)
    for whole, parts in zip(total(likelihood, cells, theta), total(likelihood, split, theta), strict=True):
        assert parts == pytest.approx(whole, rel=1e-10, abs=1e-10)
