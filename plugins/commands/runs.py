"""`variantbench runs …`, `store …` and `baseline …`: what is stored, and keeping it in order."""

from __future__ import annotations

import json
from pathlib import Path

import click

from variantbench.plugins.commands.options import STORE
from variantbench.plugins.errors import UserError


@click.group(invoke_without_command=True)
@STORE
@click.pass_context
def runs(context: click.Context, store: str) -> None:
    """List the stored runs, newest first; or look at one, export it, prune some."""
    if context.invoked_subcommand is None:
        from variantbench.plugins.store import open_store

        for run in open_store(store, create=False).runs():
            names = ", ".join(model["name"] for model in run["manifest"]["models"])
            click.echo(
                f"{run['id']}  {run['started'][:19]}  {run['status']:<13}  {run['records']:>7,} answers  {names}"
            )


@runs.command("show")
@click.argument("run", required=False)
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print the whole manifest as JSON.")
def runs_show(run: str | None, store: str, as_json: bool) -> None:
    """Show how RUN (the beginning of its id; the newest if left out) came about."""
    from variantbench.plugins.inspection import run_lines
    from variantbench.plugins.store import open_store

    found = open_store(store, create=False).find_run(run)
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(run_lines(found)))


@runs.command("export")
@click.argument("run", required=False)
@STORE
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="FILE.jsonl or FILE.jsonl.gz")
def runs_export(run: str | None, store: str, output: Path) -> None:
    """Write RUN (the newest if left out) to a file, as a baseline to keep or to send on."""
    from variantbench.plugins.run_files import export_run
    from variantbench.plugins.store import open_store

    opened = open_store(store, create=False)
    run_id = opened.find_run(run)["id"]
    click.echo(f"run {run_id}: {export_run(opened, run_id, output):,} answers in {output}")


@runs.command("prune")
@click.argument("run", nargs=-1)
@STORE
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Forget all but the newest N runs.")
@click.option("--completions", is_flag=True, help="Also drop completions that no remaining run needs.")
@click.option("--yes", is_flag=True, help="Do it; without, only say what would go.")
def runs_prune(run: tuple[str, ...], store: str, keep: int | None, completions: bool, yes: bool) -> None:
    """Forget the runs named, or all but the newest. Baselines stay."""
    from variantbench.plugins.store import open_store

    opened = open_store(store, create=False)
    if bool(run) == (keep is not None):
        raise UserError("runs prune: name the runs to forget, or give --keep N")
    kept = opened.needed_runs().keys() | {each["id"] for each in opened.runs() if each["status"] == "running"}
    chosen = (
        [opened.find_run(name)["id"] for name in run]
        if run
        else [each["id"] for each in opened.runs()[keep:] if each["id"] not in kept]
    )
    if not yes:
        click.echo(f"would forget {len(chosen)} runs: {', '.join(chosen) or 'none'}; --yes does it")
        return
    gone = opened.prune(chosen, completions=completions)
    click.echo(", ".join(f"{count:,} {table}" for table, count in gone.items() if table != "run_totals") + " are gone")


@click.group()
def store() -> None:
    """Keep the result store in order."""


@store.command("migrate")
@STORE
def store_migrate(store: str) -> None:
    """Bring the store's schema up to date (opening it does the same)."""
    from variantbench.plugins.store import open_store, schema
    from variantbench.plugins.store.store import shown_url

    open_store(store, create=False).close()
    click.echo(f"{shown_url(store)} has schema {schema.CURRENT}")


@store.command("check")
@STORE
def store_check(store: str) -> None:
    """Check that what is stored is whole: hashes hold, each answer is there once, nothing points nowhere."""
    from variantbench.plugins.store import open_store
    from variantbench.plugins.store.check import check

    found = check(open_store(store, create=False))
    for line in found.faults:
        click.echo(line)
    click.echo(
        f"{found.runs:,} runs, {found.records:,} records, {found.completions:,} completions: {len(found.faults)} faults"
    )
    if found.faults:
        raise SystemExit(1)


@click.group()
def baseline() -> None:
    """Name the run that others are compared with (pytest … --baseline tag:NAME)."""


@baseline.command("set")
@click.argument("name")
@click.argument("run")
@click.option("--why", required=True, help="Why this run: it is kept with the name.")
@STORE
def baseline_set(name: str, run: str, why: str, store: str) -> None:
    """Let NAME stand for RUN from now on; what it stood for before stays in the history."""
    from variantbench.plugins.baseline import set_baseline
    from variantbench.plugins.store import open_store

    click.echo(f"{name} is {set_baseline(open_store(store, create=False), name, run, why=why)}")


@baseline.command("list")
@click.argument("name", required=False)
@STORE
def baseline_list(name: str | None, store: str) -> None:
    """List what every name (or NAME) stands for, and stood for before."""
    from variantbench.plugins.store import open_store

    seen: set[str] = set()
    for row in open_store(store, create=False).baselines(name):
        mark = " " if row["name"] in seen else "*"
        seen.add(row["name"])
        click.echo(f"{mark} {row['name']:<16} {row['run_id']}  {row['created'][:16]}  {row['set_by']:<10} {row['why']}")
