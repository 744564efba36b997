"""How often the gate is wrong, beside a fixed threshold and McNemar's test: python tests/perf/gate_error_rates.py [N]

N simulated comparisons a row (2,000). 100 templates of 51 items; the log odds of a template's items have a standard
deviation of 2. Where nothing changed, the two checkpoints differ by flips and by effects of templates around zero.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from variantbench.stats.mcnemar import mcnemar
from variantbench.stats.regression import (
    Decision,
    decide,
    default_margin,
    paired_change,
    pass_power,
    planned_se,
    regression_power,
)
from variantbench.stats.sequential import Verdict, sequential_gate

TEMPLATES, EACH = 100, 51
CLUSTER = np.repeat(np.arange(TEMPLATES), EACH)
MARGIN, TOLERANCE, LEVEL = 0.03, 0.01, 0.05
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)

Answers = NDArray[np.bool_]


@dataclass(frozen=True)
class Rates:
    """Shares of comparisons: what the gate said, and how often two usual ways call a regression."""

    regression: float
    passed: float
    early_regression: float
    early_passed: float
    early_used: float
    early_contradicts: float  # what the whole run shows, by more than the bound that was refuted
    threshold: float  # a drop of the accuracy by more than 2 points
    mcnemar: float  # mid-p below 5 %, and worse


def intercept(accuracy: float, sigma: float) -> float:
    """The intercept at which answers are right with probability `accuracy` over templates of that sigma."""
    return float(brentq(lambda b: (_WEIGHTS @ expit(b + sigma * _NODES)) / _WEIGHTS.sum() - accuracy, -20, 20))


def unchanged(
    rng: np.random.Generator, cluster: NDArray[np.int64], *, accuracy: float, flips: float, effect_sd: float
) -> tuple[Answers, Answers]:
    """Two checkpoints of equal ability: answers drawn once, some of them again, templates' effects around zero."""
    templates = cluster[-1] + 1
    b = intercept(accuracy, 2.0) + 2.0 * rng.standard_normal(templates)
    effect = effect_sd * rng.standard_normal(templates)
    before_p, after_p = expit(b)[cluster], expit(b + effect)[cluster]
    latent = rng.random(len(cluster))
    again = np.where(rng.random(len(cluster)) < flips, rng.random(len(cluster)), latent)
    return latent < before_p, again < after_p


def rates(
    n: int, *, seed: int = 1, early: bool = True, templates: int = TEMPLATES, each: int = EACH, **how: float
) -> Rates:
    """`n` comparisons of two unchanged checkpoints, on the margin that is the default for so many items."""
    rng = np.random.default_rng(seed)
    cluster, margin = np.repeat(np.arange(templates), each), default_margin(templates, each)
    counts = np.zeros(8)
    for _ in range(n):
        x, y = unchanged(rng, cluster, **how)
        decision = decide(paired_change(x, y, cluster, tolerance=TOLERANCE, level=LEVEL), margin=margin, level=LEVEL)
        b, c = int((x & ~y).sum()), int((~x & y).sum())
        counts += [
            decision is Decision.REGRESSION,
            decision is Decision.PASS,
            *(0, 0, 0, 0),
            y.mean() - x.mean() < -0.02,
            b > c and mcnemar(0, b, c, 0).p < 0.05,
        ]
        if early:
            d = rng.permutation(y.astype(float) - x)
            found = sequential_gate(d, len(d), margin=margin, tolerance=TOLERANCE, level=LEVEL)
            failed, passed = found.verdict is Verdict.FAIL, found.verdict is Verdict.PASS
            contradicts = (failed and d.mean() >= -TOLERANCE) or (passed and d.mean() <= -margin)
            counts += [0, 0, failed, passed, found.used / len(d), contradicts, 0, 0]
    return Rates(*(float(count) for count in counts / n))


def drawn_differences(
    rng: np.random.Generator, *, change: float, discordance: float, spread: float
) -> tuple[Answers, Answers]:
    """Pairs whose templates' own mean changes are normal around `change`, as `variantbench plan` assumes."""
    mean = np.clip(rng.normal(change, spread, TEMPLATES), -discordance, discordance)[CLUSTER]
    up = rng.random(len(CLUSTER))
    after_only = up < (discordance + mean) / 2
    before_only = (up >= (discordance + mean) / 2) & (up < discordance)
    return before_only, after_only  # the concordant pairs, wrong here, do not matter


