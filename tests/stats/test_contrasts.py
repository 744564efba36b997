"""Effects that share templates: their differences and means, and one exact test over all models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from variantbench.stats.conditional import conditional_counts
from variantbench.stats.contrasts import joint_effects
from variantbench.stats.exchangeable import exchangeable
from variantbench.stats.glmm import fit_glmm

Counts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def study(seed: int, *, effects: list[float], templates: int = 100, variants: int = 50, shared: float = 2.0) -> Counts:
    """Counts (effects, templates) of models that find the same templates hard, and the same questions."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, shared, templates)
    question = rng.normal(0, 1.0, (templates, 1 + variants))
    logit, is_variant = hard[:, None] + question, np.arange(1 + variants) > 0
    chance = [1 / (1 + np.exp(-logit - effect * is_variant)) for effect in effects]
    right = np.array([rng.random(question.shape) < one for one in chance])
    shape = (len(effects), templates)
    return (
        np.ones(shape, np.int64),
        right[:, :, 0].astype(np.int64),
        np.full(shape, variants),
        right[:, :, 1:].sum(axis=2),
    )


def test_one_effect_is_the_conditional_estimate_with_a_sandwich_like_the_mixed_model_s() -> None:
    n0, y0, n1, y1 = study(3, effects=[-0.8])
    found = joint_effects(n0, y0, n1, y1)
    alone = conditional_counts(n0[0], y0[0], n1[0], y1[0])
    assert found.beta[0] == pytest.approx(alone.beta, abs=1e-9)
    y = np.concatenate([[b, *[1] * v, *[0] * (50 - v)] for b, v in zip(y0[0], y1[0], strict=True)])
    fit = fit_glmm(y, np.tile(np.arange(51) > 0, 100), np.repeat(np.arange(100), 51), names=["is_variant"])
    assert np.sqrt(found.covariance[0, 0]) == pytest.approx(fit["is_variant"].se_cluster, rel=0.05)


def test_several_base_answers_a_template() -> None:
    n0, y0 = np.full(30, 4), np.arange(30) % 5
    found = joint_effects(n0, y0, np.full(30, 20), (7 * np.arange(30)) % 21)
    assert found.beta[0] == pytest.approx(
        conditional_counts(n0, y0, np.full(30, 20), (7 * np.arange(30)) % 21).beta, abs=1e-9
    )
    # the model-based variance, of the same size where the model holds
    assert (
        0.5
        < np.sqrt(found.covariance[0, 0]) / conditional_counts(n0, y0, np.full(30, 20), (7 * np.arange(30)) % 21).se
        < 3
    )


def test_equal_effects_differ_by_nothing_and_have_one_variance() -> None:
    once = study(4, effects=[-0.5])
    twice = joint_effects(*(np.repeat(part, 2, axis=0) for part in once))
    assert twice.difference(0, 1).estimate == 0
    alone = joint_effects(*once).mean()
    assert twice.mean().se == pytest.approx(alone.se)  # the same answers twice are no more evidence


def test_an_infinite_effect_is_left_out_of_the_mean() -> None:
    n0, y0, n1, y1 = (np.repeat(part, 2, axis=0) for part in study(5, effects=[-0.5]))
    y0[1] = 1
    found = joint_effects(n0, y0, n1, y1)
    assert np.isnan(found.beta[1])
    assert found.mean().estimate == pytest.approx(found.beta[0])
    assert np.isnan(found.difference(0, 1).p)


def test_interaction_holds_its_level_where_formats_share_questions(slow: bool) -> None:
    # 200 simulations: 5 % rejections, standard error 1.5 points; 1,000 in the slow form
    runs = 1000 if slow else 200
    p = np.array([
        joint_effects(*study(seed, effects=[-0.6, -0.6])).difference(0, 1).p for seed in range(runs)
    ])  # fmt: skip
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=3.3 * np.sqrt(0.05 * 0.95 / runs))


def test_mean_over_models_holds_its_level(slow: bool) -> None:
    runs = 1000 if slow else 200
    means = [joint_effects(*study(seed, effects=[0.0] * 5)).mean() for seed in range(runs)]
    assert np.mean([m.p < 0.05 for m in means]) == pytest.approx(0.05, abs=3.3 * np.sqrt(0.05 * 0.95 / runs))


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(effects, templates\) each"):
        joint_effects([[1, 1]], [[1]], [[2, 2]], [[1, 1]])
    with pytest.raises(ValueError, match="one an effect"):
        joint_effects([[1] * 9], [[1, 0, 1] * 3], [[5] * 9], [[3, 2, 4] * 3]).contrast([1, 1])


def test_exact_law_is_that_of_every_choice_of_base_questions() -> None:
    right = [[3, 1, 0, 2], [2, 2, 5]]
    sums = np.array([a + b for a, b in product(*right)])
    found = exchangeable([3, 1, 0, 2, 2, 2, 5], [1, 0, 0, 0, 0, 0, 1], [0] * 4 + [1] * 3)
    assert found.base_right == 8
    assert found.expected == pytest.approx(sums.mean())
    assert found.p == pytest.approx(min(1.0, 2 * (sums >= 8).mean()))
    assert found.p_mid == pytest.approx(2 * (sums > 8).mean() + (sums == 8).mean())


def test_exact_law_with_two_base_questions_a_template() -> None:
    values = [4, 0, 1, 2, 2]
    pairs = np.array([values[i] + values[j] for i in range(5) for j in range(i)])
    found = exchangeable(values, [1, 0, 0, 1, 0], [7] * 5)
    assert found.base_right == 6
    assert found.p == pytest.approx(2 * (pairs >= 6).mean())


def test_with_one_model_it_is_the_conditional_test() -> None:
    n0, y0, n1, y1 = (part[0] for part in study(8, effects=[-0.5], templates=30, variants=10))
    right = np.concatenate([[b, *[1] * v, *[0] * (10 - v)] for b, v in zip(y0, y1, strict=True)])
    found = exchangeable(right, np.tile(np.arange(11) == 0, 30), np.repeat(np.arange(30), 11))
    test = conditional_counts(n0, y0, n1, y1)
    assert (found.p, found.p_mid) == pytest.approx((test.p_exact, test.p_mid), abs=1e-9)


def test_pooled_test_holds_its_level_where_models_agree(slow: bool) -> None:
    runs = 1000 if slow else 200
    rejected = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        hard = rng.normal(0, 2, (40, 1)) + rng.normal(0, 1.5, (40, 21))
        right = (rng.random((20, 40, 21)) < 1 / (1 + np.exp(-hard))).sum(axis=0)
        base = np.tile(np.arange(21) == 0, 40)
        rejected += exchangeable(right.ravel(), base, np.repeat(np.arange(40), 21)).p_mid < 0.05
    assert rejected / runs == pytest.approx(0.05, abs=3.3 * np.sqrt(0.05 * 0.95 / runs))


@pytest.mark.parametrize(
    ("right", "base", "message"),
    [
        ([1, 2], [0, 0], "no template has both"),
        ([1, -2], [0, 1], "none below 0"),
        ([1], [0, 1], r"\(questions,\) each"),
    ],
)
def test_wrong_input_is_refused(right: list[int], base: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exchangeable(right, base, [0] * len(base))
