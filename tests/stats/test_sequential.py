from __future__ import annotations

import numpy as np
import pytest

from variantbench.stats.cells import Floats
from variantbench.stats.sequential import Bet, Verdict, confidence_sequence, sequential_gate

TOTAL = 5100


def run(points: float, rng: np.random.Generator) -> Floats:
    """A full run with discordance 22 % and a mean of exactly ``points`` / 100, shuffled."""
    net = round(points / 100 * TOTAL)
    discordant = round(0.22 * TOTAL) + (round(0.22 * TOTAL) + net) % 2
    up = (discordant + net) // 2
    values = np.zeros(TOTAL)
    values[:up], values[up:discordant] = 1.0, -1.0
    return rng.permutation(values)


# full-run difference in points, verdict, mean share of the items used (notes, section 5)
NOTES = [(1.15, Verdict.PASS, 0.16), (0.0, Verdict.PASS, 0.27), (-3.4, Verdict.FAIL, 0.32), (-8.7, Verdict.FAIL, 0.06)]


@pytest.mark.parametrize(("points", "verdict", "share"), NOTES)
def test_gate_stops_about_as_early_as_in_the_notes(points: float, verdict: Verdict, share: float) -> None:
    rng = np.random.default_rng(7)
    found = [sequential_gate(run(points, rng), TOTAL) for _ in range(30)]
    assert np.mean([f.verdict is verdict for f in found]) > 0.85
    assert np.mean([f.used for f in found]) / TOTAL == pytest.approx(share, abs=0.07)
    assert all(f.verdict is not Verdict.UNDECIDED for f in found)


@pytest.mark.parametrize(("points", "wrong"), [(-3.01, Verdict.PASS), (-0.99, Verdict.FAIL)])
def test_wrong_verdicts_stay_below_the_level(points: float, wrong: Verdict, slow: bool) -> None:
    rng = np.random.default_rng(11)
    runs = 1000 if slow else 60
    rate = np.mean([sequential_gate(run(points, rng), TOTAL).verdict is wrong for _ in range(runs)])
    assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_clustered_answers_do_not_break_the_guarantee(slow: bool) -> None:
    # whole templates differ; only our own shuffle is random
    rng = np.random.default_rng(13)
    values = np.repeat(rng.choice([-1.0, 0.0, 1.0], 102, p=[0.2, 0.7, 0.1]), 50)
    values[: max(0, int(values.sum() + 0.03 * TOTAL) + 1)] = -1.0
    assert values.mean() <= -0.03
    runs = 1000 if slow else 40
    passes = np.mean([sequential_gate(rng.permutation(values), TOTAL).verdict is Verdict.PASS for _ in range(runs)])
    assert passes <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_confidence_sequence_covers_the_full_run_and_closes() -> None:
    rng = np.random.default_rng(17)
    missed = 0
    for _ in range(40):
        values = rng.permutation(np.repeat([-1.0, 0.0, 1.0], [80, 400, 120]))
        ends = np.array(list(confidence_sequence(values, 600)))
        missed += bool(((ends[:, 0] > values.mean() + 1e-9) | (ends[:, 1] < values.mean() - 1e-9)).any())
        assert (np.diff(ends[:, 0]) >= 0).all()
        assert (np.diff(ends[:, 1]) <= 0).all()
        assert ends[-1, 1] - ends[-1, 0] <= 2 * 2 / 400 + 1e-9
    assert missed <= 6  # 5 % of 40 is 2; 6 has probability 0.01 under it


def test_only_as_many_items_as_needed_are_asked_for() -> None:
    asked = 0

    def differences() -> object:
        nonlocal asked
        for value in np.full(TOTAL, -1.0):
            asked += 1
            yield value

    found = sequential_gate(differences(), TOTAL)  # type: ignore[arg-type]
    assert found.verdict is Verdict.FAIL
    assert asked == found.used < 30


@pytest.mark.parametrize("value", [1.5, -2.0, float("nan")])
def test_other_values_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="from -1 to 1"):
        Bet(0.0, 10).add(value)


def test_tolerance_beyond_margin_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tolerance 0\.05"):
        sequential_gate([0.0], 1, tolerance=0.05)