def kept_promise(n: int, *, change: float, seed: int = 2) -> tuple[float, float]:
    """How often the gate passes (no change) or sees a drop, and how often the plan says it does."""
    rng = np.random.default_rng(seed)
    discordance, spread = 0.4, 0.1
    wanted = Decision.PASS if change == 0 else Decision.REGRESSION
    hits = 0
    for _ in range(n):
        x, y = drawn_differences(rng, change=change, discordance=discordance, spread=spread)
        hits += decide(paired_change(x, y, CLUSTER, tolerance=TOLERANCE), margin=MARGIN) is wanted
    se = planned_se(TEMPLATES, EACH, discordance=discordance, spread=spread)
    promised = (
        pass_power(MARGIN, se, TEMPLATES)
        if change == 0
        else regression_power(-change, se, TEMPLATES, tolerance=TOLERANCE)
    )
    return hits / n, promised


def full_run(points: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The shuffled differences of a run whose mean is exactly `points` / 100, with 22 % discordant pairs."""
    total = TEMPLATES * EACH
    net = round(points / 100 * total)
    discordant = round(0.22 * total) + (round(0.22 * total) + net) % 2
    up = (discordant + net) // 2
    return rng.permutation(np.repeat([1.0, -1.0, 0.0], [up, discordant - up, total - discordant]))


def early(points: float, n: int, *, seed: int = 3) -> tuple[float, float, float, float]:
    """Mean share of the items run, 90th percentile, and shares passed and called a regression."""
    rng = np.random.default_rng(seed)
    total = TEMPLATES * EACH
    found = [
        sequential_gate(full_run(points, rng), total, margin=MARGIN, tolerance=TOLERANCE, level=LEVEL) for _ in range(n)
    ]
    used = np.array([one.used for one in found]) / total
    passed, failed = (np.mean([one.verdict is verdict for one in found]) for verdict in (Verdict.PASS, Verdict.FAIL))
    return float(used.mean()), float(np.quantile(used, 0.9)), float(passed), float(failed)


ROWS = [
    {"templates": templates, "each": each, "accuracy": accuracy, "flips": flips, "effect_sd": effect}
    for templates, each, accuracy, flips, effect in (
        (100, 51, 0.5, 0.02, 0.0),
        (100, 51, 0.1, 0.22, 0.0),
        (100, 51, 0.5, 0.22, 0.0),
        (100, 51, 0.9, 0.22, 0.0),
        (108, 1, 0.5, 0.22, 0.0),
        (40, 6, 0.5, 0.22, 0.0),
        (100, 51, 0.5, 0.22, 0.3),
        (100, 51, 0.5, 0.22, 0.6),
        (100, 51, 0.5, 0.22, 1.0),
    )
]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    started = time.perf_counter()
    print(f"{n:,} comparisons of unchanged checkpoints a row; shares called a regression, or passed")
    print(
        "                                  |     gate     |            early stop             |   2 pp    unclustered"
    )
    print("   items  accuracy  flips  effect |  regr. passed |  regr. passed  items run  contrad. | threshold  McNemar")
    for how in ROWS:
        r = rates(n, **how)
        size = f"{how['templates']:>4} x {how['each']:>2}"
        early = f"{r.early_regression:.3f}  {r.early_passed:.3f}     {r.early_used:6.1%}     {r.early_contradicts:.3f}"
        print(
            f"{size} {how['accuracy']:>8}  {how['flips']:>5}  {how['effect_sd']:>6} |  {r.regression:.3f}  "
            f"{r.passed:.3f} |  {early} |   {r.threshold:.3f}     {r.mcnemar:.3f}"
        )
    for change in (0.0, -0.03, -0.05):
        seen, promised = kept_promise(n, change=change)
        what = "passes" if change == 0 else "is seen"
        print(f"change {100 * change:+.0f} pp {what}: {seen:.3f}, promised by the plan {promised:.3f}")
    print(
        "early stop, 400 full runs a row, by the change that the full run shows: items run (90th percentile), verdicts"
    )
    for points in (1.15, 0.0, -0.6, -1.1, -2.2, -3.4, -5.5, -8.7):
        used, most, passed, failed = early(points, min(n, 400))
        print(f"{points:+6.2f} pp: {used:6.1%} ({most:.0%})  passed {passed:.3f}  regression {failed:.3f}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
