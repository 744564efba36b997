"""Simulated runs look like what they were drawn from, and like nobody's measurement."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.cli import variantbench
from variantbench.plugins.drawing import draw, sigma_of
from variantbench.plugins.errors import UserError
from variantbench.plugins.published import LogicRow, VariantRow, read_published
from variantbench.plugins.regrade import regrade
from variantbench.plugins.simulate import simulate, synthetic_rows
from variantbench.plugins.store import open_store, schema
from variantbench.plugins.store.frame import frame
from variantbench.stats.glmm import fit_glmm


@pytest.mark.parametrize(
    ("base", "variants", "effect"), [(0.6, 0.4, -2.03), (0.24, 0.2088, -0.314), (0.82, 0.7512, -0.76), (0.3, 0.33, 0.3)]
)
def test_a_draw_meets_accuracies_and_effect(base: float, variants: float, effect: float) -> None:
    row = VariantRow("m", "gsm", base, variants, effect)
    difficulty = np.random.default_rng(1).standard_normal(100)
    right = draw(row, templates=100, per_template=50, difficulty=difficulty, seed=5)
    assert right[:, 0].sum() == round(100 * base)
    assert right[:, 1:].sum() == round(5000 * variants)
    fit = fit_glmm(right.ravel(), np.tile(np.arange(51) > 0, 100), np.repeat(np.arange(100), 51), names=["v"])
    assert fit["v"].beta == pytest.approx(effect, abs=0.15 * fit["v"].se)
    assert fit.sigma == pytest.approx(sigma_of(row, np.random.default_rng(2).standard_normal(100_000)), rel=0.25)


def test_every_published_row_can_be_drawn(shared: Path) -> None:
    rows = read_published(shared / "reference" / "published" / "paper1_glmm1_variant_effect.csv")
    assert len(rows) == 60
    difficulty = np.random.default_rng(1).standard_normal(100)
    for row in rows[::6]:
        assert isinstance(row, VariantRow)
        right = draw(row, templates=100, per_template=50, difficulty=difficulty, seed=1)
        assert right[:, 1:].mean() == pytest.approx(row.variants, abs=1e-4)
    logic = read_published(shared / "reference" / "published" / "paper2_table1.csv")
    assert len(logic) == 24 * 2 * 4
    assert all(isinstance(row, LogicRow) for row in logic)


def test_difficulty_is_shared_between_models() -> None:
    difficulty = np.random.default_rng(1).standard_normal(100)
    shares = [
        draw(VariantRow(name, "gsm", 0.5, 0.45, -0.5), templates=100, per_template=50, difficulty=difficulty, seed=seed)
        .mean(axis=1)
        for name, seed in (("a", 1), ("b", 2))
    ]  # fmt: skip
    assert 0.3 < np.corrcoef(*shares)[0, 1] < 0.8


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


def test_answers_are_graded_as_the_graders_do(store) -> None:
    rows = [VariantRow("m", form, 0.5, 0.4, -0.8) for form in ("gsm", "simple_nl")]
    run = simulate(store, rows, gsm=load_items(sample=20, variants_per_template=10))
    with store.engine.begin() as connection:  # as if an older version had graded them
        connection.execute(schema.records.update().values(grader="0"))
    done = regrade(store, run)
    assert done.graded == 2 * 220
    assert done.changes == ()


def test_code_answers_end_in_the_study_s_ways(store) -> None:
    simulate(store, [VariantRow("m", "simple_code", 0.5, 0.4, -0.8)], gsm=load_items(sample=40))
    found = frame(store)
    assert (found["robust_verdict"] == "correct").sum() == 20 + 800
    assert {"name error", "none returned"} <= set(found["paper_method"])


def test_nobody_takes_it_for_a_measurement(store) -> None:
    run = simulate(store, [VariantRow("phi-2", "gsm", 0.5, 0.4, -0.8)], gsm=load_items(sample=5))
    stored = store.find_run(run)
    assert stored["manifest"]["simulated"] is True
    assert [model["name"] for model in stored["manifest"]["models"]] == ["simulated-phi-2"]
    assert stored["status"] == "complete"


def test_same_seed_same_answers(tmp_path) -> None:
    def verdicts(name: str, seed: int) -> list[str]:
        with open_store(str(tmp_path / name)) as opened:
            simulate(opened, synthetic_rows(2, seed=1), gsm=load_items(sample=5), seed=seed)
            return list(frame(opened)["robust_verdict"])

    assert verdicts("a.db", 1) == verdicts("b.db", 1)
    assert verdicts("a2.db", 1) != verdicts("c.db", 2)


def test_a_made_up_study_has_every_model_in_every_format() -> None:
    rows = synthetic_rows(20)
    assert len(rows) == 100
    assert len({(row.model, row.format) for row in rows}) == 100
    assert all(0 < row.base < 1 and 0 < row.variants < 1 for row in rows)


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    return path


GOOD = {"model": "m", "prompt_format": "GSM", "acc_base_pct": 50, "acc_variants_pct": 40, "log_or": -0.8}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**GOOD, "prompt_format": "haiku"}, "no format 'haiku': one of GSM"),
        ({**GOOD, "acc_base_pct": 120}, "acc_base_pct 120: a percentage, 0 to 100"),
        ({**GOOD, "log_or": "?"}, "log_or '?' of m: a number is needed"),
        ({"model": "m"}, "columns model, prompt_format"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, row: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        read_published(write(tmp_path / "t.csv", [row]))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_published(tmp_path / "none.csv")


def test_rows_and_items_must_fit(store) -> None:
    items = load_items(sample=3, variants_per_template=2)
    row = VariantRow("m", "gsm", 0.5, 0.4, -0.8)
    with pytest.raises(UserError, match="none; give each once"):
        simulate(store, [], gsm=items)
    with pytest.raises(UserError, match="stands twice"):
        simulate(store, [row, row], gsm=items)
    with pytest.raises(UserError, match="equally many variants"):
        simulate(store, [row], gsm=items[:-1])
    with pytest.raises(UserError, match="no logic items of batch Q7"):
        simulate(store, [LogicRow("m", "zero_shot", "Q7", 0.5)], gsm=items)
    assert store.runs() == []


def test_command(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", [GOOD])
    store = str(tmp_path / "runs.db")
    options = ["--store", store, "--templates", "4", "--variants-per-template", "3"]
    done = CliRunner().invoke(variantbench, ["simulate", *options, "--from-published", str(table)])
    assert done.exit_code == 0, done.output
    assert "simulated-m, gsm: 16 answers" in done.output
    assert "simulated, not measured" in done.output
    done = CliRunner().invoke(variantbench, ["simulate", *options, "--models", "2"])
    assert done.exit_code == 0, done.output
    assert len(frame(store)) == 2 * 5 * 16
