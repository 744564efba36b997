"""No sandbox: the runner as a plain process of the user's. Only on an explicit request, and marked in every record.

Covers: limits of CPU time and memory, a fresh process per answer. Does not cover: anything else. A program may read and
write whatever the user may, and talk to the network.
"""

from __future__ import annotations

import sys
from typing import Any

from variantbench.plugins.sandbox.base import RUNNER_FOLDER, Greeting, runner_digest
from variantbench.plugins.sandbox.bubblewrap import ProcessBox


class UnprotectedBackend:
    """Starts runners without a box."""

    name = "none (unprotected)"
    digest = runner_digest("")
    has_worked = False
    most_boxes = 0

    def start(self, nonce: str) -> ProcessBox:
        """A new runner."""
        python = getattr(sys, "_base_executable", None) or sys.executable
        boot = str(RUNNER_FOLDER / "boot.py")
        command = [python, "-s", "-S", "-P", "-B", boot, nonce, "unprotected"]
        return ProcessBox(command, environment={"PYTHONHASHSEED": "0"})

    def sweep(self) -> None:
        """Nothing: a runner ends with its stream."""

    def details(self) -> dict[str, Any]:
        """That there is no protection."""
        return {"protected": False}

    def accepts(self, greeting: Greeting) -> str:  # noqa: ARG002 - as in Backend
        """Any runner is as good as another."""
        return ""
