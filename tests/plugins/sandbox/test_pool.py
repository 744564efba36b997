"""Boxes die: answers are asked again, the suspect alone, and what cannot be had is ours, never a wrong answer."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time

import pytest

from variantbench.plugins.datatypes import ExecutionClass
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox import pool as pool_module
from variantbench.plugins.sandbox.base import Greeting
from variantbench.plugins.sandbox.pool import Pool


class FakeBox:
    """A box whose runner is a thread here. Its answers do what their source says: die, hang, lie, or a number."""

    def __init__(self, nonce: str, seen: list[list[str]]) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        seen.append([])
        hello = json.dumps({"nonce": nonce, "python": "3", "status": ""}).encode()
        self.theirs.sendall(struct.pack(">4sQiIIII", b"HEL3", 0, 0, 0, 0, 0, len(hello)) + hello)
        threading.Thread(target=self.serve, args=(seen[-1],), daemon=True).start()

    def serve(self, seen: list[str]) -> None:
        with self.theirs, self.theirs.makefile("rb") as stream:
            while header := stream.read(32):
                _, number, size, *_ = struct.unpack(">4sQIIHHQ", header)
                source = stream.read(size).decode()
                seen.append(source)
                if source.startswith("die"):
                    return
                if source == "hang":
                    stream.read()  # until the box is closed
                    return
                answer = struct.pack(">BBHH", 0, 1, 0, len(source)) + source.encode()
                number += 1 if source == "lie" else 0
                try:
                    self.theirs.sendall(struct.pack(">4sQiIIII", b"RES3", number, 0, 1, 1, 1, len(answer)) + answer)
                except OSError:  # the pool has hung up
                    return

    def fileno(self) -> int:
        return self.ours.fileno()

    def send(self, data: memoryview) -> int:
        return self.ours.send(data)

    def receive(self) -> bytes | None:
        try:
            return self.ours.recv(65536)
        except BlockingIOError:
            return None

    def close(self) -> str:
        self.ours.close()
        return "closed"


class FakeBackend:
    name, digest, has_worked, most_boxes = "fake", "sha256:0", False, 0

    def __init__(self, *, failures: int = 0, unprotected: str = "") -> None:
        self.seen: list[list[str]] = []
        self.failures, self.unprotected = failures, unprotected
        self.swept = 0

    def start(self, nonce: str) -> FakeBox:
        if self.failures and self.seen:
            self.failures -= 1
            raise OSError("the daemon is away")
        return FakeBox(nonce, self.seen)

    def sweep(self) -> None:
        self.swept += 1

    def details(self) -> dict[str, str]:
        return {}

    def accepts(self, greeting: Greeting) -> str:
        return self.unprotected


@pytest.fixture
def results():
    """Runs sources through one fake box after the other; gives values or classes, the pool's counts, the backend."""

    def run(*sources: str, backend: FakeBackend | None = None):
        backend = backend or FakeBackend()
        with Pool(backend, boxes=1) as pool:
            futures = [pool.submit(source) for source in sources]
            got = [future.result(timeout=20) for future in futures]
        return [one.value or one.ending.value for one in got], pool.counts, backend

    return run


def test_answers_come_back_to_who_asked(results):
    values, counts, _ = results(*(f"{number:x}" for number in range(100)))
    assert values == [str(number) for number in range(100)]
    assert (counts.executed, counts.boxes_started, counts.boxes_died) == (100, 1, 0)


def test_an_answer_that_kills_its_box_is_given_up_and_no_other_is_lost(results):
    values, counts, _ = results("1", "die", "2", "3")
    assert values == ["1", "sandbox_failed", "2", "3"]
    assert (counts.boxes_died, counts.given_up) == (4, 1)


def test_a_suspect_is_asked_alone(results):
    _, _, backend = results("1", "die", "2", "3")
    # twice with the others behind it, then alone
    assert backend.seen[:4] == [["1", "die"], ["die"], ["die"], ["die"]]
    assert backend.seen[4:] == [["2", "3"]]


def test_several_that_kill_their_box_take_no_other_along(results):
    values, counts, _ = results("die 1", "5", "die 2", "6", "die 3")
    assert values == ["sandbox_failed", "5", "sandbox_failed", "6", "sandbox_failed"]
    assert counts.given_up == 3


