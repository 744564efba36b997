"""Serves the viewer on this machine until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from variantbench.plugins.errors import UserError

HOST = "127.0.0.1"


def serve(store: str, *, port: int = 0, say: Callable[[str], None]) -> None:
    """Serve that store's answers, and say where; UserError where the port is taken or the extra is absent."""
    from variantbench.plugins.store import open_store

    try:
        import uvicorn

        from variantbench.plugins.viewer.app import application
    except ModuleNotFoundError as error:
        raise UserError(f"view needs {error.name}, which is not installed: pip install 'variantbench[view]'") from None
    opened = open_store(store, create=False)
    listener = listen(port)
    token = secrets.token_urlsafe(16)
    say(f"http://{HOST}:{listener.getsockname()[1]}/{token}/  (this machine only; Ctrl-C ends it)")
    config = uvicorn.Config(application(opened, token), log_level="warning", server_header=False)
    with listener, opened:
        uvicorn.Server(config).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """A socket on this machine alone; UserError where the port cannot be had."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # before the address is told: whoever opens it at once is kept waiting, not refused
    except OSError as error:
        listener.close()
        raise UserError(f"--port {port} cannot be had ({error.strerror}): give another, or none") from None
    return listener
