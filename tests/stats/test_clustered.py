from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from variantbench.stats.clustered import clustered_counts, clustered_pairs, sign_flip
from variantbench.stats.cochran import cochran_q
from variantbench.stats.ks import ks, ks_templates
from variantbench.stats.proportions import clopper_pearson

R = "glmm/stats/R_statistics.json"


def test_clustered_tests_agree_with_r(reference_file: Callable[[str], Path]) -> None:
    # clust.bin.pair(a, b, c, d, method = "obuchowski" / "durkalski"); t.test(d / n), R 4.2.2
    table = pd.read_csv(reference_file("glmm/stats/clustered_pairs_100x50.csv"))
    known = json.loads(reference_file(R).read_text())["clustered"]
    found = clustered_counts(table["b"], table["c"], table[["a", "b", "c", "d"]].sum(axis=1))
    assert found.obuchowski == pytest.approx(known["obuchowski_chisq"], rel=1e-10)
    assert found.obuchowski_p == pytest.approx(known["obuchowski_p"], rel=1e-10)
    assert found.durkalski == pytest.approx(known["durkalski_chisq"], rel=1e-10)
    assert found.durkalski_p == pytest.approx(known["durkalski_p"], rel=1e-10)
    assert found.t == pytest.approx(known["cluster_t"], rel=1e-10)
    assert found.t_p == pytest.approx(known["cluster_t_p"], rel=1e-10)
    assert found.estimate == pytest.approx(known["diff"], rel=1e-10)
    assert (found.low, found.high) == pytest.approx(tuple(known["cluster_ci"]), rel=1e-10)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_sign_flip_is_the_count_of_all_patterns(sums: list[int]) -> None:
    totals = [abs(sum(s * d for s, d in zip(signs, sums, strict=True))) for signs in product([-1, 1], repeat=len(sums))]
    assert sign_flip(np.array(sums)) == pytest.approx(np.mean(np.array(totals) >= abs(sum(sums))))


def test_rows_and_counts_give_the_same() -> None:
    rng = np.random.default_rng(1)
    first, second, cluster = rng.integers(0, 2, 60), rng.integers(0, 2, 60), rng.integers(0, 7, 60)
    frame = pd.DataFrame({"b": first * (1 - second), "c": (1 - first) * second, "n": 1, "k": cluster})
    counts = frame.groupby("k").sum()
    assert clustered_pairs(first, second, cluster) == clustered_counts(counts["b"], counts["c"], counts["n"])


def test_no_difference_anywhere_is_no_evidence() -> None:
    found = clustered_counts([0, 0, 0], [0, 0, 0], [5, 5, 5])
    assert (found.estimate, found.p, found.obuchowski_p, found.durkalski_p) == (0, 1, 1, 1)


@pytest.mark.parametrize("clusters", [2, 3, 7, 10, 108])
def test_clusters_that_are_all_alike_leave_others_open(clusters: int) -> None:
    open_to = clopper_pearson(0, clusters).high
    for b, mean in ((0, 0.0), (1, 0.1), (10, 1.0)):
        found = clustered_counts([b] * clusters, [0] * clusters, [10] * clusters)
        assert (found.estimate, found.se) == (pytest.approx(mean), 0)
        assert (math.isnan(found.t), math.isnan(found.t_p)) == (True, True)
        assert (found.low, found.high) == pytest.approx(
            (mean - open_to * (1 + mean), mean + open_to * (1 - mean))  # others may change by -1 to +1
        )


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([1], [0], [2]), "two at least"),
        (([3, 0], [0, 0], [2, 2]), "b \\+ c exceeds"),
        (([0, 0], [0, 0], [0, 2]), "empty"),
    ],
)
def test_impossible_clusters_are_refused(counts: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clustered_counts(*counts)


@pytest.mark.parametrize("labels", [[1, 1, math.nan, math.nan], np.array(["a", None, "b", math.nan], object)])
def test_a_pair_without_a_cluster_is_not_one_of_its_own(labels: ArrayLike) -> None:
    with pytest.raises(ValueError, match="2 rows have no group"):
        clustered_pairs([1, 0, 1, 0], [0, 0, 1, 1], labels)


def test_no_share_changes_by_more_than_all() -> None:
    found = clustered_counts([2, 0], [0, 2], [2, 2])  # t of one degree of freedom alone would say +-12.7
    assert (found.low, found.high) == (-1.0, 1.0)


def test_cochran_q_agrees_with_r(reference_file: Callable[[str], Path]) -> None:
    # DescTools::CochranQTest(as.matrix(x)), R 4.2.2
    known = json.loads(reference_file(R).read_text())["cochran_q"]
    found = cochran_q(pd.read_csv(reference_file("glmm/stats/cochran_q_108x4.csv")).to_numpy())
    assert (found.q, found.df, found.p) == pytest.approx((known["Q"], known["df"], known["p"]), rel=1e-12)


def test_cochran_q_of_equal_columns_is_no_evidence() -> None:
    # statsmodels.stats.contingency_tables.cochrans_q gives NaN here
    found = cochran_q([[1, 1, 1], [0, 0, 0]])
    assert (found.q, found.p, found.informative) == (0.0, 1.0, 0)


@pytest.mark.parametrize(("answers", "message"), [([[1], [0]], "two conditions"), ([[1, 2]], "other than 0")])
def test_cochran_q_refuses_other_tables(answers: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cochran_q(answers)


def test_ks_distance_agrees_with_r(reference_file: Callable[[str], Path]) -> None:
    # ks.test(x, y, exact = FALSE), R 4.2.2; R's p is another approximation and is compared loosely
    known = json.loads(reference_file(R).read_text())["ks"]
    x, y = (pd.read_csv(reference_file(f"glmm/stats/{name}")).to_numpy()[:, 0] for name in ("ks_x.csv", "ks_y.csv.gz"))
    found = ks(x, y)
    assert found.distance == pytest.approx(known["D"], abs=5e-5)
    assert found.p == pytest.approx(known["p"], rel=0.15)


def numbers(
    seed: int, shift: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Three numbers in each of 1 + 8 questions of 30 templates; numbers of a template are alike."""
    rng = np.random.default_rng(seed)
    template = np.repeat(np.arange(30), 27)
    question = np.repeat(np.arange(270), 3)
    variant = np.repeat(np.tile(np.arange(9) > 0, 30), 3)
    value = np.round(20 * rng.normal(size=30)[template] + 5 * rng.normal(size=810) + shift * variant.astype(float))
    return value, question, template, variant


def test_ks_permutation_sees_a_shift_and_no_shift() -> None:
    assert ks_templates(*numbers(1, 25.0), seed=1, permutations=199).p_permutation == 1 / 200
    p = [ks_templates(*numbers(seed, 0.0), seed=1, permutations=99).p_permutation for seed in range(60)]
    assert 0.3 < np.mean(p) < 0.7
    assert np.mean(np.array(p) <= 0.1) < 0.25


def test_ks_statistic_of_the_permutation_is_that_of_scipy() -> None:
    value, question, template, variant = numbers(2, 3.0)
    found = ks_templates(value, question, template, variant, seed=0, permutations=1)
    assert found.distance == ks(value[~variant], value[variant]).distance


def test_ks_refuses_a_question_of_both_kinds() -> None:
    with pytest.raises(ValueError, match="one or the other"):
        ks_templates([1, 2], [0, 0], [0, 0], [0, 1], seed=0)
    with pytest.raises(ValueError, match="at least one of each"):
        ks([], [1])
