"""The gate's decision: known answers, degenerate runs, error rates beside the usual ways, the plan's promise."""

from __future__ import annotations

import itertools
import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.stats import regression
from variantbench.stats.clustered import clustered_pairs, sign_flip
from variantbench.stats.regression import (
    Change,
    Decision,
    decide,
    default_margin,
    paired_change,
    pairs_to_settle,
    templates_needed,
)

ANSWER = st.tuples(st.booleans(), st.booleans(), st.integers(0, 5))


@pytest.fixture(scope="module")
def simulation() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).parents[1] / "perf" / "gate_error_rates.py"))


@given(st.lists(ANSWER, min_size=12, max_size=60))
def test_flips_are_all_sign_patterns(rows: list[tuple[bool, bool, int]]) -> None:
    x, y, cluster = (np.array(column) for column in zip(*rows, strict=True))
    _, code = np.unique(cluster, return_inverse=True)
    sums, size = np.bincount(code, weights=y.astype(float) - x), np.bincount(code)
    shifted = 100 * sums + size
    every = [np.dot(signs, shifted) for signs in itertools.product((1, -1), repeat=len(size))]
    expected = np.mean(np.array(every) <= shifted.sum() + 1e-9)
    assert regression._flips(sums, size, 0.01) == pytest.approx(expected)


def test_without_a_tolerance_the_flips_are_those_of_the_two_sided_test() -> None:
    sums = np.array([-3.0, -1, -2, 0, 1, -2, -4])
    one_sided = regression._flips(sums, np.full(7, 10), 0.0)
    assert 2 * one_sided == pytest.approx(sign_flip(sums.astype(int)))


@given(st.lists(ANSWER, min_size=2, max_size=60))
def test_the_order_of_pairs_and_the_names_of_templates_do_not_matter(rows: list[tuple[bool, bool, int]]) -> None:
    x, y, cluster = (np.array(column) for column in zip(*rows, strict=True))
    first = paired_change(x, y, cluster)
    second = paired_change(x[::-1], y[::-1], [f"template {name}" for name in cluster[::-1]])
    for one, other in zip(vars_of(first), vars_of(second), strict=True):
        assert one == pytest.approx(other)


def vars_of(change: Change) -> list[float]:
    return [getattr(change, name) for name in Change.__dataclass_fields__]


def test_equal_templates_give_the_cluster_t_interval() -> None:
    rng = np.random.default_rng(3)
    x, y, cluster = rng.random(200) < 0.6, rng.random(200) < 0.5, np.repeat(np.arange(20), 10)
    ours = paired_change(x, y, cluster)
    theirs = clustered_pairs(y, x, cluster, confidence=0.9)
    assert (ours.estimate, ours.se) == pytest.approx((theirs.estimate, theirs.se))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_the_difference_is_that_of_the_accuracies_whatever_the_sizes_of_templates() -> None:
    change = paired_change([1, 1, 1, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 1, 2])
    assert change.estimate == pytest.approx(change.new - change.baseline) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("pairs", "decision"), [(4, Decision.INCONCLUSIVE), (40, Decision.INCONCLUSIVE), (400, Decision.PASS)]
)
def test_no_difference_among_few_is_no_proof(pairs: int, decision: Decision) -> None:
    change = paired_change([1] * pairs, [1] * pairs, np.arange(pairs) // 2)
    assert decide(change) is decision
    assert change.low == pytest.approx(-(1 - 0.05 ** (1 / pairs)))


def test_one_template_decides_nothing() -> None:
    change = paired_change([1] * 50, [0] * 50, [7] * 50)
    assert math.isinf(change.se)
    assert decide(change) is Decision.INCONCLUSIVE


def test_a_drop_everywhere_is_a_regression_even_without_spread() -> None:
    change = paired_change([1] * 60, [0] * 60, np.arange(60) // 6)
    assert change.se == 0
    assert decide(change) is Decision.REGRESSION


def test_four_templates_can_show_nothing_by_flips() -> None:
    change = paired_change([1] * 40, [0] * 40, np.arange(40) // 10)
    assert change.p == pytest.approx(1 / 16)
    assert decide(change) is not Decision.REGRESSION


def test_noise_widens_the_interval() -> None:
    rng = np.random.default_rng(5)
    x, cluster = rng.random(1000) < 0.5, np.arange(1000) // 10
    calm, noisy = (paired_change(x, x, cluster, noise=noise) for noise in (0.0, 0.05))
    assert calm.se == 0
    assert noisy.se == pytest.approx(math.sqrt(0.05 / 1000))
    assert noisy.low < calm.low


def test_more_pairs_settle_what_they_are_said_to() -> None:
    rng = np.random.default_rng(8)
    x = rng.random(400) < 0.5
    y = np.where(rng.random(400) < 0.3, rng.random(400) < 0.5, x)
    change = paired_change(x, y, np.arange(400) // 10)
    more = pairs_to_settle(change, margin=0.012, tolerance=0.01)
    copies = math.ceil((400 + more) / 400) + 1
    bigger = paired_change(
        np.tile(x, copies), np.tile(y, copies), np.concatenate([np.arange(400) // 10 + 100 * n for n in range(copies)])
    )
    assert decide(change, margin=0.012) is Decision.INCONCLUSIVE
    assert decide(bigger, margin=0.012) is not Decision.INCONCLUSIVE


@pytest.mark.parametrize(
    ("before", "after", "cluster"), [([], [], []), ([1], [1, 0], [1]), ([[1]], [[1]], [[1]]), ([1, 0], [1, 0], [1])]
)
def test_other_shapes_are_refused(before: Any, after: Any, cluster: Any) -> None:
    with pytest.raises(ValueError, match="one at least"):
        paired_change(before, after, cluster)


def test_margins_follow_the_number_of_items() -> None:
    assert default_margin(100, 51) == 0.03
    assert default_margin(108, 1) == 0.1
    assert default_margin(10_000, 51) == 0.01


@pytest.mark.parametrize(("margin", "power"), [(0.0, 0.8), (1.0, 0.8), (0.03, 0.04), (0.03, 1.0)])
def test_impossible_plans_are_refused(margin: float, power: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        templates_needed(margin, 51, power=power)


def test_unchanged_checkpoints_are_rarely_called_worse(simulation: dict[str, Any], slow: bool) -> None:
    n = 2000 if slow else 100
    limit = 1.2 * 0.05 + (0 if slow else 3 * math.sqrt(0.05 * 0.95 / n))
    for how in simulation["ROWS"]:
        found = simulation["rates"](n, early=how["effect_sd"] == 0 and (slow or how["flips"] < 0.1), **how)
        assert found.regression <= limit, how
        assert found.early_regression <= limit, how
        assert found.early_contradicts <= limit, how


def test_the_usual_ways_are_worse(simulation: dict[str, Any]) -> None:
    found = simulation["rates"](150, early=False, accuracy=0.5, flips=0.22, effect_sd=1.0)
    assert found.mcnemar > 0.1 > found.regression


@pytest.mark.parametrize("change", [0.0, -0.03, -0.05])
def test_the_plan_keeps_its_promise(simulation: dict[str, Any], slow: bool, change: float) -> None:
    n = 2000 if slow else 200
    seen, promised = simulation["kept_promise"](n, change=change)
    assert abs(seen - promised) <= 0.03 + (0 if slow else 3 * math.sqrt(0.25 / n))
