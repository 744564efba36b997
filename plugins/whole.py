"""Files that appear whole or not at all: nobody reads half of one, and a full disk spoils none that was there."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name of an empty file to write to, which takes the place of `path` at the end; after an error it is gone."""
    beside = path.parent / f".{secrets.token_hex(6)}.part"
    beside.touch(exist_ok=False)  # as the umask says; mkstemp's are the owner's alone
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
