"""A busy machine changes no grade: CPU time decides, and the wall clock gives an answer that computes more time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.plugins.sandbox.programs import body
from variantbench.plugins.sandbox.base import Limits
from variantbench.plugins.sandbox.bubblewrap import BubblewrapBackend
from variantbench.plugins.sandbox.pool import Pool

LIMITS = Limits(cpu_seconds=1, wall_seconds=1.0)
BURNS = body("import time", "while time.process_time() < 0.5: pass", "return 5")  # half of what it may
PROGRAMS = {
    BURNS: "ok",
    body("return 6 * 7"): "ok",
    body("import decimal", "return float(decimal.Decimal(2).sqrt())"): "ok",
    body("while True: pass"): "timeout",
    body("import time", "time.sleep(60)"): "timeout",
    body("return len(bytes(10 ** 10))"): "memory",
}


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """That many endless loops on one core, which everything started here shares with them."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # each in a session of its own: some kernels give every session the same share, and a box has its own
    burner = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burner, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        os.sched_setaffinity(0, before)


def endings(backend: BubblewrapBackend, programs: list[str]) -> list[str]:
    with Pool(backend, boxes=1, limits=LIMITS) as pool:
        return [pool.execute(program).ending.value for program in programs]


@pytest.mark.parametrize("processes", [1, 8])
def test_the_same_endings_at_any_load(open_or_skip, processes):
    backend = open_or_skip("bubblewrap")
    with load(processes):
        assert endings(backend, list(PROGRAMS)) == list(PROGRAMS.values())


def test_a_wall_clock_alone_would_change_grades(open_or_skip, mutant):
    impatient = mutant("runner.py", ("PATIENCE = 20", "PATIENCE = 0"))
    backend = BubblewrapBackend(open_or_skip("bubblewrap").root, runner=impatient)
    with load(8):
        assert "timeout" in endings(backend, [BURNS] * 5)  # how long each waits is the scheduler's affair
