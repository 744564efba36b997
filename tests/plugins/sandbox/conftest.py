"""Fixtures for tests of the sandbox: backends that work here, pools of them, runners with a defence taken out."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import RUNNER_FOLDER, Backend, Limits
from variantbench.plugins.sandbox.choose import SandboxTask, open_backend
from variantbench.plugins.sandbox.pool import Pool

BACKENDS = ("docker", "bubblewrap")
QUICK = Limits(cpu_seconds=1, wall_seconds=1.0)


@pytest.fixture(scope="session")
def open_or_skip(needs) -> Callable[[str], Backend]:
    """Opens a backend; the test skips (in CI: fails) where it does not work."""

    def open_it(name: str) -> Backend:
        try:
            return open_backend(SandboxTask(name), say=lambda _: None)
        except (SandboxError, OSError) as error:
            needs(False, f"{name} does not work here: {error}")
            raise

    return open_it


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest, open_or_skip) -> Backend:
    """Each backend that works here."""
    return open_or_skip(request.param)


@pytest.fixture(scope="session")
def pool(backend: Backend) -> Iterator[Pool]:
    """One box of each backend, with short limits."""
    with Pool(backend, boxes=1, limits=QUICK) as opened:
        yield opened


@pytest.fixture
def mutant(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the runner's files with texts replaced; each text must be there exactly once."""

    def make(file: str, *replacements: tuple[str, str]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=tmp_path)) / "runner"
        shutil.copytree(RUNNER_FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        path = folder / file
        text = path.read_text()
        for old, new in replacements:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
            text = text.replace(old, new)
        path.write_text(text)
        return folder

    return make
