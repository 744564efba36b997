"""What a report shows, apart from how it is shown: sections of tables and figures, all of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, nan
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its ends. An end that is not known is nan, one that is unbounded inf.

    One without width, of answers that are all alike, says nothing: its ends are not known.
    """

    estimate: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low == self.high:
            object.__setattr__(self, "low", nan)
            object.__setattr__(self, "high", nan)

    @classmethod
    def of(cls, found: Any) -> Interval | None:
        """The interval in anything that has ``estimate``, ``low`` and ``high``; None of None."""
        return None if found is None else cls(float(found.estimate), float(found.low), float(found.high))


Cell = str | int | float | bool | Interval | None


class Kind(StrEnum):
    """How the values of a column are to be read. Shares are between 0 and 1."""

    TEXT = "text"
    COUNT = "count"
    SHARE = "share"  # shown as %
    CHANGE = "change"  # a difference of shares, shown in points
    RATIO = "ratio"  # an odds ratio
    LOGIT = "logit"  # a log odds ratio
    NUMBER = "number"
    P = "p"
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``name`` in files, ``title`` for readers."""

    name: str
    title: str
    kind: Kind = Kind.TEXT

    @property
    def is_text(self) -> bool:
        """Whether it is set to the left."""
        return self.kind in (Kind.TEXT, Kind.YES)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``note`` says what must be known to read it: families, intervals, what is left out.

    ``shown`` is how many rows a page shows; files hold all. ``brief`` tables belong into a pull request, too.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int = 200
    brief: bool = False

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain values by column, an interval as three of them; what is not finite is None."""
        return [
            {
                name: value
                for column, cell in zip(self.columns, row, strict=True)
                for name, value in plain(column.name, cell)
            }
            for row in self.rows
        ]

    def column(self, name: str) -> list[Cell]:
        """The values of one column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


def plain(name: str, cell: Cell) -> list[tuple[str, Any]]:
    """A cell as named plain values: one, or three where it is an interval."""
    if isinstance(cell, Interval):
        ends = ((name, cell.estimate), (f"{name}_low", cell.low), (f"{name}_high", cell.high))
        return [(each, value if isfinite(value) else None) for each, value in ends]
    return [(name, None if isinstance(cell, float) and not isfinite(cell) else cell)]


class Chart(StrEnum):
    """The kinds of figures."""

    FOREST = "forest"
    THREE_EFFECTS = "three_effects"
    BASE_AND_CHANGE = "base_and_change"
    SLOPES = "slopes"
    NUMBER_BINS = "number_bins"
    NUMBER_CURVE = "number_curve"
    GAMMA = "gamma"
    FAILURE_BARS = "failure_bars"
    FAILURE_SHARES = "failure_shares"
    BATCHES = "batches"
    PAIRS = "pairs"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the table it is drawn from. ``caption`` says how to read it, ``description`` what it shows."""

    chart: Chart
    table: Table
    caption: str
    description: str

    @property
    def name(self) -> str:
        """The name of its table, which is that of its file."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class Section:
    """One subject."""

    name: str
    title: str
    intro: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """One answer, as it was asked and read."""

    model: str
    format: str
    item: str
    what: str
    question: str
    target: str
    answer: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What it comes to for one model and format, in words."""

    model: str
    benchmark: str
    format: str
    words: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is to be shown of some runs. ``findings`` is what it comes to."""

    title: str
    runs: tuple[Mapping[str, Any], ...]
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    examples: tuple[Example, ...] = ()

    def tables(self) -> list[Table]:
        """Every table, those of figures after the section's own."""
        return [
            table
            for section in self.sections
            for table in (*section.tables, *(figure.table for figure in section.figures))
        ]

    def figures(self) -> list[Figure]:
        """Every figure."""
        return [figure for section in self.sections for figure in section.figures]


def table(name: str, title: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], **more: Any) -> Table:
    """A table of any sequences; every row has a cell for each column."""
    wrong = next((row for row in rows if len(row) != len(columns)), None)
    if wrong is not None:
        raise ValueError(f"table {name}: {len(wrong)} cells in a row of {len(columns)} columns")
    return Table(name, title, tuple(columns), tuple(tuple(row) for row in rows), **more)
