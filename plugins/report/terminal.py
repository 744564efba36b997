"""The report as lines of at most 100 characters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.report.build import Line, Report


def render(report: Report) -> Iterator[str]:
    """The lines to print, one table a model."""
    if not report.lines:
        yield "no answers were graded"
        return
    for model, lines in groupby(report.lines, key=lambda line: line.model):
        yield model
        yield f"  {'benchmark':<9} {'format':<22} {'part':<9} {'right':>12}  {'accuracy, 95% Wilson':<24} {'remarks'}"
        for _, part_lines in groupby(lines, key=lambda line: (line.benchmark, line.format)):
            yield from _format_lines(list(part_lines))


def _format_lines(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        yield (
            f"  {line.benchmark:<9} {line.format:<22} {line.part:<9} "
            f"{line.counts.get(Verdict.CORRECT, 0):>6}/{line.judged:<5}  {_accuracy(line):<24} {_remarks(line)}"
        ).rstrip()
    parts = {line.part: line for line in lines}
    if "base" in parts and "variants" in parts:
        base, variants = parts["base"].accuracy, parts["variants"].accuracy
        if base is not None and variants is not None:
            change = 100 * (variants.estimate - base.estimate)
            yield f"  {'':<9} {'':<22} {'variants against base':<23} {change:>+6.1f} pp"


def _accuracy(line: Line) -> str:
    if line.accuracy is None:
        return "not judged"
    return f"{100 * line.accuracy.estimate:5.1f} %  [{100 * line.accuracy.low:.1f}, {100 * line.accuracy.high:.1f}]"


def _remarks(line: Line) -> str:
    remarks = []
    if line.not_judged:
        remarks.append(f"{line.not_judged} not judged")
    if line.truncated:
        remarks.append(f"{line.truncated} truncated")
    if no_answer := line.counts.get(Verdict.NO_ANSWER, 0):
        remarks.append(f"{no_answer} no answer")
    return ", ".join(remarks)
