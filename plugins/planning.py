"""How many templates and variants a comparison with a baseline needs, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from variantbench.plugins.errors import UserError
from variantbench.plugins.policy import Policy
from variantbench.stats.regression import (
    DISCORDANCE,
    SPREAD,
    default_margin,
    pass_power,
    planned_se,
    regression_power,
    templates_needed,
)

_PER_TEMPLATE = (1, 2, 5, 11, 21, 51)  # answers a template: its base question and so many variants less one
_OURS = ((100, 51), (100, 11), (40, 51), (108, 1))


def plan_lines(
    *, margin: float, power: float, tolerance: float, level: float, discordance: float | None, spread: float | None
) -> Iterator[str]:
    """The templates needed by answers a template, and what some ready sets can show."""
    Policy(margin, tolerance, level)  # what no comparison takes needs no plan
    if margin >= 1:
        raise UserError(f"--margin {margin:g}: a drop below 1 (100 points), such as 3pp")
    if not level < power < 1:
        raise UserError(f"--power {power:g}: a share above --alpha {level:g} and below 1, such as 0.8")
    share = DISCORDANCE if discordance is None else discordance
    sd = SPREAD if spread is None else spread
    yield (
        f"margin {100 * margin:g} pp, tolerance {100 * tolerance:g} pp, alpha {level:g}, power {power:.0%}; "
        f"{share:.0%} of verdicts differ,"
    )
    yield f"templates' own changes have a standard deviation of {100 * sd:g} pp (--discordance, --spread)"
    yield ""
    yield f"{'answers a template':>20} {'templates needed':>18} {'answers in all':>16}"
    for each in _PER_TEMPLATE:
        needed = templates_needed(margin, each, power=power, level=level, discordance=share, spread=sd)
        yield f"{each:>20} {needed:>18,} {needed * each:>16,}"
    yield ""
    yield f"{'ready set':>20} {'default margin':>15} {'unchanged passes':>17} {'drop of the margin is seen':>27}"
    for templates, each in _OURS:
        se = planned_se(templates, each, discordance=share, spread=sd)
        own = default_margin(templates, each, tolerance=tolerance)
        passes = pass_power(margin, se, templates, level=level)
        seen = regression_power(margin, se, templates, tolerance=tolerance, level=level)
        yield f"{f'{templates} x {each}':>20} {f'{100 * own:g} pp':>15} {passes:>17.0%} {seen:>27.0%}"
