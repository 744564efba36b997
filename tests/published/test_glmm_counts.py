"""What the published figures alone say of the paper's counts. Data: ../shared/reference/published, not kept here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from variantbench.stats.multiplicity import holm
from variantbench.stats.totals import effect_from_totals

TABLE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "published" / "paper1_glmm1_variant_effect.csv"


@pytest.fixture(scope="module")
def variant_effects() -> pd.DataFrame:
    if not TABLE.exists():
        pytest.skip(f"{TABLE} is absent: the published figures lie outside the repository")
    table = pd.read_csv(TABLE)
    found = [
        effect_from_totals(row.log_or, base=row.acc_base_pct / 100, variants=row.acc_variants_pct / 100)
        for row in table.itertuples()
    ]
    table["own_se"], table["own_p"] = [effect.se for effect in found], [effect.p for effect in found]
    # a flagged fit's p is unusable: the figures' own one stands for it
    table["usable_p"] = np.where(table["not_converged"] == 1, table["own_p"], table["p"])
    return table


@pytest.fixture(scope="module")
def gsm(variant_effects: pd.DataFrame) -> pd.DataFrame:
    return variant_effects[variant_effects["prompt_format"] == "GSM"].reset_index(drop=True)


def test_own_standard_error_meets_the_published_one_on_clean_fits(variant_effects: pd.DataFrame) -> None:
    clean = variant_effects[
        (variant_effects["not_converged"] == 0) & variant_effects["log_or"].abs().between(0.15, 0.7)
    ]
    ratio = clean["own_se"] / clean["std_err"].astype(float)
    assert len(clean) == 33
    assert ratio.median() == pytest.approx(1.02, abs=0.005)
    assert (ratio.min(), ratio.max()) == pytest.approx((0.949, 1.069), abs=5e-4)


@pytest.mark.parametrize(
    ("prompt_format", "se", "p"),
    [("GSM", 0.32, 0.33), ("NL-structured", 0.315, 0.16), ("code-structured", 0.336, 0.38)],
)
def test_gemma_2_2b_is_not_significant(variant_effects: pd.DataFrame, prompt_format: str, se: float, p: float) -> None:
    row = variant_effects[
        (variant_effects["model"] == "gemma-2-2b") & (variant_effects["prompt_format"] == prompt_format)
    ].iloc[0]
    assert row["not_converged"] == 1
    assert row["own_se"] == pytest.approx(se, abs=0.005)
    assert row["own_p"] == pytest.approx(p, abs=0.015)


def test_paper_counts_ten_of_twenty(gsm: pd.DataFrame) -> None:
    assert len(gsm) == 20
    assert (gsm["p"] < 0.05).sum() == 10


def test_nine_of_twenty_are_significant(gsm: pd.DataFrame) -> None:
    assert (gsm["usable_p"] < 0.05).sum() == 9


def test_one_of_twenty_is_significant_after_holm(gsm: pd.DataFrame) -> None:
    adjusted = holm(gsm["usable_p"], family="variant effect, GSM prompt, 20 models")
    assert gsm["model"][adjusted.adjusted < 0.05].tolist() == ["phi-2"]
