"""Each defence is there for a reason: taken out alone, at least one program ends otherwise.

A witness is a program and what it gives where the defence holds. It is run with and without the defence. Where two
defences stand behind each other, the witness looks at the one that was taken out, not at the damage.
"""

from __future__ import annotations

import contextlib
import ctypes
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sandbox.programs import LIMITS, POSTURE, body, limit
from variantbench.plugins.datatypes import Execution
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox import unprotected
from variantbench.plugins.sandbox.base import Limits
from variantbench.plugins.sandbox.bubblewrap import BubblewrapBackend
from variantbench.plugins.sandbox.docker import DockerBackend
from variantbench.plugins.sandbox.pool import Pool
from variantbench.plugins.sandbox.selftest import self_test
from variantbench.plugins.sandbox.unprotected import UnprotectedBackend

SHORT = Limits(cpu_seconds=1, wall_seconds=1.0)


def outcome(got: Execution) -> str:
    return got.value or got.ending.value


def ask(backend: Any, *sources: str) -> list[str]:
    with Pool(backend, boxes=1, limits=SHORT) as pool:
        return [outcome(pool.execute(source)) for source in sources]


class Docker(DockerBackend):
    """Containers with other options, or with another runner."""

    change: Callable[[dict[str, Any]], None] = staticmethod(lambda _: None)
    runner: Path | None = None

    def options(self, nonce: str) -> dict[str, Any]:
        options = super().options(nonce)
        if self.runner:
            options["host_config"]["Binds"] = [f"{self.runner}:/opt/runner:ro"]
        self.change(options)
        return options


class Bubblewrap(BubblewrapBackend):
    """Boxes with another command."""

    change: Callable[[list[str]], None] = staticmethod(lambda _: None)

    def command(self, nonce: str) -> list[str]:
        command = super().command(nonce)
        self.change(command)
        return command


@pytest.fixture
def docker(open_or_skip) -> Docker:
    return Docker(open_or_skip("docker").image)


@pytest.fixture
def bubblewrap(open_or_skip) -> Bubblewrap:
    return Bubblewrap(open_or_skip("bubblewrap").root)


# Options of a container.

OPEN_FLAG = body("import os", "return int(os.path.exists('/dev/shm'))")
CGROUP = "open('/sys/fs/cgroup/{}').read()"
BOUNDING = body("return int(open('/proc/self/status').read().split('CapBnd:\\t')[1].split()[0], 16)")


def cgroup(version_1: str, version_2: str) -> str:
    return body(
        "import os",
        f"name = {version_1!r} if os.path.exists('/sys/fs/cgroup/' + {version_1!r}) else {version_2!r}",
        "return int(open('/sys/fs/cgroup/' + name).read().split()[0])",
    )


