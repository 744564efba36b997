"""Boxes that share a queue of answers: one thread a box, several answers on their way to each.

A box may die at any time, by an answer's doing or not: its answers are asked again. Whoever was first in line is the
suspect; after its second box it is asked alone, after its fourth it is given up as SANDBOX_FAILED, never graded wrong.
While the backend as a whole is down nobody is suspected, and boxes are started again for a while.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import Backend, BackendDownError, Box, Greeting, Limits
from variantbench.plugins.sandbox.wire import HELLO, TICK, Frames, Result, WireError, pack_job, read_execution

_WINDOW = 12  # answers on their way to a box
_SUSPECT, _GIVEN_UP = 2, 4  # deaths at the head of the line
_SILENCE_SECONDS = 15.0  # a runner gives a sign of life each second
_START_SECONDS = 30.0
_DOWN_SECONDS = 90.0  # so long is a backend that does not answer tried again
_LONGEST_PAUSE = 2.0


@dataclass(slots=True, eq=False)
class _Task:
    number: int
    source: bytes
    profile: str
    future: Future[Execution]
    deaths: int = 0


@dataclass(slots=True)
class Counts:
    """What a pool went through."""

    executed: int = 0
    boxes_started: int = 0
    boxes_died: int = 0
    asked_again: int = 0
    given_up: int = 0
    causes: list[str] = field(default_factory=list)


class Pool:
    """Executes programs in boxes of one backend. Safe to use from many threads."""

    def __init__(self, backend: Backend, *, boxes: int = 0, limits: Limits | None = None) -> None:
        self.backend, self.limits = backend, limits or Limits()
        self.counts = Counts()
        self.greeting = Greeting("", "", "")
        self._tasks: deque[_Task] = deque()
        self._lock = threading.Condition()
        self._closed = False
        self._down = ""  # why no more boxes can be had, if so
        self._number = 0
        backend.sweep()
        boxes = boxes or os.cpu_count() or 1
        self._workers = [_Worker(self) for _ in range(min(boxes, backend.most_boxes or boxes))]
        self._at_work = len(self._workers)
        for worker in self._workers:
            worker.start()

    def submit(self, source: str, *, profile: str = "python") -> Future[Execution]:
        """The program's ending, some time."""
        future: Future[Execution] = Future()
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._number += 1
            was_empty = not self._tasks
            self._tasks.append(_Task(self._number, source.encode("utf-8", "surrogatepass"), profile, future))
            if self._down:
                self._give_up(self._down)
            self._lock.notify()
        if was_empty:  # else whoever has room has been woken before, and takes more with its next result
            for worker in self._workers:
                worker.wake()
        return future

    def execute(self, source: str, *, profile: str = "python") -> Execution:
        """The program's ending, as soon as it is known."""
        return self.submit(source, profile=profile).result()

    def try_out(self) -> None:
        """SandboxError unless a program runs."""
        got = self.execute("def solution():\n    return 6 * 7\n")
        if got.value != "42":
            raise SandboxError(f"the {self.backend.name} sandbox does not work here: {got.message or got.ending.value}")

    def details(self) -> dict[str, Any]:
        """Backend, image, Python version and limits, for the run's manifest."""
        return {
            "backend": self.backend.name,
            "digest": self.backend.digest,
            "python": self.greeting.python,
            "limits": self.limits.as_dict(),
            "boxes": len(self._workers),
            **self.backend.details(),
        }

    def close(self) -> None:
        """End every box. Answers that are still on their way are given up."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        for worker in self._workers:
            worker.wake()
        for worker in self._workers:
            worker.join()
            worker.forget_pipe()
        with self._lock:
            self._give_up("the sandbox was closed")
        self.backend.sweep()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # For the workers.

    @property
    def patience(self) -> float:
        """Seconds for which a box that cannot be started is tried again: none before there ever was one."""
        return _DOWN_SECONDS if self.backend.has_worked else 0.0

    def take(self, most: int, *, wait: bool, idle: bool) -> list[_Task]:
        """Up to `most` answers to run; a suspect comes alone and only to a box that is idle."""
        with self._lock:
            if wait:
                self._lock.wait_for(lambda: self._tasks or self._closed)
            taken: list[_Task] = []
            while self._tasks and len(taken) < most and not self._closed:
                if self._tasks[0].deaths >= _SUSPECT:
                    if taken or not idle:
                        break
                    return [self._tasks.popleft()]
                taken.append(self._tasks.popleft())
            return taken

    @property
    def closed(self) -> bool:
        """Whether no more answers are run."""
        return self._closed

    def done(self, task: _Task, execution: Execution) -> None:
        """Give an answer's ending to who asked for it."""
        with self._lock:
            self.counts.executed += 1
        task.future.set_result(execution)

    def died(self, outstanding: list[_Task], cause: str, *, suspect: bool) -> None:
        """Ask a dead box's answers again, in their order, before all others."""
        with self._lock:
            self.counts.boxes_died += 1
            self.counts.causes.append(cause)
            if outstanding and suspect:
                outstanding[0].deaths += 1
            again = [task for task in outstanding if task.deaths < _GIVEN_UP]
            for task in outstanding:
                if task.deaths >= _GIVEN_UP:
                    self.counts.given_up += 1
                    task.future.set_result(_failed(f"its box died {task.deaths} times, the last time: {cause}"))
            self.counts.asked_again += len(again)
            self._tasks.extendleft(reversed(again))
            self._lock.notify_all()

    def leave(self, cause: str) -> None:
        """A worker has no box and gets none; with the last one the answers that wait are given up."""
        with self._lock:
            self._at_work -= 1
            if not self._at_work:
                self.lost(cause)

    def lost(self, cause: str) -> None:
        """Nothing is executed any more."""
        with self._lock:
            self._down = cause
            self._give_up(cause)

    def _give_up(self, cause: str) -> None:
        while self._tasks:
            self.counts.given_up += 1
            self._tasks.popleft().future.set_result(_failed(cause))


