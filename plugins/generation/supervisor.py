"""The process between the cases and the model: ``python -m variantbench.plugins.generation.supervisor``.

It holds the queue and the store's hand, and imports no torch: under it an engine process generates, and is started
again with the unanswered prompts if it dies. A completion is stored, then announced. When its standard input ends, the
run is over: it ends the engine and itself. What is in the store by then stays.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Completion, FinishReason
from variantbench.plugins.errors import EngineError, SandboxError, StoreError, UserError
from variantbench.plugins.generation.channel import Message, listen, receive, send
from variantbench.plugins.generation.engine_client import EngineClient, EngineDiedError
from variantbench.plugins.generation.execution import Executor
from variantbench.plugins.generation.key import completion_key
from variantbench.plugins.generation.plan import Batch, Job, from_wire, plan_batches
from variantbench.plugins.models.engines import EngineSettings
from variantbench.plugins.preflight import Program
from variantbench.plugins.sandbox.choose import SandboxTask
from variantbench.plugins.store import Store, open_store

GO_ON = "run the same command again, what was stored is not generated twice"
# An engine that dies is started again with what it has not answered, so many times.
RESTARTS = 2


@dataclass(frozen=True, slots=True)
class ModelTask:
    """One model of the run: how to load it, under which identity its answers are kept."""

    name: str
    identity: str
    details: Mapping[str, Any]
    settings: EngineSettings
    key_settings: Mapping[str, Any]


@dataclass(slots=True)
class Answer:
    """A completion and its key in the store; no key where the engine failed."""

    completion: Completion
    key: str = ""


@dataclass
class Board:
    """What the threads share: the jobs, the answers, and everything that happened, in order."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    jobs: list[Job] | None = None
    programs: list[Program] | None = None  # None: no answer is code
    places: dict[str, int] = field(default_factory=dict)  # of each job among them
    answers: dict[str, Answer] = field(default_factory=dict)
    events: list[Message] = field(default_factory=list)
    stopped: str = ""
    enough: bool = False  # what has no answer now needs none
    over: bool = False  # nobody listens any more

    def submit(self, jobs: list[Job], programs: list[Program] | None) -> None:
        """Take the selected cases; only the first submission counts, since every worker selects the same."""
        with self.changed:
            if self.jobs is None:
                self.jobs, self.places = jobs, {job.id: place for place, job in enumerate(jobs)}
                self.programs = programs
                self._tell({"event": "submitted", "ids": [job.id for job in jobs]})

    def wait_for_jobs(self) -> list[Job]:
        """The submitted jobs, as soon as they are there."""
        with self.changed:
            self.changed.wait_for(lambda: self.jobs is not None)
            return self.jobs or []

    def answer(self, answers: Mapping[str, Answer], *, how: str = "generated") -> None:
        """Announce answers; `how` is ``generated``, ``reused`` or ``failed``."""
        if not answers:
            return
        with self.changed:
            self.answers.update(answers)
            self._tell({"event": "answered", "ids": list(answers), "how": how})

    def tell(self, message: Message) -> None:
        """Announce anything else."""
        with self.changed:
            self._tell(message)

    def stop(self, cause: str) -> None:
        """Announce that no more answers come."""
        with self.changed:
            self.stopped = cause
            self._tell({"event": "stopped", "cause": cause})

    def need_no_more(self) -> None:
        """Let go of everyone who waits."""
        with self.changed:
            self.enough = True
            self.changed.notify_all()

    def wait_for_answer(self, job_id: str, *, ahead: int = 0) -> Message:
        """The answer of one job, as soon as it is there, or why none will come.

        With it come those of the next `ahead` jobs that have theirs, since they will be asked for next.
        """
        with self.changed:
            unknown = self.jobs is not None and job_id not in self.places
            self.changed.wait_for(lambda: unknown or job_id in self.answers or self.stopped or self.enough)
            if job_id not in self.answers and self.enough:
                return {"enough": True}
            if job_id not in self.answers:
                return {"stopped": self.stopped or f"{job_id} was not among the cases that were handed over"}
            place = self.places[job_id]
            near = [job.id for job in (self.jobs or [])[place : place + 1 + ahead]]
            return {"answers": {job: self._wire(job) for job in near if job in self.answers}}

    def _wire(self, job_id: str) -> Message:
        answer = self.answers[job_id]
        return {"completion": answer.completion.as_dict(), "key": answer.key}

    def wait_for_events(self, seen: int) -> list[Message]:
        """Everything that happened after the first `seen` events, as soon as there is something."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) > seen)
            return self.events[seen:]

    def _tell(self, message: Message) -> None:
        self.events.append(message)
        self.changed.notify_all()


def main() -> None:
    """Serve one run, described by the first line of standard input."""
    order = json.loads(sys.stdin.readline())
    board = Board()
    listener = listen(order["address"], order["key"])
    executor = Executor(SandboxTask(**order["sandbox"]), board.tell)
    threading.Thread(target=_accept, args=(listener, board, executor), daemon=True).start()
    models = [ModelTask(**{**each, "settings": EngineSettings(**each["settings"])}) for each in order["models"]]
    generation = Generation(board, executor, order["store"], log=Path(order["log"]), fresh=order["fresh"])
    threading.Thread(target=generation.run, args=(models,), daemon=True).start()
    sys.stdin.read()  # until the run is over
    generation.end()
    executor.close()
    board.over = True
    listener.close()
    shutil.rmtree(Path(order["address"]).parent, ignore_errors=True)


def _accept(listener: Any, board: Board, executor: Executor) -> None:
    while not board.over:
        try:
            connection = listener.accept()
        except (OSError, EOFError, AuthenticationError):  # who died while shaking hands must not keep others out
            continue
        threading.Thread(target=_serve, args=(connection, board, executor), daemon=True).start()


def _serve(connection: Connection, board: Board, executor: Executor) -> None:
    """Answer one client's requests until it goes away."""
    try:
        while True:
            send(connection, _reply(receive(connection), board, executor))
    except (EOFError, OSError):
        return
    finally:
        connection.close()


