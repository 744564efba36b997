"""What an answer costs in our boxes, in a fresh container, and in a warm one: ``variantbench sandbox bench``.

CPU time is the whole machine's, less that of processes which live all along and are not of the sandbox; rounds take
turns and medians are compared, so that a busy machine disturbs all ways alike.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.pool import Pool

_ROUNDS = 3
_ANSWERS, _RUNS, _EXECS = 2_000, 4, 8  # in a round
_OURS = ("dockerd", "containerd", "runc", "docker", "bwrap")
_ANSWER = """def solution():
    apples = {}
    price = 2.5
    total = apples * price
    return round(total, 2)
"""
_PROGRAM = _ANSWER.format(7) + "print(solution())\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way costs an answer: median CPU time of the machine, and answers a second."""

    way: str
    cpu_ms: float
    per_second: float


@dataclass(frozen=True, slots=True)
class _Round:
    cpu_seconds: float
    seconds: float
    answers: int


def bench(pool: Pool, *, image: str = "", rounds: int = _ROUNDS) -> list[Cost]:
    """Our cost first; with an `image`, also that of `docker run --rm` and of `docker exec` in a warm container."""
    ways: dict[str, Callable[[], int]] = {f"{pool.backend.name} sandbox": lambda: _ours(pool)}
    warm = ""
    if image:
        docker = shutil.which("docker")
        if docker is None:
            raise SandboxError("no docker command to compare with: install Docker's client (apt install docker.io)")
        start = [docker, "run", "-d", "--rm", "--network", "none", "--entrypoint", "python3", image]
        warm = _output([*start, "-c", "import time; time.sleep(600)"])
        run = [docker, "run", "--rm", "--network", "none", "--entrypoint", "python3", image, "-I", "-c", _PROGRAM]
        execute = [docker, "exec", warm, "python3", "-I", "-c", _PROGRAM]
        ways["docker run --rm"] = lambda: _commands(run, _RUNS)
        ways["docker exec, warm"] = lambda: _commands(execute, _EXECS)
    try:
        _ours(pool)  # boxes are started, caches are warm
        measured: dict[str, list[_Round]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, do in ways.items():
                measured[way].append(_measure(do, {os.getpid()}))
    finally:
        if warm:
            _output([str(docker), "rm", "-f", warm])
    return [_cost(way, rounds) for way, rounds in measured.items()]


def _ours(pool: Pool) -> int:
    futures = [pool.submit(_ANSWER.format(number)) for number in range(_ANSWERS)]
    for number, future in enumerate(futures):
        if float(future.result().value or "nan") != round(number * 2.5, 2):
            raise SandboxError(f"the sandbox gave a wrong value: {future.result()}")
    return _ANSWERS


def _commands(command: Sequence[str], count: int) -> int:
    for _ in range(count):
        if _output(command) != "17.5":
            raise SandboxError(f"{command[1]} gave a wrong value")
    return count


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise SandboxError(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def _cost(way: str, rounds: Sequence[_Round]) -> Cost:
    return Cost(
        way,
        statistics.median(1000 * one.cpu_seconds / one.answers for one in rounds),
        statistics.median(one.answers / one.seconds for one in rounds),
    )


def cost_lines(costs: Sequence[Cost]) -> Iterator[str]:
    """A line a way, and how much cheaper ours is."""
    yield f"{'':<22} {'CPU ms/answer':>13} {'answers/s':>10}  ours is cheaper by"
    for cost in costs:
        ratio = f"{cost.cpu_ms / costs[0].cpu_ms:.0f} x" if cost is not costs[0] else ""
        yield f"{cost.way:<22} {cost.cpu_ms:>13.2f} {cost.per_second:>10.1f}  {ratio}".rstrip()


# CPU time of the machine that is not somebody else's.


def _measure(do: Callable[[], int], own: set[int]) -> _Round:
    others, busy, started = _others(own), _busy(), time.perf_counter()
    answers = do()
    seconds, now_busy, now_others = time.perf_counter() - started, _busy(), _others(own)
    foreign = sum(now_others[pid] - before for pid, before in others.items() if pid in now_others)
    return _Round(max(now_busy - busy - foreign, 0.0), seconds, answers)


def _busy() -> float:
    """Seconds that all cores have worked."""
    fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _waiting, interrupts, soft = fields[:7]
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def _others(own: set[int]) -> dict[int, float]:
    """Seconds of CPU time of the processes that are not of the sandbox, and of their children that have ended."""
    found: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in own and (read := _process(folder)) is not None:
            found[int(folder.name)] = read
    return found


def _process(folder: Path) -> float | None:
    try:
        head, _, rest = (folder / "stat").read_text().rpartition(")")
        command = (folder / "cmdline").read_text()
    except OSError:
        return None
    if any(word in head for word in _OURS) or "/opt/runner/" in command:
        return None
    ticks: Any = [int(text) for text in rest.split()[11:15]]
    return float(sum(ticks)) / os.sysconf("SC_CLK_TCK")
