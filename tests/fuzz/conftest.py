"""How hard to try: few examples and always the same in CI, many and ever new ones with VARIANTBENCH_SLOW=1."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from variantbench.plugins.errors import VariantbenchError

SLOW = os.environ.get("VARIANTBENCH_SLOW") == "1"
EXAMPLES = settings(
    max_examples=1_500 if SLOW else 60,
    derandomize=not SLOW,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
_SECONDS = 20
_LONGEST = 1_500  # characters of a message


@contextmanager
def refused_in_one_line(place: str | Path | None = None) -> Iterator[list[str]]:
    """What is inside may be refused by an error of ours, in one line that names the place; nothing else may happen.

    Yields a list that holds the message if there was one.
    """

    def late(*_: object) -> None:
        raise TimeoutError(f"still at work after {_SECONDS} s")

    said: list[str] = []
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)
    try:
        yield said
    except (VariantbenchError, pytest.UsageError) as error:
        said.append(str(error))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    for message in said:
        assert len(message.splitlines()) == 1, f"not one line: {message!r}"
        assert len(message) < _LONGEST, f"{len(message)} characters: {message[:300]!r}"
        assert place is None or str(place) in message, f"it does not name {place}: {message!r}"
        message.encode()  # it can be printed
