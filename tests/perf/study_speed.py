"""Time and memory of a whole study: 20 models x 5 formats x 5,100 answers, written, loaded and analysed.

    python tests/perf/study_speed.py [FOLDER]

The store in FOLDER (a temporary one otherwise) takes 0.7 GB and is used again if it is there.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.report.analysis.failures import failures, templates
from variantbench.plugins.report.analysis.study import study
from variantbench.plugins.simulate import simulate, synthetic_rows
from variantbench.plugins.store import open_store
from variantbench.plugins.store.frame import frame


@contextmanager
def timed(what: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{what:<28} {wall:6.1f} s wall {cpu:6.1f} s cpu {peak:5.2f} GB peak")


def measure(folder: Path) -> None:
    store = open_store(str(folder / "study.db"))
    if not store.runs():
        with timed("write 510,000 answers"):
            simulate(store, synthetic_rows(), gsm=load_items())
    with timed("load"):
        answers = frame(store)
    assert len(answers) == 510_000
    with timed("study"):
        study(answers)
    with timed("failures and templates"):
        failures(answers)
        templates(answers)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            measure(Path(temporary))
