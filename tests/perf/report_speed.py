"""Time and memory of a report on a whole study: 20 models x 5 formats x 5,100 answers, from the store to the files.

    python tests/perf/report_speed.py [FOLDER]

The store in FOLDER (a temporary one otherwise) takes 0.7 GB and is used again if it is there.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.report.build import build_report
from variantbench.plugins.report.files import as_json, render
from variantbench.plugins.simulate import simulate, synthetic_rows
from variantbench.plugins.store import open_store

MOST_SECONDS, MOST_GB = 60, 2


def measure(folder: Path) -> None:
    store = open_store(str(folder / "study.db"))
    if not store.runs():
        simulate(store, synthetic_rows(), gsm=load_items())
    started, before = time.perf_counter(), time.process_time()
    report = build_report(store)
    built = time.perf_counter()
    page = render(report, "html")
    drawn = time.perf_counter()
    sizes = {"html": len(page.encode()), "json": len(as_json(report)), "markdown": len(render(report, "markdown"))}
    wall, cpu = time.perf_counter() - started, time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"build {built - started:.1f} s, html {drawn - built:.1f} s; all {wall:.1f} s wall, {cpu:.1f} s cpu")
    print(f"{memory:.2f} GB at the most; " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))
    answers = sum(int(run["records"]) for run in report.runs)
    print(f"{answers:,} answers, {len(report.tables())} tables, {len(report.figures())} figures")
    if wall > MOST_SECONDS or memory > MOST_GB:
        sys.exit(f"more than {MOST_SECONDS} s or {MOST_GB} GB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            measure(Path(temporary))
