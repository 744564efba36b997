"""The report as lines of at most 100 characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.report.accuracy import Accuracy, Line
from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.study_lines import study_lines
from variantbench.plugins.report.tables import Finding, Report

WIDTH = 100
_COLUMNS = "  {:<9} {:<17} {:<8} {:>11}  {:<21}  "
_REMARKS_AT = len(_COLUMNS.format("", "", "", "", ""))


def accuracy_lines(report: Accuracy) -> Iterator[str]:
    """The lines to print, one table a model."""
    if not report.lines:
        yield "no answers were graded"
        return
    yield from _baseline_lines(report)
    for model, lines in groupby(report.lines, key=lambda line: line.model):
        yield model
        yield (_COLUMNS.format("benchmark", "format", "part", "right", "accuracy, 95% Wilson") + "remarks").rstrip()
        for _, part_lines in groupby(lines, key=lambda line: (line.benchmark, line.format)):
            yield from _format_lines(list(part_lines))


def terminal_lines(found: Source, report: Report) -> Iterator[str]:
    """Everything that the terminal has room for: accuracy, the experiments, and what it comes to."""
    yield from accuracy_lines(found.accuracy)
    for benchmark in found.benchmarks:
        lines = list(study_lines(found.studies[benchmark, Protocol.ROBUST]))
        if lines and len(found.benchmarks) > 1:
            yield f"benchmark {benchmark}"
        yield from lines
    yield from finding_lines(report.findings)


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """One line a model and format, in words; a second one where the words need it."""
    if findings:
        yield "in words"
    for model, some in groupby(findings, key=lambda one: one.model):
        yield f"  {model}"[:WIDTH]
        for one in some:
            start = f"    {one.benchmark:<5} {one.format:<15} "
            yield from textwrap.wrap(start + one.words, WIDTH, subsequent_indent=" " * len(start))


def _format_lines(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        right = f"{line.counts.get(Verdict.CORRECT, 0)}/{line.judged}"
        start = _COLUMNS.format(line.benchmark, line.format, line.part, right, _accuracy(line))
        remarks = textwrap.wrap(_remarks(line), WIDTH - _REMARKS_AT) or [""]
        yield (start + remarks[0]).rstrip()
        for more in remarks[1:]:
            yield " " * _REMARKS_AT + more
    parts = {line.part: line for line in lines}
    if "base" in parts and "variants" in parts:
        base, variants = parts["base"].accuracy, parts["variants"].accuracy
        if base is not None and variants is not None:
            change = 100 * (variants.estimate - base.estimate)
            yield _COLUMNS.format("", "", "", "difference", f"{change:+5.1f} pp").rstrip()


def _baseline_lines(report: Accuracy) -> Iterator[str]:
    if report.baselines:
        yield "what answering without reading would score"
    for batch, found in report.baselines.items():
        for one in found:
            if one.total:
                right, share = f"{one.correct}/{one.total}", f"{100 * one.accuracy:5.1f} %"
                yield f"  {'logic':<9} {one.name:<22} {batch:<3} {right:>11}  {share}"


def _accuracy(line: Line) -> str:
    if line.accuracy is None:
        return "not judged"
    return f"{100 * line.accuracy.estimate:5.1f} % [{100 * line.accuracy.low:.1f}, {100 * line.accuracy.high:.1f}]"


def _remarks(line: Line) -> str:
    counts = {
        "not judged": line.not_judged,
        "truncated": line.truncated,
        "no answer": line.counts.get(Verdict.NO_ANSWER, 0),
        "labels in doubt": line.doubtful_labels,
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)
