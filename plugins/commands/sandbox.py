"""``variantbench sandbox …`` and ``variantbench doctor``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from variantbench.plugins.errors import UserError
from variantbench.plugins.sandbox.choose import UNPROTECTED, SandboxTask, check_choice


class SandboxName(click.ParamType[str]):
    """A sandbox by name, or the folder of sockets of one that is served. Never none: that is for runs alone."""

    name = "sandbox"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; UserError if it is none."""
        del param, ctx
        if value == UNPROTECTED:
            raise UserError(f"--sandbox {UNPROTECTED} goes with pytest alone: name a sandbox")
        check_choice(SandboxTask(str(value)))
        return str(value)


SANDBOX = click.option(
    "--sandbox",
    "sandbox_name",
    type=SandboxName(),
    default="auto",
    show_default=True,
    metavar="auto|docker|bubblewrap|off|unix:FOLDER",
    help="Which sandbox.",
)
RUNTIME = click.option(
    "--sandbox-runtime", "runtime", default="", metavar="NAME", help="A runtime of Docker's (runsc)."
)
IMAGE = click.option("--sandbox-image", "image", default="", metavar="NAME", help="An image of your own for Docker.")


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
@IMAGE
@click.option("--json", "as_json", is_flag=True, help="Print every case as a line of JSON.")
def cases(file: Path, sandbox_name: str, runtime: str, image: str, as_json: bool) -> None:
    """Run the programs in FILE and say where one ends otherwise than expected; exit 0 only if all agree."""
    from variantbench.plugins.sandbox.cases import load_sandbox_cases, run_sandbox_cases, summary_lines
    from variantbench.plugins.sandbox.choose import open_backend
    from variantbench.plugins.sandbox.pool import Pool

    loaded = load_sandbox_cases(file)
    backend = open_backend(SandboxTask(sandbox_name, runtime, image), say=_say)
    outcomes = run_sandbox_cases(loaded, lambda: Pool(backend, boxes=1))
    for line in (json.dumps(outcome.as_dict()) for outcome in outcomes) if as_json else summary_lines(outcomes):
        click.echo(line)
    if not all(outcome.sentinel_kept and not outcome.wrong for outcome in outcomes):
        sys.exit(1)


def _say(line: str) -> None:
    click.echo(line, err=True)


@sandbox.command()
@SANDBOX
@RUNTIME
@IMAGE
def check(sandbox_name: str, runtime: str, image: str) -> None:
    """Attack each defence of the sandbox once; exit 0 only if all hold."""
    from variantbench.plugins.sandbox.choose import open_pool
    from variantbench.plugins.sandbox.selftest import ATTACKS, self_test

    with open_pool(SandboxTask(sandbox_name, runtime, image), say=_say) as pool:
        self_test(pool.backend)
        pool.try_out()
        click.echo(f"{pool.backend.name}: {len(ATTACKS)} attacks failed as they should: {', '.join(ATTACKS)}")
        click.echo(json.dumps(pool.details(), indent=2))


@sandbox.command()
@click.argument("file", type=click.File("r"), default="-")
@click.option("--profile", type=click.Choice(["python", "paper", "stdlib"]), default="python", show_default=True)
@SANDBOX
@RUNTIME
@IMAGE
def shell(file: Any, profile: str, sandbox_name: str, runtime: str, image: str) -> None:
    """Run programs in the sandbox and print how each ended: FILE, or what is typed, up to an empty line each."""
    from variantbench.plugins.sandbox.choose import open_pool

    with open_pool(SandboxTask(sandbox_name, runtime, image), boxes=1, say=_say) as pool:
        for source in _programs(file):
            click.echo(json.dumps(asdict(pool.execute(source, profile=profile))))


def _programs(file: Any) -> Iterator[str]:
    """A whole file, or from a terminal one program after the other."""
    if not file.isatty():
        yield file.read()
        return
    click.echo("type a program that defines solution(), then an empty line; Ctrl-D ends", err=True)
    lines: list[str] = []
    for line in file:
        lines.append(line)
        if not line.strip():
            yield "".join(lines)
            lines.clear()
    if lines:
        yield "".join(lines)


@sandbox.command()
@SANDBOX
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Rounds; medians are compared.")
def bench(sandbox_name: str, rounds: int) -> None:
    """Measure what an answer costs here, and beside a container per answer and `docker exec` in a warm one."""
    from variantbench.plugins.sandbox.bench import bench as measure
    from variantbench.plugins.sandbox.bench import cost_lines
    from variantbench.plugins.sandbox.choose import open_pool

    with open_pool(SandboxTask(sandbox_name), say=_say) as pool:
        for line in cost_lines(measure(pool, image=str(pool.details().get("image", "")), rounds=rounds)):
            click.echo(line)


@click.command()
def doctor() -> None:
    """Say which sandbox works on this machine, and what the others lack."""
    from variantbench.plugins.sandbox.doctor import diagnose

    works = False
    for finding in diagnose():
        works = works or finding.works
        click.echo(f"{'works' if finding.works else 'no   '}  {finding.name}: {finding.text}")
    if not works:
        sys.exit(1)
