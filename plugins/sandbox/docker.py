"""Boxes that are Docker containers, fed through attach streams; Podman's service speaks the same API.

Covers: no network, no writable path, no capability but those that change a uid, no new privileges, Docker's own filter
of system calls beneath ours, limits of processes, memory and CPU. Does not cover: holes in the kernel; with
``--sandbox-runtime runsc`` gVisor's kernel stands before it.

The only file that knows the PyPI package ``docker``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import struct
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import BackendDownError, BoxError, Greeting, Limits, missing_protection

LABEL = "variantbench.sandbox"
_OWNER = "variantbench.owner"
_TIMEOUT = 20  # seconds for an answer of the daemon's
_STREAM_HEADER = struct.Struct(">BxxxI")
_SPARE_MEMORY = 128 * 2**20  # of a box, beyond what one answer may have
INSTALL_HINT = "pip install 'variantbench[docker]' and start Docker (Debian: apt install docker.io)"


class DockerBackend:
    """Starts containers of one image. `owner` is written on each, so that those of dead processes can be swept."""

    most_boxes = 0

    def __init__(self, image: str, *, runtime: str = "", limits: Limits | None = None) -> None:
        self.image, self.runtime, self.limits = image, runtime, limits or Limits()
        self.has_worked = False
        self.name = f"docker with {runtime}" if runtime else "docker"
        self.owner = f"{_owner(os.getpid())}:{secrets.token_hex(4)}"
        self._alive: set[str] = set()  # nonces of the boxes in use
        self.client = connect()
        weakref.finalize(self, self.client.close)
        with daemon_errors():
            self._image = self.client.inspect_image(image)
        layers = json.dumps(self._image["RootFS"]["Layers"])
        self.digest = f"sha256:{hashlib.sha256(layers.encode()).hexdigest()}"  # an image's id holds the time

    def start(self, nonce: str) -> _Container:
        """A new container with its stream."""
        self._alive.add(nonce)
        try:
            with daemon_errors():
                created = self.client.create_container(**self.options(nonce))
                return _Container(self.client, created["Id"], lambda: self._alive.discard(nonce))
        except BaseException:
            self._alive.discard(nonce)
            raise

    def options(self, nonce: str) -> dict[str, Any]:
        """What `create_container` is given: every restriction in one place."""
        memory = self.limits.memory_bytes + _SPARE_MEMORY
        is_gvisor = "runsc" in self.runtime
        host = self.client.create_host_config(
            network_mode="none",
            read_only=True,
            ipc_mode="private" if is_gvisor else "none",
            cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID", "KILL"],
            security_opt=["no-new-privileges"],
            pids_limit=256 if is_gvisor else 16,  # gVisor's own threads count
            mem_limit=2**30 if is_gvisor else memory,
            memswap_limit=2**30 if is_gvisor else memory,
            nano_cpus=10**9,
            ulimits=[_ulimit("nofile", 64), _ulimit("core", 0), _ulimit("nproc", 64)],
            log_config={"type": "none", "config": {}},
            **({"runtime": self.runtime} if self.runtime else {}),
        )
        return {
            "image": self.image,
            "command": [nonce, "own-uid"],
            "stdin_open": True,  # and closed when the first stream to it ends: then the runner ends
            "network_disabled": False,  # said by network_mode; both at once is refused by some versions
            "hostname": "box",
            "labels": {LABEL: nonce, _OWNER: self.owner},
            "host_config": host,
        }

    def sweep(self) -> None:
        """Remove our containers and those whose process on this machine is dead."""
        with contextlib.suppress(OSError, SandboxError), daemon_errors():
            for container in self.client.containers(all=True, filters={"label": LABEL}):
                labels = container["Labels"]
                owner = labels.get(_OWNER, "")
                if (owner == self.owner and labels[LABEL] not in self._alive) or _is_dead(owner):
                    with contextlib.suppress(OSError), daemon_errors():
                        self.client.remove_container(container["Id"], force=True)

    def details(self) -> dict[str, Any]:
        """Image by name, id and layers, the runtime and the daemon's version."""
        details: dict[str, Any] = {
            "image": self.image,
            "image_id": self._image["Id"],
            "layers": self._image["RootFS"]["Layers"],
            "runtime": self.runtime or "default",
        }
        with contextlib.suppress(OSError, SandboxError), daemon_errors():
            details["engine"] = self.client.version()["Version"]
        return details

    def accepts(self, greeting: Greeting) -> str:
        """Whether the runner has our filter and no privilege to gain."""
        return missing_protection(greeting, is_gvisor="runsc" in self.runtime)


