"""What the parts of the sandbox have in common: backends, boxes, limits."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from variantbench.plugins.errors import SandboxError

# The files of a box; in the wheel beside the plugins, as in the checkout.
RUNNER_FOLDER = Path(__file__).parents[2] / "docker" / "sandbox"
RUNNER_FILES = ("boot.py", "runner.py", "seccomp.py")
SERVER_FILE = "serve.py"  # offers boxes to a suite in another container


@dataclass(frozen=True, slots=True)
class Limits:
    """What one answer may use. The wall clock catches sleepers only: an answer that computes gets more of it."""

    cpu_seconds: int = 2
    wall_seconds: float = 8.0
    memory_bytes: int = 256 * 2**20

    def as_dict(self) -> dict[str, float]:
        """The limits as plain values, for the run's manifest."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a runner says of itself when it starts."""

    nonce: str
    python: str
    status: str  # of privileges, as the kernel has it


class Box(Protocol):
    """One running box, as two streams of bytes."""

    def fileno(self) -> int:
        """The descriptor to poll before `receive`."""

    def send(self, data: memoryview) -> int:
        """How many bytes were taken; 0 if none can be taken now. Never blocks; OSError when the box is gone."""

    def receive(self) -> bytes | None:
        """Bytes from the runner; None if there are none yet, empty at the end. OSError when the box is gone."""

    def close(self) -> str:
        """End the box and everything in it; says what its end looked like."""


class SocketStream:
    """The two streams of a box whose runner is at the other end of a socket."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        link.setblocking(False)

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self.link.fileno()

    def send(self, data: memoryview) -> int:
        """How many bytes the socket took."""
        try:
            return self.link.send(data[:65_536])
        except BlockingIOError:
            return 0

    def receive(self) -> bytes | None:
        """Bytes of the runner's standard output."""
        try:
            return self.link.recv(65_536)
        except BlockingIOError:
            return None


class Backend(Protocol):
    """Where boxes come from."""

    name: str
    digest: str  # of what a box is made of; the same for the same bytes
    most_boxes: int  # 0: as many as are wanted
    has_worked: bool  # set as soon as a runner has greeted: what fails later is worth trying again

    def start(self, nonce: str) -> Box:
        """A new box; OSError (or a BackendDownError) if it cannot be started now."""

    def sweep(self) -> None:
        """Remove boxes that nobody uses any more. Never raises."""

    def details(self) -> Mapping[str, Any]:
        """What identifies this backend in a record."""

    def accepts(self, greeting: Greeting) -> str:
        """Empty if the runner is protected as it should be, else what is missing."""


class BoxError(SandboxError, OSError):
    """A box cannot be started or reached; another may."""


class BackendDownError(BoxError):
    """The backend as a whole does not answer; not the fault of any box or answer."""


def runner_digest(start: str, folder: Path = RUNNER_FOLDER) -> str:
    """The digest of a runner's files over what they stand on."""
    digest = hashlib.sha256(start.encode())
    for name in RUNNER_FILES:
        digest.update((folder / name).read_bytes())
    return f"sha256:{digest.hexdigest()}"


def missing_protection(greeting: Greeting, *, is_gvisor: bool = False) -> str:
    """What the kernel's status lacks of what boot.py must have set; empty if nothing."""
    wanted = ("Seccomp:2",) if is_gvisor else ("NoNewPrivs:1", "Seccomp:2")
    missing = [each for each in wanted if each not in greeting.status.split()]
    return f"the box lacks {' and '.join(missing)} (it has {greeting.status or 'no status'})" if missing else ""
