"""Whether a case costs the same in a small run and in a large one, and what the channel adds.

    python -m tests.perf.linear_cost [cases ...]        # 100 1000 4000 10000

A model that answers at once, and beside it a bare parametrised test, whose cost grows too. A run's start and report
cost the same whatever its size, so the cost of a case is that of the cases by which a run is larger than the one
before; each size is run three times, ours and bare in turns, and the median counts. The channel: what it takes to ask
the supervisor for an answer that is there, one at a time, as a worker does.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from statistics import median

from tests.perf.pytest_cost import BARE, OURS, run
from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt
from variantbench.plugins.generation.board import Answer, Board
from variantbench.plugins.generation.channel import listen, new_address
from variantbench.plugins.generation.execution import Executor
from variantbench.plugins.generation.plan import Job
from variantbench.plugins.generation.stream import Stream
from variantbench.plugins.generation.supervisor import accept
from variantbench.plugins.sandbox.choose import SandboxTask

ROUNDS = 3
ASKED = 5_000


def costs(folder: Path, sizes: Sequence[int], workers: Sequence[str]) -> dict[tuple[str, int], float]:
    """CPU seconds of a run of each size, ours and bare, which take turns."""
    model = ["--engine=scripted", f"--model={folder / 'model.json'}", "--batch-size=128", "--fresh", "--no-html-report"]
    ways = {"bare": (BARE, []), "ours": (OURS, model)}
    taken = defaultdict(list)
    for _ in range(ROUNDS):
        for size, (way, (text, options)) in product(sizes, ways.items()):
            (folder / "test_it.py").write_text(text.format(cases=size))
            taken[way, size].append(run(folder, *options, *workers)[1])
    return {each: median(seconds) for each, seconds in taken.items()}


def channel() -> float:
    """Milliseconds by the clock from asking for an answer that is there until it is here."""
    board, (address, key) = Board(), (new_address(), secrets.token_hex(8))
    listener = listen(address, key)
    executor = Executor(SandboxTask(), board.tell)
    threading.Thread(target=accept, args=(listener, board, executor), daemon=True).start()
    prompt = Prompt("i", "f", "prefix" * 1000, "question", Decoding(16))
    jobs = [Job(str(n), "m", prompt) for n in range(ASKED)]
    board.submit(jobs, None)
    board.answer(
        {job.id: Answer(Completion("The answer is 7. " * 30, FinishReason.END, 1, 1, "e"), "k") for job in jobs}
    )
    stream = Stream(address, key)
    started = time.perf_counter()
    for job in jobs:
        stream.answer(job.id)
    taken = time.perf_counter() - started
    board.over = True
    listener.close()
    shutil.rmtree(Path(address).parent, ignore_errors=True)
    return taken / ASKED * 1000


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [100, 1_000, 4_000, 10_000]
    print(f"the channel adds {channel():.3f} ms per case (server and client in one process)\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "model.json").write_text('{"default": "There are 9 - 2 = 7 left. The final answer is 7."}')
        costs(folder, sizes[:1], [])  # compiles what a first run compiles
        for workers in ([], ["-n2"]):
            taken = costs(folder, sizes, workers)
            print(
                f"{' '.join(workers) or 'plain':<7} {'from':>8} {'to':>8}   ms of CPU for a case more: ours      bare"
            )
            for before, size in pairwise(sizes):
                more = [1000 * (taken[way, size] - taken[way, before]) / (size - before) for way in ("ours", "bare")]
                print(f"{'':<7} {before:>8,} {size:>8,} {more[0]:>34.3f} {more[1]:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