def _reply(request: Message, board: Board, executor: Executor) -> Message:
    match request["ask"]:
        case "submitted":
            return {"submitted": board.jobs is not None}
        case "submit":
            programs = request["programs"]
            board.submit(from_wire(request["jobs"]), None if programs is None else [Program(**one) for one in programs])
            return {}
        case "enough":
            board.need_no_more()
            return {}
        case "answer":
            return board.wait_for_answer(request["id"], ahead=request["ahead"])
        case "execute":
            return {"execution": asdict(executor.execute(request["source"], profile=request["profile"]))}
        case "events":
            return {"events": board.wait_for_events(request["seen"])}
        case unknown:
            raise ValueError(f"unknown request {unknown!r}")


class Generation:
    """The thread that turns jobs into answers, model by model.

    `fresh`, if not empty, is a name of its own under which this run's completions are kept: nothing stored is reused.
    """

    def __init__(self, board: Board, executor: Executor, store: str, *, log: Path, fresh: str) -> None:
        self.board, self.executor, self.store_url, self.log, self.fresh = board, executor, store, log, fresh
        self.engine: EngineClient | None = None
        self.ended = False

    def run(self, models: Sequence[ModelTask]) -> None:
        """Answer everything that was submitted."""
        try:
            store = open_store(self.store_url)
            jobs = self.board.wait_for_jobs()
            if self.board.programs is not None:
                self.executor.open(self.board.programs)
            store.add_texts(job.prompt.prefix for job in jobs)
            for model in models:
                self._run_model(model, [job for job in jobs if job.model == model.name], store)
        except (StoreError, EngineError, SandboxError, UserError) as error:
            self.board.stop(str(error))
        except BaseException as error:
            if self.ended:  # whatever the end of the engine brought about
                return
            self.board.stop(f"internal error in the supervisor: {error!r}")  # else every case would wait for ever
            raise

    def end(self) -> None:
        """End the engine; called when the run is over."""
        self.ended = True
        if self.engine is not None:
            self.engine.close()

    def _run_model(self, model: ModelTask, jobs: list[Job], store: Store) -> None:
        if not jobs:
            return
        store.add_model(model.identity, model.name, model.details)
        settings = {**model.key_settings, "fresh": self.fresh} if self.fresh else model.key_settings
        keys = {job.id: completion_key(job.prompt, model_identity=model.identity, settings=settings) for job in jobs}
        twins: dict[str, list[Job]] = {}  # a question asked several times greedily has one answer
        for job in jobs:
            twins.setdefault(keys[job.id], []).append(job)
        self._answer(store.completions(twins), twins, how="reused")
        batches = plan_batches([same[0] for same in twins.values()], size=model.settings.batch_size)
        cause = ""
        for _attempt in range(RESTARTS + 1):
            left = self._unanswered(batches)
            if not left or self.ended or self.board.enough:
                return
            if cause:
                self.board.tell({"event": "restarted", "cause": cause})
                # it may have been killed for its memory, and no answer depends on how many are written at once
                smaller = replace(model.settings, batch_size=max(1, model.settings.batch_size // 2))
                model = replace(model, settings=smaller)
            cause = self._generate(model, left, keys, twins, store)
        if self.ended or self.board.enough:
            return
        cause = f"{cause}; started {RESTARTS + 1} times in vain: once it can live, {GO_ON}"
        failure = Completion(cause, FinishReason.ERROR, 0, 0, "")  # never graded, reported as an error
        left_over = [keys[job.id] for batch in self._unanswered(batches) for job in batch.jobs]
        self._answer(dict.fromkeys(left_over, failure), twins, how="failed")

    def _answer(self, done: Mapping[str, Completion], twins: Mapping[str, Sequence[Job]], *, how: str) -> None:
        """Announce completions, given by key, to every job of their key."""
        self.board.answer(
            {
                job.id: Answer(completion, "" if completion.finish_reason is FinishReason.ERROR else key)
                for key, completion in done.items()
                for job in twins[key]
            },
            how=how,
        )

    def _say(self, line: str) -> None:
        self.board.tell({"event": "said", "line": line})

    def _unanswered(self, batches: Sequence[Batch]) -> list[Batch]:
        """What is left of the plan. A row's answer does not depend on its neighbours, so no batch need be whole."""
        left = [
            Batch(batch.id, tuple(job for job in batch.jobs if job.id not in self.board.answers)) for batch in batches
        ]
        return [batch for batch in left if batch.jobs]

    def _generate(
        self,
        model: ModelTask,
        batches: Sequence[Batch],
        keys: Mapping[str, str],
        twins: Mapping[str, Sequence[Job]],
        store: Store,
    ) -> str:
        """Have one engine process answer the batches; returns why it ended early, or nothing."""
        self.board.tell({"event": "loading", "model": model.name})
        try:
            self.engine = EngineClient(model.settings, log=self.log, say=self._say)
            self.board.tell({"event": "loaded", "model": model.name, "engine": self.engine.loaded()})
            for answered in self.engine.generate(batches):
                done = {keys[job_id]: completion for job_id, completion in answered.items()}
                failed = {key: one for key, one in done.items() if one.finish_reason is FinishReason.ERROR}
                done = {key: completion for key, completion in done.items() if key not in failed}
                store.add_completions(
                    [(key, twins[key][0].prompt, completion) for key, completion in done.items()],
                    model_identity=model.identity,
                    settings=model.key_settings,
                )
                self._answer(done, twins, how="generated")
                self._answer(failed, twins, how="failed")
                if self.board.enough:
                    break
        except EngineDiedError as death:
            return str(death)
        finally:
            if self.engine is not None:
                self.engine.close()
        return ""


if __name__ == "__main__":
    main()
