"""Reading files that nobody vouches for: lines of bounded length, UTF-8, JSON, or an error of one line.

Every error is a `UserError` that begins with file and line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError

MAX_LINE = 32 * 2**20  # bytes; the longest answers there are take a hundredth of it
HEAD = 64 * 2**10


def file_hash(path: Path) -> str:
    """The sha256 of a file, in hex."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> UserError:
    """The error for a file that cannot be opened."""
    return UserError(
        f"{path}: cannot be read ({error.strerror or error}): give a log that is there and that you may read"
    )


def head_of(path: Path) -> bytes:
    """The first bytes of a file, by which its format is told."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise unreadable(path, error) from None


def lines_of(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, blank ones only if wanted."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise UserError(
                        f"{path}:{number}: a line of more than {MAX_LINE >> 20} MB: this is no log of answers"
                    )
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if blank or line.strip():
                    yield number, decoded(line, f"{path}:{number}")
    except OSError as error:
        raise unreadable(path, error) from None


def decoded(data: bytes, where: str) -> str:
    """The text of bytes that must be UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{where}: not UTF-8 (byte {error.start}: 0x{data[error.start]:02x}): convert the file, as with iconv"
        ) from None


def objects_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with its ``file:line``."""
    for number, line in lines_of(path):
        where = f"{path}:{number}"
        yield where, as_object(parsed(line, where), where)


def parsed(text: str, where: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON ({str(error)[:80]}): the file is damaged or was cut off") from None


def as_object(value: Any, where: str) -> dict[str, Any]:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: {type(value).__name__} where an object is needed: this is no log of that format")
    return value


def json_file(path: Path, *, most: int = 4 * MAX_LINE) -> dict[str, Any]:
    """A small JSON file that lies beside a log."""
    try:
        if path.stat().st_size > most:
            raise UserError(f"{path}: larger than {most >> 20} MB: this is no summary of a log")
        return as_object(parsed(decoded(path.read_bytes(), str(path)), str(path)), str(path))
    except OSError as error:
        raise unreadable(path, error) from None


@contextmanager
def refusing_odd_values(path: Path) -> Iterator[None]:
    """A value of another kind than the tool writes, wherever a reader meets it, is the file's fault, not ours."""
    try:
        yield
    except (AttributeError, TypeError, KeyError, IndexError, ValueError, OverflowError) as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UserError(
            f"{path}: damaged or of another version of the tool ({cause:.100}): give the log as the tool wrote it"
        ) from error
