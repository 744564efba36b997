"""The verdict on a run and its exit status; this file alone decides them.

Wrong answers are measurements, not build failures: a complete and valid run ends with 0 however many there are, unless
a baseline was given and the run is worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import pytest

from variantbench.plugins.baseline import StoredRun
from variantbench.plugins.errors import UserError
from variantbench.plugins.options import RunConfig
from variantbench.plugins.policy import Outcome, Policy, Row
from variantbench.plugins.store import Store
from variantbench.plugins.validity import faults, read_limits

if TYPE_CHECKING:
    from variantbench.plugins.comparison import Comparison
    from variantbench.plugins.early_stop import EarlyVerdict


def policy_of(run: RunConfig) -> Policy:
    """What counts as worse, as the options say; UserError if they contradict each other."""
    return Policy(
        margin=run.margin,
        tolerance=run.tolerance,
        level=run.alpha,
        allow_overlap=run.allow_overlap,
        limits=read_limits(run.limits),
    )


class ExitStatus(IntEnum):
    """Our own exit codes, beside pytest's 0 to 5."""

    INVALID = 10  # the run does not say what the model can do
    REGRESSION = 11  # worse than the baseline
    INCONCLUSIVE = 12  # neither worse nor shown not to be


@dataclass(slots=True)
class Tally:
    """What failed in a run, by whose fault."""

    wrong_answers: int = 0  # the model's: wrong or no answer
    infrastructure: int = 0  # ours: engine, sandbox or store
    others: int = 0  # tests that are no questions


@dataclass(frozen=True, slots=True)
class Gate:
    """What is said of a whole run. `early` stands in place of comparisons where generation stopped early."""

    baseline: str = ""
    comparisons: tuple[Comparison, ...] = ()
    early: EarlyVerdict | None = None
    faults: tuple[str, ...] = ()

    @property
    def has_news(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.baseline or self.faults)

    @property
    def outcome(self) -> Outcome:
        """The worst of all; a valid run without a baseline passes."""
        if self.faults:
            return Outcome.INVALID
        if self.early is not None:
            return self.early.outcome
        return worst(comparison.outcome for comparison in self.comparisons)

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain values, for the run's manifest."""
        return {
            "baseline": self.baseline,
            "outcome": self.outcome.value,
            "early": asdict(self.early) if self.early else None,
            "comparisons": [{**asdict(one), "outcome": one.outcome.value} for one in self.comparisons],
            "faults": list(self.faults),
        }


_SEVERITY = (Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.REGRESSION, Outcome.INVALID)
_STATUS = {
    Outcome.PASS: pytest.ExitCode.OK,
    Outcome.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
    Outcome.REGRESSION: ExitStatus.REGRESSION,
    Outcome.INVALID: ExitStatus.INVALID,
}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The one that decides."""
    return max(outcomes, key=_SEVERITY.index, default=Outcome.PASS)


def status_of(outcome: Outcome) -> int:
    """The exit status that says so."""
    return int(_STATUS[outcome])


def judge(
    rows: Sequence[Row], baseline: StoredRun | None, policy: Policy, *, early: EarlyVerdict | None = None
) -> Gate:
    """The verdict on a run's rows, against a baseline where there is one."""
    if baseline is None:
        return Gate(faults=tuple(faults(rows, policy.limits)))
    if early is not None:
        return Gate(baseline.name, early=early, faults=tuple(_early_faults(rows, baseline, policy, early)))
    from variantbench.plugins.comparison import compare_runs

    try:
        return Gate(baseline.name, tuple(compare_runs(baseline.rows, rows, policy)))
    except UserError as error:
        return Gate(baseline.name, faults=(str(error),))


def _early_faults(rows: Sequence[Row], baseline: StoredRun, policy: Policy, early: EarlyVerdict) -> Iterable[str]:
    """What makes the answers so far incomparable, and whether the whole run would have asked what the baseline did."""
    from variantbench.plugins.comparison import compare_runs

    before = rows_of_same_model(baseline.rows, {row["model"] for row in rows})
    if len(before) != early.total and not policy.allow_overlap:
        yield (
            f"the run has {early.total:,} cases, the baseline {len(before):,} answers (--allow-overlap compares what "
            "both hold)"
        )
    try:
        for comparison in compare_runs(before, rows, replace(policy, allow_overlap=True)):
            yield from comparison.faults
    except UserError as error:
        yield str(error)


def rows_of_same_model(rows: Sequence[Row], models: Collection[str]) -> Sequence[Row]:
    """The baseline's rows of these models; all of them where it has one model only, whatever its name."""
    if len({row["model"] for row in rows}) == 1:
        return rows
    return [row for row in rows if row["model"] in models]


def with_noise(policy: Policy, store: Store, identities: Iterable[str]) -> Policy:
    """The policy widened by the largest measured noise of these models."""
    measured = [found for identity in identities if (found := store.noise(identity)) is not None]
    return replace(policy, noise=max((one["flips"] / one["items"] for one in measured), default=0.0))


def exit_status(
    pytest_status: int, tally: Tally, *, fail_on: str, interrupted: bool, outcome: Outcome = Outcome.PASS
) -> int:
    """The status to exit with, given pytest's own. A run that ``-x`` or Ctrl-C stopped keeps pytest's."""
    if pytest_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return pytest_status
    if tally.infrastructure:
        return ExitStatus.INVALID
    if tally.others or interrupted or (fail_on == "wrong" and tally.wrong_answers):
        return pytest_status
    return status_of(outcome)
