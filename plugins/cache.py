"""The user's cache folder: converted models, file hashes. Everything in it can be deleted and comes back by itself."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$VARIANTBENCH_CACHE``, else ``$XDG_CACHE_HOME/variantbench``, else ``~/.cache/variantbench``."""
    if chosen := os.environ.get("VARIANTBENCH_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "variantbench"
