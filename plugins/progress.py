"""What a run says while it generates: how much there is to do, how fast it goes, how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable

from variantbench.plugins.generation.channel import Message

# Seconds between two progress lines.
PAUSE = 20.0
# So many answers make a first estimate; before that, most of the time went into reading the prefix.
ENOUGH = 16


class Progress:
    """Turns the supervisor's events into lines, given to `say`."""

    def __init__(self, say: Callable[[str], None], *, models: int) -> None:
        self.say, self.models = say, models
        self.total = self.reused = self.generated = 0
        self.started = self.last = 0.0

    def hear(self, message: Message) -> None:
        """Take one event."""
        match message["event"]:
            case "submitted":
                self.total = len(message["ids"])
                models = f" by {self.models} models" if self.models > 1 else ""
                self.say(f"{self.total:,} cases, {self.total:,} generations{models}")
            case "answered" if message["reused"]:
                self.reused += len(message["ids"])
                self.say(f"{self.reused:,} of them are in the store already, {self.total - self.reused:,} to generate")
            case "answered":
                self._count(len(message["ids"]))
            case "loading":
                self.say(f"loading {message['model']}")
            case "loaded":
                self.started = self.last = time.monotonic()
            case "restarted":
                self.say(f"{message['cause']}; it is started again with what it has not answered")
            case "stopped":
                self.say(f"stopped: {message['cause']}")

    def so_far(self) -> str:
        """How many of the answers are in the store."""
        return f"{self.reused + self.generated:,} of {self.total:,} answers are stored"

    def _count(self, answers: int) -> None:
        before = self.generated
        self.generated += answers
        left = self.total - self.reused - self.generated
        now = time.monotonic()
        first = before < ENOUGH <= self.generated
        if left and (first or now - self.last >= PAUSE):
            self.last = now
            rate = self.generated / max(now - self.started, 1e-9)
            self.say(f"{self.generated:,} generated, {rate:.1f} a second, {left:,} left: about {duration(left / rate)}")


def duration(seconds: float) -> str:
    """A duration as people say it: ``40 s``, ``6 min``, ``2 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
