"""SIGTERM and SIGHUP end a run as Ctrl-C does: the books are closed, and one line says how to go on.

Slurm, Kubernetes, `docker stop` and a terminal that closes send them; without a handler they end a process at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def interrupt_on_termination() -> Callable[[], None]:
    """From now on these signals raise KeyboardInterrupt, once each; returns what undoes it.

    One that somebody else has taken stays as it is: nohup ignores SIGHUP.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _interrupt)

    def undo() -> None:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)

    return undo


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    signal.signal(number, signal.SIG_DFL)  # who cannot wait until the books are closed sends it again
    raise KeyboardInterrupt
