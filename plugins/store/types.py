"""Text that any database can hold."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Text
from sqlalchemy.types import TypeDecorator

# PostgreSQL refuses the null character and no database takes lone surrogates, but models write both. They are stored as
# characters of the last private-use plane, which no text uses, and come back as they were.
_PLANE = 0x100000
_STORED = {code: chr(_PLANE + code) for code in (0, *range(0xD800, 0xE000))}
_READ = {_PLANE + code: chr(code) for code in _STORED}


def stored(value: str) -> str:
    """A text as the database holds it."""
    if value.isascii() and "\0" not in value:  # nearly every text, and much quicker
        return value
    return value.translate(_STORED)


class AnyText(TypeDecorator[str]):
    """A text column for what models, prompts and people write."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """What is written to the database."""
        del dialect
        return None if value is None else stored(value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        """What was written, as it was."""
        del dialect
        # nearly all text is ASCII, and half a million values are read for a report
        return value if value is None or value.isascii() else value.translate(_READ)
