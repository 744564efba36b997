"""The comparison with the figures of the original GSM-Symbolic study (Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest


@pytest.fixture
def rows(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    return published("paper1_mirzadeh_comparison")


def test_drops_and_their_differences_are_as_printed(rows: pd.DataFrame) -> None:
    assert (rows["mirzadeh_base_pct"] - rows["mirzadeh_variants_pct"] - rows["mirzadeh_drop_pp"]).abs().max() < 0.06
    assert (rows["repro_base_pct"] - rows["repro_variants_pct"] - rows["repro_drop_pp"]).abs().max() < 0.06
    assert (rows["repro_drop_pp"] - rows["mirzadeh_drop_pp"] - rows["drop_difference_pp"]).abs().max() < 0.06


def test_largest_differences_sit_on_cells_that_two_models_share(rows: pd.DataFrame) -> None:
    columns = ["base_difference_pp", "variants_difference_pp", "drop_difference_pp"]
    own = rows[rows["mirzadeh_variants_cell_shared_with"].isna()]
    assert len(own) == 10
    assert rows[columns].abs().max().tolist() == pytest.approx([22.0, 27.16, 24.1], abs=0.01)
    assert own[columns].abs().max().tolist() == pytest.approx([11.0, 8.1, 8.7], abs=0.05)
    assert rows["drop_difference_pp"].std() == pytest.approx(8.34, abs=0.01)
    assert own["drop_difference_pp"].std() == pytest.approx(4.13, abs=0.02)
    for column in columns:
        assert isinstance(rows.loc[rows[column].abs().idxmax(), "mirzadeh_variants_cell_shared_with"], str)


def test_mean_and_median_of_the_differences(rows: pd.DataFrame) -> None:
    assert rows["drop_difference_pp"].mean() == pytest.approx(-0.545, abs=0.001)
    assert rows["drop_difference_pp"].median() == pytest.approx(-0.80, abs=0.001)
