"""What can strike a run: each fault is one entry of FAULTS at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import create_engine, text

from tests.conftest import make_tiny_model
from tests.faults.campaign import GO_ON, Fault, Place, Run, wait
from tests.faults.test_strange_answers import STRANGE
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.choose import SandboxTask, open_backend

SUPERVISOR, ENGINE, WORKER, BOX = "generation.supervisor", "generation.engine_process", "exec(eval(", "bwrap"
SHORT_OF_MEMORY = Path(__file__).with_name("short_of_memory.py")
_PYTHONPATH = os.environ.get("PYTHONPATH", "")
CLOCK = Path(__file__).with_name("clock.c")


def below(process: int) -> Iterator[tuple[int, str]]:
    """Every process under that one: its id and command line."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(each.name))
    found = [process]
    while found:
        for child in children.get(found.pop(), []):
            found.append(child)
            try:
                yield child, Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
            except OSError:
                continue


def processes(run: Run, name: str) -> list[int]:
    """The run's processes of that kind, as soon as there is one."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [process for process, command in below(run.process.pid) if name in command]
        return bool(found) or run.process.poll() is not None

    wait(look)
    return found


def end(process: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Signal it; it may be gone already."""
    try:
        os.kill(process, by)
    except ProcessLookupError:
        return


def signalled(by: signal.Signals) -> Callable[[Run], None]:
    """The controller alone gets a signal, as from `kill`, Slurm or `docker stop`."""
    return lambda run: run.process.send_signal(by)


def ctrl_c(run: Run) -> None:
    """Controller and workers get it, as from a terminal."""
    os.killpg(run.process.pid, signal.SIGINT)


def killed(name: str) -> Callable[[Run], None]:
    """One of the run's processes of that kind is killed."""
    return lambda run: end(run.draw.choice(processes(run, name)))


def killed_each_time(run: Run) -> None:
    """The engine is killed, and so is each that takes its place."""
    seen: set[int] = set()
    while run.process.poll() is None:
        for process, command in below(run.process.pid):
            if ENGINE in command and process not in seen:
                seen.add(process)
                end(process)
        time.sleep(0.02)


def nothing(run: Run) -> None:
    """The fault was there from the start."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Place]:
    """A file system with little room, whose store fits until `fill` takes the rest."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)], check=True)
    try:
        yield Place(str(disk / "runs.db"), mend=lambda: (disk / "filler").unlink())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(run: Run) -> None:
    """Not a byte is left on the store's disk."""
    with (run.folder / "disk" / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"\0" * 4096)
        except OSError:
            return


@contextmanager
def postgres(folder: Path) -> Iterator[Place]:
    """A schema of its own in the PostgreSQL that VARIANTBENCH_POSTGRES names, whose connections carry its name."""
    name = folder.name.replace("-", "_").lower()
    base = os.environ["VARIANTBENCH_POSTGRES"]
    engine = create_engine(base, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'create schema "{name}"'))
        try:
            yield Place(f"{base}?options=-csearch_path%3D{name}&application_name={name}")
        finally:
            connection.execute(text(f'drop schema "{name}" cascade'))
    engine.dispose()


def disconnect(run: Run) -> None:
    """The database ends every connection of the run, as a restart would."""
    engine = create_engine(os.environ["VARIANTBENCH_POSTGRES"])
    query = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = :name"
    with engine.connect() as connection:
        name = run.url.rpartition("application_name=")[2]
        assert connection.execute(text(query), {"name": name}).scalar_one()
    engine.dispose()


@contextmanager
def jumping_clock(folder: Path) -> Iterator[Place]:
    """A clock that goes wrong by as many seconds as stand in the file `jump`."""
    library = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(CLOCK), "-ldl"], check=True)
    (folder / "jump").write_text("0")
    yield Place(str(folder / "runs.db"), {"LD_PRELOAD": str(library), "CLOCK_JUMP": str(folder / "jump")})


def jump(hours: float) -> Callable[[Run], None]:
    """The clock is set."""

    def strike(run: Run) -> None:
        (run.folder / "jump.new").write_text(str(int(hours * 3600)))
        (run.folder / "jump.new").rename(run.folder / "jump")

    return strike


def accompanied(other: bool) -> Callable[[Run], None]:
    """A second run begins in the same folder and store, of the same model or of another."""

    def strike(run: Run) -> None:
        options = []
        if other:
            (run.folder / "other.json").write_text((run.folder / "model.json").read_text().replace("is 1", "is 1.0"))
            options = [f"--model={run.folder / 'other.json'}"]
        command = [part for part in run.command if not (other and part.startswith("--model="))]
        second = Run(run.folder, run.url, command, run.environment, run.draw).another(*options)
        output, _ = second.communicate(timeout=120)
        assert second.returncode == 0, output

    return strike


def locked(run: Run) -> None:
    """Another program holds the store for some seconds."""
    engine = create_engine(f"sqlite:///{run.url}", isolation_level=None)
    with engine.connect() as connection:
        connection.exec_driver_sql("begin exclusive")
        time.sleep(run.draw.uniform(1, 4))
        connection.exec_driver_sql("rollback")
    engine.dispose()