def connect(timeout: float = _TIMEOUT) -> Any:
    """The daemon's low-level client; SandboxError if the package is missing, BackendDownError if nobody answers."""
    try:
        from docker.utils import kwargs_from_env

        import docker
    except ImportError:
        raise SandboxError(f"the docker package is not installed: {INSTALL_HINT}") from None
    _reach(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    with daemon_errors():
        client = docker.APIClient(version="auto", timeout=timeout, **kwargs_from_env())
        client.ping()
        return client


def _reach(url: str) -> None:
    """BackendDownError if nobody listens at a Unix socket; docker-py would say so in a riddle, and leak its own."""
    if not url.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(_TIMEOUT)
        try:
            link.connect(url.removeprefix("unix://"))
        except OSError as error:
            raise BackendDownError(f"Docker does not answer at {url}: {short_cause(error)}") from None


@contextlib.contextmanager
def daemon_errors() -> Iterator[None]:
    """Turn the two families of errors that docker-py raises into ours."""
    import docker.errors
    import requests

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise SandboxError(f"no image for the sandbox: {error.explanation}: run `variantbench sandbox build`") from None
    except docker.errors.APIError as error:
        if error.response is not None and error.response.status_code == 400:  # what we asked for is not to be had
            raise SandboxError(f"Docker refuses the box: {error.explanation}") from None
        raise BoxError(f"Docker: {error.explanation}") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise BackendDownError(f"Docker does not answer: {short_cause(error)}") from None


_CAUSES = {
    FileNotFoundError: "there is no socket: the daemon is not running",
    ConnectionRefusedError: "the connection is refused: the daemon is not running",
    PermissionError: "no permission for its socket: join the group docker",
    TimeoutError: "it takes too long",
}


def short_cause(error: BaseException) -> str:
    """The cause of a failed connection, which docker-py has at the end of a chain of texts."""
    text = f"{type(error).__name__} {error}"
    return next((cause for kind, cause in _CAUSES.items() if kind.__name__ in text), str(error)[:200])


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


class _Container:
    """A running container and the stream to its runner."""

    def __init__(self, client: Any, identity: str, on_close: Callable[[], None]) -> None:
        self.client, self.id, self._on_close = client, identity, on_close
        self._raw, self._errors = bytearray(), bytearray()
        self._response: Any = None
        self._socket: socket.socket | None = None
        try:
            stream = client.attach_socket(identity, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._response = stream
            self._socket = getattr(stream, "_sock", stream)
            assert self._socket is not None  # noqa: S101 - for the type checker
            self._socket.setblocking(False)
            client.start(identity)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The stream's descriptor."""
        return self._stream().fileno()

    def send(self, data: memoryview) -> int:
        """How many bytes the stream took."""
        try:
            return self._stream().send(data[:65_536])
        except BlockingIOError:
            return 0

    def receive(self) -> bytes | None:
        """Bytes of the runner's standard output; its standard error is kept for the cause of its end."""
        try:
            data = self._stream().recv(65_536)
        except BlockingIOError:
            return None
        if not data:
            return b""
        self._raw += data
        return self._standard_output() or None

    def close(self) -> str:
        """Remove the container; says how it ended."""
        self._on_close()
        end = "it was not to be inspected"
        with contextlib.suppress(OSError, SandboxError), daemon_errors():
            state = self.client.inspect_container(self.id)["State"]
            end = f"{state['Status']}, exit code {state['ExitCode']}{', out of memory' if state['OOMKilled'] else ''}"
            if state.get("Paused"):
                self.client.unpause(self.id)
        with contextlib.suppress(OSError, SandboxError), daemon_errors():
            self.client.remove_container(self.id, force=True)
        if self._socket is not None:
            self._socket.close()
        if self._response is not None:
            self._response.close()
        text = bytes(self._errors[-300:]).decode("utf-8", "replace").strip()
        return f"{end} {text}".strip()

    def _stream(self) -> socket.socket:
        if self._socket is None:
            raise OSError("the stream is closed")
        return self._socket

    def _standard_output(self) -> bytes:
        """What is whole of standard output in the multiplexed stream."""
        out = bytearray()
        while len(self._raw) >= _STREAM_HEADER.size:
            kind, size = _STREAM_HEADER.unpack_from(self._raw)
            end = _STREAM_HEADER.size + size
            if len(self._raw) < end:
                break
            (out if kind == 1 else self._errors).extend(self._raw[_STREAM_HEADER.size : end])
            del self._raw[:end]
        return bytes(out)


# Whose container is it? A process id alone would be used again after a while.


def _owner(pid: int) -> str:
    return f"{_boot_id()}:{pid}:{_start_time(pid)}"


def _is_dead(owner: str) -> bool:
    """Whether the owner was a process of this machine, since its last start, and is no more."""
    boot, pid, started, *_ = (*owner.split(":"), "", "", "")
    return boot == _boot_id() and pid.isdigit() and _start_time(int(pid)) != started


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
