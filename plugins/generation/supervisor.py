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
from dataclasses import asdict, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Completion, FinishReason
from variantbench.plugins.errors import GO_ON, EngineError, SandboxError, StoreError, UserError
from variantbench.plugins.generation.board import Answer, Board
from variantbench.plugins.generation.channel import Message, listen, receive, send
from variantbench.plugins.generation.engine_client import EngineClient, EngineDiedError
from variantbench.plugins.generation.execution import Executor
from variantbench.plugins.generation.key import completion_key
from variantbench.plugins.generation.model_task import ModelTask
from variantbench.plugins.generation.plan import Batch, Job, from_wire, plan_batches
from variantbench.plugins.models.engines import EngineSettings
from variantbench.plugins.preflight import Program
from variantbench.plugins.sandbox.choose import SandboxTask
from variantbench.plugins.store import Store, open_store

# An engine that dies is started again with what it has not answered, so many times.
RESTARTS = 2


def main() -> None:
    """Serve one run, described by the first line of standard input."""
    order = json.loads(sys.stdin.readline())
    board = Board()
    listener = listen(order["address"], order["key"])
    executor = Executor(SandboxTask(**order["sandbox"]), board.tell)
    threading.Thread(target=accept, args=(listener, board, executor), daemon=True).start()
    models = [ModelTask(**{**each, "settings": EngineSettings(**each["settings"])}) for each in order["models"]]
    generation = Generation(board, executor, order["store"], log=Path(order["log"]), fresh=order["fresh"])
    threading.Thread(target=generation.run, args=(models,), daemon=True).start()
    sys.stdin.read()  # until the run is over
    generation.end()
    executor.close()
    board.over = True
    listener.close()
    shutil.rmtree(Path(order["address"]).parent, ignore_errors=True)


def accept(listener: Any, board: Board, executor: Executor) -> None:
    """Serve whoever connects, each in a thread, until the run is over."""
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
