"""The word problems' experiments, from records to results."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.report.analysis.answers import Choice, Protocol, split
from variantbench.plugins.report.analysis.effects import variant_effect
from variantbench.plugins.report.analysis.failures import failures, templates
from variantbench.plugins.report.analysis.study import study
from variantbench.stats.glmm import fit_glmm


@pytest.fixture(scope="module")
def result(answers):
    return study(answers)


def rows_of(answers, model, form):
    return answers[(answers["benchmark"] == "gsm") & (answers["model"] == model) & (answers["format"] == form)]


def test_ex1_is_a_fit_of_the_rows(answers, result):
    effect = next(one for one in result.ex1.effects if one.model == "simulated-weak")
    rows = rows_of(answers, "simulated-weak", "gsm")
    right = (rows["robust_verdict"] == "correct").to_numpy(float)
    fit = fit_glmm(right, rows["variant"].to_numpy() > 0, rows["group_id"].astype(str).to_numpy(), names=["v"])
    assert effect.effect.beta == pytest.approx(fit["v"].beta)
    assert effect.p == pytest.approx(fit["v"].lrt_p)
    assert (effect.base.right, effect.base.judged) == (24, 40)
    assert (effect.variants.right, effect.variants.judged) == (320, 800)
    assert effect.delta.estimate == pytest.approx(-0.2)
    assert effect.delta.low < -0.2 < effect.delta.high
    assert effect.detectable == pytest.approx(2.8016 * fit["v"].se, rel=1e-3)


def test_selection_is_the_study_s_rule_and_holds_what_it_says(result):
    assert result.selection.selected == ("simulated-weak",)
    assert set(result.selection.left_out) == {"simulated-strong", "simulated-odd"}
    assert "p < 0.05 and variants below base" in result.selection.rule


def test_families_are_stated_and_of_their_size(result):
    assert [(e.name, e.format, e.holm.size, e.holm_selected.size) for e in (result.ex1, *result.ex2)] == [
        ("Ex1", "gsm", 3, 1),
        ("Ex2.A", "simple_nl", 2, 1),
        ("Ex2.C", "simple_code", 1, 1),
    ]
    assert result.ex1.holm.family == "variant effect, gsm, 3 models"
    assert "1 models selected in gsm" in result.ex2[0].holm_selected.family


def test_interaction_beside_the_selection(result):
    simple = result.ex2[0]
    here = next(i for i, effect in enumerate(simple.effects) if effect.model == "simulated-weak")
    contrast = simple.interactions[here]
    assert contrast.estimate == pytest.approx(-0.3 - -2.0, abs=0.2)
    assert contrast.low < contrast.estimate < contrast.high
    assert 0 < contrast.p < 1


def test_pooled_counts_drops_and_tests_exchangeability(result):
    pooled = result.ex1.pooled
    assert (pooled.models, pooled.drops) == (3, 2)
    assert pooled.delta.estimate == pytest.approx(np.mean([-0.2, -0.0125, 0.05]), abs=0.004)
    assert pooled.test.base_right == 24 + 32 + 14
    assert pooled.sign_p == pytest.approx(1.0)


def test_ex3_has_gamma_its_residual_and_both_corrections(result):
    canonical = result.ex3[0]
    assert [e.format for e in result.ex3] == ["gsm", "simple_nl", "simple_code"]
    assert canonical.holm_gamma.size == canonical.holm_variant.size == 3
    weak = next(one for one in canonical.effects if one.model == "simulated-weak")
    assert {effect.name for effect in weak.fit.effects} == {"(Intercept)", "is_variant", "gamma_c"}
    assert np.isfinite([weak.within.beta, weak.detectable_gamma, weak.detectable_variant]).all()
    within = next(one for one in result.holm_within_models if one.model == "simulated-weak")
    assert within.formats == ("gsm", "simple_nl", "simple_code")
    assert within.gamma.size == 3


def test_executable_only_leaves_out_what_gave_no_value(answers, result):
    [refit] = result.executable_only
    rows = rows_of(answers, "simulated-weak", "simple_code")
    none = (rows["robust_verdict"] == "no_answer").sum()
    assert none > 0
    assert refit.refitted.excluded == none
    assert refit.refitted.variants.judged + refit.refitted.base.judged == len(rows) - none
    assert refit.agrees == (refit.all_answers.significant == refit.refitted.significant)
    assert refit.change != 0


def test_labels_in_doubt_are_left_out_on_the_side(answers, result):
    assert result.without_doubtful_labels == ()  # no built-in item is in doubt
    doubtful = answers.assign(doubtful_label=answers["group_id"].astype(str) == answers["group_id"].astype(str).min())
    found = study(doubtful)
    assert len(found.without_doubtful_labels) == 6
    for refit in found.without_doubtful_labels:
        assert refit.refitted.fit.n_groups == 39
        assert refit.refitted.excluded == 21
        assert refit.all_answers.fit.n_groups == 40


def test_the_protocols_read_different_columns(answers):
    changed = answers.copy()
    some = (changed["format"] == "gsm") & (changed["model"] == "simulated-odd")
    changed.loc[some, "paper_verdict"] = "incorrect"
    changed.loc[changed.index[some][::2], "paper_verdict"] = "correct"
    found = {protocol: study(changed, protocol=protocol) for protocol in Protocol}
    accuracy = {p: {e.model: e.variants.accuracy for e in s.ex1.effects} for p, s in found.items()}
    assert accuracy[Protocol.PAPER]["simulated-odd"] == pytest.approx(0.5, abs=0.02)
    assert accuracy[Protocol.ROBUST]["simulated-odd"] == pytest.approx(0.4)
    assert accuracy[Protocol.PAPER]["simulated-weak"] == accuracy[Protocol.ROBUST]["simulated-weak"]


def test_what_could_not_be_judged_is_no_wrong_answer(answers):
    rows = rows_of(answers, "simulated-weak", "gsm").copy()
    rows["robust_verdict"] = rows["robust_verdict"].cat.add_categories(["error"])
    rows.loc[rows.index[5:12], "robust_verdict"] = "error"
    [part] = split(rows, Choice())
    assert part.not_judged == 7
    assert len(part.right) == len(rows) - 7


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_a_model_that_is_always_right_or_wrong_has_no_p(answers, share):
    rows = rows_of(answers, "simulated-weak", "gsm").copy()
    rows["robust_verdict"] = "correct" if share else "incorrect"
    [effect] = study(rows).ex1.effects
    assert np.isnan(effect.p)
    assert not effect.significant
    assert effect.variants.accuracy == share
    assert np.isnan(effect.detectable)


def test_one_template_gives_a_reason_instead_of_a_fit(answers):
    rows = rows_of(answers, "simulated-weak", "gsm")
    one = rows[rows["group_id"] == rows["group_id"].iloc[0]]
    [effect] = study(one).ex1.effects
    assert effect.fit is None
    assert "one group only" in effect.reason


def test_base_questions_alone_give_a_reason(answers):
    rows = rows_of(answers, "simulated-weak", "gsm")
    found = study(rows[rows["variant"] == 0])
    [effect] = found.ex1.effects
    assert effect.variants.judged == 0
    assert np.isnan(effect.p)
    assert found.ex1.pooled.test is None


def test_an_answer_twice_and_a_missing_column_are_refused(answers):
    with pytest.raises(UserError, match="stands twice: two test functions"):
        study(pd.concat([answers, answers]))
    with pytest.raises(UserError, match="no column robust_verdict"):
        study(answers.drop(columns="robust_verdict"))


def test_no_answers_at_all(answers):
    found = study(answers[answers["benchmark"] == "logic"])
    assert found.ex1 is None
    assert found.ex2 == found.ex3 == ()


def test_failures_add_up_to_wrong_answers(answers):
    for counts in failures(answers):
        rows = rows_of(answers, counts.model, counts.format)
        rows = rows[(rows["variant"] > 0) == counts.variants]
        assert counts.answers == len(rows)
        assert counts.total == (rows["paper_verdict"] != "correct").sum()
    assert len(failures(answers)) == 12


def test_templates_add_up_to_shares(answers):
    rows = [row for row in templates(answers) if (row.model, row.format) == ("simulated-weak", "gsm")]
    assert len(rows) == 40
    assert sum(row.base_right for row in rows) == 24
    assert sum(row.variants_right for row in rows) == 320
    assert {(row.base, row.variants) for row in rows} == {(1, 20)}


def test_same_answers_in_any_order_give_the_same_results(answers, result):
    again = study(answers.sample(frac=1, random_state=1).reset_index(drop=True))
    assert again.selection == result.selection
    assert [e.p for e in again.ex1.effects] == pytest.approx([e.p for e in result.ex1.effects])


def test_a_model_is_analysed_in_a_fraction_of_a_second(answers):
    # 100 fits of this kind are a full study; the clock is that of the processor
    [part] = split(rows_of(answers, "simulated-weak", "gsm"), Choice())
    started = time.process_time()
    variant_effect(part)
    assert time.process_time() - started < 1.0
