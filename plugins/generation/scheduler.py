"""Our scheduler for pytest-xdist: a case goes to a worker only when its answer exists.

So no worker blocks, durations stay honest, and grading overlaps with generation.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

# A worker runs a test only when it knows the next one, so it must hold two; a few more hide the way there and back.
_MOST_PENDING = 8


class ReadyScheduling(LoadScheduling):  # type: ignore[misc] # xdist ships no types
    """LoadScheduling, but tests with a job are sent only once `announce` has named them.

    `announce` and `submitted` are called by the thread that listens to the supervisor, the rest by xdist.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self.lock = threading.RLock()
        self.collection: list[str] | None = None
        self.places: dict[str, int] = {}  # of each test in the collection
        self.ready: deque[int] = deque()  # answered (or in need of no answer), and not sent yet
        self.with_job: frozenset[str] | None = None  # None until the supervisor has the jobs
        self.answered: set[str] = set()
        self.abandoned = False  # no more answers come
        self.suspects: set[int] = set()  # tests that a worker died in: each is tried once more, by another
        self.pending: dict[int, None] = {}  # what no worker has yet, in order; a dict, since tests leave it one by one

    def submitted(self, ids: Iterable[str]) -> None:
        """These tests wait for an answer; all others can run at once."""
        with self.lock:
            self.with_job = frozenset(ids)
            self._start()

    def announce(self, ids: Iterable[str]) -> None:
        """These tests have their answer."""
        with self.lock:
            new = [test for test in ids if test not in self.answered]
            self.answered.update(new)
            if self.collection is not None:
                self.ready.extend(self.places[test] for test in new if test in self.places)
                self._send_ready()

    def abandon(self) -> None:
        """No more answers come: give up what has none and let the workers finish."""
        with self.lock:
            self.abandoned = True
            self.pending = dict.fromkeys(self.ready)
            self._send_ready()

    def schedule(self) -> None:
        """Begin to send tests. Called again when a worker was replaced."""
        with self.lock:
            if self.collection is None:
                if not self._check_nodes_have_same_collection():
                    return
                self.collection = next(iter(self.node2collection.values()))
                self.places = {test: place for place, test in enumerate(self.collection)}
                self.pending = dict.fromkeys(range(len(self.collection)))
                self._start()
                if self.abandoned:
                    self.abandon()
            else:
                self._send_ready()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """A worker has run a test."""
        with self.lock:
            super().mark_test_complete(node, item_index, duration)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Send more to the workers that run low."""
        del node, duration  # xdist's own heuristics
        with self.lock:
            self._send_ready()

    def mark_test_pending(self, item: str) -> None:
        """Put a test back at the front of the queue."""
        with self.lock:
            place = self.places[item]
            self.pending[place] = None
            self.ready.appendleft(place)
            self._send_ready()

    def remove_node(self, node: Any) -> str | None:
        """Forget a worker that ended; what it had not run goes back to the queue.

        The test it died in goes to another, since it may have died for want of memory; returns it the second time.
        """
        with self.lock:
            unfinished = self.node2pending.pop(node)
            if not unfinished or self.collection is None:
                return None
            guilty = self.abandoned or unfinished[0] in self.suspects  # abandoned: it ended itself
            self.suspects.add(unfinished[0])
            left = unfinished[1:] if guilty else unfinished
            self.pending.update(dict.fromkeys(left))
            self.ready.extendleft(reversed(left))
            self._send_ready()
            return self.collection[unfinished[0]] if guilty else None

    def _start(self) -> None:
        """Once both the tests and the jobs are known: everything answered, or without a job, is ready."""
        if self.collection is None or self.with_job is None:
            return
        ready = (
            place for place, test in enumerate(self.collection) if test not in self.with_job or test in self.answered
        )
        self.ready = deque(ready)
        self._send_ready()

    def _send_ready(self) -> None:
        """Fill the workers evenly with what is ready; when nothing is left to come, let them finish."""
        nodes = [node for node in self.nodes if not node.shutting_down and node in self.node2collection]
        while self.ready and nodes:
            nodes.sort(key=lambda node: len(self.node2pending[node]))
            room = _MOST_PENDING - len(self.node2pending[nodes[0]])
            if room <= 0:
                break
            share = max(1, min(room, len(self.ready) // len(nodes)))
            self._send_places(nodes[0], [self.ready.popleft() for _ in range(share)])
        started = self.collection is not None and (self.with_job is not None or self.abandoned)
        if started and not self.pending:
            for node in nodes:
                node.shutdown()

    def _send_places(self, node: Any, places: Sequence[int]) -> None:
        for place in places:
            del self.pending[place]
        self.node2pending[node].extend(places)
        # a worker that has just died cannot be told; xdist will say so, and `remove_node` takes its tests back
        with contextlib.suppress(OSError):
            node.send_runtest_some(list(places))
