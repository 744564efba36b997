from __future__ import annotations

import importlib.util
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARED = HERE.parents[3] / "shared"


@pytest.fixture(scope="session")
def apple() -> Path:
    """Apple's release beside the checkout; it is never part of this project."""
    return _shared("data/apple-gsm-symbolic")


@pytest.fixture(scope="session")
def gsm8k() -> Path:
    return _shared("data/gsm8k/test.jsonl")


@pytest.fixture(scope="session")
def gamma_cases() -> Path:
    return _shared("reference/glmm/stats/gamma_cases.json")


@pytest.fixture(scope="session")
def second_answers() -> dict[str, Callable[..., Fraction | int]]:
    """The table of `second_answers.py`, loaded by its path: test folders are no packages here."""
    spec = importlib.util.spec_from_file_location("second_answers", HERE / "second_answers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table: dict[str, Callable[..., Fraction | int]] = module.TABLE
    return table


def _shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is absent: the release and the reference data lie outside the repository")
    return path
