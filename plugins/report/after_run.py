"""What a run says of its results when it ends, and the HTML report that it leaves beside the store."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from variantbench.plugins.errors import StoreError
from variantbench.plugins.report.build import report_of
from variantbench.plugins.report.files import render, write_file
from variantbench.plugins.report.place import html_place
from variantbench.plugins.report.source import source
from variantbench.plugins.report.terminal import accuracy_lines, finding_lines
from variantbench.plugins.store import Store

_DRAWS_WITH = ("altair", "vl_convert", "jinja2")


def result_lines(store: Store, run_id: str, url: str, *, html: bool) -> Iterator[str]:
    """Accuracy, what it comes to in words, and where the report is.

    StoreError where the store cannot be read. Nothing that goes wrong beyond that fails the run: its answers are
    stored, and the report can be made again.
    """
    try:
        found = source(store, run_id)
        yield from accuracy_lines(found.accuracy)
        report = report_of(store, found)
        yield from finding_lines(report.findings)
        if html and report.findings and all(find_spec(name) for name in _DRAWS_WITH):
            yield f"report in {write_file(html_place(url, run_id), render(report, 'html'))}"
    except StoreError:
        raise
    except Exception as error:  # a report that cannot be drawn is no reason to fail a run
        cause = f"{type(error).__name__}: {error}"[:150]
        yield f"the report could not be made ({cause}): variantbench report {run_id} tries again"
