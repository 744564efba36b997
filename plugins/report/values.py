"""Cells as people read them: the same words and digits in every format."""

from __future__ import annotations

from math import isinf, isnan

from variantbench.plugins.report.tables import Cell, Column, Interval, Kind, Table

NOTHING = "–"
_NIL = 1e-12  # what rounding leaves of nothing


def shown(column: Column, cell: Cell) -> str:
    """The text of a cell; a dash where there is nothing to show."""
    if cell is None:
        return NOTHING
    if isinstance(cell, Interval):
        return _interval(column.kind, cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    return number(column.kind, cell)


def number(kind: Kind, value: float) -> str:
    """A figure in the digits that its kind deserves."""
    if isnan(value):
        return NOTHING
    value = 0.0 if abs(value) < _NIL else value
    if kind is Kind.P:
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if kind is Kind.COUNT:
        return f"{value:,.0f}"
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    text = {
        Kind.SHARE: f"{100 * value:.1f}",
        Kind.CHANGE: f"{100 * value:+.1f}",
        Kind.RATIO: f"{value:.2f}",
        Kind.LOGIT: f"{value:+.2f}",
    }.get(kind, f"{value:.3g}")
    return text.replace("-", "−")


def unit(kind: Kind) -> str:
    """What stands behind the figures of a kind."""
    return {Kind.SHARE: "%", Kind.CHANGE: "pp"}.get(kind, "")


def heading(column: Column) -> str:
    """A column's title with its unit."""
    return f"{column.title} ({unit(column.kind)})" if unit(column.kind) else column.title


def visible_rows(table: Table) -> tuple[tuple[Cell, ...], ...]:
    """The rows that a page shows."""
    return table.rows[: table.shown]


def left_out(table: Table) -> str:
    """Says how many rows a page does not show; nothing where it shows all."""
    if len(table.rows) <= table.shown:
        return ""
    return f"The first {table.shown:,} of {len(table.rows):,} rows; --format csv and json have all."


def _interval(kind: Kind, found: Interval) -> str:
    if isnan(found.estimate):
        return NOTHING
    if isnan(found.low) and isnan(found.high):
        return number(kind, found.estimate)
    return f"{number(kind, found.estimate)} [{number(kind, found.low)}, {number(kind, found.high)}]"