def test_a_box_that_hangs_is_replaced(results, monkeypatch):
    monkeypatch.setattr(pool_module, "_SILENCE_SECONDS", 0.1)
    values, counts, _ = results("1", "hang", "2")
    assert values == ["1", "sandbox_failed", "2"]
    assert all("no sign of life" in cause for cause in counts.causes)


def test_a_result_that_the_box_does_not_owe_ends_the_box(results):
    values, counts, _ = results("lie", "2")
    assert values == ["sandbox_failed", "2"]
    assert "does not owe" in counts.causes[0]


def test_a_backend_that_is_away_for_a_while_costs_no_answer_a_chance(results):
    values, counts, _ = results("1", "die", "2", backend=FakeBackend(failures=5))
    assert values == ["1", "sandbox_failed", "2"]
    assert (counts.boxes_died, counts.boxes_started) == (4, 5)


def test_a_backend_that_stays_away_is_ours_and_not_the_answers(results, monkeypatch):
    monkeypatch.setattr(pool_module, "_DOWN_SECONDS", 0.2)
    values, counts, _ = results("1", "die", "2", backend=FakeBackend(failures=10**6))
    assert values == ["1", "sandbox_failed", "sandbox_failed"]
    assert counts.boxes_started == 1


def test_one_box_that_cannot_be_had_again_leaves_the_others_at_work(monkeypatch):
    monkeypatch.setattr(pool_module, "_DOWN_SECONDS", 0.2)

    class OneForGood(FakeBackend):
        """Two boxes, none of which is ever replaced."""

        def __init__(self) -> None:
            super().__init__()
            self.boxes: list[FakeBox] = []

        def start(self, nonce: str) -> FakeBox:
            self.failures = 10**6 if len(self.seen) >= 2 else 0
            self.boxes.append(super().start(nonce))
            return self.boxes[-1]

    backend = OneForGood()
    with Pool(backend, boxes=2) as pool:
        while pool.counts.boxes_started < 2:
            assert pool.execute("1").value == "1"
        backend.boxes[0].theirs.shutdown(socket.SHUT_RDWR)
        while pool._at_work == 2:
            futures = [pool.submit("2") for _ in range(30)]
            assert {future.result(timeout=20).value for future in futures} == {"2"}
        assert pool.execute("3").value == "3"


def test_a_pipe_is_closed_when_nobody_can_write_to_it_any_more(monkeypatch):
    monkeypatch.setattr(pool_module, "_DOWN_SECONDS", 0.0)
    backend = FakeBackend(failures=1)
    backend.seen.append([])
    with Pool(backend, boxes=1) as pool:
        assert pool.execute("1").ending is ExecutionClass.SANDBOX_FAILED
        (worker,) = pool._workers
        worker.join(timeout=5)
        os.fstat(worker._wake_start)  # not free yet: submit() may still write to it
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(worker._wake_start)


def test_a_backend_that_never_worked_is_given_up_at_once():
    backend = FakeBackend(failures=1)
    backend.seen.append([])
    with Pool(backend, boxes=1) as pool, pytest.raises(SandboxError, match="the daemon is away"):
        pool.try_out()


def test_a_box_without_protection_gets_no_answer(results):
    backend = FakeBackend(unprotected="the box lacks Seccomp:2")
    values, _, _ = results("1", backend=backend)
    assert values == ["sandbox_failed"]
    assert backend.seen == [[]]


def test_boxes_are_swept_at_the_start_and_at_the_end(results):
    assert results("1")[2].swept == 2


def test_closing_leaves_nobody_waiting():
    pool = Pool(FakeBackend(), boxes=1)
    future = pool.submit("hang")
    time.sleep(0.1)
    pool.close()
    assert future.result(timeout=5).ending is ExecutionClass.SANDBOX_FAILED
    with pytest.raises(SandboxError, match="closed"):
        pool.submit("1")


def test_many_threads_share_one_pool():
    with Pool(FakeBackend(), boxes=3) as pool:
        found: list[str | None] = []

        def ask(start: int) -> None:
            found.extend(pool.execute(f"{start + number:x}").value for number in range(50))

        threads = [threading.Thread(target=ask, args=(100 * number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(int, filter(None, found))) == sorted(100 * t + n for t in range(8) for n in range(50))
