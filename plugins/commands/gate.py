"""`variantbench compare`, `plan` and `noise`: is it worse, how much does it take to see, how much is mere noise."""

from __future__ import annotations

import json
import sys

import click

from variantbench.plugins.commands.options import SHARE, STORE


@click.command()
@click.argument("before")
@click.argument("after")
@STORE
@click.option("--tolerance", type=SHARE, default="1pp", show_default=True, help="A drop that is fine.")
@click.option("--margin", type=SHARE, help="A drop that must be excluded to pass. [default: by the number of items]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Error rate of the verdict.")
@click.option("--allow-overlap", is_flag=True, help="Compare what both hold, where they do not hold the same.")
@click.option("--limit", "limits", multiple=True, metavar="NAME=RATE", help="As in a run: truncated=10%.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    before: str,
    after: str,
    store: str,
    tolerance: float,
    margin: float | None,
    alpha: float,
    allow_overlap: bool,
    limits: tuple[str, ...],
    as_json: bool,
) -> None:
    """Is run AFTER worse than run BEFORE? Ids, files of exported runs, or tag:NAME.

    Exit status 0: pass; 10: invalid; 11: regression; 12: inconclusive.
    """
    from variantbench.plugins.baseline import load_run, store_for
    from variantbench.plugins.gate import judge, status_of, with_noise
    from variantbench.plugins.policy import Policy
    from variantbench.plugins.report.verdict import gate_lines
    from variantbench.plugins.validity import read_limits

    policy = Policy(margin, tolerance, alpha, allow_overlap=allow_overlap, limits=read_limits(limits))
    opened = store_for(store, (before, after))
    old, new = load_run(opened, before), load_run(opened, after)
    gate = judge(new.rows, old, with_noise(policy, opened, [*new.identities.values(), *old.identities.values()]))
    click.echo(json.dumps(gate.as_dict(), indent=2) if as_json else "\n".join(gate_lines(gate)))
    sys.exit(status_of(gate.outcome))


@click.command()
@click.option("--margin", type=SHARE, default="3pp", show_default=True, help="A drop that must be excluded to pass.")
@click.option("--power", type=SHARE, default="0.8", show_default=True, help="How often an unchanged model passes.")
@click.option("--tolerance", type=SHARE, default="1pp", show_default=True, help="A drop that is fine.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Error rate of the verdict.")
@click.option("--discordance", type=SHARE, help="Share of items whose verdict differs. [default: 20%]")
@click.option("--spread", type=SHARE, help="Standard deviation of templates' own changes. [default: 10pp]")
def plan(
    margin: float, power: float, tolerance: float, alpha: float, discordance: float | None, spread: float | None
) -> None:
    """Say how many templates and variants a comparison needs."""
    from variantbench.plugins.planning import plan_lines

    for line in plan_lines(
        margin=margin, power=power, tolerance=tolerance, level=alpha, discordance=discordance, spread=spread
    ):
        click.echo(line)


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--model", required=True, metavar="NAME", help="The model, as for a run.")
@STORE
@click.option("--batch-sizes", nargs=2, type=click.IntRange(1), default=(32, 7), show_default=True)
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def noise(model: str, store: str, batch_sizes: tuple[int, int], pytest_options: tuple[str, ...]) -> None:
    """Run the same items twice with different batch plans and keep how many verdicts flip.

    What follows the options goes to pytest: --sample 20 -k "gsm and base" -n 2. The gate widens its intervals by it.
    """
    from variantbench.plugins.noise import measure_noise, noise_lines

    measured = measure_noise(model, store=store, batch_sizes=batch_sizes, options=pytest_options, say=click.echo)
    for line in noise_lines(measured):
        click.echo(line)
