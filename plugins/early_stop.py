"""`--stop-early`: enough answers for a verdict, and no more.

The cases run in an order that was shuffled before the run by its seed; their differences from the baseline are looked
at in that order, however they arrive, so the guarantee of `stats.sequential` holds at every look. The claim is about
what the full run would have said.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.comparison import Key, is_right, key_of
from variantbench.plugins.policy import Outcome, Policy, Row
from variantbench.stats.regression import default_margin
from variantbench.stats.sequential import SequentialGate, Verdict

# A verdict that comes later saves little: the run goes on to its end, and the full comparison decides.
_LATEST = 0.8
_OUTCOMES = {Verdict.PASS: Outcome.PASS, Verdict.FAIL: Outcome.REGRESSION}


def shuffle(cases: list[Any], *, seed: int) -> None:
    """Bring the cases into the order that the run commits itself to."""
    random.Random(f"stop early {seed}").shuffle(cases)  # noqa: S311 - reproducible, not secret


@dataclass(frozen=True, slots=True)
class EarlyVerdict:
    """What the answers so far say of the full run. `change` is the mean difference of those `used`."""

    outcome: Outcome
    used: int
    total: int
    change: float
    margin: float
    tolerance: float
    level: float


class EarlyStop:
    """Takes graded answers as they come, and says when they are enough."""

    def __init__(self, baseline: Sequence[Row], policy: Policy) -> None:
        self.policy = policy
        self.margin = policy.margin or _margin(baseline, policy)
        self._before: Mapping[Key, bool | None] = {key_of(row): is_right(row) for row in baseline}
        self._order: list[str] = []
        self._differences: dict[str, int] = {}
        self._next = 0
        self._gate: SequentialGate | None = None
        self._lock = threading.Lock()  # answers and the order come from two threads

    def expect(self, cases: Sequence[str]) -> None:
        """The cases of the run, in the order that they were shuffled into."""
        with self._lock:
            self._order = list(cases)
            self._gate = SequentialGate(
                len(self._order), margin=self.margin, tolerance=self.policy.tolerance, level=self.policy.level
            )
            self._advance()

    def add(self, case: str, row: Row) -> None:
        """Take one graded answer; one that cannot be judged or paired ends the looking, since the run is invalid."""
        before, after = self._before.get(key_of(row)), is_right(row)
        if before is not None and after is not None:
            with self._lock:
                self._differences[case] = int(after) - int(before)
                self._advance()

    @property
    def verdict(self) -> EarlyVerdict | None:
        """The verdict, once there is one that saves something."""
        if self._gate is None or self._gate.verdict is Verdict.UNDECIDED:
            return None
        result = self._gate.result()
        if result.used > _LATEST * result.total:
            return None
        return EarlyVerdict(
            outcome=_OUTCOMES[result.verdict],
            used=result.used,
            total=result.total,
            change=result.mean,
            margin=self.margin,
            tolerance=self.policy.tolerance,
            level=self.policy.level,
        )

    def _advance(self) -> None:
        while self._gate is not None and self._next < len(self._order):
            case = self._order[self._next]
            if case not in self._differences or self._gate.verdict is not Verdict.UNDECIDED:
                return
            self._gate.add(self._differences[case])
            self._next += 1


def _margin(baseline: Sequence[Row], policy: Policy) -> float:
    templates = len({(row["benchmark"], row["group_id"]) for row in baseline}) or 1
    return default_margin(templates, len(baseline) / templates, tolerance=policy.tolerance)
