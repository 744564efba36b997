"""The ``variantbench`` command. Each subcommand is a few lines over a function that can be called without it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from variantbench.plugins.commands import exchange as exchange_commands
from variantbench.plugins.commands import gate as gate_commands
from variantbench.plugins.commands import report as report_commands
from variantbench.plugins.commands import runs as runs_commands
from variantbench.plugins.commands import sandbox as sandbox_commands
from variantbench.plugins.commands.options import BACKEND, STORE
from variantbench.plugins.commands.sandbox import SANDBOX
from variantbench.plugins.errors import VariantbenchError

if TYPE_CHECKING:
    from variantbench.plugins.grading import Execute


def _show_versions(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions of everything that can change a result, and end."""
    if wanted:
        from variantbench.plugins.versions import version_lines

        click.echo("\n".join(version_lines()))
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_versions, help="Show all versions."
)
def variantbench() -> None:
    """Reasoning microbenchmarks for language models. To run them: pytest benchmarks/ --model NAME."""


for command in (
    gate_commands.compare,
    gate_commands.plan,
    gate_commands.noise,
    report_commands.report,
    report_commands.view,
    runs_commands.runs,
    runs_commands.store,
    runs_commands.baseline,
    exchange_commands.import_,
    exchange_commands.export,
    sandbox_commands.sandbox,
    sandbox_commands.doctor,
):
    variantbench.add_command(command)


@variantbench.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the models that have a short name (any hub id or path works, too)."""
    if context.invoked_subcommand is None:
        _list_models()


def _list_models() -> None:
    from variantbench.plugins.models.registry import registry

    click.echo(f"{'name':<28} {'hub id':<42} {'size':>6}  {'kind':<5} {'access':<7} licence")
    for spec in registry().values():
        size = f"{spec.parameters / 1e9:.2g}B" if spec.parameters else "?"
        kind = "chat" if spec.chat else "base"
        access = "no hub" if spec.embedded else spec.access
        click.echo(f"{spec.name:<28} {spec.hub or '-':<42} {size:>6}  {kind:<5} {access:<7} {spec.licence}".rstrip())


@models.command("get")
@click.argument("name")
def models_get(name: str) -> None:
    """Download an embedded model and convert it, so that later runs need no network."""
    from variantbench.plugins.errors import UserError
    from variantbench.plugins.models.embedded import EMBEDDED, get_embedded
    from variantbench.plugins.models.engines import find_engine

    if name not in EMBEDDED:
        raise UserError(f"no embedded model {name!r}: choose from {', '.join(EMBEDDED)}")
    find_engine("transformers")  # its libraries convert the file: say so before 98 MB are downloaded
    click.echo(f"{name} is ready in {get_embedded(name, say=click.echo)}")


@variantbench.group()
def prompts() -> None:
    """Look at prompt formats."""


@prompts.command("list")
def prompts_list() -> None:
    """List the prompt formats."""
    from variantbench.prompts.format import available_formats, load_format

    for name in available_formats():
        form = load_format(name)
        click.echo(f"{name:<16} {form.kind.value:<6} {form.title}")


@prompts.command("show")
@click.argument("format_name", metavar="FORMAT")
@click.argument("item_id", metavar="ITEM")
@click.option("--model", metavar="NAME", help="Also show the token ids that this model reads, with BOS marked.")
def prompts_show(format_name: str, item_id: str, model: str | None) -> None:
    """Print the exact text of ITEM (0042-base, Q3-017) in FORMAT."""
    from variantbench.plugins.inspection import prompt_of, token_lines

    say = partial(click.echo, err=True)
    prompt = prompt_of(format_name, item_id, model=model, say=say)
    click.echo(prompt.text, nl=False)
    if model:
        click.echo("\n" + "-" * 72)
        for line in token_lines(prompt, model, say=say):
            click.echo(line)
    elif sys.stdout.isatty():
        click.echo()


@variantbench.command()
@click.option(
    "--templates", type=click.Path(path_type=Path), required=True, help="A template file or a folder of them."
)
@click.option(
    "--per-template", type=click.IntRange(0), default=50, show_default=True, help="Variants of each template."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the draws.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The JSONL file to write.")
def generate(templates: Path, per_template: int, seed: int, output: Path) -> None:
    """Write fresh GSM items to a file, for --gsm-source jsonl:FILE."""
    from variantbench.benchmarks.gsm.generate import generate as write_items

    click.echo(f"{write_items(templates, per_template=per_template, seed=seed, output=output):,} items in {output}")


@variantbench.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--response", required=True, metavar="COLUMN", help="The 0/1 column: right or wrong.")
@click.option("--fixed", required=True, metavar="A,B", help="Columns of the fixed effects.")
@click.option("--group", required=True, metavar="COLUMN", help="The column of the random intercept: the template.")
@click.option("--method", type=click.Choice(["exact", "laplace"]), help="Default: exact; with pymer4, laplace.")
@BACKEND
@click.option("--optimizers", is_flag=True, help="With pymer4: also the fit by each of lme4's optimizers.")
@click.option("--prior-sd", type=float, metavar="SD", help="Also the MAP under a normal prior on the effects (2.5).")
@click.option("--bootstrap", type=click.IntRange(0), default=0, metavar="N", help="Cluster bootstrap replicates.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the bootstrap.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit(
    data: Path,
    response: str,
    fixed: str,
    group: str,
    method: str | None,
    backend: str,
    optimizers: bool,
    prior_sd: float | None,
    bootstrap: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Fit a mixed logistic model with a random intercept to DATA (.csv, .csv.gz or .parquet)."""
    from variantbench.plugins.tables import fit_lines, fit_table

    names = [name.strip() for name in fixed.split(",")]
    result = fit_table(
        data,
        response=response,
        fixed=names,
        group=group,
        method=method,
        backend=backend,
        optimizers=optimizers,
        prior_sd=prior_sd,
        bootstrap=bootstrap,
        seed=seed,
    )
    _print(result, fit_lines(result), as_json=as_json)


