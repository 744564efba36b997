"""How the processes of a run talk: JSON over a Unix socket, one reply for each request. Nothing is pickled."""

from __future__ import annotations

import json
import os
import tempfile
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

Message = dict[str, Any]

_LONGEST_FOLDER = 90  # a Unix socket's path has room for little more than 100 characters


def new_address() -> str:
    """A fresh socket address in a folder that only this user can enter."""
    folder = tempfile.mkdtemp(prefix="variantbench-")
    if len(folder) > _LONGEST_FOLDER:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="variantbench-", dir="/tmp")
    return str(Path(folder) / "stream")


def listen(address: str, key: str) -> Listener:
    """A listener at `address`; who connects must know `key`."""
    return Listener(address, family="AF_UNIX", backlog=64, authkey=key.encode())


def connect(address: str, key: str) -> Connection:
    """A connection to the listener at `address`."""
    return Client(address, family="AF_UNIX", authkey=key.encode())


def send(connection: Connection, message: Message) -> None:
    """Send one message."""
    connection.send_bytes(json.dumps(message).encode("utf-8", "surrogatepass"))


def receive(connection: Connection) -> Message:
    """The next message; EOFError when the other side is gone."""
    message: Message = json.loads(connection.recv_bytes().decode("utf-8", "surrogatepass"))
    return message
