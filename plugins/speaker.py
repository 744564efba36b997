"""Lines for the person at the terminal, also from a thread and while pytest captures what tests print."""

from __future__ import annotations

import contextlib
import os
import sys


class Speaker:
    """Writes whole lines to the real standard output. `mid_line` says that pytest has left a line unfinished."""

    def __init__(self, *, silent: bool) -> None:
        self.mid_line = False
        self._out = None if silent else os.fdopen(os.dup(sys.__stdout__.fileno() if sys.__stdout__ else 1), "w")

    def say(self, line: str) -> None:
        """Write one line."""
        if self._out is None:
            return
        start = "\n" if self.mid_line else ""
        self.mid_line = False
        with contextlib.suppress(OSError):  # nobody reads any more: `pytest ... | head`
            self._out.write(f"{start}variantbench: {line}\n")
            self._out.flush()
