"""The posterior mode under a weak prior: finite where estimates are infinite, the estimate where data speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from variantbench.stats import glmm_map
from variantbench.stats.fit import fit
from variantbench.stats.glmm import fit_glmm
from variantbench.stats.glmm_map import fit_map


@pytest.mark.parametrize(
    ("name", "beta", "sd"),
    [  # ../shared/reference/STATISTICS-NOTES.md, section 4
        ("d03_base_all_correct", -4.96, 1.06),
        ("d04_base_all_wrong", 2.72, 1.23),
        ("d01_lme4_false_degenerate", -0.330, None),
    ],
)
def test_reference_values(golden: Callable[[str], Any], name: str, beta: float, sd: float | None) -> None:
    y, x, group = golden(name).arrays("glmm1")
    found = fit_map(y, x, group, names=["is_variant"])
    assert found.converged
    assert found["is_variant"].beta == pytest.approx(beta, abs=0.006)
    if sd is not None:
        assert found["is_variant"].sd == pytest.approx(sd, abs=0.006)


def test_a_wide_prior_gives_the_maximum_of_the_likelihood(
    golden: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glmm_map, "INTERCEPT_SD", 1e5)
    y, x, group = golden("r04_phi2_like").arrays("glmm2")
    for method in ("laplace", "exact"):
        mode = fit_map(y, x, group, names=["v", "g"], prior_sd=1e5, method=method)
        likely = fit_glmm(y, x, group, names=["v", "g"], method=method, tests=False)
        for name in ("v", "g"):
            assert mode[name].beta == pytest.approx(likely[name].beta, abs=1e-4 * likely[name].se)
            assert mode[name].sd == pytest.approx(likely[name].se, rel=1e-4)
        assert mode.log_posterior == pytest.approx(likely.loglik, abs=1e-6)


def test_the_prior_is_on_the_covariate_s_own_scale() -> None:
    rng = np.random.default_rng(1)
    y, x, group = rng.integers(0, 2, 300), rng.normal(0, 1, 300), np.arange(300) // 10
    one, other = (fit_map(y, x * scale, group, prior_sd=0.3 / scale) for scale in (1, 100))
    assert one["x1"].beta == pytest.approx(100 * other["x1"].beta, rel=1e-6)
    narrow = fit_map(y, x, group, prior_sd=1e-3)
    assert abs(narrow["x1"].beta) < 1e-4


def test_full_fit_has_it_on_request_only(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("d03_base_all_correct").arrays("glmm1")
    assert fit(y, x, group, names=["is_variant"]).as_json()["map"] is None
    found = fit(y, x, group, names=["is_variant"], prior_sd=2.5).as_json()["map"]
    assert found["beta"]["is_variant"] == pytest.approx(-4.96, abs=0.006)  # type: ignore[index]


@pytest.mark.parametrize("prior_sd", [0, -1, float("inf"), float("nan")])
def test_a_prior_that_is_none_is_refused(prior_sd: float) -> None:
    with pytest.raises(ValueError, match="a standard deviation above 0"):
        fit_map([0, 1] * 20, [0, 1, 1, 1] * 10, np.arange(40) // 4, prior_sd=prior_sd)
