"""`variantbench import` and `export`: other tools' logs in, ours out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from variantbench.plugins.commands.options import STORE
from variantbench.plugins.errors import UserError

if TYPE_CHECKING:
    from variantbench.plugins.exchange.importing import Placed

FORMATS = ("auto", "lm-eval", "inspect", "lighteval", "nemo-evaluator", "helm", "study", "table")
TARGETS = ("lm-eval", "inspect", "parquet", "csv")


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--format", "tool", type=click.Choice(FORMATS), default="auto", show_default=True)
@STORE
@click.option("--map", "columns", multiple=True, metavar="THEIRS=OURS", help="A column of theirs and what we call it.")
@click.option(
    "--reading", default="", metavar="NAME", help="The metric, filter or scorer that counts. [default: first]"
)
@click.option("--match-templates", type=click.Path(path_type=Path), help="Find each question's template here, exactly.")
@click.option("--benchmark", default="", metavar="NAME", help="What we call the benchmark. [default: the log's name]")
@click.option("--as-format", "form", default="", metavar="NAME", help="The prompt format of answers that have none.")
@click.option("--model", default="", metavar="NAME", help="What we call the model. [default: the log's name]")
def import_(
    files: tuple[Path, ...],
    tool: str,
    store: str,
    columns: tuple[str, ...],
    reading: str,
    match_templates: Path | None,
    benchmark: str,
    form: str,
    model: str,
) -> None:
    """Take graded answers from other tools' logs as one run: all of them, or nothing.

    What matches a template of --match-templates becomes an item of the benchmark gsm.
    """
    from variantbench.plugins.exchange.formats import reader_of
    from variantbench.plugins.exchange.importing import Choices, import_logs, summary_lines
    from variantbench.plugins.store import open_store

    choices = Choices(
        tool=tool,
        columns=_columns(columns),
        reading=reading,
        benchmark=benchmark,
        format=form,
        model=model,
        place=_placing(match_templates) if match_templates else None,
        covariates=_covariates() if match_templates or benchmark == "gsm" else None,
    )
    for path in files:
        reader_of(path, tool)  # what is no log makes no store
    with open_store(store) as opened:
        for line in summary_lines(import_logs(opened, files, choices)):
            click.echo(line)


@click.command("export")
@click.argument("run", required=False)
@STORE
@click.option("--to", "target", type=click.Choice(TARGETS), required=True, help="Whose log to write.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="File; a folder for lm-eval, inspect."
)
def export(run: str | None, store: str, target: str, output: Path) -> None:
    """Write RUN (the beginning of its id; the newest if left out) as another tool's log."""
    from variantbench.plugins.exchange.exporting import export_run
    from variantbench.plugins.store import open_store

    with open_store(store, create=False) as opened:
        done = export_run(opened, opened.find_run(run)["id"], target, output)
    click.echo(f"run {done.run_id}: {done.answers:,} answers in {', '.join(map(str, done.files))}")


def _columns(texts: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in texts:
        theirs, _, ours = text.rpartition("=")
        if not theirs or not ours:
            raise UserError(f"--map {text!r}: write THEIRS=OURS, as in question_id=item")
        found[theirs] = ours
    return found


def _placing(path: Path) -> Callable[[str], Placed | None]:
    from variantbench.benchmarks.gsm.matching import read_matcher
    from variantbench.plugins.exchange.importing import Placed

    matcher = read_matcher(path)

    @lru_cache(maxsize=100_000)
    def place(question: str) -> Placed | None:
        match = matcher(question)
        return Placed(match.group, match.variant, match.item) if match else None

    return place


def _covariates() -> Callable[[str], dict[str, float]]:
    from variantbench.benchmarks.gsm.gamma import covariates

    return lru_cache(maxsize=100_000)(covariates)
