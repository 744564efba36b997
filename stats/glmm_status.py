"""What can be wrong with a fit, and how it is found out before a number is printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.optimize import linprog

from variantbench.stats.cells import Cells, Floats

FEW_GROUPS = 20
_RANK_TOLERANCE = 1e-9


class Status(StrEnum):
    """Every remark that a fit can carry."""

    CONSTANT_RESPONSE = "constant_response"
    RANK_DEFICIENT = "rank_deficient"
    COMPLETE_SEPARATION = "complete_separation"
    QUASI_SEPARATION = "quasi_separation"
    SIGMA_ZERO = "sigma_boundary"
    SIGMA_INFINITE = "no_within_template_variation"
    FEW_INFORMATIVE_GROUPS = "few_informative_groups"
    NOT_CONVERGED = "not_converged"
    LAPLACE_EXACT_DIFFER = "laplace_exact_difference"
    CONDITIONAL_DISAGREES = "conditional_disagreement"
    BACKEND_DIFFERS = "backend_difference"


SENTENCES = {
    Status.CONSTANT_RESPONSE: "every answer is the same: the data say nothing about any effect",
    Status.RANK_DEFICIENT: "the fixed effects are collinear: not all of them can be estimated",
    Status.COMPLETE_SEPARATION: "the fixed effects predict every answer: estimates are infinite",
    Status.QUASI_SEPARATION: "the effect's estimate is infinite: read the likelihood ratio test and the finite end",
    Status.SIGMA_ZERO: "the groups do not differ more than chance makes them: sigma is estimated as 0",
    Status.SIGMA_INFINITE: "no group holds both right and wrong answers: nothing is compared within groups",
    Status.FEW_INFORMATIVE_GROUPS: f"fewer than {FEW_GROUPS} groups hold both right and wrong answers",
    Status.NOT_CONVERGED: "the maximum was not found: no standard error and no p",
    Status.LAPLACE_EXACT_DIFFER: "Laplace's approximation and the exact likelihood differ: read the exact fit",
    Status.CONDITIONAL_DISAGREES: "the conditional test, which assumes less, disagrees with the likelihood ratio test",
    Status.BACKEND_DIFFERS: "lme4's figures are not those of the maximum: read variantbench's own fit",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """A status, and the effect it is about where it is about one."""

    status: Status
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.status}:{self.effect}" if self.effect else str(self.status)

    @property
    def sentence(self) -> str:
        """What it means, for a reader."""
        about = f"{self.effect}: " if self.effect else ""
        return about + SENTENCES[self.status]


def rank_deficient(cells: Cells) -> bool:
    """Whether the columns are linearly dependent, up to rounding; they come standardised."""
    gram = (cells.x * cells.trials[:, None]).T @ cells.x
    scale = np.sqrt(np.diag(gram))
    if not (scale > 0).all():
        return True
    return bool(np.linalg.eigvalsh(gram / np.outer(scale, scale))[0] < _RANK_TOLERANCE)


def informative_groups(cells: Cells) -> int:
    """Groups with both right and wrong answers."""
    mixed = (cells.pattern_successes > 0) & (cells.pattern_successes < cells.pattern_trials)
    return int(cells.multiplicity[mixed].sum())


def hopeless(cells: Cells) -> Status | None:
    """Why the data hold no estimate with a finite sigma, if they do not."""
    right = cells.multiplicity @ cells.pattern_successes
    if right in (0, cells.multiplicity @ cells.pattern_trials):
        return Status.CONSTANT_RESPONSE
    if rank_deficient(cells):
        return Status.RANK_DEFICIENT
    return Status.SIGMA_INFINITE if informative_groups(cells) == 0 else None


def separation(cells: Cells) -> tuple[Status, Floats] | None:
    """The kind of separation and its direction (columns,), or None. The direction gives the infinite coefficients'
    signs.

    Linear program of Konis (2007, PhD thesis, Oxford): a direction along which no answer becomes less likely and some
    become more so. R: ``detectseparation::detect_separation``.
    """
    all_right, all_wrong = cells.successes == cells.trials, cells.successes == 0
    pure = all_right | all_wrong
    sign = np.where(all_right, 1.0, -1.0)[pure, None]
    towards, level = sign * cells.x[pure], cells.x[~pure]
    if not len(towards):
        return None
    found = linprog(
        -towards.sum(axis=0),
        A_ub=-towards,
        b_ub=np.zeros(len(towards)),
        A_eq=level if len(level) else None,
        b_eq=np.zeros(len(level)) if len(level) else None,
        bounds=(-1, 1),
        method="highs",
    )
    if not found.success or -found.fun < 1e-7:
        return None
    direction = np.asarray(found.x, dtype=np.float64)
    if len(level) or not _separable(towards):
        return Status.QUASI_SEPARATION, direction
    return Status.COMPLETE_SEPARATION, direction


def _separable(towards: Floats) -> bool:
    """Whether some direction makes every answer more likely: the largest margin of all is positive."""
    cells, columns = towards.shape
    found = linprog(
        np.append(np.zeros(columns), -1.0),
        A_ub=np.column_stack([-towards, np.ones(cells)]),
        b_ub=np.zeros(cells),
        bounds=[(-1, 1)] * columns + [(0, 1)],
        method="highs",
    )
    return bool(found.success and -found.fun > 1e-7)
