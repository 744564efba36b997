"""Boxes for a suite in another container: a Unix socket in a folder that both share, one box at a time.

The suite needs no Docker socket then. A connection sends a nonce, gets the digest of what a box is made of, and becomes
standard input and output of a fresh runner; when it ends, everything in this container but this process is killed. The
container itself is what Docker's options make it: docker/suite/compose.yaml has no network and no writable path for it.

Argument: the folder. Its owner is root, its group the suite's; answers are neither, so they cannot reach the socket.
"""

import contextlib
import hashlib
import os
import signal
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_NONCE = 64


def main():
    """Serve one connection after the other until told to end."""
    if os.getpid() != 1:
        sys.exit("serve.py kills whatever runs beside it: only as the first process of a container")
    path = os.path.join(sys.argv[1], f"{socket.gethostname()}.sock")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)  # noqa: S103 - the folder decides who gets here
    listener.listen(4)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                serve(connection)
    finally:
        os.unlink(path)


def serve(connection):
    """Be a box for one connection."""
    connection.settimeout(10)  # until it has said what it wants
    nonce = connection.makefile("rb").readline(MOST_NONCE + 1).strip().decode("ascii", "replace")
    if not nonce.isalnum():
        return
    connection.sendall(digest().encode() + b"\n")
    connection.setblocking(True)
    child = os.fork()
    if child == 0:
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        boot = os.path.join(HERE, "boot.py")
        os.execv(sys.executable, [sys.executable, "-s", "-S", "-P", "-B", boot, nonce, "own-uid"])  # noqa: S606 - no shell
    os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # as the container's first process: everything else in it
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def digest():
    """The sha256 over the runner's files and the interpreter's version."""
    found = hashlib.sha256(sys.version.encode())
    for name in ("boot.py", "runner.py", "seccomp.py"):
        with open(os.path.join(HERE, name), "rb") as file:
            found.update(file.read())
    return f"sha256:{found.hexdigest()}"


if __name__ == "__main__":
    main()
