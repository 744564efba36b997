"""Containers and their daemon are killed, paused, hung and restarted while answers run: none is lost, none changes."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections import Counter

import pytest

from tests.plugins.sandbox.daemon import PrivateDaemon, missing
from tests.plugins.sandbox.programs import body
from variantbench.plugins.sandbox import pool as pool_module
from variantbench.plugins.sandbox.choose import SandboxTask, open_backend
from variantbench.plugins.sandbox.docker import LABEL
from variantbench.plugins.sandbox.pool import Pool

# docker-py leaves the sockets of a daemon that has died to the garbage collector, which warns of them
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

SLOW = os.environ.get("VARIANTBENCH_SLOW") == "1"
ANSWERS = 20_000 if SLOW else 1_500
PAUSE = 1.0 if SLOW else 0.4  # between two blows

SHAPES = (
    "n = {0}\nreturn n * 3",
    "import math\nreturn math.sqrt({0})",
    "print({0})\nreturn {0} / 7",
    "return {0} / 0",
    "return apples + {0}",
    "return '{0}'",
    "raise KeyError({0})",
    "return sum(range({0}))",
)


@pytest.fixture(autouse=True)
def collected():
    """Have the collector warn within the test, where the warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def daemon(needs):
    lacks = missing()
    needs(not lacks, lacks)
    private = PrivateDaemon()
    yield private
    private.close()


def sources(count: int) -> list[str]:
    return [body(*SHAPES[number % len(SHAPES)].format(number).split("\n")) for number in range(count)]


def run(pool: Pool, count: int) -> list[tuple[str, str | None, str, str]]:
    futures = [pool.submit(source) for source in sources(count)]
    results = [future.result(timeout=600) for future in futures]
    return [(got.ending.value, got.value, got.kind, got.output) for got in results]


class Blows:
    """Deals blows until it is told to stop, each kind in turn so that a short run has all."""

    def __init__(self, daemon: PrivateDaemon, client) -> None:
        self.daemon, self.client = daemon, client
        self.random = random.Random(6)
        self.dealt: Counter[str] = Counter()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def boxes(self) -> list[str]:
        return [box["Id"] for box in self.client.containers(filters={"label": LABEL, "status": "running"})]

    def kill(self, box: str) -> None:
        self.client.kill(box)

    def kill_runner(self, box: str) -> None:
        os.kill(self.client.inspect_container(box)["State"]["Pid"], signal.SIGKILL)

    def stop_runner(self, box: str) -> None:
        os.kill(self.client.inspect_container(box)["State"]["Pid"], signal.SIGSTOP)

    def pause(self, box: str) -> None:
        self.client.pause(box)

    def remove(self, box: str) -> None:
        self.client.remove_container(box, force=True)

    def restart_daemon(self, _: str) -> None:
        self.daemon.restart(by=signal.SIGTERM)

    def kill_daemon(self, _: str) -> None:
        self.daemon.restart(by=signal.SIGKILL)

    def hang_daemon(self, _: str) -> None:
        self.daemon.hang(3.0)

    def run(self) -> None:
        kinds = [self.kill, self.kill_runner, self.pause, self.stop_runner, self.remove]
        kinds = [*kinds, self.hang_daemon, *kinds, self.restart_daemon, *kinds, self.kill_daemon]
        number = 0
        while not self.over.wait(PAUSE * self.random.uniform(0.5, 1.5)):
            blow = kinds[number % len(kinds)]
            try:
                box = self.random.choice(self.boxes())
                blow(box)
            except Exception:  # noqa: S112 - the box was gone already, or the daemon is away
                continue
            self.dealt[blow.__name__] += 1
            number += 1


def test_nothing_is_lost_and_nothing_changes(daemon, monkeypatch):
    import docker

    monkeypatch.setenv("DOCKER_HOST", daemon.url)
    monkeypatch.setattr(pool_module, "_SILENCE_SECONDS", 4.0)
    backend = open_backend(SandboxTask("docker"), say=lambda _: None)
    with Pool(backend, boxes=2) as calm:
        expected = run(calm, ANSWERS)
    assert calm.counts.boxes_died == 0
    assert {ending for ending, *_ in expected} == {
        "ok", "zero_division_error", "name_error", "not_a_number", "other"
    }  # fmt: skip

    client = docker.APIClient(base_url=daemon.url, timeout=20)
    blows = Blows(daemon, client)
    found: list[tuple[str, str | None, str, str]] = []
    with Pool(backend, boxes=2) as pool:
        pool.try_out()
        blows.thread.start()
        try:
            while len(blows.dealt) < 8 or len(found) < ANSWERS:  # until every kind of blow was dealt
                found += run(pool, ANSWERS)
        finally:
            blows.over.set()
            blows.thread.join()
    print(f"{len(found)} answers, blows {dict(blows.dealt)}, {pool.counts}")
    assert pool.counts.given_up == 0
    different = [pair for pair in zip(expected * (len(found) // ANSWERS), found, strict=True) if pair[0] != pair[1]]
    assert different == []
    assert pool.counts.boxes_died > 0
    assert client.containers(all=True, filters={"label": LABEL}) == []
    client.close()


def test_a_process_that_is_killed_leaves_no_container(daemon, monkeypatch, tmp_path):
    import subprocess
    import sys

    import docker

    monkeypatch.setenv("DOCKER_HOST", daemon.url)
    code = (
        "import sys, time\n"
        "from variantbench.plugins.sandbox.choose import SandboxTask, open_pool\n"
        "pool = open_pool(SandboxTask('docker'), say=lambda _: None)\n"
        "pool.try_out()\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    client = docker.APIClient(base_url=daemon.url)
    assert client.containers(filters={"label": LABEL})
    process.kill()
    process.wait()
    for _ in range(100):  # its runner's input has ended, so the runner ends
        if not client.containers(filters={"label": LABEL}):
            break
        time.sleep(0.1)
    assert client.containers(filters={"label": LABEL}) == []
    open_backend(SandboxTask("docker"), say=lambda _: None).sweep()  # what the next run does first
    assert client.containers(all=True, filters={"label": LABEL}) == []
    client.close()
