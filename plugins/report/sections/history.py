"""How accuracy went from checkpoint to checkpoint: over the runs that were named, or over earlier ones of one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Interval, Kind, Section, table
from variantbench.plugins.store.tallies import Tally
from variantbench.stats.proportions import wilson

_NAMED = "Runs in the order in which they were named."
_FOUND = (
    "Earlier runs in the store of a model of the same name, or of the baseline with which this run was compared; the "
    "newest of them, at the questions that this run was asked as well."
)
_CHANCE = "Whether a change is more than chance, the gate and the flips say."


def section(found: Source) -> Section | None:
    """Nothing of a single run without earlier ones. Where every run holds one model, all runs are one line.

    Shards of the same are one run.
    """
    steps = _named(found) if len(found.wholes) > 1 else _found(found)
    rows = list(_rows(steps)) if len(steps) > 1 else []
    if not rows:
        return None
    data = table(
        "history",
        "Accuracy from run to run",
        (
            *(Column(name, name) for name in ("line", "benchmark", "format", "part")),
            Column("place", "place", Kind.COUNT),
            Column("step", "checkpoint"),
            Column("run", "run"),
            Column("judged", "judged", Kind.COUNT),
            Column("accuracy", "accuracy, 95% Wilson", Kind.SHARE),
        ),
        rows,
    )
    return Section(
        "history",
        "From run to run",
        f"{_NAMED if len(found.wholes) > 1 else _FOUND} {_CHANCE}",
        figures=(
            Figure(
                Chart.HISTORY,
                data,
                "Accuracy with Wilson's interval; runs from left to right.",
                f"{len(steps)} runs, from {steps[0][0]['id']} to {steps[-1][0]['id']}.",
            ),
        ),
    )


Step = tuple[Mapping[str, Any], Sequence[Tally]]  # a run, and what it got right


def _rows(steps: Sequence[Step]) -> Iterator[list[Cell]]:
    names = [[model["name"] for model in run["manifest"].get("models", ())] for run, _ in steps]
    one_line = all(len(some) == 1 for some in names)
    for place, ((run, tallies), models) in enumerate(zip(steps, names, strict=True), start=1):
        step = f"{place}: {models[0]}" if one_line and len(set(map(tuple, names))) > 1 else f"{place}: {run['id']}"
        for one in tallies:
            line = "all runs" if one_line else one.model
            share = Interval.of(wilson(one.right, one.judged))
            yield [line, one.benchmark, one.format, one.part, place, step, run["id"], one.judged, share]


def _named(found: Source) -> list[Step]:
    steps: list[Step] = []
    for shards in found.wholes:
        own = found.answers[found.answers["run_id"].isin([run["id"] for run in shards])]
        first = shards[0]
        steps.append((first, _tallies(accuracy(own, found.questions).lines, first["id"])))
    return steps


def _found(found: Source) -> list[Step]:
    """Earlier runs, and what the present one was asked as well."""
    [[run, *_]] = found.wholes
    now = _tallies(found.accuracy.lines, run["id"])
    parts = {(one.benchmark, one.format, one.part) for one in now}
    earlier = [
        (other, [one for one in tallies if (one.benchmark, one.format, one.part) in parts])
        for other, tallies in found.earlier
    ]
    return [*((other, kept) for other, kept in earlier if kept), (run, now)]


def _tallies(lines: Sequence[Any], run_id: str) -> list[Tally]:
    return [
        Tally(line.model.removesuffix(f" ({run_id})"), line.benchmark, line.format, line.part, line.right, line.judged)
        for line in lines
        if line.judged
    ]
