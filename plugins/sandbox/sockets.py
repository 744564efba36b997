"""Boxes that other containers serve at Unix sockets in a folder (docker/sandbox/serve.py, docker/suite/compose.yaml).

So a suite in a container needs no Docker socket. What holds an answer back is how those containers were started.
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import BoxError, Greeting, SocketStream, missing_protection

_START_SECONDS = 20.0
_LONGEST_DIGEST = 200


class SocketsBackend:
    """One box for each socket in the folder."""

    name = "socket"
    has_worked = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        digests = self._ask_digests()
        if not digests:
            raise SandboxError(f"no sandbox serves at {folder}: start the service (docker/suite/compose.yaml)")
        self._in_use: set[Path] = set()
        self.most_boxes, self.digest = len(digests), digests[0]

    def start(self, nonce: str) -> SocketBox:
        """A box at a socket that nobody uses; BoxError if none is free or answers."""
        cause = "all sockets are in use"
        for path in self._sockets():
            if path in self._in_use:
                continue
            try:
                link, _ = _connect(path, nonce)
            except OSError as error:
                cause = f"{path.name}: {error}"
                continue
            self._in_use.add(path)
            return SocketBox(link, lambda path=path: self._in_use.discard(path))
        raise BoxError(f"no box at {self.folder}: {cause}")

    def sweep(self) -> None:
        """Nothing: a served box ends with its connection."""

    def details(self) -> dict[str, Any]:
        """Where the boxes are."""
        return {"folder": str(self.folder)}

    def accepts(self, greeting: Greeting) -> str:
        """Whether the runner has our filter and no privilege to gain."""
        return missing_protection(greeting)

    def _sockets(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.sock") if path.is_socket())

    def _ask_digests(self) -> list[str]:
        """What each box that answers is made of; a socket that nobody listens at any more is passed over."""
        found = []
        for path in self._sockets():
            with contextlib.suppress(OSError):
                link, digest = _connect(path, "digest")
                link.close()
                found.append(digest)
        return found


def _connect(path: Path, nonce: str) -> tuple[socket.socket, str]:
    """A connection that is a runner's input and output from now on, and the digest of what the box is made of."""
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(_START_SECONDS)
        link.connect(str(path))
        link.sendall(nonce.encode() + b"\n")
        digest = b""
        while not digest.endswith(b"\n") and len(digest) < _LONGEST_DIGEST:
            if not (byte := link.recv(1)):
                raise BoxError("it hung up")
            digest += byte
    except OSError:
        link.close()
        raise
    return link, digest.decode("ascii", "replace").strip()


class SocketBox(SocketStream):
    """A connection to a served box."""

    def __init__(self, link: socket.socket, on_close: Any) -> None:
        super().__init__(link)
        self._on_close = on_close

    def close(self) -> str:
        """Hang up; the runner ends, and with it what it has started."""
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        self.link.close()
        self._on_close()
        return "the connection was closed"
