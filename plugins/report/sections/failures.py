"""How answers fail: counts and shares by the study's classes, for base questions as well as variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from variantbench.plugins.failures import CODE_FAILURES, Failure
from variantbench.plugins.report.analysis.failures import FailureCounts
from variantbench.plugins.report.analysis.study import CODE_FORMATS
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
        note="Classes and grades of the paper protocol. The count stands beside every share.",
    )
    return Section(
        "failures",
        "How answers fail",
        "Absolute counts and shares side by side: bars of 24 and of 830 failures must not look alike.",
        figures=(_bars(counts), *_shares(counts)),
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


def _bars(counts: Table) -> Figure:
    kept = ("benchmark", "format", "model", "part", "class", "count", "share", "failed")
    places = [[column.name for column in counts.columns].index(name) for name in kept]
    rows = [[row[place] for place in places] for row in counts.rows if row[5]]
    data = table("failure_bars", "Answers that are not right", [counts.columns[place] for place in places], rows)
    most = Counter({str(name): 0 for name in data.column("class")})
    for row in rows:
        most[str(row[4])] += int(str(row[5]))
    ordered = sorted(most.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    return Figure(
        Chart.FAILURE_BARS,
        data,
        "Each bar is the share of a model's answers to one part that are not right, by class; the number at its end "
        "says how many answers that is. All panels share the axis.",
        "The most frequent classes: " + ", ".join(f"{name} ({count:,})" for name, count in ordered) + "."
        if ordered
        else "No answer failed.",
    )


def _shares(counts: Table) -> Iterator[Figure]:
    """What fails otherwise than by a wrong answer, as shares of just that, with how many it is of."""
    others = [row for row in counts.rows if row[5] and row[4] != Failure.WRONG_ANSWER]
    rest: Counter[tuple[Cell, ...]] = Counter()
    for row in others:
        rest[row[:4]] += int(str(row[5]))
    rows: list[list[Cell]] = [
        [*row[:4], row[4], row[5], int(str(row[5])) / rest[row[:4]], rest[row[:4]]] for row in others
    ]
    if rows:
        yield Figure(
            Chart.FAILURE_SHARES,
            table(
                "failure_shares",
                "Failures other than a wrong answer, each bar 100%",
                (
                    *counts.columns[:6],
                    Column("share_of_rest", "of these failures", Kind.SHARE),
                    Column("rest", "failures other than a wrong answer", Kind.COUNT),
                ),
                rows,
            ),
            "The number at the end says how many failures a bar stands for: a share of few says little.",
            f"{sum(rest.values()):,} answers fail otherwise than by a wrong answer.",
        )
