"""The process that holds a model: ``python -m variantbench.plugins.generation.engine_process``.

It reads lines of JSON on standard input (first the settings, then one list of batches) and writes lines of JSON on
standard output. When its input ends it dies at once: nobody waits for its answers any more.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from itertools import islice
from queue import Queue
from typing import IO, Any

from variantbench.plugins.errors import VariantbenchError
from variantbench.plugins.generation.plan import Batch, from_wire
from variantbench.plugins.models.engines import Engine, EngineSettings, find_engine
from variantbench.plugins.telemetry import switch_off


def main() -> None:
    """Load the model that the first line names, then generate what each further line asks for."""
    switch_off()
    out = _take_stdout()
    lines: Queue[str] = Queue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    settings = EngineSettings(**json.loads(lines.get()))
    try:
        engine = find_engine(settings.engine).load(settings)
        _write(out, {"loaded": engine.describe()})
        while True:
            for completions in engine.generate(_batches(json.loads(lines.get()))):
                _tell_news(out, engine)
                _write(out, {"completions": {job: completion.as_dict() for job, completion in completions.items()}})
            _write(out, {"done": True})
    except VariantbenchError as error:
        _write(out, {"failed": str(error)})


def _tell_news(out: IO[str], engine: Engine) -> None:
    """Hand on what an engine of several parts has to tell the user."""
    if (take_news := getattr(engine, "take_news", None)) is not None:
        _write(out, {"said": take_news()})


def _batches(plan: dict[str, Any]) -> list[Batch]:
    """The batches of a plan, whose jobs stand in one list in the order of the batches."""
    jobs = iter(from_wire(plan["jobs"]))
    return [Batch(batch_id, tuple(islice(jobs, size))) for batch_id, size in plan["batches"]]


def _take_stdout() -> IO[str]:
    """Standard output for our messages alone; what libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _read(lines: Queue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _write(out: IO[str], message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