def host_option(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda options: options["host_config"].update({name: value})


CONTAINER = {
    "no network": (host_option("NetworkMode", "host"), POSTURE["network interfaces"][0], "1"),
    "read-only": (host_option("ReadonlyRootfs", False), POSTURE["root is read-only"][0], "1"),
    "no shared memory": (host_option("IpcMode", "private"), OPEN_FLAG, "0"),
    "no capabilities": (host_option("CapDrop", []), BOUNDING, str(0xE0)),
    "few processes": (host_option("PidsLimit", 99), cgroup("pids/pids.max", "pids.max"), "16"),
    "limited memory": (
        lambda options: options["host_config"].update(Memory=2**30, MemorySwap=2**30),
        cgroup("memory/memory.limit_in_bytes", "memory.max"),
        str(384 * 2**20),
    ),
    "one core": (host_option("NanoCpus", 2 * 10**9), cgroup("cpu/cpu.cfs_quota_us", "cpu.max"), "100000"),
    "own user": (
        lambda options: options["command"].__setitem__(1, "one-uid"),
        body("import os", "return int(os.getuid() >= 20_000)"),
        "1",
    ),
    "own host name": (lambda options: options.update(hostname="another"), POSTURE["host name"][0], "1"),
}


@pytest.mark.parametrize("defence", CONTAINER)
def test_a_container_without(docker, defence):
    change, witness, held = CONTAINER[defence]
    assert ask(docker, witness) == [held]
    docker.change = change
    assert ask(docker, witness) != [held]


# Options of bubblewrap.


def without(*words: str) -> Callable[[list[str]], None]:
    def change(command: list[str]) -> None:
        start = next(i for i in range(len(command)) if tuple(command[i : i + len(words)]) == words)
        del command[start : start + len(words)]

    return change


def instead(old: str, new: str) -> Callable[[list[str]], None]:
    return lambda command: command.__setitem__(command.index(old), new)


def both(*changes: Callable[[list[str]], None]) -> Callable[[list[str]], None]:
    return lambda command: [change(command) for change in changes] and None


@contextlib.contextmanager
def segment_of_the_host() -> Iterator[None]:
    """Shared memory of the host's, as a witness of whether a box sees it."""
    libc = ctypes.CDLL(None)
    identity = libc.shmget(0, 4096, 0o1600)
    try:
        yield
    finally:
        libc.shmctl(identity, 0, None)


BOX = {
    "own network": (without("--unshare-net"), POSTURE["network interfaces"][0], "1"),
    "own processes": (both(without("--unshare-pid"), without("--as-pid-1")), POSTURE["processes"][0], "2"),
    "own shared memory": (without("--unshare-ipc"), POSTURE["shared memory segments of the host"][0], "0"),
    "own host name": (without("--hostname", "box"), POSTURE["host name"][0], "1"),
    "own user": (instead("65534", "0"), body("import os", "return os.getuid()"), "65534"),
    "read-only": (instead("--ro-bind", "--bind"), POSTURE["root is read-only"][0], "1"),
}  # fmt: skip


@pytest.mark.parametrize("defence", BOX)
def test_a_box_without(bubblewrap, defence):
    change, witness, held = BOX[defence]
    with segment_of_the_host():
        assert ask(bubblewrap, witness) == [held]
        bubblewrap.change = change
        assert ask(bubblewrap, witness) != [held]


# The runner. (file, text, replacement, witness, what it gives where the defence holds)

CALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
ERRNO = CALL + "def solution():\n    libc.syscall({})\n    return ctypes.get_errno()\n"
ALLOW = '    "read": (0, 63),'

RUNNER = {
    "no writing": ("seccomp.py", "_refuse_bits(2, _WRITES)", "[(_RETURN, 0, 0, ALLOW)]", body("return int(open('/dev/null', 'w').write('x'))"), "other"),
    "no sockets": ("seccomp.py", ALLOW, ALLOW + ' "socket": (41, 198),', body("import socket", "return int(socket.socket().fileno() > 0)"), "other"),
    "pairs of Unix sockets only": ("seccomp.py", "_allow_only(0, (_AF_UNIX,))", "[(_RETURN, 0, 0, ALLOW)]", ERRNO.format("53, 2, 1, 0, 0"), "1"),
    "no memory files": ("seccomp.py", ALLOW, ALLOW + ' "memfd": (319, 279),', ERRNO.format("319, b'x', 0"), "1"),
    "no shared memory that stays": ("seccomp.py", ALLOW, ALLOW + ' "shmget": (29, 194),', ERRNO.format("29, 0, 4096, 0o1600"), "1"),
    "no rings": ("seccomp.py", ALLOW, ALLOW + ' "ring": (425, 425),', ERRNO.format("425, 1, 0"), "1"),
    "no keys": ("seccomp.py", ALLOW, ALLOW + ' "keyctl": (250, 219),', ERRNO.format("250, 99, 0, 0"), "1"),
    "no tracing": ("seccomp.py", ALLOW, ALLOW + ' "ptrace": (101, 117),', ERRNO.format("101, 99, 0, 0, 0"), "1"),
    "no mounts": ("seccomp.py", ALLOW, ALLOW + ' "mount": (165, 40),', ERRNO.format("165, 0, 0, 0, 0, 0"), "1"),
    "limits of oneself only": ("seccomp.py", "_if_call(PRLIMIT[column], _allow_only(0, (0,)))", "_if_call(PRLIMIT[column], [(_RETURN, 0, 0, ALLOW)])", ERRNO.format("302, 999, 7, 0, 0"), "1"),
    "stays unreadable": ("seccomp.py", "dumpable = _allow_only(1, (0,))", "dumpable = [(_RETURN, 0, 0, ALLOW)]", ERRNO.format("157, 4, 1, 0, 0, 0"), "1"),
    "no new processes": ("runner.py", "        protect()\n", "        pass\n", body("return int(open('/proc/self/status').read().split('Seccomp_filters:\\t')[1].split()[0])"), "2"),
    "the runner's memory": ("runner.py", "libc.prctl(4, 0, 0, 0, 0)", "None", body("return int(len(open('/proc/1/maps').read()) > 0)"), "other"),
    "memory": ("runner.py", "    limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)\n", "", body("return len(bytes(10 ** 9))"), "memory"),
    "CPU time": ("runner.py", "    limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)\n", "", limit("RLIMIT_CPU"), "2"),
    "wall time": ("runner.py", "                posix.kill(child, 9)\n", "                posix.kill(child, 0)\n", body("import time", "time.sleep(3)", "return 1"), "timeout"),
    "processes": ("runner.py", "        limit(resource.RLIMIT_NPROC, 0, 0)\n", "        pass\n", limit("RLIMIT_NPROC"), "0"),
    "descriptors": ("runner.py", "    posix.closerange(READY + 1, 64)\n", "", POSTURE["descriptors"][0], "4"),
    "standard input": ("runner.py", "for fd in (0, 1, 2):", "for fd in (1, 2):", body("import os", "os.set_blocking(0, False)", "return len(os.read(0, 99))"), "0"),
    "environment": ("runner.py", "    posix.environ.clear()\n", "", POSTURE["environment"][0], "0"),
    "a session of its own": ("runner.py", "    posix.setsid()\n", "", body("import os", "return int(os.getsid(0) == os.getpid())"), "1"),
    "more memory for the report": ("runner.py", "            except everything:\n                continue\n\n    return quiet", "            except everything:\n                continue\n        raise everything\n\n    return quiet", body("return 5"), "5"),
}  # fmt: skip


@pytest.mark.parametrize("defence", RUNNER)
def test_a_runner_without(bubblewrap, mutant, defence):
    file, text, replacement, witness, held = RUNNER[defence]
    assert ask(bubblewrap, witness) == [held]
    bubblewrap.runner = mutant(file, (text, replacement))
    assert ask(bubblewrap, witness) != [held]


BOOT_LIMITS = [name for name in LIMITS if name not in ("RLIMIT_NPROC", "RLIMIT_CPU", "RLIMIT_AS")]


@pytest.mark.parametrize("name", BOOT_LIMITS)
def test_a_box_without_the_limit(bubblewrap, mutant, name):
    assert ask(bubblewrap, limit(name)) == [LIMITS[name]]
    bubblewrap.runner = mutant("boot.py", (f'        ("{name}", {LIMITS[name]}),\n', ""))
    assert ask(bubblewrap, limit(name)) != [LIMITS[name]]


@pytest.mark.parametrize(
    ("text", "replacement", "lacks"),
    [("        install(seccomp.build_filter(platform.machine()), libc)\n", "", "Seccomp:2")],
)
def test_a_runner_without_the_filter_gets_no_answer(bubblewrap, mutant, text, replacement, lacks):
    bubblewrap.runner = mutant("boot.py", (text, replacement))
    with Pool(bubblewrap, boxes=1) as pool:
        got = pool.execute(body("return 5"))
    assert outcome(got) == "sandbox_failed"
    assert f"the box lacks {lacks}" in got.message


def test_a_runner_keeps_the_boxs_groups_from_answers(docker, mutant):
    docker.change = lambda options: options["host_config"].update(GroupAdd=["7"])
    source = body("import os", "return len(os.getgroups())")
    assert ask(docker, source) == ["0"]
    docker.runner = mutant("runner.py", ("        posix.setgroups([])\n", ""))
    assert ask(docker, source) != ["0"]


# Behind the filter that lets no answer fork stands the one that lets nobody make namespaces.

MAY_FORK = (
    ("        limit(resource.RLIMIT_NPROC, 0, 0)\n", "        pass\n"),
    ("        protect()\n", "        pass\n"),
)


@pytest.mark.parametrize(
    ("text", "replacement", "call", "errno"),
    [
        ("_refuse_bits(0, _NAMESPACES)", "[(_RETURN, 0, 0, ALLOW)]", "56, 0x10000011, 0, 0, 0, 0", "1"),
        ("CLONE3[column], [(_RETURN, 0, 0, ENOSYS)]", "CLONE3[column], [(_RETURN, 0, 0, ALLOW)]", "435, 0, 0", "38"),
    ],
    ids=["no namespaces", "no clone3"],
)
def test_a_filter_without(bubblewrap, mutant, text, replacement, call, errno):
    bubblewrap.runner = mutant("runner.py", *MAY_FORK)
    assert ask(bubblewrap, ERRNO.format(call)) == [errno]
    bubblewrap.runner = mutant("seccomp.py", (text, replacement))
    mutant_again = bubblewrap.runner / "runner.py"
    for old, new in MAY_FORK:
        mutant_again.write_text(mutant_again.read_text().replace(old, new))
    assert ask(bubblewrap, ERRNO.format(call)) != [errno]


# Between answers.

LEAVES_A_PROCESS = body("import os, time", "if os.fork() == 0:", "    os.setsid()", "    time.sleep(99)", "return 1")


def test_what_an_answer_leaves_behind_is_ended_even_if_it_could_fork(bubblewrap, mutant):
    count = POSTURE["processes"][0]
    bubblewrap.runner = mutant("runner.py", *MAY_FORK)
    assert ask(bubblewrap, LEAVES_A_PROCESS, count) == ["1", "2"]
    bubblewrap.runner = mutant("runner.py", *MAY_FORK, ("            posix.kill(-1, 9)", "            return False"))
    assert ask(bubblewrap, LEAVES_A_PROCESS, count) != ["1", "2"]


CANARY = "KANARIEN" + "VOGEL"
LEAVES_TRACES = body(
    f"secret = '{CANARY} in the source'",
    f"print('{CANARY} in the output' * 300)",
    f"raise ValueError('{CANARY} in the message')",
)
LOOKS_FOR_TRACES = """
def solution():
    found = 0
    with open('/proc/self/maps') as file:
        areas = [line.split()[0].split('-') for line in file if ' rw' in line and '[v' not in line]
    with open('/proc/self/mem', 'rb', buffering=0) as memory:
        for start, end in areas:
            memory.seek(int(start, 16))
            try:
                data = memory.read(int(end, 16) - int(start, 16)) or b''
            except OSError:
                continue
            place = data.find(b'KANARIEN')
            while place >= 0:
                found += data[place + 8 : place + 13] == b'VOGEL'
                place = data.find(b'KANARIEN', place + 1)
    return found
"""


def test_the_memory_of_an_answer_holds_nothing_of_the_one_before(monkeypatch, mutant):
    """Without a box, so that the second program may read its own memory."""
    programs = [LEAVES_TRACES, LOOKS_FOR_TRACES, body("return 1"), LOOKS_FOR_TRACES]
    assert ask(UnprotectedBackend(), *programs) == ["type_value_error", "0", "1", "0"]
    unwiped = mutant("runner.py", ("    buffer[:used] = bytes(used)\n", ""))
    monkeypatch.setattr(unprotected, "RUNNER_FOLDER", unwiped)
    assert int(ask(UnprotectedBackend(), LEAVES_TRACES, LOOKS_FOR_TRACES)[1]) > 0


def test_the_order_of_sets_is_that_of_every_box(bubblewrap, mutant):
    source = body("return hash('apples')")
    assert len({ask(bubblewrap, source)[0] for _ in range(3)}) == 1
    bubblewrap.runner = mutant("boot.py", ('{"PYTHONHASHSEED": "0"}', "{}"))
    assert len({ask(bubblewrap, source)[0] for _ in range(3)}) > 1


def fails(backend: Any) -> str:
    with pytest.raises(SandboxError, match="does not hold") as caught:
        self_test(backend)
    return str(caught.value)


def test_the_self_test_stops_a_run_whose_sandbox_does_not_hold(bubblewrap, mutant):
    self_test(bubblewrap)
    bubblewrap.runner = mutant("runner.py", *MAY_FORK)
    assert "fork: ok" in fails(bubblewrap)
    bubblewrap.runner = mutant("runner.py", ("    limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)\n", ""))
    assert "memory: ok" in fails(bubblewrap)


def test_the_self_test_sees_a_file_of_the_host(bubblewrap, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")  # noqa: S108 - a folder that is also in the box
    seen = ["--ro-bind", "/tmp", "/tmp"]  # noqa: S108
    bubblewrap.change = lambda command: command.__setitem__(slice(i := command.index("--proc"), i), seen)
    assert "read the host's file: ok" in fails(bubblewrap)
