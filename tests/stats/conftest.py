from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

SHARED = Path(__file__).resolve().parents[3] / "shared" / "reference"
GLMM = SHARED / "glmm"
FORMULAS = {"glmm1": ["is_variant"], "glmm2": ["is_variant", "gamma_c"]}


@dataclass(frozen=True)
class Golden:
    """One data set: rows, our reference, and what R made of it."""

    name: str
    rows: pd.DataFrame
    reference: dict[str, Any]
    r: dict[str, Any]

    def arrays(self, formula: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        rows = self.rows
        return (
            rows["is_correct"].to_numpy(float),
            rows[FORMULAS[formula]].to_numpy(float),
            rows["id"].to_numpy(np.int64),
        )


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Golden]:
    if not GLMM.is_dir():
        pytest.skip(f"{GLMM} is absent: the golden data lie outside the repository")
    return _golden


@cache
def _golden(name: str) -> Golden:
    with gzip.open(GLMM / "data" / f"{name}.csv.gz", "rt") as file:
        rows = pd.read_csv(file)
    reference, r = (json.loads((GLMM / "fits" / f"{name}.{kind}.json").read_text()) for kind in ("reference", "lme4"))
    return Golden(name, rows, reference, r)


@pytest.fixture(scope="session")
def reference_file() -> Callable[[str], Path]:
    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{path} is absent: the reference data lie outside the repository")
        return path

    return find


@pytest.fixture(scope="session")
def slow() -> bool:
    """Whether the long form of a test is asked for."""
    return os.environ.get("VARIANTBENCH_SLOW") == "1"