def _failed(cause: str) -> Execution:
    return Execution(ExecutionClass.SANDBOX_FAILED, message=cause)


class _Worker(threading.Thread):
    """Feeds one box after the other."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(daemon=True)
        self.pool = pool
        self._wake_end, self._wake_start = os.pipe()
        os.set_blocking(self._wake_start, False)
        os.set_blocking(self._wake_end, False)

    def wake(self) -> None:
        """Look for new answers, also while waiting for the box."""
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._wake_start, b"w")

    def run(self) -> None:
        """Until the pool is closed: take answers, start a box for them, feed it as long as it lives."""
        waiting: list[_Task] = []
        try:
            while not self.pool.closed:
                waiting = waiting or self.pool.take(_WINDOW, wait=True, idle=True)
                if waiting:
                    session = self._session(waiting)
                    waiting = []
                    if session is None:
                        return
                    session.run()
        except BaseException as error:
            self.pool.lost(f"internal error in the sandbox: {error!r}")  # else somebody would wait for ever
            raise

    def forget_pipe(self) -> None:
        """Once nobody wakes the worker any more: a number that is free again may soon be another file's."""
        os.close(self._wake_end)
        os.close(self._wake_start)

    def _session(self, waiting: list[_Task]) -> _Session | None:
        """A box that greets, with the first answers for it; None, the answers put back, if none is to be had."""
        started, pause, cause = time.monotonic(), 0.1, ""
        while not self.pool.closed and (not cause or time.monotonic() < started + self.pool.patience):
            nonce = secrets.token_hex(8)
            try:
                box = self.pool.backend.start(nonce)
            except OSError as error:
                cause = str(error)
            except SandboxError as error:  # it will not be better later
                cause = str(error)
                break
            else:
                session = _Session(self.pool, box, self._wake_end, waiting)
                cause = session.greet(nonce)
                if not cause:
                    self.pool.counts.boxes_started += 1
                    return session
                if not session.is_protected:
                    break
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        self.pool.died(waiting, cause or "closed", suspect=False)
        if not self.pool.closed:
            self.pool.leave(f"no box could be started: {cause}")
        return None


