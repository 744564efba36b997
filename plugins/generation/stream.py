"""The stream of completions: started once per run, asked by every process that runs cases.

The controller (or the only process) starts the supervisor. Every process that has collected hands over its jobs, and
every case asks for its own answer.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from variantbench.plugins.datatypes import Completion, Execution, ExecutionClass
from variantbench.plugins.errors import GO_ON, EngineError, EnoughError
from variantbench.plugins.generation.channel import Message, connect, new_address, receive, send
from variantbench.plugins.generation.model_task import ModelTask
from variantbench.plugins.generation.plan import Job, to_wire
from variantbench.plugins.preflight import Program
from variantbench.plugins.sandbox.choose import SandboxTask

GONE = f"the supervisor process is gone: {GO_ON}"


class Stream:
    """A connection to the run's supervisor. Not for use by several threads at once.

    `ahead` is how many answers to fetch with one that is asked for, where the next will be asked for here.
    """

    def __init__(self, address: str, key: str, *, ahead: int = 0) -> None:
        self.address, self.key, self.ahead = address, key, ahead
        self._fetched: dict[str, Message] = {}
        self._connection: Connection | None = None

    def submit(self, jobs: Callable[[], Sequence[Job]], programs: Callable[[], Sequence[Program] | None]) -> None:
        """Hand over the selected cases, unless another process already did; the arguments are called only if needed.

        `programs`: what the sandbox must get right before the run; None if no answer is code.
        """
        if not self._ask({"ask": "submitted"})["submitted"]:
            found = programs()
            wire = None if found is None else [asdict(program) for program in found]
            self._ask({"ask": "submit", "jobs": to_wire(jobs()), "programs": wire})

    def answer(self, job_id: str) -> tuple[Completion, str]:
        """The job's completion and its key in the store, as soon as it exists; EngineError if none will come."""
        if job_id not in self._fetched:
            self._fetch(job_id)
        reply = self._fetched.pop(job_id)
        return Completion.from_dict(reply["completion"]), reply["key"]

    def _fetch(self, job_id: str) -> None:
        reply = self._ask({"ask": "answer", "id": job_id, "ahead": self.ahead})
        if "enough" in reply:
            raise EnoughError("not needed: the verdict was reached before")
        if "stopped" in reply:
            raise EngineError(reply["stopped"])
        self._fetched = reply["answers"]  # what was fetched ahead and not asked for was skipped

    def execute(self, source: str, *, profile: str = "python") -> Execution:
        """How a program ended in the run's sandbox."""
        values = self._ask({"ask": "execute", "source": source, "profile": profile})["execution"]
        return Execution(**{**values, "ending": ExecutionClass(values["ending"])})

    def enough(self) -> None:
        """No more answers are needed."""
        self._ask({"ask": "enough"})

    def events(self) -> Iterator[Message]:
        """Everything that happens in the run, from its start, until the supervisor ends."""
        seen = 0
        while True:
            try:
                new = self._ask({"ask": "events", "seen": seen})["events"]
            except EngineError:
                return
            seen += len(new)
            yield from new

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, request: Message) -> Message:
        try:
            if self._connection is None:
                self._connection = connect(self.address, self.key)
            send(self._connection, request)
            return receive(self._connection)
        except (EOFError, OSError):
            raise EngineError(GONE) from None


class SupervisorProcess:
    """The supervisor of one run, ended with it. It is in a session of its own: Ctrl-C reaches it through us."""

    def __init__(self, models: Sequence[ModelTask], *, store: str, fresh: str, sandbox: SandboxTask) -> None:
        self.address, self.key = new_address(), secrets.token_hex(16)
        self.folder = Path(self.address).parent
        order = {
            "address": self.address,
            "key": self.key,
            "store": store,
            "fresh": fresh,
            "sandbox": asdict(sandbox),
            "log": str(self.folder / "engine.log"),
            "models": [asdict(model) for model in models],
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "variantbench.plugins.generation.supervisor"],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdin is not None  # noqa: S101 - opened with PIPE
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        self._wait_until_it_listens()

    def stream(self, *, ahead: int = 0) -> Stream:
        """A new connection to it."""
        return Stream(self.address, self.key, ahead=ahead)

    def close(self) -> None:
        """End it: it ends the engine. Everything finished is in the store."""
        assert self.process.stdin is not None  # noqa: S101 - opened with PIPE
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_it_listens(self) -> None:
        pause = threading.Event()
        while not Path(self.address).exists():
            if self.process.poll() is not None:
                raise EngineError(f"the supervisor process ended at once (exit code {self.process.returncode})")
            pause.wait(0.01)
