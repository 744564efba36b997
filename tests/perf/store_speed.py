"""What the store costs: 27,000 completions as a run writes them, and listing runs beside 2 million records.

python tests/perf/store_speed.py [postgresql+psycopg://…]     (SQLite in a temporary folder if none is given)
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import text

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt, text_hash
from variantbench.plugins.store import Store, open_store

COMPLETIONS, BATCH = 27_000, 32
RUNS, ANSWERS = 80, 25_500

SHOTS = "Q: a question of some length\nA: an answer of some length\n\n" * 40
ANSWER = "There are 12 apples in 3 baskets, so 12 / 3 = 4 apples a basket. The final answer is 4. " * 4


def batches() -> Iterator[list[tuple[str, Prompt, Completion]]]:
    for start in range(0, COMPLETIONS, BATCH):
        yield [
            (
                text_hash(f"key {n}"),
                Prompt(f"item {n}", "gsm", SHOTS, f"Q: how many are {n}?\nA:", Decoding(512)),
                Completion(ANSWER, FinishReason.STOP, 1800, 90, "transformers 5.24", "batch", 1.0),
            )
            for n in range(start, min(start + BATCH, COMPLETIONS))
        ]


def write_completions(store: Store) -> float:
    store.add_texts([SHOTS])
    store.add_model("identity", "some-model", {})
    started = time.perf_counter()
    for batch in batches():
        store.add_completions(batch, model_identity="identity", settings={"engine": "transformers"})
    return time.perf_counter() - started


def read_completions(store: Store) -> float:
    keys = [text_hash(f"key {n}") for n in range(COMPLETIONS)]
    started = time.perf_counter()
    assert len(store.completions(keys)) == COMPLETIONS
    return time.perf_counter() - started


def fill(store: Store) -> int:
    """Rows straight into the tables: what is measured is reading them."""
    with store.engine.begin() as connection:
        connection.execute(
            text("INSERT INTO items VALUES (:h, 'i', 'gsm', '0001', 0, NULL, 'q', '1', '{}', '[]', 'builtin')"),
            [{"h": f"item {n}"} for n in range(ANSWERS)],
        )
        grades = "'correct', 'ok', '1', 'm', ''"
        insert = text(
            "INSERT INTO records SELECT :run, 'case ' || hash, '2', 'm', 'gsm', 0, hash, NULL, "
            f"{grades}, {grades}, NULL FROM items"
        )
        for number in range(RUNS):
            connection.execute(
                text("INSERT INTO runs VALUES (:id, '2026-01-01', '2026-01-02', 'complete', :manifest)"),
                {"id": f"run-{number:03}", "manifest": '{"models": []}'},
            )
            connection.execute(insert, {"run": f"run-{number:03}"})
            connection.execute(
                text("INSERT INTO run_totals VALUES (:id, :n)"), {"id": f"run-{number:03}", "n": ANSWERS}
            )
    return RUNS * ANSWERS


def list_runs(url: str) -> float:
    started = time.perf_counter()
    with open_store(url) as store:
        assert len(store.runs()) == RUNS
        store.find_run("run-04" + "2")
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "runs.db")
        with open_store(url) as store:
            print(f"store {store.engine.dialect.name}")
            print(f"write {COMPLETIONS:,} completions, {BATCH} at a time  {write_completions(store):6.2f} s")
            print(f"read them by key                          {read_completions(store):6.2f} s")
            started = time.perf_counter()
            rows = fill(store)
            print(f"({rows:,} records put in in {time.perf_counter() - started:.0f} s)")
        print(f"open it, list {RUNS} runs, find one           {list_runs(url):6.2f} s")


if __name__ == "__main__":
    main()
