"""Where a run's HTML report lies: beside the store, or in the default folder where that is a server."""

from __future__ import annotations

from pathlib import Path

from variantbench.plugins.options import DEFAULT_STORE
from variantbench.plugins.store.store import store_file


def html_place(store: str, run_id: str) -> Path:
    """The file of a run's report."""
    path = Path(store_file(store) or DEFAULT_STORE).expanduser()
    return path.parent / "reports" / f"{run_id}.html"
