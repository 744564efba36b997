"""Runs in the order in which they were named: how accuracy went from checkpoint to checkpoint."""

from __future__ import annotations

from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Interval, Kind, Section, table


def section(found: Source) -> Section | None:
    """Nothing of a single run. Where every run holds one model, all runs are one line, whatever their models' names.

    Shards of the same are one run.
    """
    wholes = found.wholes
    if len(wholes) < 2:
        return None
    rows: list[list[Cell]] = []
    names = [[model["name"] for model in run["manifest"].get("models", ())] for run, *_ in wholes]
    one_line = all(len(some) == 1 for some in names)
    for place, (whole, models) in enumerate(zip(wholes, names, strict=True)):
        run = whole[0]
        own = found.answers[found.answers["run_id"].isin([one["id"] for one in whole])]
        for line in accuracy(own, found.questions).lines:
            name = line.model.removesuffix(f" ({run['id']})")
            step = f"{place + 1}: {models[0]}" if one_line else f"{place + 1}: {run['id']}"
            rows.append(
                [
                    "all runs" if one_line else name,
                    line.benchmark,
                    line.format,
                    line.part,
                    place + 1,
                    step,
                    run["id"],
                    Interval.of(line.accuracy),
                ]
            )
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
            Column("accuracy", "accuracy, 95% Wilson", Kind.SHARE),
        ),
        rows,
    )
    return Section(
        "history",
        "From run to run",
        "Runs in the order in which they were named. Whether a change is more than chance, the gate and the flips say.",
        figures=(
            Figure(
                Chart.HISTORY,
                data,
                "Accuracy with Wilson's interval; runs from left to right.",
                f"{len(wholes)} runs, from {wholes[0][0]['id']} to {wholes[-1][0]['id']}.",
            ),
        ),
    )
