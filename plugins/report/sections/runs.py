"""Where the figures come from: models by identity, engine, versions, machine, options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Column, Kind, Section, table


def section(found: Source) -> Section | None:
    """One line a model of a run, and what else was noted of each run."""
    return Section(
        "runs",
        "Where this comes from",
        "",
        tables=(
            table(
                "runs",
                "Runs and models",
                (
                    Column("run", "run"),
                    Column("status", "status"),
                    Column("answers", "answers", Kind.COUNT),
                    Column("model", "model"),
                    Column("identity", "identity"),
                    Column("revision", "revision"),
                    Column("engine", "engine"),
                    Column("device", "device"),
                    Column("dtype", "dtype"),
                    Column("grader", "grader"),
                    Column("measured", "measured", Kind.YES),
                ),
                [row for run in found.runs for row in _models(run)],
            ),
            table(
                "provenance",
                "Commands, versions, machines",
                (Column("run", "run"), Column("what", "what"), Column("value", "value")),
                [[run["id"], what, value] for run in found.runs for what, value in _facts(run)],
            ),
        ),
    )


def _models(run: Mapping[str, Any]) -> Iterator[list[Cell]]:
    manifest = run["manifest"]
    for model in manifest.get("models", ()):
        settings = model.get("settings", {})
        yield [
            run["id"],
            run["status"],
            run["records"],
            model["name"],
            str(model.get("identity", ""))[:16],
            str(model.get("revision", "") or ""),
            str(settings.get("engine", "")),
            str(settings.get("device", "")),
            str(settings.get("dtype", "")),
            str(manifest.get("grader", "")),
            not manifest.get("simulated", False),
        ]


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    manifest = run["manifest"]
    yield "started", str(run["started"])
    if run["finished"]:
        yield "finished", str(run["finished"])
    if manifest.get("command"):
        yield "command", " ".join(map(str, manifest["command"]))
    if shard := manifest.get("options", {}).get("shard"):
        yield "shard", shard
    if manifest.get("versions"):
        yield "versions", ", ".join(f"{name} {value}" for name, value in sorted(manifest["versions"].items()))
    if manifest.get("hardware"):
        yield "machine", ", ".join(f"{name} {value}" for name, value in sorted(manifest["hardware"].items()))
    if manifest.get("git"):
        yield "git", " ".join(str(value) for _, value in sorted(manifest["git"].items()))
