from __future__ import annotations

from collections.abc import Callable
from math import inf, isinf

import numpy as np
import pytest

from variantbench.stats.equivalence import Shown, equivalence, paired_equivalence
from variantbench.stats.glmm import fit_glmm
from variantbench.stats.power import (
    detectable,
    gate_detectable,
    glmm_needed,
    glmm_standard_error,
    mcnemar_detectable,
    mcnemar_needed,
    mcnemar_power,
)

# notes, section 5: points at 80 % power with 108 pairs, mid-p
NOTES = [(0.10, 8.0), (0.15, 10.0), (0.20, 11.7), (0.30, 14.5), (0.40, 16.7), (0.50, 18.7)]


@pytest.mark.parametrize(("discordance", "points"), NOTES)
def test_mcnemar_detectable_is_that_of_the_notes(discordance: float, points: float) -> None:
    assert 100 * mcnemar_detectable(pairs=108, discordance=discordance) == pytest.approx(points, abs=0.06)


def test_mcnemar_power_is_that_of_simulation() -> None:
    from variantbench.stats.mcnemar import mcnemar

    rng = np.random.default_rng(1)
    draws = rng.multinomial(108, [0.2, 0.06, 0.74], size=2000)
    simulated = np.mean([mcnemar(int(rest), int(b), int(c), 0).p <= 0.05 for b, c, rest in draws])
    assert mcnemar_power(0.14, pairs=108, discordance=0.26) == pytest.approx(simulated, abs=0.035)


def test_needed_pairs_reach_the_power() -> None:
    n = mcnemar_needed(0.05, discordance=0.2)
    assert mcnemar_power(0.05, pairs=n, discordance=0.2) >= 0.8
    assert mcnemar_power(0.05, pairs=int(0.95 * n), discordance=0.2) < 0.8


def test_glmm_standard_error_falls_with_base_replicates_as_in_the_notes() -> None:
    rng = np.random.default_rng(0)
    q = 1 / (1 + np.exp(-(-2.36 + 2.8 * rng.normal(size=100_000))))
    se = [glmm_standard_error(q, replicates=m) * np.sqrt(1000) for m in (1, 2, 5, 10)]
    assert se == pytest.approx([0.34, 0.25, 0.16, 0.12], abs=0.015)


def test_glmm_standard_error_is_near_the_fitted_one() -> None:
    rng = np.random.default_rng(3)
    group, variant = np.repeat(np.arange(100), 51), np.tile(np.arange(51) > 0, 100).astype(float)
    y = (rng.random(5100) < 1 / (1 + np.exp(-(2 * rng.normal(size=100)[group] - 0.3 * variant)))).astype(float)
    share = np.bincount(group, weights=y) / 51
    fitted = fit_glmm(y, variant, group, tests=False).effects[1].se
    assert glmm_standard_error(share) == pytest.approx(fitted, rel=0.08)


@pytest.mark.parametrize("effect", [0.3, 0.6, 1.2])
def test_needed_numbers_make_the_effect_detectable(effect: float) -> None:
    share = np.linspace(0.05, 0.95, 40)
    needed = glmm_needed(effect, share)
    alike = glmm_needed(effect, [0.3] * 40).templates
    assert detectable(glmm_standard_error([0.3] * int(alike))) <= effect
    assert detectable(glmm_standard_error([0.3] * int(alike - 1))) > effect
    for name in ("variants", "replicates"):
        n = getattr(needed, name)
        if not isinf(n):
            assert detectable(glmm_standard_error(share, **{name: n})) <= effect + 1e-9
            if n > 1:
                assert detectable(glmm_standard_error(share, **{name: n - 1})) > effect


def test_nothing_suffices_where_all_templates_are_constant() -> None:
    assert glmm_standard_error([0.0, 1.0]) == inf
    assert glmm_needed(0.5, [0.0, 1.0]).templates == inf


def test_gate_detectable_is_in_the_notes_range() -> None:
    differences = np.random.default_rng(2).normal(0, 0.1, 100)  # standard error 0.01
    assert 0.019 < gate_detectable(differences) < 0.038


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detectable(0), "above 0"),
        (lambda: glmm_standard_error([1.2]), "between 0 and 1"),
        (lambda: glmm_needed(0, [0.5]), "no effect"),
        (lambda: mcnemar_power(0.3, pairs=10, discordance=0.2), "<= discordance"),
        (lambda: mcnemar_needed(0, discordance=0.2), "no difference"),
        (lambda: gate_detectable([0.1]), "at least two"),
        (lambda: equivalence(0, 1, margin=0), "margin 0"),
        (lambda: equivalence(1, 0, margin=1), "lower end first"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.02, 0.02, Shown.EQUIVALENT),
        (-0.02, 0.05, Shown.UNDECIDED),
        (0.06, 0.09, Shown.DIFFERENT),
        (-0.09, -0.06, Shown.DIFFERENT),
        (0.04, 0.06, Shown.UNDECIDED),
    ],
)
def test_equivalence_reads_the_interval(low: float, high: float, shown: Shown) -> None:
    assert equivalence(low, high, margin=0.05).shown is shown


def test_a_p_above_level_is_not_equivalence() -> None:
    found = paired_equivalence(54, 8, 8, 38, margin=0.05)  # p = 1, yet +-7.8 points are open
    assert found.shown is Shown.UNDECIDED
