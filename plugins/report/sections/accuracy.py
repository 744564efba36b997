"""Accuracy of every part, by both grades, with intervals for these questions and for new ones."""

from __future__ import annotations

from collections.abc import Iterator

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.report.accuracy import Line
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import (
    Cell,
    Chart,
    Column,
    Figure,
    Interval,
    Kind,
    Section,
    Table,
    table,
)

_COLUMNS = (
    Column("model", "model"),
    Column("benchmark", "benchmark"),
    Column("format", "format"),
    Column("part", "part"),
    Column("right", "right", Kind.COUNT),
    Column("judged", "judged", Kind.COUNT),
    Column("accuracy", "accuracy, 95% Wilson", Kind.SHARE),
    Column("new", "95% for new templates", Kind.SHARE),
    Column("paper", "paper protocol", Kind.SHARE),
    Column("gap", "paper − robust", Kind.CHANGE),
    Column("truncated", "cut off", Kind.SHARE),
    Column("empty", "empty", Kind.SHARE),
    Column("no_answer", "no answer read", Kind.SHARE),
    Column("not_judged", "not judged", Kind.COUNT),
    Column("doubtful", "labels in doubt", Kind.COUNT),
)


def section(found: Source) -> Section | None:
    """The table of every part, and accuracy against change."""
    if not found.accuracy.lines:
        return None
    figure = _figure(found)
    return Section(
        "accuracy",
        "Accuracy",
        "Right answers by the robust protocol; the paper protocol reads the same answers as the study's code does. "
        "Wilson's interval holds for these questions, the other one for new templates (logic: new questions).",
        figures=(figure,) if figure else (),
        tables=(table("accuracy", "Accuracy of every part", _COLUMNS, list(_rows(found.accuracy.lines)), brief=True),),
    )


def _rows(lines: tuple[Line, ...]) -> Iterator[list[Cell]]:
    for line in lines:
        total = sum(line.counts.values())
        robust = line.accuracy.estimate if line.accuracy else float("nan")
        new = Interval(robust, line.new.low, line.new.high) if line.new else None
        yield [
            line.model,
            line.benchmark,
            line.format,
            line.part,
            line.right,
            line.judged,
            Interval.of(line.accuracy),
            new,
            line.paper_accuracy,
            line.paper_accuracy - robust,
            line.truncated / total,
            line.empty / total,
            line.counts.get(Verdict.NO_ANSWER, 0) / total,
            line.not_judged,
            line.doubtful_labels,
        ]


def _figure(found: Source) -> Figure | None:
    rows: list[list[Cell]] = []
    for benchmark, _, _, effect in found.effects():
        if effect.base.judged and effect.variants.judged:
            change = Interval.of(effect.delta)
            rows.append([effect.model, benchmark, effect.format, effect.base.accuracy, change, effect.significant])
    if not rows:
        return None
    data = table(
        "base_and_change",
        "Accuracy on base questions, and what variants change",
        (
            Column("model", "model"),
            Column("benchmark", "benchmark"),
            Column("format", "format"),
            Column("base", "base questions right", Kind.SHARE),
            Column("change", "variants − base, 95%", Kind.CHANGE),
            Column("significant", "p < 0.05", Kind.YES),
        ),
        rows,
    )
    return Figure(
        Chart.BASE_AND_CHANGE,
        data,
        "A point is a model in a format: its accuracy on base questions, and the points it gains or loses on variants, "
        "with the 95% interval for new templates. Below the line, variants are answered worse.",
        _description(data),
    )


def _description(data: Table) -> str:
    changes = [cell.estimate for cell in data.column("change") if isinstance(cell, Interval)]
    worse = sum(change < 0 for change in changes)
    return (
        f"{worse} of {len(changes)} combinations of model and format do worse on variants than on base questions; "
        f"changes run from {100 * min(changes):+.1f} to {100 * max(changes):+.1f} points."
    )
