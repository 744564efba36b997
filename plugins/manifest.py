"""What a run was: command, versions, hardware, options. Stored with the run, so that a figure can be traced."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from variantbench.plugins.generation.model_task import ModelTask
from variantbench.plugins.grading import GRADER
from variantbench.plugins.options import RunConfig
from variantbench.plugins.store.store import shown_url

_LIBRARIES = ("variantbench", "pytest", "pytest-xdist", "torch", "transformers", "numpy", "scipy")


def manifest(run: RunConfig, models: Sequence[ModelTask], *, command: Sequence[str]) -> dict[str, Any]:
    """The manifest of a run at its start."""
    return {
        "command": list(command),
        "options": {**run.as_dict(), "store": shown_url(run.store)},
        "grader": GRADER,
        "models": [
            {
                "name": model.name,
                "identity": model.identity,
                **model.details,
                "settings": model.settings.as_dict(),
                "key_settings": dict(model.key_settings),
            }
            for model in models
        ],
        "versions": {"python": platform.python_version(), **_versions()},
        "hardware": {"machine": platform.machine(), "processor": _processor(), "cpus": os.cpu_count()},
        "git": _git_state(),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def _git_state() -> dict[str, str]:
    """Commit and whether anything is changed in the working folder, where that is a git checkout."""
    try:
        answers = [
            subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=5, check=True).stdout.strip()  # noqa: S603, S607 - git, as the user would call it
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"commit": answers[0], "state": "changed" if answers[1] else "clean"}


def command_line() -> list[str]:
    """The command that started this process."""
    return [os.path.basename(sys.argv[0]), *map(shown_url, sys.argv[1:])]
