"""What an answer costs in our boxes, in a fresh container, and in a warm one: ``variantbench sandbox bench``.

CPU time is that of all processes which take part (this one, the engine, its helpers, the boxes); rounds take turns and
medians are compared, so that a busy machine disturbs all ways alike.
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
    """What one way costs an answer: median CPU time, and answers a second."""

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
                measured[way].append(_measure(do))
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
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)  # noqa: S603 - a command of ours
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


# CPU time of everything that takes part: this process, the engine's, the boxes, and what any of them has waited for.


def _measure(do: Callable[[], int]) -> _Round:
    before, started = _cpu_seconds(), time.perf_counter()
    answers = do()
    seconds = time.perf_counter() - started
    time.sleep(0.3)  # the engine tidies up behind a container that has ended
    return _Round(_cpu_seconds() - before, seconds, answers)


def _cpu_seconds() -> float:
    return sum(_of_process(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit())


def _of_process(folder: Path) -> float:
    """Seconds of a process that takes part and of its children that have ended; 0 for any other."""
    try:
        head, _, rest = (folder / "stat").read_text().rpartition(")")
        command = (folder / "cmdline").read_text()
    except OSError:
        return 0.0
    own, waited_for = rest.split()[11:13], rest.split()[13:15]
    if folder.name == "1":  # it inherits the engine's helpers
        own = []
    elif folder.name != str(os.getpid()) and "/opt/runner/" not in command and not any(word in head for word in _OURS):
        return 0.0
    return sum(map(int, [*own, *waited_for])) / os.sysconf("SC_CLK_TCK")
