from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from variantbench.stats.multiplicity import benjamini_hochberg, holm, westfall_young


def test_adjusted_p_agree_with_r(reference_file: Callable[[str], Path]) -> None:
    # p.adjust(p, "holm"), p.adjust(p, "BH"), R 4.2.2
    known = json.loads(reference_file("glmm/stats/R_statistics.json").read_text())["multiple"]
    assert holm(known["p"], family="models").adjusted == pytest.approx(known["adjusted"]["holm"], abs=1e-15)
    assert benjamini_hochberg(known["p"], family="models").adjusted == pytest.approx(known["adjusted"]["BH"], abs=1e-14)


def test_test_without_p_is_not_counted() -> None:
    adjusted = holm([0.02, np.nan, 0.03], family="3 models, one without a fit")
    assert adjusted.size == 2
    assert adjusted.adjusted[[0, 2]].tolist() == [0.04, 0.04]
    assert np.isnan(adjusted.adjusted[1])


def test_westfall_young_is_single_test_where_all_tests_are_one() -> None:
    null = np.random.default_rng(1).normal(size=(999, 1))
    alone = westfall_young([2.1], null, family="one")
    copies = westfall_young([2.1] * 5, np.repeat(null, 5, axis=1), family="five copies")
    assert copies.adjusted == pytest.approx([alone.adjusted[0]] * 5)


def test_westfall_young_controls_the_family_under_independence() -> None:
    rng = np.random.default_rng(2)
    null = rng.normal(size=(1999, 10))
    false_claims = [westfall_young(rng.normal(size=10), null, family="10").significant() > 0 for _ in range(600)]
    assert 0.02 < np.mean(false_claims) < 0.085


def test_westfall_young_is_between_raw_and_bonferroni() -> None:
    rng = np.random.default_rng(3)
    found = westfall_young(rng.normal(size=6) * 2, rng.normal(size=(500, 6)), family="6")
    assert (found.adjusted >= found.p).all()
    assert (found.adjusted <= np.minimum(1, 6 * found.p) + 0.02).all()


@pytest.mark.parametrize("p", [[-0.1, 0.2], [0.5, 1.5]])
def test_p_outside_the_unit_interval_is_refused(p: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(p, family="x")


def test_infinite_statistic_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        westfall_young([np.inf], [[1.0]], family="x")
