"""The logic questions: accuracy per batch, what answering without reading scores, and whether wording matters."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.analysis.effects import LEVEL
from variantbench.plugins.report.analysis.logic import ALL, MARGIN, Logic, PairTest
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Interval, Kind, Section, Table, table
from variantbench.stats.multiplicity import Adjusted

_PAIRS = (
    Column("format", "style"),
    Column("first", "first"),
    Column("second", "second"),
    Column("both", "right in both", Kind.COUNT),
    Column("first_only", "first only", Kind.COUNT),
    Column("second_only", "second only", Kind.COUNT),
    Column("neither", "in neither", Kind.COUNT),
    Column("difference", "first − second, 95%", Kind.CHANGE),
    Column("p", "p", Kind.P),
    Column("holm", "p, Holm", Kind.P),
    Column("detectable", "detectable", Kind.SHARE),
    Column("shown", f"within ±{100 * MARGIN:.0f} pp?"),
)


def section(found: Source) -> Section | None:
    """Batches, pairs within a model, pairs of models."""
    if not found.logic:
        return None
    result = found.logic[Protocol.ROBUST]
    within = _within(result)
    between = _between(result)
    return Section(
        "logic",
        "Logic",
        "The same questions in several wordings. Questions are what was drawn, so intervals count questions; repeats "
        "of an answer are no further evidence.",
        figures=tuple(_figures(result, within, between)),
        tables=(
            _shares(found),
            _baselines(found),
            *([_cochran(result)] if any(one.cochran for one in result.wordings) else []),
            *([within] if within.rows else []),
            *([between] if between.rows else []),
        ),
    )


def _shares(found: Source) -> Table:
    rows: list[list[Cell]] = []
    for protocol, result in found.logic.items():
        for one in result.shares:
            half = one.paper_half_width
            paper = Interval(one.accuracy, one.accuracy - half, one.accuracy + half)
            interval = one.interval and Interval(one.accuracy, one.interval.low, one.interval.high)
            rows.append(
                [
                    one.model,
                    one.format,
                    one.batch,
                    protocol.value,
                    one.right,
                    one.judged,
                    one.questions,
                    interval if interval else one.accuracy,
                    paper,
                    one.sd,
                    one.void / one.judged if one.judged else float("nan"),
                    one.always_no,
                    one.always_yes,
                ]
            )
    return table(
        "logic_batches",
        "Accuracy by batch",
        (
            Column("model", "model"),
            Column("format", "style"),
            Column("batch", "batch"),
            Column("grades", "grades"),
            Column("right", "right", Kind.COUNT),
            Column("judged", "judged", Kind.COUNT),
            Column("questions", "questions", Kind.COUNT),
            Column("accuracy", "accuracy, 95% by question", Kind.SHARE),
            Column("paper", "95% by answer, as the study", Kind.SHARE),
            Column("sd", "SD over repeats", Kind.SHARE),
            Column("void", "neither yes nor no", Kind.SHARE),
            Column("always_no", "always no", Kind.SHARE),
            Column("always_yes", "always yes", Kind.SHARE),
        ),
        rows,
        brief=True,
        note="The study's interval takes every answer for independent of the others, repeats and wordings included.",
    )


def _baselines(found: Source) -> Table:
    rows: list[list[Cell]] = [
        [one.name, batch, one.correct, one.total, one.accuracy]
        for batch, several in found.accuracy.baselines.items()
        for one in several
        if one.total
    ]
    return table(
        "logic_baselines",
        "What answering without reading would score",
        (
            Column("rule", "rule"),
            Column("batch", "batch"),
            Column("right", "right", Kind.COUNT),
            Column("of", "of", Kind.COUNT),
            Column("accuracy", "accuracy", Kind.SHARE),
        ),
        rows,
    )


def _cochran(result: Logic) -> Table:
    return table(
        "logic_cochran",
        "Does the wording matter at all? (Cochran's Q over the batches)",
        (
            Column("model", "model"),
            Column("format", "style"),
            Column("q", "Q", Kind.NUMBER),
            Column("df", "df", Kind.COUNT),
            Column("p", "p", Kind.P),
        ),
        [
            [one.model, one.format, one.cochran.q, one.cochran.df, one.cochran.p]
            for one in result.wordings
            if one.cochran
        ],
    )


def _within(result: Logic) -> Table:
    return table(
        "logic_wordings",
        "Pairs of batches within a model (McNemar)",
        (Column("model", "model"), *_PAIRS),
        [[one.model, *row] for one in result.wordings for row in _pairs(one.format, one.pairs, one.holm)],
        note="McNemar's mid-p over each question's majority answer, Tango's interval, Holm over the pairs of a model "
        "and style. No difference is claimed to be absent unless its interval lies within the margin.",
    )


def _between(result: Logic) -> Table:
    return table(
        "logic_models",
        "Pairs of models (over all batches)",
        _PAIRS,
        [row for one in result.between for row in _pairs(one.format, one.pairs, one.holm)],
        note="Interval and p take the wordings and repeats of a question as one; Holm is over the pairs of a style. "
        "The counts are of questions in a wording by majority answer.",
    )


def _pairs(form: str, pairs: tuple[PairTest, ...], holm: Adjusted) -> Iterator[list[Cell]]:
    for pair, adjusted in zip(pairs, holm.adjusted, strict=True):
        test = pair.test
        yield [
            form,
            pair.first,
            pair.second,
            test.a,
            test.b,
            test.c,
            test.d,
            Interval.of(pair.difference),
            pair.p,
            float(adjusted),
            pair.detectable if isfinite(pair.detectable) else float("nan"),
            pair.shown.shown.value,
        ]


def _figures(result: Logic, within: Table, between: Table) -> Iterator[Figure]:
    shares = [one for one in result.shares if one.judged]
    rows: list[list[Cell]] = [
        [
            one.model,
            one.format,
            one.batch,
            Interval(one.accuracy, one.interval.low, one.interval.high) if one.interval else one.accuracy,
            max(one.always_no, one.always_yes),
        ]
        for one in shares
    ]
    if rows:
        every = [one for one in shares if one.batch == ALL]
        yield Figure(
            Chart.BATCHES,
            table(
                "batches",
                "Accuracy by batch, with the interval by question",
                (
                    Column("model", "model"),
                    Column("format", "style"),
                    Column("batch", "batch"),
                    Column("accuracy", "accuracy, 95% by question", Kind.SHARE),
                    Column("baseline", "better constant answer", Kind.SHARE),
                ),
                rows,
            ),
            "The tick is what the better of 'always yes' and 'always no' scores on the same questions.",
            "; ".join(f"{one.model} {one.format}: {100 * one.accuracy:.1f}% over all batches" for one in every[:12])
            + ".",
        )
    yield from _matrix("wordings_matrix", "Pairs of batches: difference and Holm's p", within, "model")
    yield from _matrix("models_matrix", "Pairs of models: difference and Holm's p", between, None)


def _matrix(name: str, title: str, pairs: Table, group: str | None) -> Iterator[Figure]:
    if not pairs.rows:
        return
    labels = [str(value) for value in pairs.column(group)] if group else [""] * len(pairs.rows)
    columns = zip(
        labels,
        *(pairs.column(key) for key in ("format", "first", "second", "difference", "holm", "shown")),
        strict=True,
    )
    rows: list[list[Cell]] = []
    for label, form, first, second, difference, holm, shown in columns:
        state = "differ (Holm)" if isinstance(holm, float) and holm < LEVEL else str(shown)
        rows.append([label, form, first, second, difference, holm, state])
    differ = sum(row[-1] == "differ (Holm)" for row in rows)
    yield Figure(
        Chart.PAIRS,
        table(
            name,
            title,
            (
                Column("model", "model"),
                Column("format", "style"),
                Column("first", "first"),
                Column("second", "second"),
                Column("difference", "first − second, 95%", Kind.CHANGE),
                Column("holm", "p, Holm", Kind.P),
                Column("state", "shown?"),
            ),
            rows,
        ),
        "Row minus column in points; ● differ after Holm's correction, = shown to be within the margin, ? undecided.",
        f"{differ} of {len(rows)} pairs differ after Holm's correction.",
    )
