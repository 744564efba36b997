"""One file a subject of the report: from the source to its section, or None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable

from variantbench.plugins.report.sections import (
    accuracy,
    failures,
    flips,
    gate,
    history,
    logic,
    numbers,
    refits,
    runs,
    templates,
    variants,
)
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Section

SECTIONS: tuple[Callable[[Source], Section | None], ...] = (
    gate.section,
    variants.section,
    accuracy.section,
    numbers.section,
    failures.section,
    templates.section,
    refits.section,
    logic.section,
    history.section,
    flips.section,
    runs.section,
)
