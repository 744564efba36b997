"""Answers drawn to the published rows, analysed as a study: what the published figures say, from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from variantbench.plugins.drawing import draw
from variantbench.plugins.published import VariantRow, read_published
from variantbench.plugins.report.analysis.study import Study, study
from variantbench.stats.conditional import conditional_counts

TEMPLATES, VARIANTS = 100, 50


@pytest.fixture
def rows(shared: Path) -> list[VariantRow]:
    table = read_published(shared / "reference" / "published" / "paper1_glmm1_variant_effect.csv")
    return [row for row in table if isinstance(row, VariantRow)]


def answers_of(rows: list[VariantRow]) -> list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    difficulty = np.random.default_rng(1).standard_normal(TEMPLATES)
    return [
        draw(row, templates=TEMPLATES, per_template=VARIANTS, difficulty=difficulty, seed=seed)
        for seed, row in enumerate(rows)
    ]


def as_frame(rows: list[VariantRow]) -> Any:
    """A frame with the columns that the analysis needs."""
    group, variant = np.repeat(np.arange(TEMPLATES), VARIANTS + 1), np.tile(np.arange(VARIANTS + 1), TEMPLATES)
    parts = [
        pd.DataFrame({
            "model": row.model,
            "format": row.format,
            "benchmark": "gsm",
            "item": [f"{g:04d}-{v}" for g, v in zip(group, variant, strict=True)],
            "group_id": group,
            "variant": variant,
            "seed": 0,
            "doubtful_label": False,
            "robust_verdict": np.where(right.ravel(), "correct", "incorrect"),
        })
        for row, right in zip(rows, answers_of(rows), strict=True)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_draws_have_the_published_effects(rows: list[VariantRow]) -> None:
    ones = np.ones(TEMPLATES, dtype=np.int64)
    distances = [
        conditional_counts(ones, right[:, 0], ones * VARIANTS, right[:, 1:].sum(axis=1)).beta - row.log_odds_ratio
        for row, right in zip(rows, answers_of(rows), strict=True)
    ]
    assert len(distances) == 60
    assert np.abs(distances).max() < 0.03  # a tenth of the smallest standard error


@pytest.fixture
def canonical(rows: list[VariantRow]) -> Study:
    return study(as_frame([row for row in rows if row.format == "gsm"]))


def test_study_selects_nine_models_and_holm_leaves_one(canonical: Study, shared: Path) -> None:
    table = pd.read_csv(shared / "reference" / "published" / "paper1_glmm1_variant_effect.csv")
    usable = table[(table["prompt_format"] == "GSM") & (table["p"] < 0.05) & (table["not_converged"] == 0)]
    assert len(usable) == 9
    assert set(canonical.selection.selected) == set(usable["model"])
    assert canonical.ex1 is not None
    models = [effect.model for effect in canonical.ex1.effects]
    assert [m for m, p in zip(models, canonical.ex1.holm.adjusted, strict=True) if p < 0.05] == ["phi-2"]


def test_fits_of_the_draws_have_the_published_errors(canonical: Study, shared: Path) -> None:
    table = pd.read_csv(shared / "reference" / "published" / "paper1_glmm1_variant_effect.csv")
    gsm = table[(table["prompt_format"] == "GSM")].set_index("model")
    assert canonical.ex1 is not None
    for effect in canonical.ex1.effects:
        assert effect.effect is not None
        if gsm.loc[effect.model, "not_converged"]:
            assert effect.p == pytest.approx(0.33, abs=0.02)  # gemma-2-2b
        else:
            assert effect.effect.se == pytest.approx(float(gsm.loc[effect.model, "std_err"]), abs=0.06)
            assert effect.p == pytest.approx(gsm.loc[effect.model, "p"], abs=0.05)