@variantbench.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--key", required=True, metavar="COLUMN", help="The column that names the item, in both files.")
@click.option("--response", required=True, metavar="COLUMN", help="The 0/1 column: right or wrong.")
@click.option("--cluster", metavar="COLUMN", help="The column of the template, for tests that respect it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def mcnemar(first: Path, second: Path, key: str, response: str, cluster: str | None, as_json: bool) -> None:
    """Compare two tables of answers to the same items, pair by pair."""
    from variantbench.plugins.tables import mcnemar_lines, mcnemar_tables

    result = mcnemar_tables(first, second, key=key, response=response, cluster=cluster)
    _print(result, mcnemar_lines(result), as_json=as_json)


def _print(result: dict[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    click.echo(json.dumps(result, indent=2) if as_json else "\n".join(lines))


@variantbench.command()
@STORE
@click.option(
    "--from-published",
    "published",
    type=click.Path(path_type=Path),
    multiple=True,
    help="CSV of published rows (docs/reproduction.md); repeatable. Without it: a whole made-up study.",
)
@click.option("--models", type=click.IntRange(1), default=20, show_default=True, help="Models of a made-up study.")
@click.option("--templates", type=click.IntRange(2, 100), default=100, show_default=True)
@click.option("--variants-per-template", type=click.IntRange(1), default=50, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def simulate(
    store: str, published: tuple[Path, ...], models: int, templates: int, variants_per_template: int, seed: int
) -> None:
    """Write a run that no model made: answers that look like published rows, or like a whole study."""
    from variantbench.benchmarks.gsm import load_items
    from variantbench.benchmarks.logic import load_items as load_logic_items
    from variantbench.plugins.published import read_published
    from variantbench.plugins.simulate import simulate as write_run
    from variantbench.plugins.simulate import synthetic_rows
    from variantbench.plugins.store import open_store
    from variantbench.plugins.store.store import shown_url

    rows = [row for path in published for row in read_published(path)] or synthetic_rows(models, seed=seed)
    gsm = load_items(variants_per_template=variants_per_template, seed=seed, sample=templates)
    run = write_run(open_store(store), rows, gsm=gsm, logic=load_logic_items(), seed=seed, say=click.echo)
    click.echo(f"run {run} in {shown_url(store)}: simulated, not measured")


@variantbench.command()
@click.argument("run", required=False)
@STORE
@SANDBOX
@click.option("--prompts", multiple=True, metavar="FILE", help="A format of your own that the run was asked in.")
def regrade(run: str | None, store: str, sandbox_name: str, prompts: tuple[str, ...]) -> None:
    """Grade the stored answers of RUN (the newest if left out) by this version's rules; the old grades are kept."""
    from variantbench.plugins.regrade import has_programs, summary_lines
    from variantbench.plugins.regrade import regrade as regrade_run
    from variantbench.plugins.store import open_store
    from variantbench.prompts.format import load_format

    own = [load_format(name) for name in prompts]
    opened = open_store(store, create=False)
    run_id = opened.find_run(run)["id"]
    with _executing(sandbox_name, needed=has_programs(opened, run_id, own=own)) as execute:
        regrading = regrade_run(opened, run_id, own=own, execute=execute)
    for line in summary_lines(regrading):
        click.echo(line)


@variantbench.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--protocol", type=click.Choice(["robust", "paper"]), default="robust", show_default=True)
@click.option(
    "--kind", "kinds", type=click.Choice(["number", "yesno", "code"]), multiple=True, help="Only these cases."
)
@SANDBOX
@click.option("--json", "as_json", is_flag=True, help="Print every case as a line of JSON.")
def cases(file: Path, protocol: str, kinds: tuple[str, ...], sandbox_name: str, as_json: bool) -> None:
    """Grade the answers in FILE and say where the verdict is not the expected one; exit 0 only if all agree."""
    from variantbench.plugins.conformance import load_cases, run_cases, summary_lines

    loaded = load_cases(file, protocol=protocol, kinds=kinds)
    with _executing(sandbox_name, needed=any(case.kind == "code" for case in loaded)) as execute:
        outcomes = run_cases(loaded, protocol=protocol, execute=execute)
    lines = (json.dumps(outcome.as_dict()) for outcome in outcomes) if as_json else summary_lines(outcomes)
    for line in lines:
        click.echo(line)
    if not all(outcome.agrees for outcome in outcomes):
        sys.exit(1)


@contextmanager
def _executing(sandbox: str, *, needed: bool) -> Iterator[Execute | None]:
    """What executes programs, if any are to be executed and a sandbox works here; else a line says why not.

    SandboxError if one works but a defence of it does not hold.
    """
    from variantbench.plugins.errors import SandboxError
    from variantbench.plugins.sandbox.choose import SandboxTask, open_backend
    from variantbench.plugins.sandbox.pool import Pool
    from variantbench.plugins.sandbox.selftest import self_test

    try:
        backend = open_backend(SandboxTask(sandbox), say=lambda line: click.echo(line, err=True)) if needed else None
    except (SandboxError, OSError) as error:
        click.echo(str(error), err=True)
        backend = None
    if backend is None:
        yield None
        return
    self_test(backend)
    with Pool(backend) as pool:
        yield pool.execute


def main() -> None:
    """Run the command; errors of ours are one line."""
    try:
        variantbench(prog_name="variantbench")
    except VariantbenchError as error:
        click.echo(f"variantbench: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
