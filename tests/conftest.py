"""Fixtures for all tests: the shared reference data, and services, where they are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# a time limit on single examples would fail on a busy machine, and says nothing about the code
settings.register_profile("variantbench", deadline=None)
settings.load_profile("variantbench")

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def needs() -> Callable[[bool, str], None]:
    """Skips with the reason where something is absent; fails where CI has promised that it is there."""

    def check(condition: bool, reason: str) -> None:
        if condition:
            return
        if os.environ.get("VARIANTBENCH_REQUIRE_SERVICES") == "1":
            pytest.fail(f"{reason}, but VARIANTBENCH_REQUIRE_SERVICES=1 promises it")
        pytest.skip(reason)

    return check


@pytest.fixture
def shared() -> Path:
    """The folder of shared reference data, beside the checkout; the test skips without it."""
    if not SHARED.is_dir():
        pytest.skip(f"no shared reference data at {SHARED}")
    return SHARED
