from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.stats.proportions import by_questions, clopper_pearson, clustered, wilson


def test_intervals_agree_with_r(reference_file: Callable[[str], Path]) -> None:
    # prop.test(k, n, correct = FALSE)$conf.int and binom.test(k, n)$conf.int, R 4.2.2
    for row in json.loads(reference_file("glmm/stats/R_statistics.json").read_text())["proportions"]:
        for interval, name in ((wilson, "wilson"), (clopper_pearson, "clopper_pearson")):
            found = interval(row["k"], row["n"])
            assert (found.low, found.high) == pytest.approx(tuple(row[name]), abs=1e-12)


@given(st.integers(1, 400), st.data())
def test_failures_mirror_successes(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    for interval in (wilson, clopper_pearson):
        one, other = interval(successes, trials), interval(trials - successes, trials)
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)
        assert one.low <= one.estimate <= one.high


def test_repeated_questions_widen_the_published_interval() -> None:
    # the second paper's +-2.72 points takes 4 batches x 108 x 3 runs for 1,296 independent answers
    published, honest = wilson(648, 1296), by_questions(648, 1296, 108)
    assert (published.high - published.low) / 2 == pytest.approx(0.0272, abs=1e-4)
    assert (honest.high - honest.low) / 2 == pytest.approx(0.094, abs=2e-3)


def test_clustered_standard_error_is_the_textbook_ratio_estimator() -> None:
    y, n = np.array([3, 9, 4, 0, 7]), np.array([10, 10, 8, 5, 12])
    share = y.sum() / n.sum()
    variance = 5 / 4 * ((y - share * n) ** 2).sum() / n.sum() ** 2
    found = clustered(y, n)
    assert found.estimate == share
    assert found.high - found.estimate == pytest.approx(2.776445 * np.sqrt(variance), rel=1e-6)  # qt(0.975, 4)


@pytest.mark.parametrize("clusters", [2, 3, 7, 49])
@pytest.mark.parametrize("right", [0, 1, 7, 10])
def test_clusters_that_are_all_alike_count_once(right: int, clusters: int) -> None:
    found, once = (
        clustered([right] * clusters, [10] * clusters),
        by_questions(right * clusters, 10 * clusters, clusters),
    )
    assert (found.estimate, found.low, found.high) == pytest.approx((once.estimate, once.low, once.high))
    assert found.low < found.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson(3, 2), "3 successes of 2 trials"),
        (lambda: wilson(0, 0), "at least one"),
        (lambda: clopper_pearson(-1, 2), "between 0 and the trials"),
        (lambda: clustered([1], [2]), "at least two clusters"),
        (lambda: by_questions(1, 2, 3), "no more than answers"),
    ],
)
def test_impossible_counts_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
