"""The logic study's tables from records."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.report.analysis.logic import logic
from variantbench.stats.mcnemar import mcnemar_pairs


@pytest.fixture(scope="module")
def result(answers):
    return logic(answers)


def test_shares_by_batch_and_over_all(result):
    weak = [share for share in result.shares if share.model == "simulated-weak"]
    assert [share.batch for share in weak] == ["Q1", "Q2", "Q3", "Q4", "ALL"]
    assert [share.right for share in weak] == [162, 162, 162, 162, 648]
    assert [share.questions for share in weak] == [108] * 5
    total = weak[-1]
    assert total.judged == 1296
    assert total.paper_half_width == pytest.approx(1.96 * sqrt(0.25 / 1296))
    # the questions are what is drawn: repeats and wordings of one are no further evidence
    assert total.interval.high - total.interval.low > 2 * 1.5 * total.paper_half_width


def test_constant_answers_score_half_over_all_batches(result):
    share = next(s for s in result.shares if s.batch == "ALL")
    assert share.always_no + share.always_yes == pytest.approx(1)
    first, fourth = (next(s for s in result.shares if s.batch == batch) for batch in ("Q1", "Q4"))
    assert first.always_no == pytest.approx(fourth.always_yes)  # Q4 asks the negation


def test_sd_is_that_of_the_repeats(answers, result):
    rows = answers[(answers["model"] == "simulated-strong") & (answers["batch"] == "Q2")]
    means = [(rows[rows["seed"] == seed]["robust_verdict"] == "correct").mean() for seed in (1, 2, 3)]
    share = next(s for s in result.shares if (s.model, s.batch) == ("simulated-strong", "Q2"))
    assert share.sd == pytest.approx(np.std(means, ddof=1))


def test_pairs_of_batches_are_tests_of_majority_answers(answers, result):
    wording = next(one for one in result.wordings if one.model == "simulated-strong")
    assert [(p.first, p.second) for p in wording.pairs][:2] == [("Q1", "Q2"), ("Q1", "Q3")]
    assert wording.holm.size == 6
    rows = answers[answers["model"] == "simulated-strong"]
    most = {}
    for batch in ("Q1", "Q2"):
        own = rows[rows["batch"] == batch].assign(question=lambda r: r["item"].astype(str).str[3:])
        right = (own["robust_verdict"] == "correct").groupby(own["question"]).mean()
        most[batch] = (right.sort_index() > 0.5).astype(int).to_numpy()
    assert wording.pairs[0].test == mcnemar_pairs(most["Q1"], most["Q2"])
    assert wording.pairs[0].p == wording.pairs[0].test.p
    assert wording.cochran.df == 3
    assert 0.05 < wording.pairs[0].detectable < 0.25


def test_identical_batches_are_invariable(answers):
    rows = answers[(answers["model"] == "simulated-weak") & (answers["benchmark"] == "logic")].copy()
    first = rows[rows["batch"] == "Q1"].assign(key=lambda r: r["item"].astype(str).str[3:]).set_index(["key", "seed"])
    keys = list(zip(rows["item"].astype(str).str[3:], rows["seed"], strict=True))
    rows["robust_verdict"] = first["robust_verdict"].astype(str).loc[keys].to_numpy()
    [wording] = logic(rows).wordings
    assert wording.cochran.q == 0
    assert {pair.p for pair in wording.pairs} == {1.0}
    assert {str(pair.shown.shown) for pair in wording.pairs} == {"equivalent"}
    assert all(np.isnan(pair.detectable) for pair in wording.pairs)


def test_models_are_compared_by_question_and_not_by_answer(result):
    [between] = result.between
    [pair] = between.pairs
    assert (pair.first, pair.second) == ("simulated-strong", "simulated-weak")
    assert pair.test.pairs == 432
    assert pair.clustered.clusters == 108
    assert pair.difference.estimate == pytest.approx(0.2, abs=0.001)
    assert pair.p == pair.clustered.p
    assert between.holm.family == "1 pairs of models, zero_shot"


def test_missing_answers_and_errors_leave_the_rest_in_pairs(answers):
    rows = answers[(answers["model"] == "simulated-weak") & (answers["benchmark"] == "logic")].copy()
    rows["robust_verdict"] = rows["robust_verdict"].cat.add_categories(["error"])
    gone = rows.index[rows["item"].astype(str).isin(["Q1-001", "Q2-002"])]
    rows.loc[gone, "robust_verdict"] = "error"
    found = logic(rows)
    share = next(s for s in found.shares if s.batch == "Q1")
    assert (share.not_judged, share.questions) == (3, 107)
    assert found.wordings[0].pairs[0].test.pairs == 106


def test_an_answer_twice_is_refused(answers):
    import pandas as pd

    with pytest.raises(UserError, match="stands twice"):
        logic(pd.concat([answers, answers]))
