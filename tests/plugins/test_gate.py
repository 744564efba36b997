"""The exit status: measurements are not failures, infrastructure is never a measurement."""

from __future__ import annotations

import pytest

from variantbench.plugins.gate import ExitStatus, Tally, exit_status

OK, FAILED, INTERRUPTED, EMPTY = 0, 1, 2, 5


@pytest.mark.parametrize(
    ("pytest_status", "tally", "fail_on", "stopped_early", "expected"),
    [
        (OK, Tally(), "invalid", False, OK),
        (FAILED, Tally(wrong_answers=9), "invalid", False, OK),
        (FAILED, Tally(wrong_answers=9), "wrong", False, FAILED),
        (OK, Tally(), "wrong", False, OK),
        (FAILED, Tally(wrong_answers=9, infrastructure=1), "invalid", False, ExitStatus.INVALID),
        (FAILED, Tally(infrastructure=1), "wrong", False, ExitStatus.INVALID),
        (FAILED, Tally(others=1), "invalid", False, FAILED),
        (FAILED, Tally(wrong_answers=1), "invalid", True, FAILED),
        (INTERRUPTED, Tally(wrong_answers=1), "invalid", True, INTERRUPTED),
        (INTERRUPTED, Tally(infrastructure=1), "invalid", True, INTERRUPTED),
        (EMPTY, Tally(), "invalid", False, EMPTY),
    ],
)
def test_exit_status(pytest_status, tally, fail_on, stopped_early, expected):
    assert exit_status(pytest_status, tally, fail_on=fail_on, interrupted=stopped_early) == expected
