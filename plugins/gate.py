"""The exit status of a run; this file alone decides it.

Wrong answers are measurements, not build failures: a complete and valid run ends with 0 however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import pytest


class ExitStatus(IntEnum):
    """Our own exit codes, beside pytest's 0 to 5."""

    INVALID = 10  # infrastructure errors: the run does not say what the model can do


@dataclass(slots=True)
class Tally:
    """What failed in a run, by whose fault."""

    wrong_answers: int = 0  # the model's: wrong or no answer
    infrastructure: int = 0  # ours: engine, sandbox or store
    others: int = 0  # tests that are no questions


def exit_status(pytest_status: int, tally: Tally, *, fail_on: str, stopped_early: bool) -> int:
    """The status to exit with, given pytest's own. A run that ``-x`` or Ctrl-C stopped keeps pytest's."""
    if pytest_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return pytest_status
    if tally.infrastructure:
        return ExitStatus.INVALID
    if tally.others or stopped_early or (fail_on == "wrong" and tally.wrong_answers):
        return pytest_status
    return pytest.ExitCode.OK
