"""The 34 golden data sets, with the tolerances of ../shared/reference/glmm/README.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest

from variantbench.stats.glmm import GlmmFit, fit_glmm
from variantbench.stats.glmm_status import Status

REALISTIC = [
    "r01_small_sigma", "r02_sigma1", "r03_sigma2", "r04_phi2_like", "r05_gemma27_like", "r06_phi35_like", "r07_sigma5",
    "r08_gemma2bit_like", "r09_acc3", "r10_acc97", "r11_positive", "r12_gemma22b_ok",
]  # fmt: skip
FALSE_DEGENERATE = ["d01_lme4_false_degenerate", "d02_lme4_false_degenerate_b"]
FINITE = [
    "d08_sigma0_singular", "d09_underdispersed", "d10_tiny_accuracy", "d11_near_constant", "d13_five_templates",
    "d15_missing_rows", "d16_gamma_missing", "d18_gamma_badly_scaled",
]  # fmt: skip
ONE_FORMULA = ["d14_two_templates", "d17_gamma_collinear"]
SEPARATED = ["d03_base_all_correct", "d04_base_all_wrong", "d05_complete_separation", "d07_one_correct"]
LARGE = ["l01_200_templates", "l02_100_variants"]
HUGE = ["l03_10000_templates", "l04_5100_variants"]

BOTH = [*REALISTIC, *FALSE_DEGENERATE, *FINITE, *LARGE, *HUGE]
FITS = [(name, formula) for name in BOTH for formula in ("glmm1", "glmm2")] + [(name, "glmm1") for name in ONE_FORMULA]
REGULAR = [(name, formula) for name in (*REALISTIC, *LARGE) for formula in ("glmm1", "glmm2")]
METHODS = ["laplace", "exact"]
SEPARATED_FITS = [(name, "glmm1") for name in SEPARATED] + [(name, "glmm2") for name in SEPARATED[:2]]
COLUMNS = {"glmm1": ["is_variant"], "glmm2": ["is_variant", "gamma_c"]}


@cache
def fitted(golden: Callable[[str], Any], name: str, formula: str, method: str) -> GlmmFit:
    y, x, group = golden(name).arrays(formula)
    # profile intervals of the exact method at 510,000 rows take a minute, and the reference has none
    tests = not (name in HUGE and method == "exact" and formula == "glmm2")
    return fit_glmm(y, x, group, names=COLUMNS[formula], method=method, missing="drop", tests=tests)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "formula"), FITS)
def test_fit_agrees_with_reference(golden: Callable[[str], Any], name: str, formula: str, method: str) -> None:
    if name in HUGE and method == "exact" and formula == "glmm2" and os.environ.get("VARIANTBENCH_SLOW") != "1":
        pytest.skip("half a minute: set VARIANTBENCH_SLOW=1")
    expected = golden(name).reference[formula][method]
    fit = fitted(golden, name, formula, method)
    assert fit.n_rows == golden(name).reference[formula]["n_rows"]
    assert abs(fit.loglik - expected["loglik"]) < 1e-6
    assert abs(fit.sigma - expected["sigma"]) < 1e-4
    for effect in fit.effects:
        se = expected["se"][effect.name]
        assert abs(effect.beta - expected["coef"][effect.name]) < 1e-4 * se, effect.name
        assert abs(effect.se / se - 1) < 1e-4, effect.name
        assert abs(effect.se_cluster / expected["robust_se_CR"][effect.name] - 1) < 1e-4, effect.name
    if not np.isnan(fit.effects[1].lrt_p):
        for effect in fit.effects[1:]:
            assert abs(effect.lrt_p - expected["lrt"][effect.name]["p"]) < 1e-5, effect.name
            for end, reference in zip((effect.low, effect.high), expected["profile_ci95"][effect.name], strict=True):
                assert abs(end - reference) < 1e-4 * expected["se"][effect.name], effect.name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "formula"), SEPARATED_FITS)
def test_separated_fit_gives_likelihood_test_and_finite_end_only(
    golden: Callable[[str], Any], name: str, formula: str, method: str
) -> None:
    reference = golden(name).reference[formula]
    expected = reference[method]
    fit = fitted(golden, name, formula, method)
    effect = fit["is_variant"]
    assert effect.beta == float(expected["coef"]["is_variant"])
    assert abs(effect.beta) == inf
    assert all(np.isnan([e.se for e in fit.effects])), "no standard error without a positive definite Hessian"
    assert all(np.isnan([e.wald_p for e in fit.effects])), "and no Wald p"
    assert abs(fit.loglik - expected["loglik"]) < 1e-6
    for name_of_effect, test in expected["lrt"].items():
        assert abs(fit[name_of_effect].lrt_p - test["p"]) < 1e-5
    interval = expected["profile_ci95"]["is_variant"]
    if interval is not None:
        for end, known in zip((effect.low, effect.high), interval, strict=True):
            assert end == float(known) or abs(end - known) < 1e-4
    separations = [str(r) for r in fit.remarks if r.status in (Status.QUASI_SEPARATION, Status.COMPLETE_SEPARATION)]
    assert separations == [s for s in reference["status"] if "separation" in s]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "formula"), [*FITS, *SEPARATED_FITS, ("d12_all_constant_templates", "glmm1")])
def test_loglik_is_never_below_reference(golden: Callable[[str], Any], name: str, formula: str, method: str) -> None:
    if name in HUGE and method == "exact" and formula == "glmm2" and os.environ.get("VARIANTBENCH_SLOW") != "1":
        pytest.skip("half a minute: set VARIANTBENCH_SLOW=1")
    fit = fitted(golden, name, formula, method)
    assert fit.loglik >= golden(name).reference[formula][method]["loglik"] - 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "formula"), [*FITS, *SEPARATED_FITS])
def test_sigma_zero_is_remarked_where_reference_says_so(
    golden: Callable[[str], Any], name: str, formula: str, method: str
) -> None:
    if name in HUGE:
        pytest.skip("covered by the fit: sigma is 2.5")
    fit = fitted(golden, name, formula, method)
    assert fit.has(Status.SIGMA_ZERO) == (f"{method}:sigma_boundary" in golden(name).reference[formula]["status"])


@pytest.mark.parametrize("method", METHODS)
def test_constant_response_has_no_estimate(golden: Callable[[str], Any], method: str) -> None:
    fit = fitted(golden, "d06_all_correct", "glmm1", method)
    assert [str(remark) for remark in fit.remarks] == golden("d06_all_correct").reference["glmm1"]["status"]
    effect = fit["is_variant"]
    assert (effect.low, effect.high) == (-inf, inf)
    assert np.isnan([effect.beta, effect.se, effect.lrt_p, effect.wald_p]).all()


def test_constant_templates_have_infinite_sigma_and_no_p(golden: Callable[[str], Any]) -> None:
    fit = fitted(golden, "d12_all_constant_templates", "glmm1", "exact")
    assert fit.has(Status.SIGMA_INFINITE)
    assert fit.sigma == inf
    assert np.isnan([fit["is_variant"].beta, fit["is_variant"].lrt_p, fit["is_variant"].wald_p]).all()


@pytest.mark.parametrize("method", METHODS)
def test_collinear_covariates_are_remarked(golden: Callable[[str], Any], method: str) -> None:
    fit = fitted(golden, "d17_gamma_collinear", "glmm2", method)
    assert [str(remark) for remark in fit.remarks] == ["rank_deficient"]
    assert np.isnan([value for e in fit.effects for value in (e.beta, e.se, e.lrt_p, e.low)]).all()


@pytest.mark.parametrize(("name", "formula"), [(n, f) for n, f in FITS if n not in HUGE])
def test_laplace_agrees_with_tightened_glmmtmb(golden: Callable[[str], Any], name: str, formula: str) -> None:
    r = golden(name).r[formula].get("glmmTMB_tight")
    fit = fitted(golden, name, formula, "laplace")
    if not r:
        pytest.skip("no tightened glmmTMB fit in the golden data")
    assert abs(fit.loglik - r["loglik"]) < 1e-6
    assert abs(fit.sigma - r["sigma"]) < 2e-4
    for effect in fit.effects:
        assert abs(effect.beta - r["coef"][effect.name]) < 2e-4 * effect.se, effect.name
        assert abs(effect.se / r["se"][effect.name] - 1) < (1e-2 if name.startswith("d18") else 1e-4), effect.name


@pytest.mark.parametrize(("name", "formula"), REGULAR)
def test_laplace_agrees_with_lme4(golden: Callable[[str], Any], name: str, formula: str) -> None:
    fit = fitted(golden, name, formula, "laplace")
    tight, default = (golden(name).r[formula][kind] for kind in ("lme4_tight", "lme4_default"))
    assert abs(fit.loglik - tight["loglik"]) < 5e-5
    assert abs(fit.sigma - tight["sigma"]) < 2e-3
    assert abs(fit.loglik - default["loglik"]) < 1e-2
    assert abs(fit.sigma - default["sigma"]) < 1e-2
    for effect in fit.effects:
        assert abs(effect.beta - tight["coef"][effect.name]) < 1e-2 * effect.se
        assert abs(effect.beta - default["coef"][effect.name]) < 2e-2 * effect.se
        assert abs(effect.se / default["se"][effect.name] - 1) < 0.03
    for effect in fit.effects[1:]:
        assert abs(effect.lrt_p - tight["lrt"][effect.name]["p"]) < 1e-3
        assert abs(effect.lrt_p - default["lrt"][effect.name]["p"]) < 1e-3


@pytest.mark.parametrize("formula", ["glmm1", "glmm2"])
@pytest.mark.parametrize("name", FALSE_DEGENERATE)
def test_laplace_is_near_lme4_where_lme4_has_false_errors(
    golden: Callable[[str], Any], name: str, formula: str
) -> None:
    fit = fitted(golden, name, formula, "laplace")
    default = golden(name).r[formula]["lme4_default"]
    assert abs(fit.loglik - default["loglik"]) < 2e-2
    assert abs(fit.sigma - default["sigma"]) < 0.05
    for effect in fit.effects:
        assert abs(effect.beta - default["coef"][effect.name]) < 0.1 * effect.se
    for effect in fit.effects[1:]:
        assert abs(effect.lrt_p - default["lrt"][effect.name]["p"]) < 3e-3


@pytest.mark.parametrize(("name", "formula"), REGULAR)
def test_exact_is_near_lme4_with_25_nodes(golden: Callable[[str], Any], name: str, formula: str) -> None:
    fit = fitted(golden, name, formula, "exact")
    r = golden(name).r[formula]["lme4_nagq25"]
    wide = name[:3] in ("r06", "r07")
    assert abs(fit.loglik - r["loglik"]) < (0.1 if wide else 5e-3)
    assert abs(fit.sigma - r["sigma"]) < (0.02 if wide else 4e-3)
    for effect in fit.effects:
        assert abs(effect.beta - r["coef"][effect.name]) < (0.03 if wide else 4e-3) * effect.se
