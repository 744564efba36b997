"""The published figures, read from beside the checkout; nothing of them is kept here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def published(shared: Path) -> Callable[[str], pd.DataFrame]:
    """A table of ../shared/reference/published by its name."""
    return lambda name: pd.read_csv(shared / "reference" / "published" / f"{name}.csv", keep_default_na=True)
