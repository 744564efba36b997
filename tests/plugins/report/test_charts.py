"""Charts are drawn without Altair's own check of their schema, which takes longer than drawing: it is made here."""

from __future__ import annotations

import altair
import pytest

from variantbench.plugins.report.build import build_report
from variantbench.plugins.report.charts import draw
from variantbench.plugins.store import open_store


@pytest.fixture(scope="module")
def figures(stored):
    with open_store(stored.path) as store:
        report = build_report(store, [stored.study, stored.before, stored.after])
    return [figure for figure in report.figures() if figure.table.rows]


def test_every_figure_fits_the_schema(figures):
    assert len(figures) > 8
    for figure in figures:
        altair.Root.validate(draw(figure))


def test_the_schema_refuses_what_is_wrong(figures):
    spec = draw(figures[0])
    with pytest.raises(altair.utils.schemapi.jsonschema.ValidationError):
        altair.Root.validate({**spec, "config": {"view": {"stroke": 7}}, "width": "wide"})
