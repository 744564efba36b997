"""Which sandbox a run uses: the one that was asked for, else the first that works here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from variantbench.plugins.cache import cache_folder
from variantbench.plugins.errors import SandboxError, UserError
from variantbench.plugins.sandbox import bubblewrap, docker
from variantbench.plugins.sandbox.base import Backend, Limits
from variantbench.plugins.sandbox.pool import Pool

AUTO, OFF = "auto", "off"
SERVED = "unix:"  # followed by the folder of sockets
UNPROTECTED = "none-run-model-code-unprotected"
CHOICES = (AUTO, "docker", "bubblewrap", OFF, UNPROTECTED)
NO_SANDBOX = (
    "not executed: no sandbox for answers that are code works here: "
    f"{bubblewrap.INSTALL_HINT}, or {docker.INSTALL_HINT}; `variantbench doctor` says more"
)
SWITCHED_OFF = "not executed: --sandbox off"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SandboxTask:
    """What the user asked for. `runtime` and `image` are Docker's; empty for the usual ones."""

    name: str = AUTO
    runtime: str = ""
    image: str = ""


def check_choice(task: SandboxTask) -> None:
    """UserError if the options name no sandbox, or Docker's options for one that is not Docker."""
    if task.name not in CHOICES and not task.name.startswith(SERVED):
        known = ", ".join(CHOICES[:-1])
        raise UserError(f"--sandbox {task.name!r} is not known: choose from {known}, or {SERVED}FOLDER of sockets")
    for option, value in (("--sandbox-runtime", task.runtime), ("--sandbox-image", task.image)):
        if value and task.name not in (AUTO, "docker"):
            raise UserError(f"{option} {value} is Docker's: it does not go with --sandbox {task.name}")


def open_backend(task: SandboxTask | None = None, *, limits: Limits | None = None, say: Say = print) -> Backend:
    """The backend asked for, once a program has run in it; SandboxError or OSError with what to do if none does."""
    task = task or SandboxTask()
    check_choice(task)
    if task.name == AUTO:
        return _first_that_works(task, limits, say)
    if task.name == OFF:
        raise SandboxError(SWITCHED_OFF)
    return _tried(task.name, task, limits, say)


def open_pool(
    task: SandboxTask | None = None, *, limits: Limits | None = None, boxes: int = 0, say: Say = print
) -> Pool:
    """A pool of the backend's boxes, one for each core unless `boxes` says otherwise."""
    return Pool(open_backend(task, limits=limits, say=say), boxes=boxes, limits=limits)


def _docker(task: SandboxTask, limits: Limits | None, say: Say) -> Backend:
    from variantbench.plugins.sandbox.image import ensure_image

    return docker.DockerBackend(task.image or ensure_image(say=say), runtime=task.runtime, limits=limits)


def _bubblewrap(_task: SandboxTask, _limits: Limits | None, _say: Say) -> Backend:
    from variantbench.plugins.sandbox.rootfs import host_root

    bubblewrap.find_bwrap()
    root, digest = host_root(cache_folder())
    return bubblewrap.BubblewrapBackend(root, root_digest=digest)


def _served(task: SandboxTask, _limits: Limits | None, _say: Say) -> Backend:
    from variantbench.plugins.sandbox.sockets import SocketsBackend

    return SocketsBackend(Path(task.name.removeprefix(SERVED)))


def _unprotected(_task: SandboxTask, _limits: Limits | None, say: Say) -> Backend:
    from variantbench.plugins.sandbox.unprotected import UnprotectedBackend

    say("programs written by the model run UNPROTECTED on this machine, as you")
    return UnprotectedBackend()


_OPENERS: dict[str, Callable[[SandboxTask, Limits | None, Say], Backend]] = {
    "docker": _docker,
    "bubblewrap": _bubblewrap,
    "unix": _served,
    UNPROTECTED: _unprotected,
}


def _first_that_works(task: SandboxTask, limits: Limits | None, say: Say) -> Backend:
    reasons = []
    for name in ("docker",) if task.runtime or task.image else ("docker", "bubblewrap"):
        try:
            return _tried(name, task, limits, say)
        except (SandboxError, OSError) as error:
            reasons.append(f"{name}: {error}")
    raise SandboxError(f"{NO_SANDBOX} ({'; '.join(reasons)})")


def _tried(name: str, task: SandboxTask, limits: Limits | None, say: Say) -> Backend:
    backend = _OPENERS["unix" if name.startswith(SERVED) else name](task, limits, say)
    with Pool(backend, boxes=1, limits=limits) as pool:
        pool.try_out()
    return backend
