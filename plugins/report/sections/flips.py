"""Between two runs: which answers were right before and are wrong now, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Column, Interval, Kind, Section, table
from variantbench.stats.clustered import clustered_pairs

_KEYS = ["benchmark", "format", "item", "target", "seed"]


def section(found: Source) -> Section | None:
    """Each run beside the one named before it: counts with the clustered test, and the items. Shards are one run."""
    counts: list[list[Cell]] = []
    items: list[list[Cell]] = []
    for before, after in pairwise(found.wholes):
        for first, second, both in _pairs(found, [run["id"] for run in before], [run["id"] for run in after]):
            counts += _counts(first, second, both)
            items += _items(first, second, both)
    if not counts:
        return None
    return Section(
        "flips",
        "What flipped between runs",
        "The same questions asked in the same way, run by run.",
        tables=(
            table(
                "flip_counts",
                "Answers to the same questions in two runs",
                (
                    *(Column(name, name) for name in ("before", "after", "benchmark", "format")),
                    Column("both", "right in both", Kind.COUNT),
                    Column("lost", "right, now wrong", Kind.COUNT),
                    Column("won", "wrong, now right", Kind.COUNT),
                    Column("neither", "wrong in both", Kind.COUNT),
                    Column("change", "change, 95% clustered by template", Kind.CHANGE),
                    Column("p", "p, sign-flip over templates", Kind.P),
                ),
                counts,
                brief=True,
                note="p is not corrected for several formats; `--baseline` and `variantbench compare` give a verdict.",
            ),
            table(
                "flips",
                "The answers that flipped",
                (
                    *(Column(name, name) for name in ("before", "after", "benchmark", "format", "item")),
                    Column("repeat", "repeat", Kind.COUNT),
                    Column("flip", "flip"),
                ),
                items,
                shown=100,
            ),
        ),
    )


def _pairs(found: Source, before: list[str], after: list[str]) -> Iterator[tuple[str, str, Any]]:
    """Models of the same name, or the only models of both runs; their judged answers to the same questions, joined."""
    rows = found.answers
    first, second = (rows[rows["run_id"].isin(runs)] for runs in (before, after))
    names = [{str(m).removesuffix(f" ({runs[0]})"): m for m in one["model"].unique()} for one, runs in
             ((first, before), (second, after))]  # fmt: skip
    shared = [(names[0][name], names[1][name]) for name in names[0] if name in names[1]]
    if not shared and len(names[0]) == len(names[1]) == 1:
        shared = [(next(iter(names[0].values())), next(iter(names[1].values())))]
    for old, new in shared:
        joined = _judged(first[first["model"] == old]).merge(
            _judged(second[second["model"] == new]), on=[*_KEYS, "group_id"], suffixes=("_before", "_after")
        )
        if len(joined):
            yield str(old), str(new), joined


def _judged(rows: Any) -> Any:
    own = rows[rows["robust_verdict"] != Verdict.ERROR.value]
    table = own[[*_KEYS, "group_id"]].astype({key: object for key in (*_KEYS, "group_id") if key != "seed"})
    return table.assign(right=(own["robust_verdict"] == Verdict.CORRECT.value).to_numpy())


def _counts(first: str, second: str, both: Any) -> Iterator[list[Cell]]:
    for (benchmark, form), some in both.groupby(["benchmark", "format"], sort=True):
        old, new = some["right_before"], some["right_after"]
        cells = [int((old & new).sum()), int((old & ~new).sum()), int((~old & new).sum()), int((~old & ~new).sum())]
        try:
            test = clustered_pairs(new.to_numpy(float), old.to_numpy(float), some["group_id"].to_numpy(str))
        except ValueError:  # a single template
            yield [first, second, benchmark, form, *cells, float(new.mean() - old.mean()), None]
            continue
        yield [first, second, benchmark, form, *cells, Interval.of(test), test.p]


def _items(first: str, second: str, both: Any) -> Iterator[list[Cell]]:
    flipped = both[both["right_before"] != both["right_after"]].sort_values(_KEYS)
    for row in flipped.to_dict("records"):
        flip = "right, now wrong" if row["right_before"] else "wrong, now right"
        yield [first, second, row["benchmark"], row["format"], row["item"], int(row["seed"]), flip]
