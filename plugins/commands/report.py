"""`variantbench report` and `view`: what runs measured, as text, page, table or figure; and their single answers."""

from __future__ import annotations

from pathlib import Path

import click

from variantbench.plugins.commands.options import BACKEND, STORE
from variantbench.plugins.errors import UserError

_FORMATS = ("terminal", "html", "markdown", "latex", "json", "csv", "svg", "png")
_FOLDERS = ("csv", "svg", "png")


@click.command()
@click.argument("run", nargs=-1)
@STORE
@click.option("--format", "form", type=click.Choice(_FORMATS), default="terminal", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File, or folder for csv, svg and png. [default: print; html beside the store]",
)
@click.option("--without-doubtful-labels", is_flag=True, help="Leave out items whose notes say the label may be wrong.")
@BACKEND
def report(
    run: tuple[str, ...], store: str, form: str, output: Path | None, without_doubtful_labels: bool, backend: str
) -> None:
    """Show what the RUNs measured (beginnings of ids, in the order of the history; the newest if none is named)."""
    from variantbench.plugins.report.build import report_of
    from variantbench.plugins.report.files import render, write_file, write_folder
    from variantbench.plugins.report.place import html_place
    from variantbench.plugins.report.source import source
    from variantbench.plugins.report.terminal import terminal_lines
    from variantbench.plugins.shards import missing
    from variantbench.plugins.store import open_store

    if form in _FOLDERS and output is None:
        raise UserError(f"report --format {form} writes many files: give -o FOLDER")
    opened = open_store(store, create=False)
    found = source(opened, run or None, backend=backend, with_doubtful_labels=not without_doubtful_labels)
    for line in missing(found.runs):
        click.echo(line, err=True)
    built = report_of(opened, found)
    if form == "html" and output is None:
        output = html_place(store, found.runs[0]["id"])
    if form in _FOLDERS:
        assert output is not None  # noqa: S101 - refused above
        click.echo(f"{len(write_folder(built, form, output))} files in {output}")
        return
    text = "\n".join(terminal_lines(found, built)) + "\n" if form == "terminal" else render(built, form)
    if output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"{form} report in {write_file(output, text)}")


@click.command()
@STORE
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on this machine. [default: any free one]")
def view(store: str, port: int) -> None:
    """Look at single answers in a browser: filter, read, compare two runs. Only this machine can open the page."""
    from variantbench.plugins.viewer.serve import serve

    serve(store, port=port, say=click.echo)
