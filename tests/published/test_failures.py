"""How answers failed: totals against accuracies, classes against totals, and what empty answers hide."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

Published = Callable[[str], pd.DataFrame]


@pytest.fixture
def accuracy(published: Published) -> pd.Series:
    rows = published("paper1_glmm1_variant_effect")
    return rows.set_index(["prompt_format", "model"])["acc_variants_pct"] / 100


@pytest.fixture
def empty(published: Published) -> pd.Series:
    rows = published("paper1_failures_nl")
    rows = rows[rows["failure_class"] == "empty_response"]
    return rows.set_index(["prompt_format", "model"])["count_approx"]


def test_totals_are_what_the_accuracies_leave(published: Published, accuracy: pd.Series) -> None:
    totals = published("paper1_failure_totals").set_index(["prompt_format", "model"])
    assert len(totals) == 50
    assert ((1 - accuracy[totals.index]) * totals["n_answers"] - totals["failures"]).abs().max() < 0.51


def test_code_classes_add_up_to_the_totals(published: Published) -> None:
    classes, totals = published("paper1_failures_code"), published("paper1_failure_totals")
    one = classes[classes["model"] != "ALL"].groupby(["prompt_format", "model"])["count"].sum()
    expected = totals.set_index(["prompt_format", "model"])["failures"]
    assert len(one) == 20
    assert (one == expected[one.index]).all()
    by_class = classes[classes["model"] != "ALL"].groupby(["prompt_format", "failure_class"])["count"].sum()
    stated = classes[classes["model"] == "ALL"].set_index(["prompt_format", "failure_class"])["count"]
    assert (by_class[stated.index] == stated).all()


def test_prose_classes_add_up_as_far_as_a_figure_can_be_measured(published: Published) -> None:
    rows = published("paper1_failures_nl")
    for _, some in rows.groupby(["prompt_format", "model"]):
        # a class below about 20 answers cannot be seen; the uncertainty is that of each bar
        room = float(some["uncertainty"].sum()) + 2 * 20
        assert some["count_approx"].sum() == pytest.approx(some["total_failures_exact"].iloc[0], abs=room)


def test_eight_classes_of_code_failures_occur_counting_the_unclassified(published: Published) -> None:
    rows = published("paper1_failures_code")
    seen = rows[(rows["model"] != "ALL") & (rows["count"] > 0)].groupby("failure_class")["count"].sum()
    assert len(seen.drop("wrong_answer")) == 8
    assert seen["unclassified"] == 2


@pytest.mark.parametrize(
    ("form", "model", "empties", "right_of_the_rest"),
    [
        ("NL-simple", "Meta-Llama-3-8B", 2747, 0.37),
        ("NL-structured", "Meta-Llama-3-8B", 3639, 0.49),
        ("GSM", "phi-2", 553, 0.447),
    ],
)
def test_accuracy_of_answers_that_are_not_empty(
    published: Published, accuracy: pd.Series, form: str, model: str, empties: int, right_of_the_rest: float
) -> None:
    rows = published("paper1_failures_nl")
    blank = rows["failure_class"].isin(["empty_response", "empty_after_trim"])
    here = rows[blank & (rows["prompt_format"] == form) & (rows["model"] == model)]
    count = here["count_approx"].sum()
    assert count == pytest.approx(empties, abs=2)
    assert accuracy[form, model] * 5000 / (5000 - count) == pytest.approx(right_of_the_rest, abs=0.006)


def test_empty_answers_occur_in_three_places_only(published: Published) -> None:
    rows = published("paper1_failures_nl")
    blank = rows[rows["failure_class"].isin(["empty_response", "empty_after_trim"])]
    assert set(zip(blank["prompt_format"], blank["model"], strict=True)) == {
        ("NL-simple", "Meta-Llama-3-8B"),
        ("NL-structured", "Meta-Llama-3-8B"),
        ("GSM", "phi-2"),
    }


def test_share_of_last_numbers(published: Published) -> None:
    rows = published("paper1_failures_nl")
    last = rows[rows["failure_class"] == "wrong_answer_last_number"].groupby("prompt_format")["count_approx"].sum()
    totals = published("paper1_failure_totals").groupby("prompt_format")["failures"].sum()
    share = 100 * last / totals[last.index]
    assert share["GSM"] == pytest.approx(9.2, abs=0.1)
    assert share["NL-simple"] == pytest.approx(4.2, abs=0.1)
    assert share["NL-structured"] == pytest.approx(4.9, abs=0.1)


def test_executable_only_refits_agree_as_stated(published: Published) -> None:
    rows = published("paper1_glmm_executable_only")
    agreement = rows.groupby(["glmm", "effect", "prompt_format"])["agreement"].agg(["sum", "count"])
    found = sorted(zip(rows.groupby(["glmm", "prompt_format"])["agreement"].sum().astype(int),
                       rows.groupby(["glmm", "prompt_format"])["agreement"].count(), strict=True))  # fmt: skip
    assert found == sorted([(9, 10), (10, 10), (17, 20), (20, 20)]), agreement
    same = (rows["p_all_answers"] < 0.05) == (rows["p_executable_only"] < 0.05)
    assert (same == rows["agreement"]).all()


def test_gemma_7b_it_on_simple_code_hangs_on_answers_that_did_not_run(published: Published) -> None:
    rows = published("paper1_glmm_executable_only")
    row = rows[(rows["glmm"] == 1) & (rows["model"] == "gemma-7b-it") & (rows["prompt_format"] == "code-simple")].iloc[
        0
    ]
    assert row["p_all_answers"] == pytest.approx(0.032, abs=0.0005)
    assert row["p_executable_only"] == pytest.approx(0.051, abs=0.0005)
