from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from variantbench.stats.glmm import GlmmFit, fit_glmm

Rows = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
NAMES = ["is_variant", "gamma"]
methods = pytest.mark.parametrize("method", ["laplace", "exact"])
cases = settings(deadline=None, max_examples=15)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups, rows = draw(st.integers(12, 25)), draw(st.integers(6, 14))
    group = np.repeat(np.arange(groups), rows)
    x = np.column_stack([np.tile(np.arange(rows) > 1, groups), rng.normal(2, 1, groups * rows).round(1)]).astype(float)
    eta = draw(st.floats(0.0, 3.0)) * rng.normal(size=groups)[group] + draw(st.floats(-2, 2)) - 0.5 * x[:, 0]
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), x, group


def fit(rows: Rows, method: str) -> GlmmFit:
    y, x, group = rows
    return fit_glmm(y, x, group, names=NAMES, method=method)


def same(a: GlmmFit, b: GlmmFit, factor: float = 1.0, sign: float = 1.0) -> None:
    """Slopes of b are sign times those of a; log-likelihoods and information differ by ``factor``."""
    assert b.loglik == pytest.approx(factor * a.loglik, rel=1e-8, abs=1e-6)
    assert [str(r) for r in a.remarks if "few" not in str(r)] == [str(r) for r in b.remarks if "few" not in str(r)]
    assert b.sigma == pytest.approx(a.sigma, abs=2e-4, nan_ok=True)
    for one, other in zip(a.effects[1:], b.effects[1:], strict=True):
        close = 1e-4 * one.se if np.isfinite(one.se) else 1e-4
        assert other.beta == pytest.approx(sign * one.beta, abs=close, nan_ok=True)
        assert other.se == pytest.approx(one.se / np.sqrt(factor), rel=1e-4, nan_ok=True)
        if factor == 1:
            assert other.lrt_p == pytest.approx(one.lrt_p, abs=1e-5, nan_ok=True)
            ends = (one.low, one.high) if sign > 0 else (-one.high, -one.low)
            assert (other.low, other.high) == pytest.approx(ends, abs=10 * close, nan_ok=True)


@methods
@cases
@given(tables(), st.randoms(use_true_random=False))
def test_row_order_and_labels_of_groups_do_not_matter(method: str, rows: Rows, random: object) -> None:
    y, x, group = rows
    order = np.random.default_rng(1).permutation(len(y))
    labels = np.array([f"t{(7 * g + 3) % 101:03d}" for g in group])
    same(fit(rows, method), fit_glmm(y[order], x[order], labels[order], names=NAMES, method=method))


@methods
@cases
@given(tables(), st.floats(-50, 50), st.sampled_from([1e-3, 0.2, 7.0, 1e3]))
def test_shifting_and_scaling_a_covariate_rescales_its_effect_only(
    method: str, rows: Rows, shift: float, scale: float
) -> None:
    y, x, group = rows
    plain = fit(rows, method)
    moved = fit_glmm(y, np.column_stack([x[:, 0], scale * x[:, 1] + shift]), group, names=NAMES, method=method)
    assert moved.loglik == pytest.approx(plain.loglik, abs=1e-6)
    assert moved["is_variant"].beta == pytest.approx(plain["is_variant"].beta, abs=1e-4, nan_ok=True)
    one, other = plain["gamma"], moved["gamma"]
    assert other.beta * scale == pytest.approx(one.beta, abs=1e-4, nan_ok=True)
    assert other.se * scale == pytest.approx(one.se, rel=1e-4, nan_ok=True)
    assert other.lrt_p == pytest.approx(one.lrt_p, abs=1e-5, nan_ok=True)


@methods
@cases
@given(tables())
def test_swapping_right_and_wrong_turns_every_effect(method: str, rows: Rows) -> None:
    y, x, group = rows
    same(fit(rows, method), fit((1 - y, x, group), method), sign=-1)


@methods
@cases
@given(tables())
def test_swapping_base_and_variant_turns_that_effect(method: str, rows: Rows) -> None:
    y, x, group = rows
    plain, turned = fit(rows, method), fit((y, np.column_stack([1 - x[:, 0], x[:, 1]]), group), method)
    assert turned.loglik == pytest.approx(plain.loglik, abs=1e-6)
    assert turned["is_variant"].beta == pytest.approx(-plain["is_variant"].beta, abs=1e-4, nan_ok=True)
    assert turned["is_variant"].lrt_p == pytest.approx(plain["is_variant"].lrt_p, abs=1e-5, nan_ok=True)
    assert turned["gamma"].beta == pytest.approx(plain["gamma"].beta, abs=1e-4, nan_ok=True)


@methods
@cases
@given(tables())
def test_twice_the_groups_give_the_standard_error_over_root_two(method: str, rows: Rows) -> None:
    y, x, group = rows
    doubled = np.tile(y, 2), np.tile(x, (2, 1)), np.concatenate([group, group + group.max() + 1])
    same(fit(rows, method), fit(doubled, method), factor=2.0)
