"""The gate's verdict on each run that has one, from its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Column, Interval, Kind, Section, table


def section(found: Source) -> Section | None:
    """Nothing where no run was compared and none is invalid."""
    gates = [(run, run["manifest"]["gate"]) for run in found.runs if "gate" in run["manifest"]]
    said = [(run, gate) for run, gate in gates if gate.get("baseline") or gate.get("faults")]
    if not said:
        return None
    words = [_words(run, gate) for run, gate in said]
    return Section(
        "gate",
        "Is it worse than the baseline?",
        " ".join(words),
        tables=(
            table(
                "gate",
                "The gate, slice by slice",
                (
                    *(Column(name, name) for name in ("run", "baseline", "slice")),
                    Column("pairs", "pairs", Kind.COUNT),
                    Column("before", "before", Kind.SHARE),
                    Column("now", "now", Kind.SHARE),
                    Column("change", "change, each end one-sided", Kind.CHANGE),
                    Column("margin", "margin", Kind.SHARE),
                    Column("p", "p of a drop beyond the tolerance", Kind.P),
                    Column("decision", "verdict"),
                ),
                [row for run, gate in said for row in _rows(run, gate)],
                brief=True,
            ),
        ),
    )


def _words(run: Mapping[str, Any], gate: Mapping[str, Any]) -> str:
    text = f"Run {run['id']}: {gate['outcome'].upper()}"
    if gate.get("baseline"):
        text += f" against {gate['baseline']}"
    if early := gate.get("early"):
        text += f", stopped early after {early['used']:,} of {early['total']:,} answers"
    faults = "; ".join(gate.get("faults") or ())
    return f"{text}. {faults}".rstrip() + ("." if faults and not faults.endswith(".") else "")


def _rows(run: Mapping[str, Any], gate: Mapping[str, Any]) -> Iterator[list[Cell]]:
    for comparison in gate.get("comparisons") or ():
        shown = [*comparison["slices"], *([comparison["overall"]] if comparison.get("overall") else [])]
        for one in shown:
            change = one["change"]
            yield [
                run["id"],
                gate["baseline"],
                one["name"],
                change["pairs"],
                change["baseline"],
                change["new"],
                Interval(change["estimate"], change["low"], change["high"]),
                one["margin"],
                one["p"],
                str(one["decision"]),
            ]
