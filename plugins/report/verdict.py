"""The gate's verdict as lines of at most 100 characters, in words and with what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from math import isinf

from variantbench.plugins.comparison import Comparison, Outcome, Slice
from variantbench.plugins.early_stop import EarlyVerdict
from variantbench.plugins.gate import Gate, status_of
from variantbench.stats.regression import Decision, pairs_to_settle

WIDTH = 100
_COLUMNS = "  {:<26} {:>7} {:>7} {:>7}  {:<27} {:>6}  {}"

_MEANING = {
    Outcome.PASS: "a drop beyond the margin is excluded",
    Outcome.REGRESSION: "a drop beyond the tolerance is shown",
    Outcome.INCONCLUSIVE: "neither a drop beyond the tolerance nor its absence within the margin is shown",
    Outcome.INVALID: "the two runs cannot be compared, or this one did not measure the model",
}


def gate_lines(gate: Gate) -> Iterator[str]:
    """Everything to be said of a gated run; of a valid run without a baseline, nothing."""
    if gate.baseline:
        yield f"compared with baseline {gate.baseline}"
    for comparison in gate.comparisons:
        yield from comparison_lines(comparison)
    if gate.early:
        yield from _early_lines(gate.early)
    for fault in gate.faults:
        yield from _wrapped(f"invalid: {fault}")
    if gate.baseline or gate.faults:
        yield from _wrapped(
            f"verdict: {gate.outcome.upper()}: {_MEANING[gate.outcome]} (exit status {status_of(gate.outcome)})"
        )


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """One model's slices, the doubts, and what would settle them."""
    policy = comparison.policy
    names = comparison.new if comparison.new == comparison.baseline else f"{comparison.baseline} -> {comparison.new}"
    yield f"{names}: {comparison.pairs:,} pairs, clustered by template"
    if comparison.slices:
        interval = f"change, {100 * (1 - 2 * policy.level):g}% interval"
        yield _COLUMNS.format("slice", "pairs", "before", "now", interval, "margin", "verdict")
    shown = [*comparison.slices]
    if comparison.overall is not None and len(shown) > 1:
        shown.append(comparison.overall)
    for one in shown:
        yield _slice_line(one)
    if comparison.only_before or comparison.only_after:
        yield f"  left out: {comparison.only_before:,} only in the baseline, {comparison.only_after:,} only here"
    if policy.noise:
        yield f"  the intervals hold the model's own noise: {policy.noise:.2%} of verdicts flip when it runs again"
    for note in comparison.notes:
        yield from _wrapped(f"  note: {note}")
    for fault in comparison.faults:
        yield from _wrapped(f"  invalid: {fault}")
    if comparison.outcome is Outcome.INCONCLUSIVE and comparison.overall is not None:
        yield from _wrapped(f"  {_what_would_settle(comparison)}")


def _slice_line(one: Slice) -> str:
    change = one.change
    half = "" if isinf(change.se) else f" [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
    p = f" (p {one.p:.3f})" if one.decision is Decision.REGRESSION else ""
    return _COLUMNS.format(
        one.name,
        f"{change.pairs:,}",
        f"{100 * change.baseline:.1f} %",
        f"{100 * change.new:.1f} %",
        f"{100 * change.estimate:+.1f} pp{half}",
        f"{100 * one.margin:g} pp",
        one.decision.value + p,
    )


def _what_would_settle(comparison: Comparison) -> str:
    overall, policy = comparison.overall, comparison.policy
    assert overall is not None  # noqa: S101 - only an undecided comparison comes here
    if overall.change.clusters < 2:
        return "all pairs are of one template: no interval can be had; take more templates"
    more = pairs_to_settle(overall.change, margin=overall.margin, tolerance=policy.tolerance, level=policy.level)
    if isinf(more):
        return "no number of further items would settle this"
    return (
        f"if the change stays at {100 * overall.change.estimate:+.1f} pp, about {more:,.0f} more answers in other "
        "templates of the same size would settle it (or a wider --margin)"
    )


def _early_lines(early: EarlyVerdict) -> Iterator[str]:
    shown = (
        f"the full run would not have dropped by {100 * early.margin:g} pp"
        if early.outcome is Outcome.PASS
        else f"the full run would have dropped by more than {100 * early.tolerance:g} pp"
    )
    yield from _wrapped(
        f"stopped early after {early.used:,} of {early.total:,} answers ({early.used / early.total:.0%}): {shown}, "
        f"wrong with probability {early.level:g} at most; among these answers the change is "
        f"{100 * early.change:+.1f} pp"
    )


def _wrapped(text: str) -> Iterator[str]:
    indent = text[: len(text) - len(text.lstrip())]
    yield from textwrap.wrap(text, WIDTH, subsequent_indent=indent + "  ", break_long_words=False)
