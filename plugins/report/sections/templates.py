"""Template by template: is the base question right, how many variants are, and where the two part ways."""

from __future__ import annotations

from collections.abc import Iterator

from variantbench.plugins.report.analysis.failures import TemplateRow
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Kind, Section, Table, table

# A base question that is right while fewer than this share of its variants are looks learnt by heart.
_FEW, _MOST = 0.5, 0.5
_NAMES = tuple(Column(name, name) for name in ("benchmark", "format", "model", "template"))
_BASE, _VARIANTS = Column("base", "base right", Kind.SHARE), Column("variants", "variants right", Kind.SHARE)


def section(found: Source) -> Section | None:
    """All templates, and the lists of those where base and variants differ most."""
    rows = [(benchmark, row) for benchmark in found.benchmarks for row in found.templates[benchmark]]
    rows = [(benchmark, row) for benchmark, row in rows if row.base and row.variants]
    if not rows:
        return None
    every = table(
        "templates",
        "Every template",
        (*_NAMES, _BASE, _VARIANTS, Column("change", "change", Kind.CHANGE), Column("of", "variants", Kind.COUNT)),
        [[*_names(benchmark, row), *_shares(row), row.variants] for benchmark, row in rows],
        shown=100,
    )
    lost = [one for one in rows if _base(one[1]) > _MOST and _variants(one[1]) < _FEW]
    gained = [one for one in rows if _base(one[1]) < _MOST and _variants(one[1]) > _FEW]
    return Section(
        "templates",
        "Template by template",
        "A line joins the base question of a template with its variants. Lines that fall from 100% are templates whose "
        "known question is answered and whose variants are not.",
        figures=tuple(_slopes(rows)),
        tables=(
            _list("lost", "Base question right, most variants wrong", lost, falling=True),
            _list("gained", "Base question wrong, most variants right", gained, falling=False),
            every,
        ),
    )


def _base(row: TemplateRow) -> float:
    return row.base_right / row.base


def _variants(row: TemplateRow) -> float:
    return row.variants_right / row.variants


def _shares(row: TemplateRow) -> tuple[float, float, float]:
    return _base(row), _variants(row), _variants(row) - _base(row)


def _names(benchmark: str, row: TemplateRow) -> tuple[str, str, str, str]:
    return benchmark, row.format, row.model, row.template


def _list(name: str, title: str, rows: list[tuple[str, TemplateRow]], *, falling: bool) -> Table:
    ordered = sorted(rows, key=lambda one: (_variants(one[1]) * (1 if falling else -1), _names(*one)))
    return table(
        name,
        title,
        (*_NAMES, Column("right", "variants right", Kind.COUNT), Column("of", "of", Kind.COUNT), _VARIANTS),
        [[*_names(*one), one[1].variants_right, one[1].variants, _variants(one[1])] for one in ordered],
        shown=25,
        note=f"{len(rows):,} combinations of template, model and format.",
    )


def _slopes(rows: list[tuple[str, TemplateRow]]) -> Iterator[Figure]:
    cells: list[list[Cell]] = [[*_names(benchmark, row), _base(row), _variants(row)] for benchmark, row in rows]
    fell = sum(_variants(row) < _base(row) for _, row in rows)
    rose = sum(_variants(row) > _base(row) for _, row in rows)
    yield Figure(
        Chart.SLOPES,
        table("slopes", "Base question and variants of every template", (*_NAMES, _BASE, _VARIANTS), cells, shown=50),
        "Left: share of the base question right; right: of the template's variants. Thick lines fall by half.",
        f"Of {len(rows):,} pairs of template and model, {fell:,} do worse on variants, {rose:,} better.",
    )
