"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from variantbench.plugins.cache import cached_text
from variantbench.plugins.report import values
from variantbench.plugins.report.charts import draw
from variantbench.plugins.report.tables import Figure, Report
from variantbench.plugins.report.visible import visible

_MOST_OF_AN_EXAMPLE = 1500


def html(report: Report) -> str:
    """The page; the same text for the same report."""
    page = environment(Path(__file__).parent / "pages").get_template("report.html")
    figures = {figure.name: draw(figure) for figure in report.figures() if figure.table.rows}
    library = Markup(_library())  # noqa: S704 - ours, and escaped for its place
    text: str = page.render(report=report, specs=figures, library=library, most=_MOST_OF_AN_EXAMPLE)
    return text


def environment(folder: Path) -> Environment:
    """Templates of that folder; every value is escaped, a missing one is an error."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    made.globals |= {
        "shown": values.shown,
        "heading": values.heading,
        "visible_rows": values.visible_rows,
        "left_out": values.left_out,
        "drawn": lambda figure, specs: isinstance(figure, Figure) and figure.name in specs,
    }
    return made


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that can stand in a page."""
    import vl_convert

    def bundle() -> str:
        script: Any = vl_convert.javascript_bundle()  # takes two seconds
        return str(script).replace("</script", "<\\/script")

    return cached_text(f"vega-{version('vl-convert-python')}.js", bundle)
