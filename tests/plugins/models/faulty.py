"""Servers that do wrong once in a while: one that answers by itself, and one in front of a real server."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ["429", "500", "503", "reset", "slow", "dribble", "cut", "empty"]


class FaultyServer(ThreadingHTTPServer):
    """`share` of its requests meet one of `faults`; `asked` are the bodies of all of them."""

    daemon_threads = True

    def __init__(self, handler: type[FaultyHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.faults: list[str] = []
        self.share = 0.0
        self.draw = random.Random(1)
        self.asked: list[dict[str, Any]] = []
        self.met: list[str] = []  # the faults that there were
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def fault(self) -> str:
        with self.lock:
            if not self.faults or self.draw.random() >= self.share:
                return ""
            self.met.append(self.draw.choice(self.faults))
            return self.met[-1]


class FaultyHandler(BaseHTTPRequestHandler):
    """Misbehaves as the server says; what it should answer is for `listed` and `answer`."""

    protocol_version = "HTTP/1.1"
    server: FaultyServer

    def listed(self) -> tuple[int, Any]:
        raise NotImplementedError

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        raise NotImplementedError

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.reply(*self.listed())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append({**body, "key": self.headers["authorization"]})
        fault = self.server.fault()
        if fault == "reset":
            self.hang_up()
            return
        if fault.isdigit():
            self.reply(int(fault), {"error": {"message": "too many at once"}})
            return
        if fault == "slow":
            time.sleep(0.3)
        status, answer = self.answer(body)
        self.reply(status, {**answer, "choices": []} if fault == "empty" else answer, fault=fault)

    def reply(self, status: int, body: Any, *, fault: str = "") -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if fault == "dribble":
            for start in range(0, len(data), 40):
                self.wfile.write(data[start : start + 40])
                time.sleep(0.02)
            return
        self.wfile.write(data[: len(data) // 2] if fault == "cut" else data)
        if fault == "cut":
            self.hang_up()

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def proxy_of(target: str) -> type[FaultyHandler]:
    """A handler that passes everything on to the server at `target`, a URL without /v1."""

    class Proxy(FaultyHandler):
        def listed(self) -> tuple[int, Any]:
            return fetch(target + self.path)

        def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
            return fetch(target + self.path, body)

    return Proxy


def fetch(url: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
