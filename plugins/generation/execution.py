"""The run's sandbox, in the supervisor: one for all workers, opened before generation if a case's answer is code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.generation.channel import Message
from variantbench.plugins.preflight import Program, check_programs
from variantbench.plugins.sandbox.choose import NO_SANDBOX, UNPROTECTED, SandboxTask, open_backend
from variantbench.plugins.sandbox.pool import Pool
from variantbench.plugins.sandbox.selftest import self_test


class Executor:
    """Opens the sandbox, executes programs for whoever asks, closes it. `tell` announces what it became."""

    def __init__(self, task: SandboxTask, tell: Callable[[Message], None]) -> None:
        self.task, self.tell = task, tell
        self._pool: Pool | None = None
        self._reason = NO_SANDBOX
        self._ready = threading.Event()

    def open(self, programs: Sequence[Program]) -> None:
        """Open and try the sandbox, and run the preflight's programs; SandboxError or UserError if it may not be used.

        Without any sandbox the run goes on: answers that are code are not executed.
        """
        try:
            backend = open_backend(self.task, say=self._say)
        except (SandboxError, OSError) as error:
            self._reason = str(error) if str(error).startswith("not executed") else f"not executed: {error}"
            self._say(self._reason)
        else:
            if self.task.name != UNPROTECTED:
                self_test(backend)
            self._pool = Pool(backend)
            check_programs(programs, self._pool.execute)
            self.tell({"event": "sandbox", "details": self._pool.details()})
        finally:
            self._ready.set()

    def execute(self, source: str, *, profile: str = "python") -> Execution:
        """How a program ended, as soon as the sandbox is there."""
        self._ready.wait()
        if self._pool is None:
            return Execution(ExecutionClass.NOT_EXECUTED, output=self._reason)
        return self._pool.execute(source, profile=profile)

    def close(self) -> None:
        """End every box."""
        if self._pool is not None:
            self._pool.close()

    def _say(self, line: str) -> None:
        self.tell({"event": "said", "line": line})
