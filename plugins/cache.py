"""The user's cache folder: converted models, file hashes. Everything in it can be deleted and comes back by itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """``$VARIANTBENCH_CACHE``, else ``$XDG_CACHE_HOME/variantbench``, else ``~/.cache/variantbench``."""
    if chosen := os.environ.get("VARIANTBENCH_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "variantbench"


def cached_text(name: str, make: Callable[[], str]) -> str:
    """The text kept under that name in the cache folder, made and kept if it is not there; a folder that takes nothing
    is no fault.
    """
    place = cache_folder() / name
    try:
        return place.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = make()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_name(f"{place.name}.{os.getpid()}")
        new.write_text(text, "utf-8")
        new.replace(place)
    return text
