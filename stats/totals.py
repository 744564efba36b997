"""A variant effect's standard error from published figures alone: accuracies and the log odds ratio."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt

from scipy.stats import norm


@dataclass(frozen=True, slots=True)
class FromTotals:
    """``se`` of ``beta``, with Wald's z and two-sided p."""

    beta: float
    se: float
    z: float
    p: float


def effect_from_totals(
    beta: float, *, base: float, variants: float, templates: int = 100, per_template: int = 50
) -> FromTotals:
    """The standard error of the log odds ratio ``beta``, given the shares right of ``base`` and ``variants`` answers.

    One step of the conditional likelihood: beta = -(S - E) / Var(S) with S right base answers, E = templates (base +
    per_template variants) / (per_template + 1), so se = sqrt(-beta / (S - E)). On the study's 33 clean fits with 0.15 <
    |beta| < 0.7 it is 0.949 to 1.069 times the published standard error. nan where beta and S - E have the same sign or
    are 0.

    >>> round(effect_from_totals(-0.314062, base=0.24, variants=0.2088).p, 2)
    0.33
    """
    if not 0 <= base <= 1 or not 0 <= variants <= 1:
        raise ValueError(f"base {base}, variants {variants}: shares between 0 and 1")
    surplus = templates * (base - (base + per_template * variants) / (per_template + 1))
    if not isfinite(beta) or surplus == 0 or not -beta / surplus > 0:
        return FromTotals(beta, nan, nan, nan)
    se = sqrt(-beta / surplus)
    return FromTotals(beta, se, beta / se, float(2 * norm.sf(abs(beta / se))))
