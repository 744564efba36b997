"""A small simulated study in a store, loaded as a frame: three models, two formats in prose and one in code, logic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.logic import load_items as load_logic
from variantbench.plugins.published import LogicRow, VariantRow
from variantbench.plugins.simulate import simulate
from variantbench.plugins.store import open_store
from variantbench.plugins.store.frame import frame

ROWS = [
    VariantRow("weak", "gsm", 0.60, 0.40, -2.0),
    VariantRow("weak", "simple_nl", 0.45, 0.42, -0.3),
    VariantRow("weak", "simple_code", 0.55, 0.42, -1.2),
    VariantRow("strong", "gsm", 0.80, 0.79, -0.2),
    VariantRow("strong", "simple_nl", 0.85, 0.80, -0.8),
    VariantRow("odd", "gsm", 0.35, 0.40, 0.4),
    *(LogicRow(name, "zero_shot", batch, 0.5 + shift) for name, shift in (("weak", 0.0), ("strong", 0.2))
      for batch in ("Q1", "Q2", "Q3", "Q4")),
]  # fmt: skip


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("simulated") / "runs.db"
    with open_store(str(path)) as opened:
        gsm = load_items(sample=40, variants_per_template=20)
        simulate(opened, ROWS, gsm=gsm, logic=load_logic(), seed=3)
    return path


@pytest.fixture(scope="session")
def answers(store: Path) -> Any:
    return frame(str(store))
