"""Which sandbox a run uses: the one that was asked for, else the first that works here."""

from __future__ import annotations

from collections.abc import Callable

from variantbench.plugins.cache import cache_folder
from variantbench.plugins.errors import SandboxError, UserError
from variantbench.plugins.sandbox import bubblewrap, docker
from variantbench.plugins.sandbox.base import Backend, Limits
from variantbench.plugins.sandbox.pool import Pool

AUTO, OFF = "auto", "off"
UNPROTECTED = "none-run-model-code-unprotected"
CHOICES = (AUTO, "docker", "bubblewrap", OFF, UNPROTECTED)
NO_SANDBOX = (
    "not executed: no sandbox for answers that are code works here: "
    f"{bubblewrap.INSTALL_HINT}, or {docker.INSTALL_HINT}; `variantbench doctor` says more"
)
SWITCHED_OFF = "not executed: --sandbox off"

Say = Callable[[str], None]


def check_choice(name: str, runtime: str) -> None:
    """UserError if the options name no sandbox, or a runtime for one that has none."""
    if name not in CHOICES:
        raise UserError(f"--sandbox {name!r} is not known: choose from {', '.join(CHOICES[:-1])}")
    if runtime and name not in (AUTO, "docker"):
        raise UserError(f"--sandbox-runtime {runtime} is a runtime of Docker's: it does not go with --sandbox {name}")


def open_backend(name: str = AUTO, *, runtime: str = "", limits: Limits | None = None, say: Say = print) -> Backend:
    """The backend of that name, ready to start boxes; SandboxError with what to do if it does not work here."""
    check_choice(name, runtime)
    if name == AUTO:
        return _first_that_works(runtime, limits, say)
    if name == OFF:
        raise SandboxError(SWITCHED_OFF)
    return _OPENERS[name](runtime, limits, say)


def open_pool(
    name: str = AUTO, *, runtime: str = "", limits: Limits | None = None, boxes: int = 0, say: Say = print
) -> Pool:
    """A pool of the backend's boxes, one for each core unless `boxes` says otherwise."""
    return Pool(open_backend(name, runtime=runtime, limits=limits, say=say), boxes=boxes, limits=limits)


def _docker(runtime: str, limits: Limits | None, say: Say) -> Backend:
    from variantbench.plugins.sandbox.image import ensure_image

    return docker.DockerBackend(ensure_image(say=say), runtime=runtime, limits=limits)


def _bubblewrap(_runtime: str, _limits: Limits | None, _say: Say) -> Backend:
    from variantbench.plugins.sandbox.rootfs import host_root

    bubblewrap.find_bwrap()
    root, digest = host_root(cache_folder())
    return bubblewrap.BubblewrapBackend(root, root_digest=digest)


def _unprotected(_runtime: str, _limits: Limits | None, say: Say) -> Backend:
    from variantbench.plugins.sandbox.unprotected import UnprotectedBackend

    say("programs written by the model run UNPROTECTED on this machine, as you")
    return UnprotectedBackend()


_OPENERS: dict[str, Callable[[str, Limits | None, Say], Backend]] = {
    "docker": _docker,
    "bubblewrap": _bubblewrap,
    UNPROTECTED: _unprotected,
}


def _first_that_works(runtime: str, limits: Limits | None, say: Say) -> Backend:
    reasons = []
    for name in ("docker",) if runtime else ("docker", "bubblewrap"):
        try:
            backend = _OPENERS[name](runtime, limits, say)
            with Pool(backend, boxes=1, limits=limits) as pool:
                pool.try_out()
        except (SandboxError, OSError) as error:
            reasons.append(f"{name}: {error}")
        else:
            return backend
    raise SandboxError(f"{NO_SANDBOX} ({'; '.join(reasons)})")
