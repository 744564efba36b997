"""A report as files: one of each table as CSV or JSON, one of each figure as SVG or PNG."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.report.tables import Report, Table
from variantbench.plugins.whole import whole_file


def render(report: Report, form: str) -> str:
    """The report as one text: html, markdown, latex or json. UserError where the extra is not installed."""
    if form == "html":
        from_html = _optional("html")
        return str(from_html.html(report))
    if form == "json":
        return as_json(report)
    if form == "latex":
        from variantbench.plugins.report.latex import latex

        return latex(report)
    from variantbench.plugins.report.markdown import markdown

    return markdown(report)


def write_file(path: Path, text: str) -> Path:
    """The text in that file, whole or not at all; UserError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as beside:
            beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another -o") from None
    return path


def write_folder(report: Report, form: str, folder: Path) -> list[Path]:
    """Every table (csv) or figure (svg, png) of the report as a file in that folder, which is made."""
    written = []
    for name, content in _files(report, form):
        path = folder / f"{name}.{form}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise UserError(f"{path} cannot be written ({error.strerror}): give another -o") from None
        written.append(path)
    return written


def as_csv(table: Table) -> str:
    """The table with a line of column names; shares between 0 and 1, an interval in three columns."""
    records = table.records()
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names or [column.name for column in table.columns])
    writer.writeheader()
    writer.writerows(records)  # a cell may be an interval in one row and a single figure in another
    return text.getvalue()


def as_json(report: Report) -> str:
    """Runs, findings and every table as JSON; a figure's data is the table of its name."""
    content: dict[str, Any] = {
        "title": report.title,
        "runs": [
            {name: run[name] for name in ("id", "started", "finished", "status", "records", "manifest")}
            for run in report.runs
        ],
        "findings": [
            {"model": one.model, "benchmark": one.benchmark, "format": one.format, "words": one.words}
            for one in report.findings
        ],
        "tables": {
            table.name: {"title": table.title, "note": table.note, "rows": table.records()} for table in report.tables()
        },
        "figures": {
            figure.name: {"caption": figure.caption, "shows": figure.description} for figure in report.figures()
        },
    }
    return json.dumps(content, ensure_ascii=True, indent=1) + "\n"


def _files(report: Report, form: str) -> Iterator[tuple[str, bytes]]:
    if form == "csv":
        yield from ((table.name, as_csv(table).encode("utf-8", "backslashreplace")) for table in report.tables())
        return
    draw = _optional("charts").draw
    import vl_convert

    for figure in report.figures():
        if figure.table.rows:
            spec = draw(figure)
            if form == "svg":
                yield figure.name, vl_convert.vegalite_to_svg(spec).encode()
            else:
                spec["config"] = {**spec["config"], "background": "white"}
                yield figure.name, vl_convert.vegalite_to_png(spec, scale=2.0)


def _optional(module: str) -> Any:
    """A file of this folder that needs the extra ``report``."""
    import importlib

    try:
        return importlib.import_module(f"variantbench.plugins.report.{module}")
    except ModuleNotFoundError as error:
        raise UserError(
            f"this format needs {error.name}, which is not installed: pip install 'variantbench[report]'"
        ) from None
