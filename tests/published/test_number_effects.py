"""Tables 14 and 15, and the distribution of numbers: which correction was made, and what flagged fits add to counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from variantbench.stats.multiplicity import holm

FORMATS = ["GSM", "NL-simple", "NL-structured", "code-simple", "code-structured"]


@pytest.fixture
def effects(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    rows = published("paper1_glmm2_effects")
    # what is printed as "< 0.001" is at most that
    rows["most_p"] = np.where(rows["p_source"] == "below_0.001", 0.001, rows["p"])
    return rows


def test_printed_holm_is_over_the_formats_of_a_model(effects: pd.DataFrame) -> None:
    assert len(effects) == 100
    for (model, effect), rows in effects.groupby(["model", "effect"]):
        least, most = (
            holm(np.where(rows["p_source"] == "below_0.001", bound, rows["p"]), family=f"{effect}, {model}").adjusted
            for bound in (0.0, 0.001)
        )
        for low, high, printed in zip(least, most, rows["p_holm_within_model_printed"], strict=True):
            if "<" in printed:
                assert low < 0.001
            else:
                assert low - 0.003 <= float(printed) <= high + 0.003, (model, effect)


def test_corrected_over_models_three_claims_fall(effects: pd.DataFrame) -> None:
    fallen = set()
    for (form, effect), rows in effects.groupby(["prompt_format", "effect"]):
        across = holm(rows["most_p"] - np.where(rows["p_source"] == "below_0.001", 1e-3, 0), family=f"{effect}, {form}")
        within = rows["p_holm_within_model_printed"].str.replace("< ", "").astype(float) < 0.05
        lost = within.to_numpy() & (across.adjusted >= 0.05)
        fallen |= {(form, effect, model) for model in rows["model"][lost]}
    assert fallen == {
        ("NL-simple", "gamma", "gemma-2b"),
        ("NL-simple", "gamma", "gemma-2-2b"),
        ("GSM", "variant", "gemma-2-9b"),
    }


def test_counts_of_gamma_with_and_without_flagged_fits(effects: pd.DataFrame) -> None:
    gamma = effects[(effects["effect"] == "gamma") & (effects["significant_p05"] == 1)]
    usable = gamma[gamma["not_converged"] == 0]
    counts = [[int((rows["prompt_format"] == form).sum()) for form in FORMATS] for rows in (gamma, usable)]
    assert counts == [[6, 8, 7, 0, 1], [5, 7, 5, 0, 0]]


def test_five_of_fifty_fits_are_flagged_three_of_them_on_other_models(
    effects: pd.DataFrame, published: Callable[[str], pd.DataFrame]
) -> None:
    flagged = effects[effects["not_converged"] == 1][["prompt_format", "model"]].drop_duplicates()
    assert len(flagged) == 5
    assert (flagged["model"] != "gemma-2-2b").sum() == 3
    flags = published("paper1_fit_flags")
    listed = flags[flags["glmm"] == 2]
    assert set(map(tuple, flagged.to_numpy())) == set(map(tuple, listed[["prompt_format", "model"]].to_numpy()))


def test_three_rises_of_table_15_come_from_flagged_fits(effects: pd.DataFrame) -> None:
    rows = effects[(effects["effect"] == "variant") & (effects["not_converged"] == 1) & (effects["odds_ratio"] > 1)]
    assert set(zip(rows["model"], rows["prompt_format"], rows["odds_ratio"], strict=True)) == {
        ("Mistral-7B-Instruct-v0.1", "NL-simple", 1.14),
        ("Phi-3.5-mini-instruct", "NL-structured", 1.17),
        ("gemma-7b-it", "NL-structured", 1.12),
    }
    assert set(rows["p_source"]) == {"below_0.001"}


def test_odds_ratios_and_log_odds_agree(effects: pd.DataFrame) -> None:
    low, high = (np.exp(effects["log_or"] + shift) for shift in (-0.00501, 0.00501))
    assert ((effects["odds_ratio"] > low - 0.00501) & (effects["odds_ratio"] < high + 0.00501)).all()


def test_rules_for_gamma_differ_on_ten_base_questions(published: Callable[[str], pd.DataFrame]) -> None:
    rows = published("recomputed_gamma_base")
    coded, strict = rows["gamma_as_coded"], rows["gamma_strict"]
    assert ((coded.fillna(-1) - strict).abs() > 1e-6).sum() == 10
    assert rows.loc[coded.isna(), "template_id"].tolist() == [55, 98]


def test_base_numbers_are_337_in_eleven_bins_and_the_gap_is_at_five(
    published: Callable[[str], pd.DataFrame],
) -> None:
    bins, cumulative, ks = (published(f"paper1_{name}") for name in ("number_bins", "number_cdf", "ks_test"))
    assert bins["base_count"].sum() == ks["n_1"].iloc[0] == 337
    assert (100 * bins["base_count"] / 337 - bins["base_pct"]).abs().max() < 0.006
    gap = cumulative["base_cum_pct"] - cumulative["variants_cum_pct_approx"]
    assert cumulative["integer"][gap.idxmax()] == 5
    assert gap.max() / 100 == pytest.approx(ks["statistic"].iloc[0], abs=0.005)
