"""Who of several replicas generates what: batches that wait, shares of a cluster's nodes. Knows nothing of Ray."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from variantbench.plugins.datatypes import Completion
from variantbench.plugins.generation.plan import WINDOW, Batch

# A batch whose replica died so often is set aside: it is the batch that kills.
DEATHS = 3


class Backlog:
    """The batches that wait for a replica, and the jobs whose answer is still owed."""

    def __init__(self, batches: Iterable[Batch], *, replicas: int) -> None:
        self.waiting = deque(batches)
        self.replicas = replicas
        self.owed = {job.id for batch in self.waiting for job in batch.jobs}
        self.deaths: Counter[str] = Counter()  # by batch

    def take(self) -> list[Batch]:
        """The next batches for one replica; none if nothing waits.

        Several while many wait, so that a row that ends makes room for the next batch's. A batch that saw a death goes
        alone, so that only the one that kills is charged with the next.
        """
        most = min(WINDOW, len(self.waiting) // (2 * self.replicas))
        taken = [self.waiting.popleft()] if self.waiting else []
        while 0 < len(taken) < most and not self._is_suspect(taken[0]) and not self._is_suspect(self.waiting[0]):
            taken.append(self.waiting.popleft())
        return taken

    def keep(self, completions: Mapping[str, Completion]) -> dict[str, Completion]:
        """Those that were still owed: an answer counts once, whoever gives it."""
        new = {job: completion for job, completion in completions.items() if job in self.owed}
        self.owed -= new.keys()
        return new

    def give_back(self, batches: Iterable[Batch]) -> list[Batch]:
        """Queue anew, in front, what a replica that died left unanswered; returns what is set aside instead."""
        left = [Batch(batch.id, tuple(job for job in batch.jobs if job.id in self.owed)) for batch in batches]
        left = [batch for batch in left if batch.jobs]
        self.deaths.update(batch.id for batch in left)
        aside = [batch for batch in left if self.deaths[batch.id] >= DEATHS]
        self.waiting.extendleft(batch for batch in reversed(left) if self.deaths[batch.id] < DEATHS)
        self.owed -= {job.id for batch in aside for job in batch.jobs}
        return aside

    def _is_suspect(self, batch: Batch) -> bool:
        return self.deaths[batch.id] > 0


def places_for(nodes: Sequence[float], each: int) -> int:
    """How many replicas that take `each` devices fit, if none is spread over two nodes."""
    return sum(int(devices) // each for devices in nodes)


def largest_share(nodes: Sequence[float], replicas: int) -> int:
    """The most devices that each of so many replicas can have; 0 if they do not fit at all."""
    most = int(max(nodes, default=0))
    return next((each for each in range(most, 0, -1) if places_for(nodes, each) >= replicas), 0)
