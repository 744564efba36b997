"""The supervisor's side of the engine process: starts it, feeds it, hears when it dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Completion
from variantbench.plugins.errors import EngineError, VariantbenchError
from variantbench.plugins.generation.plan import Batch, to_wire
from variantbench.plugins.models.engines import EngineSettings

# For a CPU engine: threads that wait must sleep, since other processes use the cores too (spinning ones made an answer
# five times dearer on a busy machine), and memory of big temporaries is kept instead of given back at every step.
CPU_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 33),
    "MALLOC_TOP_PAD_": str(1 << 28),
}


class EngineDiedError(VariantbenchError):
    """The engine process ended before it had answered: it may be started again."""


class EngineClient:
    """One engine process. `log` takes what it and its libraries print; `say` what its engine has to tell the user."""

    def __init__(self, settings: EngineSettings, *, log: Path, say: Callable[[str], None]) -> None:
        self.log, self.say = log, say
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "variantbench.plugins.generation.engine_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                env={**(CPU_ENVIRONMENT if settings.device == "cpu" else {}), **os.environ},
            )
        self._send(settings.as_dict())

    def loaded(self) -> dict[str, Any]:
        """What the engine says of the model once it is loaded; EngineError if it does not load."""
        description: dict[str, Any] = self._next()["loaded"]
        return description

    def generate(self, batches: Sequence[Batch]) -> Iterator[dict[str, Completion]]:
        """Completions by job id, as they come, until every job has its own."""
        jobs = [job for batch in batches for job in batch.jobs]
        self._send({"batches": [[batch.id, len(batch.jobs)] for batch in batches], "jobs": to_wire(jobs)})
        owed = {job.id for job in jobs}
        while owed:
            answers = {job: Completion.from_dict(values) for job, values in self._next()["completions"].items()}
            owed -= answers.keys()
            yield answers

    def close(self) -> None:
        """End the process now; nobody waits for more of it."""
        self.process.kill()
        self.process.wait()

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None  # noqa: S101 - opened with PIPE
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise EngineDiedError(self._last_words()) from None

    def _next(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101 - opened with PIPE
        message: dict[str, Any] = {"said": []}
        while "said" in message:
            for said in message["said"]:
                self.say(said)
            line = self.process.stdout.readline()
            if not line:
                raise EngineDiedError(self._last_words())
            message = json.loads(line)
        if "failed" in message:
            raise EngineError(message["failed"])
        return message

    def _last_words(self) -> str:
        code = self.process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        try:
            text = self.log.read_text("utf-8", "replace")
        except FileNotFoundError:  # the run is over, and its folder gone
            text = ""
        lines = [line for line in text.splitlines() if line.strip()]
        return f"the engine process died ({how}): {lines[-1].strip() if lines else 'it left no message'}"
