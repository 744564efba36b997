"""Whether a case costs the same in a small run and in a large one, and what the channel adds.

    python -m tests.perf.linear_cost [cases ...]        # 100 1000 10000 27000

A model that answers at once. A run's start and report cost the same whatever its size, so the cost of a case is that of
the cases by which a run is larger than the one before; each size is run three times, the median counts. The channel:
what it takes to ask the supervisor for an answer that is there, one at a time, as a worker does.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from tests.perf.pytest_cost import OURS, run
from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt
from variantbench.plugins.generation.channel import listen, new_address
from variantbench.plugins.generation.execution import Executor
from variantbench.plugins.generation.plan import Job
from variantbench.plugins.generation.stream import Stream
from variantbench.plugins.generation.supervisor import Answer, Board, _accept
from variantbench.plugins.sandbox.choose import SandboxTask

ROUNDS = 3
ASKED = 5_000


def cost(folder: Path, cases: int, *options: str) -> float:
    """CPU seconds of a run of so many cases."""
    (folder / "test_it.py").write_text(OURS.format(cases=cases))
    model = ["--engine=scripted", f"--model={folder / 'model.json'}", "--batch-size=128", "--fresh"]
    return median(run(folder, *model, "--no-html-report", *options)[1] for _ in range(ROUNDS))


def channel() -> float:
    """Milliseconds by the clock from asking for an answer that is there until it is here."""
    board, (address, key) = Board(), (new_address(), secrets.token_hex(8))
    listener = listen(address, key)
    executor = Executor(SandboxTask(), board.tell)
    threading.Thread(target=_accept, args=(listener, board, executor), daemon=True).start()
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
    shutil.rmtree(Path(address).parent, ignore_errors=True)
    return taken / ASKED * 1000


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [100, 1_000, 10_000, 27_000]
    print(f"the channel adds {channel():.3f} ms per case (server and client in one process)\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "model.json").write_text('{"default": "There are 9 - 2 = 7 left. The final answer is 7."}')
        for options in ([], ["-n2"]):
            print(f"{' '.join(options) or 'plain':<8} {'cases':>8} {'CPU s':>8} {'ms for each case more':>24}")
            cost(folder, 10, *options)  # compiles what a first run compiles
            before = None
            for size in sizes:
                taken = cost(folder, size, *options)
                more = "" if before is None else f"{1000 * (taken - before[1]) / (size - before[0]):24.3f}"
                print(f"{'':<8} {size:>8,} {taken:>8.2f} {more}", flush=True)
                before = size, taken


if __name__ == "__main__":
    main()