class _Session:
    """One box from its greeting to its end, and the answers it owes."""

    def __init__(self, pool: Pool, box: Box, wake: int, waiting: list[_Task]) -> None:
        self.pool, self.box, self.wake = pool, box, wake
        self.frames = Frames()
        self.outstanding: deque[_Task] = deque()
        self.unsent = bytearray()
        self.heard = time.monotonic()
        self.is_protected = True
        self._add(waiting)

    def greet(self, nonce: str) -> str:
        """Wait for the runner's greeting; returns what is wrong with the box, which is ended then."""
        wrong = "the runner did not greet"
        poll = select.poll()
        poll.register(self.box.fileno(), select.POLLIN)
        try:
            while time.monotonic() < self.heard + _START_SECONDS and not self.pool.closed:
                poll.poll(200)
                data = self.box.receive()
                if data == b"":
                    break
                for frame in self.frames.feed(data or b""):
                    greeting = Greeting(**json.loads(frame.report)) if frame.magic == HELLO else Greeting("", "", "")
                    wrong = "another runner greeted" if greeting.nonce != nonce else self.pool.backend.accepts(greeting)
                    self.is_protected = not wrong
                    if not wrong:
                        self.pool.greeting, self.heard = greeting, time.monotonic()
                        self.pool.backend.has_worked = True
                        return ""
                    return f"{wrong}; {self.box.close()}"
        except (OSError, WireError, ValueError, TypeError) as error:
            wrong = str(error)
        return f"{wrong}; {self.box.close()}"

    def run(self) -> None:
        """Feed the box until the pool is closed or the box is dead."""
        try:
            self._feed()
        except (OSError, WireError) as error:
            end = self.box.close()
            down = isinstance(error, BackendDownError)
            self.pool.died(list(self.outstanding), f"{error}; {end}", suspect=not down)
        else:
            self.box.close()
            if self.outstanding:
                self.pool.died(list(self.outstanding), "closed", suspect=False)

    def _add(self, tasks: list[_Task]) -> None:
        for task in tasks:
            self.unsent += pack_job(task.number, task.source, profile=task.profile, limits=self.pool.limits)
            self.outstanding.append(task)

    def _feed(self) -> None:
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        while not self.pool.closed:
            self._take()
            poll.register(self.box.fileno(), select.POLLIN | (select.POLLOUT if self.unsent else 0))
            events = dict(poll.poll(1000))
            if self.wake in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake, 4096)
            if self.unsent and events.get(self.box.fileno(), 0) & select.POLLOUT:
                with memoryview(self.unsent) as view:
                    sent = self.box.send(view)
                del self.unsent[:sent]
            if events.get(self.box.fileno(), 0) & ~select.POLLOUT:
                self._receive()
            if self.outstanding and time.monotonic() > self.heard + _SILENCE_SECONDS:
                raise OSError(f"no sign of life for {_SILENCE_SECONDS:.0f} s")

    def _take(self) -> None:
        """More answers, but none beside a suspect."""
        if self.outstanding and self.outstanding[0].deaths >= _SUSPECT:
            return
        room = _WINDOW - len(self.outstanding)
        if room > _WINDOW // 2 and len(self.unsent) < 65_536:
            if not self.outstanding:
                self.heard = time.monotonic()
            self._add(self.pool.take(room, wait=False, idle=not self.outstanding))

    def _receive(self) -> None:
        data = self.box.receive()
        if data is None:
            return
        if not data:
            raise OSError("the box ended")
        self.heard = time.monotonic()
        for result in self.frames.feed(data):
            if result.magic != TICK:
                self._finish(result)

    def _finish(self, result: Result) -> None:
        """A runner works in order: the result must be that of the oldest answer it owes."""
        if not self.outstanding or result.number != self.outstanding[0].number:
            raise WireError(f"a result for answer {result.number}, which this box does not owe")
        task, backend = self.outstanding.popleft(), self.pool.backend
        execution = read_execution(
            result, limits=self.pool.limits, backend=backend.name, image=backend.digest, profile=task.profile
        )
        self.pool.done(task, execution)
