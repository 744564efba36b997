"""What the supervisor's threads share: jobs come in, answers and events go out, and who waits is woken."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from variantbench.plugins.datatypes import Completion
from variantbench.plugins.generation.channel import Message
from variantbench.plugins.generation.plan import Job
from variantbench.plugins.preflight import Program


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
