from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import variantbench.stats

MODULES = sorted(path.stem for path in Path(variantbench.stats.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str) -> None:
    if name.endswith("_numba"):
        pytest.importorskip("numba", reason="the speed extra is not installed")
    module = importlib.import_module(f"variantbench.stats.{name}")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0
