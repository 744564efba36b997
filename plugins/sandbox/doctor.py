"""Which sandbox works on this machine, and why the others do not: ``variantbench doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.bubblewrap import INSTALL_HINT as BUBBLEWRAP_HINT
from variantbench.plugins.sandbox.choose import SandboxTask, open_backend
from variantbench.plugins.sandbox.docker import INSTALL_HINT as DOCKER_HINT
from variantbench.plugins.sandbox.selftest import ATTACKS, self_test


@dataclass(frozen=True, slots=True)
class Finding:
    """One backend: whether every defence holds here, and what to know or do."""

    name: str
    works: bool
    text: str


def diagnose() -> Iterator[Finding]:
    """A finding a backend, in the order in which ``--sandbox auto`` tries them."""
    for name, hint in (("docker", DOCKER_HINT), ("bubblewrap", BUBBLEWRAP_HINT)):
        try:
            backend = open_backend(SandboxTask(name), say=lambda _: None)
            self_test(backend)
        except (SandboxError, OSError) as error:
            text = str(error) if hint in str(error) else f"{error}. To use it: {hint}"
            yield Finding(name, False, text)
        else:
            details = backend.details()
            what = details.get("program") or f"engine {details.get('engine')}, image {details.get('image')}"
            yield Finding(name, True, f"{what}; {len(ATTACKS)} attacks failed as they should")
