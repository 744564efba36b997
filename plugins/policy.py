"""What counts as worse, and the verdicts there are. No statistics here, so that a run without a baseline loads none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.validity import DEFAULT_LIMITS

Row = Mapping[str, Any]


class Outcome(StrEnum):
    """The verdict on a run."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts as worse. Shares of 1; `margin` None takes the default for as many items, slice by slice."""

    margin: float | None = None
    tolerance: float = 0.01
    level: float = 0.05
    noise: float = 0.0  # share of verdicts that flip when the same model runs again
    allow_overlap: bool = False
    limits: Mapping[str, float] = field(default_factory=lambda: DEFAULT_LIMITS, hash=False)

    def __post_init__(self) -> None:
        if self.margin is not None and not self.tolerance < self.margin:
            raise UserError(
                f"--margin {100 * self.margin:g}pp is not above --tolerance {100 * self.tolerance:g}pp: a drop within "
                "the tolerance is fine, one beyond the margin is not"
            )
        if not 0 < self.level < 0.5:
            raise UserError(f"--alpha {self.level:g}: an error rate between 0 and 0.5, such as 0.05")
