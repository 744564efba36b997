"""The report in Markdown, short: for pull requests and ``$GITHUB_STEP_SUMMARY``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from variantbench.plugins.report.tables import Report, Table
from variantbench.plugins.report.values import heading, shown
from variantbench.plugins.report.visible import visible

# What acts in Markdown or in the HTML that it lets through.
_ACTS = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$])")
_MOST_ROWS = 60


def markdown(report: Report) -> str:
    """The findings and the brief tables; everything else is named, with how to have it."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## {escaped(report.title)}"
    yield ""
    for run in report.runs:
        made_up = " – **simulated, not measured**" if run["manifest"].get("simulated") else ""
        yield f"run `{run['id']}`, {escaped(run['status'])}, {run['records']:,} answers{made_up}  "
    yield ""
    if report.findings:
        yield "| model | benchmark | format | what it comes to |"
        yield "| --- | --- | --- | --- |"
    for one in report.findings:
        cells = (one.model, one.benchmark, one.format, one.words)
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"
    for section in report.sections:
        brief = [table for table in section.tables if table.brief]
        if brief:
            yield f"\n### {escaped(section.title)}\n"
        if brief and section.name == "gate":
            yield f"{escaped(section.intro)}\n"
        for table in brief:
            yield from _table(table)
    yield "\n`variantbench report --format html` draws the figures; csv and json hold every table."


def _table(table: Table) -> Iterator[str]:
    yield f"<details><summary>{escaped(table.title)}</summary>\n"
    yield f"| {' | '.join(escaped(heading(column)) for column in table.columns)} |"
    yield f"| {' | '.join('---' if column.is_text else '---:' for column in table.columns)} |"
    for row in table.rows[:_MOST_ROWS]:
        yield f"| {' | '.join(escaped(shown(*pair)) for pair in zip(table.columns, row, strict=True))} |"
    if len(table.rows) > _MOST_ROWS:
        yield f"\nThe first {_MOST_ROWS} of {len(table.rows):,} rows."
    if table.note:
        yield f"\n{escaped(table.note)}"
    yield "\n</details>\n"


def escaped(text: str) -> str:
    """A text of one line in which nothing acts."""
    return _ACTS.sub(r"\\\1", visible(text, 300).replace("\n", " ").replace("\r", " ")).replace("\\<", "&lt;")
