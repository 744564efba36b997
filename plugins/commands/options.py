"""Options that several subcommands share."""

from __future__ import annotations

import click

from variantbench.plugins.options import DEFAULT_STORE, share

STORE = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, metavar="URL", help="File or URL of the store."
)

BACKEND = click.option(
    "--glmm-backend",
    "backend",
    type=click.Choice(["variantbench", "pymer4"]),
    default="variantbench",
    show_default=True,
    help="What fits the mixed model; pymer4 is R's lme4, for comparison.",
)


class Share(click.ParamType[float]):
    """A share of 1, written 3pp, 3% or 0.03."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; UserError if it is none."""
        del ctx
        if isinstance(value, float):
            return value
        return share(str(value), option=f"--{param.name}" if param else "value")


SHARE = Share()
