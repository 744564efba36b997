"""Every line of discrepancies.csv is an expected finding: recomputed by a test here, or out of reach of the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

# finding -> the tests that recompute it
RECOMPUTED = {
    "P1-01": ["test_nine_of_twenty_are_significant", "test_gemma_2_2b_is_not_significant"],
    "P1-02": ["test_one_of_twenty_is_significant_after_holm"],
    "P1-03": ["test_gemma_2_2b_is_not_significant", "test_holm_significant_without_flagged_fits"],
    "P1-04": ["test_every_degenerate_fit_has_one_signature", "test_a_strict_inner_loop_mends_the_false_degenerate_fit"],
    "P1-05": ["test_five_of_fifty_fits_are_flagged_three_of_them_on_other_models"],
    "P1-06": ["test_counts_of_gamma_with_and_without_flagged_fits"],
    "P1-07": ["test_printed_holm_is_over_the_formats_of_a_model", "test_corrected_over_models_three_claims_fall"],
    "P1-08": ["test_three_rises_of_table_15_come_from_flagged_fits"],
    "P1-12": ["test_deltas_are_variants_minus_base", "test_drops_and_their_differences_are_as_printed"],
    "P1-15": ["test_eight_classes_of_code_failures_occur_counting_the_unclassified"],
    "P1-17": ["test_accuracy_of_answers_that_are_not_empty", "test_empty_answers_occur_in_three_places_only"],
    "P1-18": ["test_accuracy_of_answers_that_are_not_empty"],
    "P1-19": ["test_largest_differences_sit_on_cells_that_two_models_share"],
    "P1-20": ["test_mean_and_median_of_the_differences"],
    "P1-21": ["test_rules_for_gamma_differ_on_ten_base_questions"],
    "P1-22": ["test_rules_for_gamma_differ_on_ten_base_questions"],
    "P1-23": ["test_base_numbers_are_337_in_eleven_bins_and_the_gap_is_at_five"],
    "P1-26": ["test_base_numbers_are_337_in_eleven_bins_and_the_gap_is_at_five"],
    "P1-30": ["test_nineteen_of_twenty_drop", "test_what_a_single_model_can_show"],
    "P1-32": [
        "test_executable_only_refits_agree_as_stated",
        "test_gemma_7b_it_on_simple_code_hangs_on_answers_that_did_not_run",
    ],
    "P1-33": ["test_signs_agree_and_the_conditional_effect_is_twice_the_marginal_one"],
    "P1-34": ["test_intervals_are_wald_s", "test_totals_are_what_the_accuracies_leave"],
    "P1-35": ["test_share_of_last_numbers"],
    "P2-01": ["test_baseline_forgets_that_q4_is_negated"],
    "P2-02": ["test_two_models_that_always_say_yes_would_score_otherwise_on_a_negated_q4"],
    "P2-03": ["test_half_widths_take_1296_answers_for_independent_six_of_them_wrong"],
    "P2-04": ["test_half_widths_take_1296_answers_for_independent_six_of_them_wrong"],
    "P2-05": ["test_honest_half_widths_go_by_question"],
    "P2-07": ["test_accuracies_are_of_324_answers_but_for_one_row"],
    "P2-08": ["test_all_is_the_mean_of_the_batches"],
    "P2-09": ["test_how_many_models_differ_from_the_baseline"],
    "P2-10": ["test_how_many_models_differ_from_the_baseline"],
    "P2-11": ["test_separated_pairs_of_batches_hang_on_the_width"],
    "P2-12": ["test_separated_pairs_of_batches_hang_on_the_width"],
    "P2-13": ["test_reasoning_after_the_answer_helps_few"],
    "P2-14": ["test_a_fifth_of_void_answers_explains_no_accuracy_of_21_percent"],
    "P2-15": ["test_few_shot_is_worse_for_sixteen_of_twenty_four"],
    "P2-16": ["test_q4_is_the_best_batch_not_the_worst"],
    "P2-18": ["test_one_model_has_two_names"],
}
# finding -> why no figure can show it
OUT_OF_REACH = {
    "P1-09": "two passages of the text contradict each other",
    "P1-10": "a slip of the text",
    "P1-11": "two passages of the text contradict each other",
    "P1-13": "a slip of the text",
    "P1-14": "a slip of the text",
    "P1-16": "about the study's code: tests/prompts/test_paper.py reads such answers as it does",
    "P1-24": "about the templates: seen there",
    "P1-25": "about the study's code: tests/benchmarks/gsm/test_gamma.py has both patterns",
    "P1-27": "about a prompt: tests/prompts/test_renderings.py has ours",
    "P1-28": "about the study's code, which pins no revision",
    "P1-29": "about the study's code, which chooses number types by host name",
    "P1-31": "about the design: an interaction needs the answers (`Experiment.interactions` has it)",
    "P2-06": "needs the three runs",
    "P2-17": "needs the answers (`logic` has the tests)",
    "P2-19": "about the text, which lacks the questions",
}


@pytest.fixture
def findings(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    return published("discrepancies")


def test_every_finding_is_accounted_for(findings: pd.DataFrame) -> None:
    assert not set(RECOMPUTED) & set(OUT_OF_REACH)
    assert set(findings["id"]) == set(RECOMPUTED) | set(OUT_OF_REACH)


@pytest.mark.parametrize("finding", RECOMPUTED)
def test_the_tests_named_for_a_finding_exist(finding: str) -> None:
    here = Path(__file__).parent
    source = "".join(path.read_text() for path in [*here.glob("test_*.py"), here.parent / "stats" / "test_lme4.py"])
    for name in RECOMPUTED[finding]:
        assert f"def {name}(" in source, name


def test_one_model_has_two_names(published: Callable[[str], pd.DataFrame]) -> None:
    names = [set(published(f"paper2_table{number}")["model"]) for number in (1, 2)]
    assert names[1] - names[0] == {"Phi-3-mini-128k-instruct-3.8B"}
    assert "Phi-3-mini-128k-instruct" in names[0]
