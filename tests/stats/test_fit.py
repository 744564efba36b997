from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from variantbench.stats.design import interaction, within_between
from variantbench.stats.fit import fit
from variantbench.stats.glmm import fit_glmm
from variantbench.stats.glmm_status import Status

KEYS = {
    "beta", "se", "sigma", "loglik", "lrt_p", "profile_ci", "status", "conditional", "n_rows", "n_groups", "seconds"
}  # fmt: skip


def test_json_has_the_promised_keys_and_no_nan(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("d01_lme4_false_degenerate").arrays("glmm1")
    full = fit(y, x, group, names=["is_variant"], bootstrap=50, seed=1)
    found = json.loads(json.dumps(full.as_json(), allow_nan=False))
    assert set(found) >= KEYS
    assert found["lrt_p"]["is_variant"] == pytest.approx(0.31423, abs=1e-5)
    assert found["conditional"]["is_variant"]["p_mid"] == pytest.approx(0.31252, abs=1e-5)
    assert found["bootstrap"]["replicates"] == 50
    assert found["status"] == []
    assert found["minimum_detectable"]["is_variant"] == pytest.approx(0.914, abs=1e-3)


def test_two_effects_bring_adjusted_conditional_estimates(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("r02_sigma1").arrays("glmm2")
    found = fit(y, x, group, names=["is_variant", "gamma_c"], method="laplace").as_json()
    assert set(found["conditional"]) == {"is_variant", "gamma_c", "is_variant (alone)"}  # type: ignore[call-overload]


def two_effects(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Answers, covariates (variant and a number), and 10 templates of 1 + 10."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.tile([0.0] + [1.0] * 10, 10), rng.normal(size=110)])
    return (rng.random(110) < 0.5).astype(float), x, np.repeat(np.arange(10), 11)


def test_an_effect_separated_within_templates_alone_is_infinite_beside_the_exact_test() -> None:
    y, x, group = two_effects(0)
    y[x[:, 0] == 0] = 0
    y[group == 0] = 1  # a template that is all right separates nothing across templates
    full = fit(y, x, group, names=["is_variant", "z"])
    found = json.loads(json.dumps(full.as_json(), allow_nan=False))
    assert found["conditional"]["is_variant"] == {"beta": "inf", "se": None}
    assert found["conditional"]["is_variant (alone)"]["beta"] == "inf"
    assert found["status"] == ["few_informative_groups", "conditional_disagreement:is_variant"]


def test_effects_collinear_within_templates_alone_bring_no_conditional_estimates() -> None:
    y, x, group = two_effects(1)
    x[:, 1] = x[:, 0] + np.random.default_rng(2).normal(size=10)[group]
    full = fit(y, x, group, names=["is_variant", "z"])
    assert full.conditional == ()
    assert [str(remark) for remark in full.remarks if remark.status is Status.CONDITIONAL_DISAGREES] == []


def test_separation_is_said_in_json_without_numbers(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("d03_base_all_correct").arrays("glmm1")
    found = json.loads(json.dumps(fit(y, x, group, names=["is_variant"]).as_json(), allow_nan=False))
    assert found["beta"]["is_variant"] == "-inf"
    assert found["se"]["is_variant"] is None
    assert found["wald_p"]["is_variant"] is None
    assert found["lrt_p"]["is_variant"] < 1e-15
    assert found["profile_ci"]["is_variant"][0] == "-inf"
    assert found["status"] == ["quasi_separation:is_variant"]


@pytest.mark.parametrize("name", ["d06_all_correct", "d12_all_constant_templates"])
def test_no_information_gives_no_p_but_the_conditional_one(golden: Callable[[str], Any], name: str) -> None:
    y, x, group = golden(name).arrays("glmm1")
    found = fit(y, x, group, names=["is_variant"], bootstrap=10, seed=1).as_json()
    assert found["lrt_p"] == {"is_variant": None}
    assert found["profile_ci"] == {"is_variant": ["-inf", "inf"]}
    assert found["conditional"]["is_variant"]["p_exact"] == 1.0  # type: ignore[index]
    assert found["bootstrap"] is None


def test_laplace_that_misses_sigma_is_remarked(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("r09_acc3").arrays("glmm1")  # sigma 3.02 by Laplace, 2.41 exactly
    full = fit(y, x, group)
    assert Status.LAPLACE_EXACT_DIFFER in [remark.status for remark in full.remarks]


@pytest.mark.parametrize("name", ["r01_small_sigma", "r03_sigma2", "r04_phi2_like", "d02_lme4_false_degenerate_b"])
def test_conditional_agrees_on_ordinary_data(golden: Callable[[str], Any], name: str) -> None:
    y, x, group = golden(name).arrays("glmm1")
    assert fit(y, x, group).remarks == ()


def test_group_effect_that_follows_the_covariate_is_remarked() -> None:
    # a covariate that rises with the group's ability breaks the random intercept's assumption only
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(60), 12)
    ability = rng.normal(0, 2, 60)
    share = 1 / (1 + np.exp(-1.5 * ability))
    variant = (rng.random(720) < share[group]).astype(float)
    y = (rng.random(720) < 1 / (1 + np.exp(-(ability[group])))).astype(float)
    full = fit(y, variant, group, names=["is_variant"])
    assert "conditional_disagreement:is_variant" in [str(remark) for remark in full.remarks]


def test_within_between_split_finds_both_effects() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(150), 20)
    hard = rng.normal(0, 2, 150)
    gamma = hard[group] + rng.normal(0, 1, 3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-(-1.0 * hard[group] - 0.3 * (gamma - hard[group]))))).astype(float)
    split = within_between(gamma, group)
    found = fit_glmm(y, np.column_stack([split.within, split.between]), group, names=["within", "between"])
    assert found["within"].beta == pytest.approx(-0.3, abs=3 * found["within"].se)
    assert found["between"].beta == pytest.approx(-1.0, abs=4 * found["between"].se)
    mixed = fit_glmm(y, gamma, group, names=["gamma"])["gamma"].beta
    assert abs(mixed + 0.3) > 2 * found["within"].se


def test_interaction_is_estimated() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(200), 40)
    variant, code = np.tile([0.0] * 20 + [1.0] * 20, 200), np.tile([0.0, 1.0], 4000)
    both = interaction(variant, code)
    eta = 1.5 * rng.normal(size=200)[group] - 0.4 * variant + 0.2 * code + 0.7 * both
    y = (rng.random(8000) < 1 / (1 + np.exp(-eta))).astype(float)
    found = fit_glmm(y, np.column_stack([variant, code, both]), group, names=["variant", "code", "variant:code"])
    assert found["variant:code"].beta == pytest.approx(0.7, abs=3 * found["variant:code"].se)
    assert found["variant:code"].lrt_p < 0.01


@pytest.mark.parametrize(
    "call", [lambda: within_between([1.0], [1, 2]), lambda: interaction([[1.0]], [[1.0]])], ids=["split", "interaction"]
)
def test_columns_of_other_shapes_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="each"):
        call()
