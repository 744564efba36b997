"""Whether the variant effect holds when some answers are left out: what did not run, and labels in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.analysis.study import Refit
from variantbench.plugins.report.sections.variants import fit_words, log_interval, odds
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Column, Kind, Section, Table, table

_COLUMNS = (
    *(Column(name, name) for name in ("benchmark", "format", "model")),
    Column("excluded", "variant answers left out", Kind.SHARE),
    Column("p", "p, all answers", Kind.P),
    Column("p_refit", "p, without", Kind.P),
    Column("odds_ratio", "odds ratio without, 95%", Kind.RATIO),
    Column("log_change", "change of log odds ratio", Kind.LOGIT),
    Column("agrees", "same verdict at 5%", Kind.YES),
    Column("fit", "fit"),
)


def section(found: Source) -> Section | None:
    """A table each, where there is something to leave out."""
    executable: list[list[Cell]] = []
    doubtful: list[list[Cell]] = []
    for benchmark in found.benchmarks:
        result = found.studies[benchmark, Protocol.ROBUST]
        executable += _rows(benchmark, result.executable_only)
        doubtful += _rows(benchmark, result.without_doubtful_labels)
    if not executable and not doubtful:
        return None
    return Section(
        "refits",
        "Does it hold with fewer answers?",
        "The variant effect once more, without answers that one may object to.",
        tables=tuple(_tables(executable, doubtful)),
    )


def _tables(executable: Sequence[Sequence[Cell]], doubtful: Sequence[Sequence[Cell]]) -> Iterator[Table]:
    if executable:
        yield table("executable_only", "Without code that gave no value", _COLUMNS, executable)
    if doubtful:
        yield table(
            "without_doubtful_labels", "Without items whose notes say the label may be wrong", _COLUMNS, doubtful
        )


def _rows(benchmark: str, refits: Sequence[Refit]) -> Iterator[list[Cell]]:
    for one in refits:
        new = one.refitted
        yield [
            benchmark,
            new.format,
            new.model,
            new.excluded_variants,
            one.all_answers.p,
            new.p,
            odds(log_interval(new.effect)),
            one.change,
            one.agrees,
            fit_words(new.fit, new.reason),
        ]
