"""Tables 2, 3, 6-13: each printed figure recomputed from the others, within what rounding leaves open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import binomtest, norm

from variantbench.stats.multiplicity import holm

Z = float(norm.ppf(0.975))


@pytest.fixture
def table(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    rows = published("paper1_glmm1_variant_effect")
    rows["clean"] = rows["not_converged"] == 0
    rows["log_or_half"] = np.where(rows["log_or_source"] == "notebook_6dp", 5e-7, 0.005)
    rows["se"] = pd.to_numeric(rows["std_err"], errors="coerce")
    return rows


@pytest.fixture
def clean(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[table["clean"]]
    assert len(rows) == 57
    return rows


def test_deltas_are_variants_minus_base(table: pd.DataFrame) -> None:
    assert len(table) == 60
    assert (table["acc_variants_pct"] - table["acc_base_pct"] - table["delta_pp"]).abs().max() < 0.0101
    assert (table["acc_base_pct"] % 1 == 0).all()  # of 100 questions
    assert ((table["acc_variants_pct"] * 50) % 1 < 1e-6).mean() > 0.95  # of 5,000


def test_odds_ratios_are_exponentials_of_the_log_odds(table: pd.DataFrame) -> None:
    low, high = (np.exp(table["log_or"] + sign * table["log_or_half"]) for sign in (-1, 1))
    assert ((table["odds_ratio"] > low - 0.00501) & (table["odds_ratio"] < high + 0.00501)).all()


def test_z_is_the_log_odds_over_its_error(clean: pd.DataFrame) -> None:
    smallest = (clean["log_or"].abs() - clean["log_or_half"]) / (clean["se"] + 0.005)
    largest = (clean["log_or"].abs() + clean["log_or_half"]) / (clean["se"] - 0.005)
    assert ((clean["z"].abs() > smallest - 0.00501) & (clean["z"].abs() < largest + 0.00501)).all()


def test_p_is_that_of_z(clean: pd.DataFrame) -> None:
    low, high = (2 * norm.sf(clean["z"].abs() + sign * 0.005) for sign in (1, -1))
    half = np.where(clean["p_source"] == "figure_label", 0.05 * clean["p"], 0.0005)
    assert ((clean["p"] > low - half - 1e-9) & (clean["p"] < high + half + 1e-9)).all()


def test_intervals_are_wald_s(clean: pd.DataFrame) -> None:
    for column, sign in (("or_ci95_low", -1), ("or_ci95_high", 1)):
        ends = [
            np.exp(clean["log_or"] + shift * clean["log_or_half"] + sign * Z * (clean["se"] + error))
            for shift in (-1, 1)
            for error in (-0.005, 0.005)
        ]
        inside = (clean[column] > np.min(ends, axis=0) - 0.00501) & (clean[column] < np.max(ends, axis=0) + 0.00501)
        assert inside.all(), column


def test_holm_is_over_the_models_of_a_table(table: pd.DataFrame) -> None:
    for form, rows in table.groupby("prompt_format"):
        assert set(rows["holm_family_size"]) == {20 if form == "GSM" else 10}
        adjusted = holm(rows["p"], family=f"variant effect, {form}").adjusted
        for mine, printed in zip(adjusted, rows["p_holm_printed"], strict=True):
            if "<" in printed:
                assert mine < 0.001
            else:  # a p of three digits, times as many as are in the family
                assert mine == pytest.approx(float(printed), abs=0.0005 * len(rows) + 0.0005)


def test_flagged_fits_have_errors_that_cannot_be(table: pd.DataFrame) -> None:
    flagged = table[~table["clean"]]
    assert set(flagged["model"]) == {"gemma-2-2b"}
    assert sorted(flagged["prompt_format"]) == ["GSM", "NL-structured", "code-structured"]
    assert (flagged["log_or"] / flagged["z"]).max() < 1e-3 < 0.2 < table.loc[table["clean"], "se"].min()


def test_signs_agree_and_the_conditional_effect_is_twice_the_marginal_one(table: pd.DataFrame) -> None:
    marginal = logit(table["acc_variants_pct"] / 100) - logit(table["acc_base_pct"] / 100)
    assert (np.sign(marginal) == np.sign(table["log_or"])).all()
    assert (table["log_or"] / marginal).median() == pytest.approx(2.105, abs=0.001)


def test_nineteen_of_twenty_drop(table: pd.DataFrame) -> None:
    gsm = table[table["prompt_format"] == "GSM"]
    assert (gsm["delta_pp"] < 0).sum() == 19
    assert gsm["delta_pp"].mean() == pytest.approx(-5.31, abs=0.005)
    assert binomtest(19, 20).pvalue == pytest.approx(4.0e-5, rel=0.01)


def test_what_a_single_model_can_show(clean: pd.DataFrame) -> None:
    detectable = (Z + norm.ppf(0.8)) * clean["se"]
    assert np.exp(-(Z + norm.ppf(0.8)) * 0.30) == pytest.approx(0.43, abs=0.005)  # at the best quarter's error
    assert clean["se"].quantile(0.25) == 0.30
    assert np.exp(-detectable.median()) == pytest.approx(0.397, abs=0.001)
    assert detectable.min() == pytest.approx(0.76, abs=0.005)
    assert detectable.max() == pytest.approx(1.34, abs=0.005)


def test_holm_significant_without_flagged_fits(clean: pd.DataFrame) -> None:
    found = set()
    for form, rows in clean.groupby("prompt_format"):
        adjusted = holm(rows["p"], family=str(form)).adjusted
        found |= {(form, model) for model, p in zip(rows["model"], adjusted, strict=True) if p < 0.05}
    assert found == {("GSM", "phi-2"), ("NL-simple", "gemma-2b"), ("NL-structured", "phi-2")}


def test_optimizers_agree_in_the_estimates(published: Callable[[str], pd.DataFrame]) -> None:
    rows = published("paper1_gemma22b_optimizers")
    assert len(rows) == 25
    spread = rows.groupby("prompt_format")["is_variant"].agg(lambda values: values.max() - values.min())
    assert spread.max() < 0.016 < 0.3 / 10  # a twentieth of a standard error


def test_every_degenerate_fit_has_one_signature(published: Callable[[str], pd.DataFrame]) -> None:
    flags = published("paper1_fit_flags")
    assert len(flags) == 8
    assert (flags["is_singular"] == 0).all()
    assert flags["max_grad"].between(0.15, 0.17).all()
    # a jump J of the deviance gives a gradient sqrt(J) / 2 and an error of sqrt(2 / (J / 1e-8)), for every coefficient
    jump = (2 * flags["max_grad"]) ** 2
    assert np.sqrt(2e-8 / jump).between(4.2e-4, 4.7e-4).all()
