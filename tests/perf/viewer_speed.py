"""How long the pages of `variantbench view` take on a large store: two runs of the same models and questions.

    python tests/perf/viewer_speed.py [--models 10] [--store FILE_OR_URL] [--most MS]

Each model gives 25,500 answers, so 10 make two runs of 255,000. A store that holds two runs already is taken as it is.
Times are of whole pages over HTTP, the median of seven; with ``--most`` the exit status is 1 if one takes longer.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import select, update

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.simulate import simulate, synthetic_rows
from variantbench.plugins.store import Store, open_store, schema

TIMES = 7


def fill(store: Store, models: int) -> tuple[str, str]:
    """The ids of two runs, written if they are not there."""
    while len(store.runs()) < 2:
        simulate(store, synthetic_rows(models, seed=len(store.runs())), gsm=load_items(), seed=len(store.runs()))
        _cut_off_some(store)
    second, first = (run["id"] for run in store.runs()[:2])
    return first, second


def _cut_off_some(store: Store) -> None:
    """Simulated answers all end by themselves; here one in sixteen did not."""
    some = schema.completions.c.key.startswith("a")
    with store.engine.begin() as connection:
        connection.execute(update(schema.completions).where(some).values(finish_reason="length"))


def pages(store: Store, first: str, second: str) -> Iterator[tuple[str, str]]:
    """What is looked at, and the path of its page."""
    deep = _case_at(store, first, 0.9)
    model = store.find_run(first)["manifest"]["models"][-1]["name"]
    answers: dict[str, dict[str, str]] = {
        "first page": {},
        "a page deep in": {"after": deep},
        "the page before that": {"before": deep},
        "wrong answers": {"outcome": "incorrect"},
        "wrong answers, deep in": {"outcome": "incorrect", "after": deep},
        "not judged (none)": {"outcome": "error"},
        "cut off": {"outcome": "cut_off"},
        "grades differ": {"outcome": "grades_differ"},
        "one model": {"model": model},
        "one format": {"format": "gsm"},
        "one template": {"template": "0042"},
        "one model, format, template, wrong": {
            "model": model, "format": "gsm", "template": "0042", "outcome": "incorrect",
        },
    }  # fmt: skip
    yield "runs", ""
    for what, filters in answers.items():
        yield what, "answers?" + urlencode({"run": first, **filters})
    yield "one answer", "answer?" + urlencode({"run": first, "case": deep})
    yield "one answer among the wrong", "answer?" + urlencode({"run": first, "case": deep, "outcome": "incorrect"})
    both = {"first": first, "second": second, "first_model": model, "second_model": model}
    middle = _case_at(store, first, 0.95)
    for what, asked in {
        "lost": {},
        "won": {"flip": "won"},
        "all": {"flip": "any"},
        "lost, one format": {"format": "gsm"},
        "lost, deep in": {"after": middle},
        "all, deep in": {"flip": "any", "after": middle},
    }.items():
        yield f"compare: {what}", "compare?" + urlencode({**both, **asked})


def _case_at(store: Store, run: str, share: float) -> str:
    cases = select(schema.records.c.case_id).where(schema.records.c.run_id == run)
    count = store.find_run(run)["records"]
    with store.engine.connect() as connection:
        query = cases.order_by(schema.records.c.case_id).offset(int(share * count)).limit(1)
        return str(connection.execute(query).scalar_one())


@contextmanager
def served(store: str) -> Iterator[str]:
    """The address of a viewer of that store."""
    command = [sys.executable, "-m", "variantbench.plugins.cli", "view", "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().split()[0]
        serving.terminate()


def milliseconds(address: str) -> list[float]:
    times = []
    for _ in range(TIMES):
        started = time.perf_counter()
        with urllib.request.urlopen(address, timeout=60) as answer:
            answer.read()
        times.append(1000 * (time.perf_counter() - started))
    return times


def measure(url: str, models: int) -> float:
    """Print what each page takes, and return the slowest median."""
    with open_store(url) as store:
        first, second = fill(store, models)
        print(f"{store.engine.dialect.name}, two runs of {store.find_run(first)['records']:,} answers")
        asked = list(pages(store, first, second))
    slowest = 0.0
    with served(url) as address:
        for what, path in asked:
            times = milliseconds(address + path)
            slowest = max(slowest, statistics.median(times))
            print(f"{what:<40}{statistics.median(times):6.0f} ms   first time {times[0]:6.0f} ms", flush=True)
    print(f"slowest {slowest:.0f} ms")
    return slowest


def main() -> None:
    parse = argparse.ArgumentParser()
    parse.add_argument("--models", type=int, default=10)
    parse.add_argument("--store", metavar="FILE_OR_URL")
    parse.add_argument("--most", type=float, metavar="MS", default=float("inf"))
    asked = parse.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        slowest = measure(asked.store or str(Path(folder) / "runs.db"), asked.models)
    sys.exit(slowest > asked.most)


if __name__ == "__main__":
    main()
