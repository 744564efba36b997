"""Whether tests reject 5 % of true nothings, as in the notes' tables: 1,000 times each with VARIANTBENCH_SLOW=1."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from variantbench.stats.bootstrap import simulate
from variantbench.stats.cells import Cells, Floats
from variantbench.stats.clustered import clustered_counts
from variantbench.stats.conditional import conditional_counts
from variantbench.stats.glmm_newton import Problem, maximise

SETTINGS = [(1.0, 0.5), (2.8, 0.2), (2.8, 0.5), (4.5, 0.85), (2.8, 0.05), (2.8, 0.95)]  # sigma, accuracy
SHORT = SETTINGS[:2]
DESIGN = Cells(
    x=np.column_stack([np.ones(200), np.tile([0.0, 1.0], 100)]),
    trials=np.tile([1.0, 50.0], 100),
    successes=np.zeros(200),
    pattern=np.repeat(np.arange(100), 2),
    multiplicity=np.ones(100),
    pattern_of_group=np.arange(100),
)


def intercept(sigma: float, accuracy: float) -> float:
    def mean(b: float) -> float:
        return float(quad(lambda u: norm.pdf(u) / (1 + np.exp(-(b + sigma * u))), -8, 8)[0])

    return float(brentq(lambda b: mean(b) - accuracy, -30, 30))


def answers(sigma: float, accuracy: float, runs: int) -> tuple[Floats, Floats]:
    theta = np.array([intercept(sigma, accuracy), 0.0, sigma])
    return simulate(DESIGN, theta, runs, np.random.default_rng(int(100 * sigma + 1000 * accuracy))), theta[:, None]


def likelihood_ratio_p(y: Floats, theta: Floats, method: str) -> Floats:
    found = []
    for part in np.array_split(np.arange(y.shape[1]), max(1, y.shape[1] // 100)):
        task = Problem(DESIGN, method, y[:, part], np.ones((100, 1)))
        start = np.repeat(theta, len(part), axis=1)
        held = np.zeros(start.shape, dtype=bool)
        held[1] = True
        gain = maximise(task, start, limit=60).loglik - maximise(task, start, held=held, limit=60).loglik
        found.append(chi2.sf(2 * np.maximum(gain, 0), 1))
    return np.concatenate(found)


def within_monte_carlo_error(rejections: NDArray[np.bool_], runs: int) -> bool:
    return bool(abs(np.mean(rejections) - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / runs))


@pytest.mark.parametrize(("sigma", "accuracy"), SETTINGS)
def test_likelihood_ratio_holds_five_percent(sigma: float, accuracy: float, slow: bool) -> None:
    if not slow and (sigma, accuracy) not in SHORT:
        pytest.skip("long form: set VARIANTBENCH_SLOW=1")
    runs = 1000 if slow else 200
    y, theta = answers(sigma, accuracy, runs)
    assert within_monte_carlo_error(likelihood_ratio_p(y, theta, "laplace") < 0.05, runs)


@pytest.mark.parametrize(("sigma", "accuracy"), SETTINGS)
def test_conditional_mid_p_holds_five_percent(sigma: float, accuracy: float, slow: bool) -> None:
    if not slow and (sigma, accuracy) not in SHORT:
        pytest.skip("long form: set VARIANTBENCH_SLOW=1")
    runs = 1000 if slow else 200
    y, _ = answers(sigma, accuracy, runs)
    p = np.array([conditional_counts([1] * 100, a[::2], [50] * 100, a[1::2]).p_mid for a in y.T])
    exact = np.array([conditional_counts([1] * 100, a[::2], [50] * 100, a[1::2]).p_exact for a in y.T])
    assert within_monte_carlo_error(p < 0.05, runs)
    assert np.mean(exact < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.6, 1.0])
def test_clustered_tests_hold_five_percent_where_mcnemar_does_not(spread: float, slow: bool) -> None:
    runs = 1000 if slow else 300
    rng = np.random.default_rng(int(10 * spread))
    ability = 2.0 * rng.standard_normal((runs, 100, 1)) + rng.standard_normal((runs, 100, 50))
    effect = spread * rng.standard_normal((runs, 100, 1))
    old, new = (rng.random((runs, 100, 50)) < 1 / (1 + np.exp(-(ability + s * effect))) for s in (-0.5, 0.5))
    b, c = (old & ~new).sum(axis=2), (~old & new).sum(axis=2)
    found = [clustered_counts(one, other, [50] * 100) for one, other in zip(b, c, strict=True)]
    for name in ("p", "t_p", "obuchowski_p", "durkalski_p"):
        assert within_monte_carlo_error(np.array([getattr(f, name) < 0.05 for f in found]), runs), name
    naive = (b.sum(axis=1) - c.sum(axis=1)) ** 2 / (b + c).sum(axis=1)
    if spread == 1.0:
        assert np.mean(chi2.sf(naive, 1) < 0.05) > 0.15
