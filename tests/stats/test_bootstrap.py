from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from variantbench.stats.bootstrap import bootstrap_test, cluster_bootstrap, draw_multiplicities, parametric_bootstrap
from variantbench.stats.glmm import fit_glmm

SETS = ["d01_lme4_false_degenerate", "r04_phi2_like"]


@pytest.mark.parametrize("formula", ["glmm1", "glmm2"])
@pytest.mark.parametrize("name", SETS)
def test_replicates_agree_with_reference_and_glmmtmb(
    golden: Callable[[str], Any], reference_file: Callable[[str], Path], name: str, formula: str
) -> None:
    with gzip.open(reference_file("glmm/bootstrap/multiplicities.csv.gz"), "rt") as file:
        drawn = pd.read_csv(file).to_numpy()[:, 1:]
    reference, r = (
        json.loads(reference_file(f"glmm/bootstrap/{name}.{kind}.json").read_text()) for kind in ("reference", "R")
    )
    y, x, group = golden(name).arrays(formula)
    boot = cluster_bootstrap(y, x, group, multiplicities=drawn)
    errors = golden(name).reference[formula]["laplace"]["se"]
    se = np.array(list(errors.values()))
    expected = np.array(reference[formula]["laplace"])
    assert boot.estimates.shape == expected.shape
    assert (np.abs(boot.estimates - expected) < 1e-4 * se).all()
    for row in r.get(formula, []):
        if "tmb_coef" in row:
            own = boot.estimates[row["replicate"]]
            assert (np.abs(own[:-1] - row["tmb_coef"]) < 1e-3 * se[:-1]).all()  # glmmTMB at its default tolerance
    assert (boot.infinite, boot.unfinished) == (0, 0)


@pytest.mark.parametrize("formula", ["glmm1", "glmm2"])
def test_compiled_kernel_gives_the_same_replicates(golden: Callable[[str], Any], formula: str) -> None:
    pytest.importorskip("numba", reason="the speed extra is not installed")
    y, x, group = golden("d01_lme4_false_degenerate").arrays(formula)
    drawn = draw_multiplicities(100, 40, 3)
    plain, compiled = (
        cluster_bootstrap(y, x, group, multiplicities=drawn, kernel=kernel) for kernel in ("numpy", "numba")
    )
    assert compiled.estimates == pytest.approx(plain.estimates, abs=1e-9)
    assert compiled.jackknife == pytest.approx(plain.jackknife, abs=1e-9)


def test_same_seed_same_replicates_and_none_dropped() -> None:
    y, x, group = small()
    first, again, other = (cluster_bootstrap(y, x, group, seed=s, replicates=60) for s in (5, 5, 6))
    assert first.estimates.shape == (60, 3)
    assert np.array_equal(first.estimates, again.estimates)
    assert not np.array_equal(first.estimates, other.estimates)


def test_infinite_replicates_are_kept_and_counted() -> None:
    y, x, group = small()
    y = np.where((x == 0) & (group > 1), 1.0, y)  # all base answers right but for two groups, which a draw may miss
    y[np.flatnonzero((x == 0) & (group <= 1))] = 0.0
    boot = cluster_bootstrap(y, x, group, seed=1, replicates=200)
    assert len(boot.estimates) == 200
    assert boot.infinite > 0
    assert np.isneginf(boot.estimates[:, 1]).sum() == boot.infinite
    assert boot.interval("x1")[0] == -np.inf


def test_bca_of_a_normal_estimate_is_near_percentile() -> None:
    y, x, group = small(groups=80)
    boot = cluster_bootstrap(y, x, group, seed=2, replicates=800)
    spread = float(boot.estimates[:, 1].std())
    for one, other in zip(boot.interval("x1"), boot.interval("x1", kind="bca"), strict=True):
        assert abs(one - other) < 0.6 * spread
    assert spread == pytest.approx(fit_glmm(y, x, group, method="laplace").effects[1].se_cluster, rel=0.2)


def test_parametric_bootstrap_spreads_as_the_standard_error() -> None:
    y, x, group = small(groups=60)
    boot = parametric_bootstrap(y, x, group, seed=3, replicates=400)
    assert boot.estimates[:, 1].std() == pytest.approx(fit_glmm(y, x, group, method="laplace").effects[1].se, rel=0.15)
    with pytest.raises(ValueError, match="needs a cluster bootstrap"):
        boot.interval("x1", kind="bca")


def test_bootstrap_test_of_the_notes(golden: Callable[[str], Any]) -> None:
    y, x, group = golden("d01_lme4_false_degenerate").arrays("glmm1")
    p = bootstrap_test(y, x, group, 0, seed=1, replicates=999)
    assert p == pytest.approx(0.295, abs=3 * np.sqrt(2 * 0.3 * 0.7 / 999))  # notes, section 4, other draws


def test_multiplicities_sum_to_the_groups() -> None:
    assert (draw_multiplicities(17, 9, 0).sum(axis=1) == 17).all()


def test_memory_stays_below_a_gigabyte_at_510000_rows() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(10_000), 51)
    x = np.column_stack([np.tile(np.arange(51) > 0, 10_000), rng.normal(size=510_000)])
    y = (rng.random(510_000) < 1 / (1 + np.exp(-2 * rng.normal(size=10_000)[group]))).astype(float)
    drawn = draw_multiplicities(10_000, 2, 0)
    tracemalloc.start()
    boot = cluster_bootstrap(y, x, group, multiplicities=drawn, jackknife=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(boot.estimates) == 2
    assert peak < 1e9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"response": [1.0] * 40}, "every answer is the same"),
        ({"covariates": [1.0] * 40}, "collinear"),
        ({"seed": None}, "states its seed"),
        ({"kernel": "cuda"}, "kernel 'cuda'"),
        ({"multiplicities": [[1, 1]]}, "8 groups"),
    ],
)
def test_what_cannot_be_resampled_is_refused(change: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    arguments: dict[str, Any] = {
        "response": (rng.random(40) < 0.5).astype(float),
        "covariates": np.tile([0.0, 1, 1, 1, 1], 8),
        "group": np.repeat(np.arange(8), 5),
        "seed": 1,
        "replicates": 5,
    }
    with pytest.raises(ValueError, match=message):
        cluster_bootstrap(**(arguments | change))


def small(groups: int = 30, rows: int = 11) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(9)
    group = np.repeat(np.arange(groups), rows)
    x = np.tile(np.arange(rows) > 2, groups).astype(float)
    eta = 1.5 * rng.normal(size=groups)[group] + 0.4 - 0.6 * x
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), x, group
