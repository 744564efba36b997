from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from variantbench.stats.fit import fit
from variantbench.stats.glmm import fit_glmm
from variantbench.stats.glmm_status import SENTENCES, Status

Y, X, G = [1, 0, 1, 0, 1, 1], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1, 2, 2]
NAN, INF = float("nan"), float("inf")

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"response": [], "covariates": np.empty((0, 1)), "group": []}, "no rows"),
    "one group": ({"group": [4] * 6}, r"one group only \(4\)"),
    "lengths": ({"group": [0, 1]}, r"group \(2,\)"),
    "nan response": ({"response": [1, 0, 1, 0, 1, NAN]}, "response nan"),
    "response of 2": ({"response": [1, 0, 1, 0, 1, 2]}, "response 2 in 1 rows: 0"),
    "text": ({"covariates": ["a"] * 6}, "not a number"),
    "nan covariate": ({"covariates": [0, 1, 0, NAN, NAN, 1]}, "2 rows have no x1"),
    "infinite covariate": ({"covariates": [0, 1, 0, INF, 0, 1]}, "x1 is infinite"),
    "nan group": ({"group": [0, 0, 1, 1, NAN, 2]}, "1 rows have no group"),
    "nan text group": ({"group": np.array(["a", "a", NAN, "b", "b", NAN], object)}, "2 rows have no group"),
    "None group": ({"group": [None, "a", "a", "b", "b", "b"]}, "1 rows have no group"),
    "mixed groups": ({"group": np.array(["a", "a", 1, 1, "b", "b"], object)}, "labels are of the types int, str"),
    "no covariate": ({"covariates": np.empty((6, 0))}, "no covariate"),
    "names": ({"names": ["a", "b"]}, "1 different names"),
    "method": ({"method": "agq"}, "method 'agq'"),
    "missing": ({"missing": "ignore"}, "missing 'ignore'"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("call", [fit_glmm, fit])
def test_bad_input_is_named(case: str, call: Any) -> None:
    change, message = BAD[case]
    arguments: dict[str, Any] = {"response": Y, "covariates": X, "group": G} | change
    if case == "missing":
        arguments["covariates"] = [0, 1, 0, NAN, 0, 1]
    with pytest.raises(ValueError, match=message):
        call(**arguments)


def test_rows_without_covariate_are_dropped_and_counted_on_request() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    x = rng.normal(size=300)
    y = (rng.random(300) < 0.5).astype(float)
    gaps = np.where(np.arange(300) % 50 == 0, np.nan, x)
    dropped = fit_glmm(y, gaps, group, missing="drop")
    kept = ~np.isnan(gaps)
    assert (dropped.n_rows, dropped.n_dropped) == (294, 6)
    assert dropped.loglik == fit_glmm(y[kept], x[kept], group[kept]).loglik


@pytest.mark.parametrize("method", ["laplace", "exact"])
def test_constant_covariate_is_collinear_with_the_intercept(method: str) -> None:
    found = fit_glmm(Y, [1.0] * 6, G, method=method)
    assert [str(remark) for remark in found.remarks] == ["rank_deficient"]


def test_every_status_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Status)


def test_unknown_effect_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="this fit has \\(Intercept\\), x1"):
        fit_glmm(Y, X, G)["variant"]


def test_bootstrap_without_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="without a seed"):
        fit(Y, X, G, bootstrap=10)
