from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variantbench.stats.conditional import conditional_counts, conditional_logit, conditional_test

NAMES = [
    "r01_small_sigma", "r02_sigma1", "r03_sigma2", "r04_phi2_like", "r05_gemma27_like", "r06_phi35_like", "r07_sigma5",
    "r08_gemma2bit_like", "r09_acc3", "r10_acc97", "r11_positive", "r12_gemma22b_ok", "d01_lme4_false_degenerate",
    "d02_lme4_false_degenerate_b", "d03_base_all_correct", "d04_base_all_wrong", "d05_complete_separation",
    "d06_all_correct", "d07_one_correct", "d08_sigma0_singular", "d09_underdispersed", "d10_tiny_accuracy",
    "d11_near_constant", "d12_all_constant_templates", "d13_five_templates", "d14_two_templates", "d15_missing_rows",
    "d16_gamma_missing", "d17_gamma_collinear", "d18_gamma_badly_scaled", "l01_200_templates", "l02_100_variants",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_conditional_test_agrees_with_reference(golden: Callable[[str], Any], name: str) -> None:
    y, x, group = golden(name).arrays("glmm1")
    expected = golden(name).reference["conditional_exact"]
    test = conditional_test(y, x[:, 0], group)
    assert test.base_right == expected["S"]
    assert test.informative == expected["informative"]
    assert test.p_exact == pytest.approx(expected["p"], rel=1e-10)
    assert test.p_mid == pytest.approx(expected["midp"], rel=1e-10)
    if expected["cmle"] is None:
        assert np.isnan(test.beta)
        assert (test.low, test.high) == (-inf, inf)
        return
    assert test.beta == pytest.approx(float(expected["cmle"]), abs=1e-9)
    assert (test.low, test.high) == pytest.approx(tuple(map(float, expected["ci_midp"])), abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=3
    )
)
def test_p_is_that_of_counting_all_arrangements(groups: list[tuple[int, int, int, int]]) -> None:
    n0, y0, n1, y1 = (list(column) for column in zip(*groups, strict=True))
    y0, y1 = [min(a, b) for a, b in zip(y0, n0, strict=True)], [min(a, b) for a, b in zip(y1, n1, strict=True)]
    ways: list[list[int]] = []
    for base, right, variants, variants_right in zip(n0, y0, n1, y1, strict=True):
        arrangements = product([0, 1], repeat=base + variants)
        ways.append([sum(a[:base]) for a in arrangements if sum(a) == right + variants_right])
    sums = np.array([sum(choice) for choice in product(*ways)])
    seen = sum(y0)
    tail = min((sums <= seen).mean(), (sums >= seen).mean())
    mid = min((sums < seen).mean(), (sums > seen).mean()) + 0.5 * (sums == seen).mean()
    test = conditional_counts(n0, y0, n1, y1)
    assert test.p_exact == pytest.approx(min(1.0, 2 * tail))
    assert test.p_mid == pytest.approx(min(1.0, 2 * mid))


def test_several_base_answers_a_template_match_conditional_logit() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(40), 15)
    variant = np.tile([0] * 5 + [1] * 10, 40).astype(float)
    chance = 1 / (1 + np.exp(-(rng.normal(0, 2, 40)[group] - 0.7 * variant)))
    y = (rng.random(600) < chance).astype(float)
    test = conditional_test(y, variant, group)
    (effect,) = conditional_logit(y, variant, group, names=["is_variant"])
    assert test.beta == pytest.approx(effect.beta, abs=1e-5)
    assert test.se == pytest.approx(effect.se, rel=1e-4)


def test_conditional_logit_gives_the_notes_within_template_effect(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("d01_lme4_false_degenerate").arrays("glmm2")
    variant, gamma = conditional_logit(y, x, group, names=["is_variant", "gamma_c"])
    assert gamma.beta == pytest.approx(-0.414, abs=2e-3)  # notes, section 4
    assert gamma.se == pytest.approx(0.115, abs=1e-3)
    assert (variant.name, gamma.name) == ("is_variant", "gamma_c")


@pytest.mark.parametrize(("groups", "variants"), [(2, 10), (10, 10), (100, 50)])
@pytest.mark.parametrize("right", [0, 1])
def test_conditional_logit_of_separated_groups_is_infinite(groups: int, variants: int, right: int) -> None:
    rng = np.random.default_rng(7)
    group, variant = np.repeat(np.arange(groups), variants + 1), np.tile([0] + [1] * variants, groups)
    x = rng.normal(size=len(group))
    y = np.where(variant == 0, right, rng.random(len(group)) < 0.5)
    effect, other = conditional_logit(y, np.column_stack([variant, x]), group)
    assert (effect.beta, np.isnan(effect.se)) == (-inf if right else inf, True)
    among_variants = variant == 1  # base questions tell nothing more of the other effect
    (alone,) = conditional_logit(y[among_variants], x[among_variants], group[among_variants])
    assert (other.beta, other.se) == pytest.approx((alone.beta, alone.se), abs=1e-4)
    y[0] = 1 - right
    effect, _ = conditional_logit(y, np.column_stack([variant, x]), group)
    assert abs(effect.beta) < 8
    assert effect.se < 2


@pytest.mark.parametrize(
    ("response", "covariate", "message"),
    [
        ([1, 1, 0, 0], [0, 1, 0, 1], "no group holds both"),
        ([1, 0, 1, 0], [0, 0, 1, 1], "does not vary within groups"),
        ([1, 0, 1, 0], [[0, 3], [1, 4], [0, 7], [1, 8]], "x1, x2 are collinear within groups"),
    ],
)
def test_conditional_logit_says_what_is_missing(response: list[int], covariate: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conditional_logit(response, covariate, [0, 0, 1, 1])


def test_third_kind_of_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="use conditional_logit"):
        conditional_test([1, 0, 1, 0], [0, 1, 2, 0], [0, 0, 1, 1])
