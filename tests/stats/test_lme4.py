"""lme4 through pymer4 beside our own Laplace fit on golden sets. Runs in `tox -e r`: pymer4 needs an older pandas."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variantbench.stats.fit import fit
from variantbench.stats.glmm import fit_glmm
from variantbench.stats.glmm_status import Remark, Status
from variantbench.stats.lme4 import OPTIMIZERS, TIGHT, Lme4MissingError, compare_optimizers, fit_lme4

HERE = importlib.util.find_spec("pymer4") is not None
FALSE_DEGENERATE = "d01_lme4_false_degenerate"
# regular sets, and one that lme4 calls degenerate; tolerances of ../shared/reference/glmm/README.md, lme4_default
SETS = ["r02_sigma1", "r04_phi2_like", "r07_sigma5", "r12_gemma22b_ok", "d15_missing_rows", FALSE_DEGENERATE]
FORMULAS = {"glmm1": ["is_variant"], "glmm2": ["is_variant", "gamma_c"]}


@pytest.fixture
def r() -> None:
    if HERE:
        return
    report = pytest.fail if os.environ.get("VARIANTBENCH_REQUIRE_PYMER4") == "1" else pytest.skip
    report("pymer4 is not installed: tox -e r has it")


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", SETS)
def test_lme4_finds_what_ours_finds(r: None, golden: Callable[[str], Any], name: str, formula: str) -> None:
    y, x, group = golden(name).arrays(formula)
    theirs = fit_lme4(y, x, group, names=FORMULAS[formula], missing="drop")
    ours = fit_glmm(y, x, group, names=FORMULAS[formula], method="laplace", missing="drop")
    regular = name != FALSE_DEGENERATE
    assert (theirs.n_rows, theirs.n_groups, theirs.n_informative) == (ours.n_rows, ours.n_groups, ours.n_informative)
    assert theirs.loglik == pytest.approx(ours.loglik, abs=1e-2 if regular else 2e-2)
    assert theirs.sigma == pytest.approx(ours.sigma, abs=1e-2 if regular else 0.05)
    for one, other in zip(theirs.effects, ours.effects, strict=True):
        assert one.name == other.name
        assert one.beta == pytest.approx(other.beta, abs=(2e-2 if regular else 0.1) * other.se)
        assert one.lrt_p == pytest.approx(other.lrt_p, abs=1e-3 if regular else 3e-3, nan_ok=True)
        if regular:
            assert one.se == pytest.approx(other.se, rel=0.03)


def test_messages_of_a_false_degenerate_fit_are_carried_along(r: None, golden: Callable[[str], Any]) -> None:
    y, x, group = golden(FALSE_DEGENERATE).arrays("glmm1")
    full = fit(y, x, group, names=["is_variant"], method="laplace", backend="pymer4")
    assert any("max|grad| = 0.16" in message for message in full.glmm.messages)
    assert full.glmm["is_variant"].se < 1e-3
    assert Remark(Status.BACKEND_DIFFERS, "is_variant") in full.remarks
    # what could have been seen does not come from the false standard error
    assert 0.8 < full.minimum_detectable("is_variant") < 1.0


def test_a_strict_inner_loop_mends_the_false_degenerate_fit(r: None, golden: Callable[[str], Any]) -> None:
    y, x, group = golden(FALSE_DEGENERATE).arrays("glmm1")
    mended = fit_lme4(y, x, group, names=["is_variant"], tests=False, control=TIGHT)
    ours = fit_glmm(y, x, group, names=["is_variant"], method="laplace")
    assert mended.messages == ()
    assert mended["is_variant"].se == pytest.approx(ours["is_variant"].se, rel=0.05)


def test_optimizers_agree_in_the_estimate_and_not_in_the_standard_error(r: None, golden: Callable[[str], Any]) -> None:
    y, x, group = golden(FALSE_DEGENERATE).arrays("glmm1")
    found = compare_optimizers(y, x, group, names=["is_variant"])
    assert [one.optimizer for one in found] == list(OPTIMIZERS)
    recorded = golden(FALSE_DEGENERATE).r["glmm1"]["lme4_per_optimizer"]
    assert len(recorded) >= 4
    errors = [one.se[1] for one in found]
    assert min(errors) < 1e-3 < 0.3 < max(errors)
    assert all(bool(one.messages) == (one.se[1] < 1e-3) for one in found)


def test_a_constant_response_gives_r_s_message_and_no_number(r: None) -> None:
    found = fit_lme4([1] * 60, [0, 1] * 30, np.repeat(np.arange(20), 3), names=["is_variant"])
    assert found.has(Status.NOT_CONVERGED)
    assert "constant" in found.messages[0]
    assert np.isnan(found["is_variant"].beta)


def test_a_collinear_covariate_has_no_estimate_and_nothing_is_tested(r: None) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 400)
    found = fit_lme4(rng.integers(0, 2, 400), np.column_stack([x, 2 * x]), np.arange(400) // 10, names=["a", "b"])
    assert found.has(Status.RANK_DEFICIENT)
    assert np.isnan(found["b"].beta)
    assert np.isnan([found["a"].lrt_p, found["b"].lrt_p]).all()


def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    group, variant = np.repeat(np.arange(30), 11), np.tile(np.arange(11) > 0, 30)
    right = rng.random(330) < 1 / (1 + np.exp(rng.normal(0, 1.5, 30)[group] + 0.7 * variant))
    path = tmp_path / "answers.csv"
    rows = zip(group, variant, right, strict=True)
    path.write_text("id,is_variant,is_correct\n" + "\n".join(f"{g},{v:d},{y:d}" for g, v, y in rows))
    return path


def command(path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    columns = ["--response=is_correct", "--fixed=is_variant", "--group=id", "--glmm-backend=pymer4"]
    return subprocess.run(
        [sys.executable, "-m", "variantbench.plugins.cli", "fit", str(path), *columns, *more],
        capture_output=True,
        text=True,
    )


def test_command_says_which_backend_fitted(r: None, tmp_path: Path) -> None:
    path = table(tmp_path)
    done = command(path, "--optimizers")
    assert done.returncode == 0, done.stderr
    assert "method laplace by lme4" in done.stdout
    assert [line.split(":")[0] for line in done.stdout.splitlines()[-5:]] == list(OPTIMIZERS)
    result = json.loads(command(path, "--json").stdout)
    assert (result["backend"], result["method"]) == ("pymer4", "laplace")


def test_exact_method_with_lme4_is_refused(tmp_path: Path) -> None:
    done = command(table(tmp_path), "--method=exact")
    assert done.returncode == 2
    assert done.stderr == (
        "variantbench: --method exact with --glmm-backend pymer4: lme4 has laplace only; leave --method out\n"
    )


@pytest.mark.skipif(HERE, reason="pymer4 is installed")
def test_without_pymer4_the_command_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    done = command(table(tmp_path))
    assert done.returncode == 2
    assert "install R with lme4, lmerTest and emmeans, then pip install 'variantbench[r]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_r_the_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rpy2", None)
    with pytest.raises(Lme4MissingError) as raised:
        fit_lme4([0, 1] * 20, [0, 1, 1, 1] * 10, np.arange(40) // 4, names=["is_variant"])
    assert "\n" not in str(raised.value)
