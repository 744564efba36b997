"""``variantbench sandbox …`` and ``variantbench doctor``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from variantbench.plugins.sandbox.choose import CHOICES

SANDBOX = click.option(
    "--sandbox",
    "sandbox_name",
    type=click.Choice(CHOICES[:-1]),
    default="auto",
    show_default=True,
    help="Which sandbox.",
)
RUNTIME = click.option(
    "--sandbox-runtime", "runtime", default="", metavar="NAME", help="A runtime of Docker's (runsc)."
)


@click.group()
def sandbox() -> None:
    """Build, check and try the sandbox for answers that are code."""


@sandbox.command()
@click.option("--base", default="host", show_default=True, metavar="host|debian|IMAGE",
    help="This machine's Python, Debian's packages, or an image (python:3.12-slim).")  # fmt: skip
def build(base: str) -> None:
    """Build the Docker image of the sandbox."""
    from variantbench.plugins.sandbox.image import build_image

    click.echo(f"built {build_image(base=base, say=click.echo)}")


@sandbox.command()
@click.argument("file", type=click.Path(path_type=Path))
@SANDBOX
@RUNTIME
@click.option("--json", "as_json", is_flag=True, help="Print every case as a line of JSON.")
def cases(file: Path, sandbox_name: str, runtime: str, as_json: bool) -> None:
    """Run the programs in FILE and say where one ends otherwise than expected; exit 0 only if all agree."""
    from variantbench.plugins.sandbox.cases import load_sandbox_cases, run_sandbox_cases, summary_lines
    from variantbench.plugins.sandbox.choose import open_backend
    from variantbench.plugins.sandbox.pool import Pool

    loaded = load_sandbox_cases(file)
    backend = open_backend(sandbox_name, runtime=runtime, say=_say)
    outcomes = run_sandbox_cases(loaded, lambda: Pool(backend, boxes=1))
    for line in (json.dumps(outcome.as_dict()) for outcome in outcomes) if as_json else summary_lines(outcomes):
        click.echo(line)
    if not all(outcome.sentinel_kept and not outcome.wrong for outcome in outcomes):
        sys.exit(1)


def _say(line: str) -> None:
    click.echo(line, err=True)
