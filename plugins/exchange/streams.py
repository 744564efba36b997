"""Large JSON files piece by piece. The only file that knows ijson."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.guarded import MAX_LINE, unreadable


def items_of(path: Path, place: str) -> Iterator[Any]:
    """The values at a place such as ``samples.item``, one at a time."""
    try:
        import ijson
    except ModuleNotFoundError:
        raise UserError(f"{path}: large JSON needs ijson: pip install 'variantbench[exchange]'") from None
    try:
        with path.open("rb") as file:
            yield from ijson.items(_Bounded(file, path), place, use_float=True)
    except (ijson.JSONError, UnicodeDecodeError, OverflowError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0][:80]
        raise UserError(f"{path}: not whole JSON in UTF-8 ({reason}): the file is damaged or was cut off") from None
    except OSError as error:
        raise unreadable(path, error) from None


def value_of(path: Path, place: str) -> Any:
    """The first value at a place, None where there is none."""
    return next(items_of(path, place), None)


class _Bounded:
    """A file in which no string may be longer than a line of other logs: such text would have to be held in memory."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file, self._path, self._since = file, path, 0

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._file.read(size))
        quoted = data.rfind(b'"')
        self._since = self._since + len(data) if quoted < 0 else len(data) - quoted
        if self._since > MAX_LINE:
            raise UserError(f"{self._path}: a text of more than {MAX_LINE >> 20} MB: this is no log of answers")
        return data
