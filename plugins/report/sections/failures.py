"""How answers fail: counts and shares by the study's classes, for base questions as well as variants."""

from __future__ import annotations

from collections.abc import Iterator

from variantbench.plugins.failures import CODE_FAILURES, Failure
from variantbench.plugins.report.analysis.answers import CODE_FORMATS
from variantbench.plugins.report.analysis.failures import FailureCounts
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Kind, Section, Table, table


def section(found: Source) -> Section | None:
    """The counts, and their bars."""
    rows = [row for benchmark in found.benchmarks for one in found.failures[benchmark] for row in _rows(benchmark, one)]
    if not rows:
        return None
    counts = table(
        "failures",
        "Answers that are not right, by class",
        (
            *(Column(name, name) for name in ("benchmark", "format", "model", "part")),
            Column("class", "class"),
            Column("count", "answers", Kind.COUNT),
            Column("share", "of all answers", Kind.SHARE),
            Column("share_of_failures", "of those not right", Kind.SHARE),
            Column("failed", "not right in all", Kind.COUNT),
            Column("answers", "answers in all", Kind.COUNT),
        ),
        rows,
        note="Classes and grades of the paper protocol. A share of few failures says little: the count stands beside it.",
    )
    return Section(
        "failures",
        "How answers fail",
        "Absolute counts and shares side by side: bars of 24 and of 830 failures must not look alike.",
        figures=(_figure(counts),),
        tables=(counts,),
    )


def _rows(benchmark: str, one: FailureCounts) -> Iterator[list[Cell]]:
    for failure in (Failure.WRONG_ANSWER, *[each for each in Failure if each is not Failure.WRONG_ANSWER]):
        count = one.failures.get(failure, 0)
        wanted = (failure in CODE_FAILURES) == (one.format in CODE_FORMATS) or failure is Failure.WRONG_ANSWER
        if count or (wanted and failure is Failure.WRONG_ANSWER):
            yield [
                benchmark,
                one.format,
                one.model,
                "variants" if one.variants else "base",
                failure.value,
                count,
                count / one.answers if one.answers else float("nan"),
                count / one.total if one.total else float("nan"),
                one.total,
                one.answers,
            ]


def _figure(counts: Table) -> Figure:
    kept = [counts.columns[i] for i in (0, 1, 2, 3, 4, 5, 6)]
    rows = [row[:7] for row in counts.rows if row[5]]
    data = table("failure_bars", "Failures by class: counts and shares of all answers", kept, rows)
    total: dict[str, int] = {}
    for row in rows:
        total[str(row[4])] = total.get(str(row[4]), 0) + int(row[5] or 0)  # type: ignore[arg-type]
    most = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    return Figure(
        Chart.FAILURE_BARS,
        data,
        "Each bar is a model's answers to one part that are not right, as a share of all its answers to it; the number at "
        "its end is how many they are. All panels share the axis.",
        "The most frequent classes: " + ", ".join(f"{name} ({count:,})" for name, count in most) + "."
        if most
        else "No answer failed.",
    )
