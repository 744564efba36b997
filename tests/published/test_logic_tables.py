"""Tables I and II of the logic study: half-widths, totals, baselines, and what the intervals allow to be claimed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from variantbench.stats.proportions import by_questions

BATCHES = ["Q1", "Q2", "Q3", "Q4"]
ANSWERS, QUESTIONS, REPEATS = 1296, 108, 3


@pytest.fixture
def table(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    rows = pd.concat([published("paper2_table1"), published("paper2_table2")])
    # one model has two names
    rows["model"] = rows["model"].replace("Phi-3-mini-128k-instruct-3.8B", "Phi-3-mini-128k-instruct")
    wide = rows.pivot_table(index=["model", "prompting"], columns="batch", values="accuracy_pct", dropna=False)
    total = rows[rows["batch"] == "ALL"].set_index(["model", "prompting"])
    return wide.dropna(how="all").join(total[["sd_over_3_runs", "ci95_half_width"]])


@pytest.fixture
def models(table: pd.DataFrame) -> pd.DataFrame:
    rows = table.drop(index="baseline", level="model")
    assert len(rows) == 92
    return rows


def half_width(accuracy_pct: pd.Series, answers: int) -> pd.Series:
    return 196 * np.sqrt(accuracy_pct / 100 * (1 - accuracy_pct / 100) / answers)


def test_half_widths_take_1296_answers_for_independent_six_of_them_wrong(models: pd.DataFrame) -> None:
    off = (half_width(models["ALL"], ANSWERS) - models["ci95_half_width"]).abs() > 0.00551
    assert off.sum() == 6
    wrong = models[off]
    assert set(wrong.index) == {
        ("Qwen1.5-1.8B-Chat", "zero-shot"),
        ("recurrentgemma-2b-it", "zero-shot"),
        ("recurrentgemma-2b-it", "few-shot"),
        ("recurrentgemma-9b-it", "zero-shot"),
        ("recurrentgemma-9b-it", "few-shot"),
        ("GPT-3.5-turbo-0613", "few-shot"),
    }


def test_honest_half_widths_go_by_question() -> None:
    assert half_width(pd.Series([50.0]), ANSWERS).iloc[0] == pytest.approx(2.72, abs=0.005)
    assert half_width(pd.Series([50.0]), ANSWERS // REPEATS).iloc[0] == pytest.approx(4.7, abs=0.05)
    cautious = by_questions(ANSWERS // 2, ANSWERS, QUESTIONS)
    assert 100 * (cautious.high - cautious.low) / 2 == pytest.approx(9.3, abs=0.1)


def test_all_is_the_mean_of_the_batches(models: pd.DataFrame) -> None:
    assert (models[BATCHES].mean(axis=1) - models["ALL"]).abs().max() < 0.0101


def test_baseline_forgets_that_q4_is_negated(table: pd.DataFrame) -> None:
    printed = table.loc[("baseline", "zero-shot"), BATCHES]
    assert set(printed) == {50.93}
    no = round(printed["Q1"] / 100 * QUESTIONS)
    assert no == 55
    flipped = 100 * (QUESTIONS - no) / QUESTIONS  # what was no is yes
    assert flipped == pytest.approx(49.07, abs=0.005)
    assert (3 * printed["Q1"] + flipped) / 4 == pytest.approx(50.46, abs=0.01)


def test_two_models_that_always_say_yes_would_score_otherwise_on_a_negated_q4(table: pd.DataFrame) -> None:
    assert set(table.loc[("gemma-1.1-2b-it", "few-shot"), BATCHES]) == {49.07}
    llama = table.loc[("Llama-2-7b-chat-hf", "few-shot"), BATCHES]
    assert (llama == 49.07).sum() == 3
    assert llama.max() == 49.69


def test_accuracies_are_of_324_answers_but_for_one_row(models: pd.DataFrame) -> None:
    grid = models[BATCHES] / 100 * QUESTIONS * REPEATS
    off = ((grid - grid.round()).abs() > 0.0051 / 100 * QUESTIONS * REPEATS).any(axis=1)
    assert models.index[off].tolist() == [("Llama-2-7b-chat-hf", "cot-before")]


def against(accuracy: pd.Series, answers: int | None, printed: pd.Series, level: float) -> tuple[int, int]:
    """How many lie above and below the level by more than their half-width."""
    half = printed if answers is None else half_width(accuracy, answers)
    return int((accuracy - half > level).sum()), int((accuracy + half < level).sum())


@pytest.mark.parametrize(
    ("prompting", "printed", "by_432"), [("zero-shot", (16, 4), (13, 3)), ("few-shot", (14, None), (10, None))]
)
def test_how_many_models_differ_from_the_baseline(
    models: pd.DataFrame, prompting: str, printed: tuple[int, int | None], by_432: tuple[int, int | None]
) -> None:
    rows = models.xs(prompting, level="prompting")
    for answers, expected in ((None, printed), (432, by_432)):
        above, below = against(rows["ALL"], answers, rows["ci95_half_width"], 50.93)
        assert above == expected[0]
        assert expected[1] is None or below == expected[1]


def test_few_shot_is_worse_for_sixteen_of_twenty_four(models: pd.DataFrame) -> None:
    change = models["ALL"].xs("few-shot", level="prompting") - models["ALL"].xs("zero-shot", level="prompting")
    assert len(change) == 24
    assert ((change < 0).sum(), (change > 0).sum()) == (16, 8)
    assert change.mean() == pytest.approx(-1.74, abs=0.005)


def test_reasoning_after_the_answer_helps_few(models: pd.DataFrame) -> None:
    after, zero = (models.xs(name, level="prompting") for name in ("cot-after", "zero-shot"))
    zero = zero.loc[after.index]
    change, room = after["ALL"] - zero["ALL"], after["ci95_half_width"] + zero["ci95_half_width"]
    assert len(change) == 22
    assert ((change > 0).sum(), (change > room).sum(), (change < -room).sum()) == (13, 3, 1)


def test_q4_is_the_best_batch_not_the_worst(models: pd.DataFrame) -> None:
    for prompting, mean in (("zero-shot", 57.7), ("few-shot", 59.2), ("cot-after", 58.5)):
        means = models.xs(prompting, level="prompting")[BATCHES].mean()
        assert means.idxmax() == "Q4"
        assert means["Q4"] == pytest.approx(mean, abs=0.05)


def test_a_fifth_of_void_answers_explains_no_accuracy_of_21_percent(models: pd.DataFrame) -> None:
    before = models.xs("cot-before", level="prompting")["ALL"].nsmallest(2)
    assert before.tolist() == pytest.approx([20.91, 21.75], abs=0.005)
    assert (before / 0.8).between(26, 27.3).all()


def separated(rows: pd.DataFrame, half: Callable[[pd.Series], pd.Series | float]) -> int:
    """Pairs of batches of a model whose intervals do not overlap."""
    count = 0
    for _, row in rows.iterrows():
        for i, first in enumerate(BATCHES):
            for second in BATCHES[i + 1 :]:
                pair = row[[first, second]].astype(float)
                width = half(row) if half is printed_width else half(pair)
                total = 2 * width if np.isscalar(width) else width.sum()
                count += bool(abs(pair.iloc[0] - pair.iloc[1]) > total)
    return count


def printed_width(row: pd.Series) -> float:
    return float(row["ci95_half_width"])


@pytest.mark.parametrize(("prompting", "counts"), [("zero-shot", (51, 14, 1)), ("few-shot", (47, 23, 3))])
def test_separated_pairs_of_batches_hang_on_the_width(
    models: pd.DataFrame, prompting: str, counts: tuple[int, int, int]
) -> None:
    rows = models.xs(prompting, level="prompting")
    found = [separated(rows, printed_width)]
    found += [separated(rows, lambda pair, n=n: half_width(pair, n)) for n in (324, 108)]
    assert tuple(found) == counts
