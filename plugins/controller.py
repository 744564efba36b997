"""The controller's side of a run: starts the supervisor, listens to it, and is the only writer of records."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from variantbench.plugins.baseline import StoredRun
from variantbench.plugins.cases import case_id
from variantbench.plugins.errors import StoreError
from variantbench.plugins.gate import Gate, Tally, judge, rows_of_same_model, with_noise
from variantbench.plugins.generation.channel import Message
from variantbench.plugins.generation.model_task import ModelTask
from variantbench.plugins.generation.stream import GONE, Stream, SupervisorProcess
from variantbench.plugins.manifest import command_line, manifest
from variantbench.plugins.options import RunConfig
from variantbench.plugins.policy import Policy
from variantbench.plugins.progress import Progress
from variantbench.plugins.store import Store

if TYPE_CHECKING:
    from variantbench.plugins.early_stop import EarlyStop

_RECORDS_AT_ONCE = 500


class Scheduler(Protocol):
    """Whoever must know which cases have their answer: our xdist scheduler."""

    def submitted(self, ids: Iterable[str]) -> None:
        """These wait for an answer."""

    def announce(self, ids: Iterable[str]) -> None:
        """These have it."""

    def abandon(self) -> None:
        """No more answers come."""


class Controller:
    """One run, in the process that writes its report."""

    def __init__(
        self,
        run: RunConfig,
        models: Sequence[ModelTask],
        store: Store,
        *,
        policy: Policy,
        baseline: StoredRun | None,
        say: Callable[[str], None],
    ) -> None:
        self.run, self.models = run, models
        self.run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self.store = store
        self.policy = with_noise(policy, store, [*(model.identity for model in models), *_identities(baseline)])
        self.baseline = baseline
        self.early = _early_stop(baseline, self.policy, run.models) if baseline and run.stop_early else None
        self.gate = Gate()
        self.manifest = manifest(run, models, command=command_line())
        self.store.start_run(self.run_id, self.manifest)
        self.supervisor = SupervisorProcess(
            models,
            store=run.store,
            fresh=self.run_id if run.fresh else "",
            sandbox=run.sandbox_task,
        )
        self.progress = Progress(say, models=len(models))
        self.tally = Tally()
        self.stopped = ""  # why no more answers come, if so
        self.scheduler: Scheduler | None = None
        self._records: list[dict[str, Any]] = []
        self._finishing = False
        self._listener = threading.Thread(target=self._listen, daemon=True)

    @property
    def chat_models(self) -> dict[str, bool]:
        """Which models have a chat template."""
        return {model.name: bool(model.details["chat"]) for model in self.models}

    def stream(self, *, ahead: int = 0) -> Stream:
        """A new connection to the supervisor."""
        return self.supervisor.stream(ahead=ahead)

    def start_listening(self) -> None:
        """From now on tell the scheduler, and show progress."""
        self._listener.start()

    def add_record(self, record: dict[str, Any]) -> None:
        """Take the rows of a record; written in small batches."""
        self._records.append(record)
        self.progress.graded(record["record"]["robust_verdict"])
        if self.early is not None and self.early.verdict is None:
            self.early.add(record["record"]["case_id"], {**record["item"], **record["record"]})
            self._stop_if_enough()
        if len(self._records) >= _RECORDS_AT_ONCE:
            self._write_records()

    def finish(self, *, interrupted: bool) -> None:
        """End the supervisor, reach the verdict, and close the books."""
        self._finishing = True
        self.progress.begin("")
        self.supervisor.close()
        if self._listener.is_alive():
            self._listener.join(timeout=10)
        self._write_records()
        status = "interrupted" if interrupted or self.stopped else "complete"
        early = self.early.verdict if self.early else None
        if early is not None and status == "complete":
            status = "stopped early"
        try:
            if status != "interrupted":
                rows = self.store.records(self.run_id) if self.baseline else self.store.outcomes(self.run_id)
                self.gate = judge(list(rows), self.baseline, self.policy, early=early)
                self.manifest["gate"] = self.gate.as_dict()
            self.store.finish_run(self.run_id, status, self.manifest)
        except StoreError as error:
            self.stopped = self.stopped or str(error)

    def _write_records(self) -> None:
        records, self._records = self._records, []
        try:
            self.store.add_records(self.run_id, records)
        except StoreError as error:
            if not self.stopped and not self._finishing:
                self.stream().enough()  # what comes could not be kept
            self._stop(str(error))

    def _listen(self) -> None:
        cause = GONE
        try:
            for message in self.stream().events():
                self._hear(message)
        except Exception as error:
            cause = f"internal error while listening to the supervisor: {error!r}"
        if not self._finishing:
            self._stop(cause)

    def _hear(self, message: Message) -> None:
        self.progress.hear(message)
        match message["event"]:
            case "submitted":
                if self.early is not None:
                    self.early.expect([case_id(node) for node in message["ids"]])
                if self.scheduler is not None:
                    self.scheduler.submitted(message["ids"])
            case "answered" if self.scheduler is not None:
                self.scheduler.announce(message["ids"])
            case "loaded":
                self.manifest.setdefault("engines", {})[message["model"]] = message["engine"]
            case "sandbox":
                self.manifest["sandbox"] = message["details"]
            case "stopped" if not self._finishing:
                self._stop(message["cause"])

    def _stop_if_enough(self) -> None:
        """End the generation once the verdict is reached."""
        verdict = self.early.verdict if self.early else None
        if verdict is None:
            return
        self.stream().enough()
        self.progress.say(f"verdict reached after {verdict.used:,} of {verdict.total:,} answers: {verdict.outcome}")
        if self.scheduler is not None:
            self.scheduler.abandon()

    def _stop(self, cause: str) -> None:
        """No more answers come."""
        self.stopped = self.stopped or cause
        if self.scheduler is not None:
            self.scheduler.abandon()


def _early_stop(baseline: StoredRun, policy: Policy, models: Sequence[str]) -> EarlyStop:
    from variantbench.plugins.early_stop import EarlyStop  # brings scipy, which other runs need not wait for

    return EarlyStop(rows_of_same_model(baseline.rows, models), policy)


def _identities(baseline: StoredRun | None) -> list[str]:
    """The models of the baseline: a new checkpoint's noise is taken to be theirs until it is measured."""
    return list(baseline.identities.values()) if baseline else []