@contextmanager
def scarce_memory(folder: Path) -> Iterator[Place]:
    """A real model, on an accelerator whose memory runs out (short_of_memory.py)."""
    (folder / "inject").mkdir()
    shutil.copy(SHORT_OF_MEMORY, folder / "inject" / "sitecustomize.py")
    model = make_tiny_model(folder / "tiny", context=8192)
    options = (f"--model={model}", "--device=cpu", "--max-new-tokens=8", "--limit=truncated=100%", "--limit=void=100%")
    yield Place(
        str(folder / "runs.db"),
        {"PYTHONPATH": os.pathsep.join((str(folder / "inject"), _PYTHONPATH))},
        model=(*options, "--limit=empty=100%", "--batch-size=16"),
    )


def nothing_changes(run: Run) -> None:
    """The same model with memory enough gives the same texts."""
    calm = Run(
        run.folder, str(run.folder / "calm.db"), run.command, {**run.environment, "PYTHONPATH": _PYTHONPATH}, run.draw
    )
    output, _ = calm.another(f"--store={calm.url}").communicate(timeout=120)
    run.process.wait(timeout=120)
    assert run.stored() == calm.stored(), output
    assert (run.folder / "ran_out").exists(), "memory did not run out"


def no_model() -> str:
    """What lacks for a real model."""
    lacks = [name for name in ("torch", "transformers") if find_spec(name) is None]
    return f"needs {' and '.join(lacks)}" if lacks else ""


def no_postgres() -> str:
    """What lacks for the faults of PostgreSQL."""
    return "" if os.environ.get("VARIANTBENCH_POSTGRES") else "VARIANTBENCH_POSTGRES is not set"


def no_root() -> str:
    """What lacks for a file system of one's own."""
    return "" if os.geteuid() == 0 else "mounting needs root"


def no_compiler() -> str:
    """What lacks for a clock that jumps."""
    return "" if shutil.which("cc") else "no C compiler"


def no_bubblewrap() -> str:
    """What lacks for its boxes."""
    try:
        open_backend(SandboxTask("bubblewrap"), say=lambda _: None)
    except (SandboxError, OSError) as error:
        return str(error)
    return ""


_RESUMABLE = {"endings": (10,), "says": GO_ON}
_INTERRUPTED = {"endings": (2,), "says": rf"interrupted: .* answers are stored; {GO_ON} to go on"}
_FOUR = ("-n4",)
_STRANGE = {
    "answers": {f"Question {n}?": given for n, given in enumerate(STRANGE.values())},
    "default": "2",
    "seconds": 0.06,
}

FAULTS = (
    Fault("kill -9 of the controller", signalled(signal.SIGKILL), endings=(-9,)),
    Fault(
        "kill -9 of the controller, 4 workers", signalled(signal.SIGKILL), endings=(-9,), options=_FOUR, only_long=True
    ),
    Fault("kill -9 of a worker of 4, as when memory runs out", killed(WORKER), options=_FOUR),
    Fault("kill -9 of the supervisor", killed(SUPERVISOR), **_RESUMABLE),
    Fault("kill -9 of the supervisor, 4 workers", killed(SUPERVISOR), options=_FOUR, **_RESUMABLE, only_long=True),
    Fault("kill -9 of the engine process", killed(ENGINE), always_says="it is started again with"),
    Fault("kill -9 of every engine process", killed_each_time, **_RESUMABLE),
    Fault(
        "kill -9 of a box of the sandbox",
        killed(BOX),
        form="simple_code",
        options=("--sandbox=bubblewrap",),
        lacks=no_bubblewrap,
    ),
    Fault("SIGTERM", signalled(signal.SIGTERM), **_INTERRUPTED, only_long=True),
    Fault("SIGTERM, 4 workers", signalled(signal.SIGTERM), options=_FOUR, **_INTERRUPTED),
    Fault("SIGHUP", signalled(signal.SIGHUP), **_INTERRUPTED, only_long=True),
    Fault("Ctrl-C", ctrl_c, **_INTERRUPTED, only_long=True),
    Fault("Ctrl-C, 4 workers", ctrl_c, options=_FOUR, **_INTERRUPTED),
    Fault("the disk is full", fill, place=small_disk, lacks=no_root, endings=(10,), says="free the disk.*" + GO_ON),
    Fault("another program holds the store", locked),
    Fault(
        "PostgreSQL ends all connections", disconnect, place=postgres, lacks=no_postgres, endings=(0, 10), says=GO_ON
    ),
    Fault("the clock jumps 5 hours back", jump(-5), place=jumping_clock, lacks=no_compiler),
    Fault("the clock jumps 5 hours ahead", jump(5), place=jumping_clock, lacks=no_compiler, only_long=True),
    Fault("a second run of the same model in one store", accompanied(other=False), runs=3, only_long=True),
    Fault("a second run of another model in one store", accompanied(other=True), runs=3),
    Fault("answers that no model should write", nothing, script=_STRANGE, only_long=True),
    Fault(
        "the accelerator's memory runs out",
        nothing_changes,
        endings=(10,),
        calm_status=10,  # it has no answer right
        form="simple_nl",
        script={},
        place=scarce_memory,
        lacks=no_model,
        only_long=True,
    ),
)
