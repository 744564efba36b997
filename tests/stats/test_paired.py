from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from variantbench.stats.mcnemar import mcnemar, mcnemar_pairs
from variantbench.stats.tango import tango

counts = st.integers(0, 60)


def test_mcnemar_agrees_with_r(reference_file: Callable[[str], Path]) -> None:
    # exact2x2::mcnemar.exact(x) and mcnemar.exact(x, midp = TRUE), R 4.2.2
    for row in json.loads(reference_file("glmm/stats/R_statistics.json").read_text())["mcnemar"]:
        test = mcnemar(row["a"], row["b"], row["c"], row["d"])
        assert test.p_exact == pytest.approx(row["p_exact"], rel=1e-12)
        assert test.p == pytest.approx(row["p_midp"], rel=1e-12)
        assert test.difference == pytest.approx(row["diff"], abs=1e-14)


def test_tango_agrees_with_reference(reference_file: Callable[[str], Path]) -> None:
    for row in json.loads(reference_file("glmm/stats/paired_ci_reference.json").read_text())["paired_ci"]:
        interval = tango(row["a"], row["b"], row["c"], row["d"])
        assert interval.estimate == pytest.approx(row["diff"], abs=1e-14)
        assert (interval.low, interval.high) == pytest.approx(tuple(row["ci_tango"]), abs=1e-8)


@given(counts, counts, counts, counts)
def test_swapping_the_answers_turns_the_difference(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d == 0:
        return
    test, turned = mcnemar(a, b, c, d), mcnemar(a, c, b, d)
    assert (test.p, test.p_exact, test.difference) == pytest.approx((turned.p, turned.p_exact, -turned.difference))
    interval, back = tango(a, b, c, d), tango(a, c, b, d)
    assert (interval.low, interval.high) == pytest.approx((-back.high, -back.low), abs=1e-9)
    assert interval.low <= interval.estimate <= interval.high


def test_no_discordant_pair_is_no_evidence() -> None:
    # statsmodels.stats.contingency_tables.mcnemar(exact=False, correction=True) gives p = 0.0 here
    test = mcnemar(50, 0, 0, 58)
    assert (test.p, test.p_exact, test.difference) == (1.0, 1.0, 0.0)


def size(discordance: float, level: float = 0.05) -> tuple[float, float]:
    """The share of samples of 108 pairs in which mid-p and exact reject no difference, by enumeration."""
    mid = exact = 0.0
    for pairs in range(109):
        outer = float(binom.pmf(pairs, 108, discordance))
        for b in range(pairs + 1):
            test, weight = mcnemar(108 - pairs, b, pairs - b, 0), outer * float(binom.pmf(b, pairs, 0.5))
            mid += weight * (test.p <= level)
            exact += weight * (test.p_exact <= level)
    return mid, exact


@pytest.mark.parametrize(("discordance", "mid", "exact"), [(0.05, 0.027, 0.010), (0.2, 0.045, 0.030)])
def test_size_is_that_of_the_notes(discordance: float, mid: float, exact: float) -> None:
    assert size(discordance) == pytest.approx((mid, exact), abs=6e-4)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([1, 0], [1], "pairs have one of each"), ([1, 2], [1, 0], "holds 2"), ([[1], [0]], [1, 0], "a list of 0")],
)
def test_pairs_that_are_none_are_refused(first: list[int], second: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcnemar_pairs(first, second)


@pytest.mark.parametrize("test", [mcnemar, tango])
@pytest.mark.parametrize("table", [(0, 0, 0, 0), (1, -1, 0, 3)])
def test_impossible_counts_are_refused(test: Callable[..., object], table: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        test(*table)
