"""Our Laplace fit beside R's own, on six golden sets: lme4 with a tightened inner loop, and glmmTMB.

R: glmer(is_correct ~ ..., binomial, control = glmerControl(tolPwrss = 1e-13)), glmmTMB(..., family = binomial).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from variantbench.stats.glmm import fit_glmm

SETS = [
    "d01_lme4_false_degenerate", "d02_lme4_false_degenerate_b", "r02_sigma1", "r04_phi2_like", "r07_sigma5",
    "d15_missing_rows",
]  # fmt: skip
FORMULAS = {"glmm1": ["is_variant"], "glmm2": ["is_variant", "gamma_c"]}
SCRIPT = """
suppressMessages({{library({package}); library(jsonlite)}})
rows <- read.csv(gzfile("{data}")); rows <- rows[complete.cases(rows), ]
fit <- {call}
{extract}
cat(toJSON(out, digits = NA))
"""
LME4 = (
    "glmer(is_correct ~ {fixed} + (1 | id), rows, binomial, control = glmerControl(tolPwrss = 1e-13))",
    "out <- list(coef = fixef(fit), sigma = sqrt(VarCorr(fit)$id[1]), loglik = as.numeric(logLik(fit)))",
)
GLMMTMB = (
    "glmmTMB(is_correct ~ {fixed} + (1 | id), rows, binomial)",
    "out <- list(coef = fixef(fit)$cond, sigma = sqrt(VarCorr(fit)$cond$id[1]), loglik = as.numeric(logLik(fit)),"
    " se = sqrt(diag(vcov(fit)$cond)))",
)


@cache
def missing(package: str) -> str:
    if shutil.which("Rscript") is None:
        return "Rscript is absent"
    asked = subprocess.run(["Rscript", "-e", f"library({package}); library(jsonlite)"], capture_output=True, text=True)
    return "" if asked.returncode == 0 else f"R has no {package} or jsonlite: {asked.stderr.strip()[-200:]}"


def in_r(package: str, parts: tuple[str, str], data: Path, fixed: list[str]) -> dict[str, Any]:
    lacking = missing(package)
    if lacking:
        report = pytest.fail if os.environ.get("VARIANTBENCH_REQUIRE_SERVICES") == "1" else pytest.skip
        report(lacking)
    call = parts[0].format(fixed=" + ".join(fixed))
    script = SCRIPT.format(package=package, data=data, call=call, extract=parts[1])
    done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


# package -> its call, and the tolerances of ../shared/reference/glmm/README.md: loglik, sigma, coefficients in SE, SE
PACKAGES = {"glmmTMB": (GLMMTMB, 1e-6, 2e-4, 2e-4, 1e-4), "lme4": (LME4, 5e-5, 2e-3, 1e-2, None)}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("package", PACKAGES)
def test_fit_is_that_of_r(
    golden: Callable[[str], Any], reference_file: Callable[[str], Path], package: str, name: str, formula: str
) -> None:
    parts, loglik, sigma, coefficient, error = PACKAGES[package]
    r = in_r(package, parts, reference_file(f"glmm/data/{name}.csv.gz"), FORMULAS[formula])
    y, x, group = golden(name).arrays(formula)
    fit = fit_glmm(y, x, group, method="laplace", tests=False)
    assert fit.loglik == pytest.approx(r["loglik"][0], abs=loglik)
    assert fit.sigma == pytest.approx(r["sigma"][0], abs=sigma)
    for effect, coef in zip(fit.effects, r["coef"], strict=True):
        assert effect.beta == pytest.approx(coef, abs=coefficient * effect.se)
    if error is not None:  # lme4's standard errors are not to be compared
        assert [effect.se for effect in fit.effects] == pytest.approx(r["se"], rel=error)
