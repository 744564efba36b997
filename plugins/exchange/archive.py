"""Reading zip archives that nobody vouches for, entry by entry, nothing written to disk.

Names that climb, are absolute or stand twice, encrypted entries, and entries that unpack to more than their share are
refused. Zstandard (method 93) is read with `zstandard`: the standard library has it from Python 3.14 on.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.guarded import unreadable

MAX_ENTRY = 128 * 2**20  # bytes unpacked; a sample with all its events takes a hundredth of it
MAX_ENTRIES = 2_000_000
MAX_RATIO = 1_000  # unpacked to packed, of entries of more than a megabyte
_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")


class Archive:
    """An open archive whose names have been checked."""

    def __init__(self, path: Path, file: IO[bytes], zipped: zipfile.ZipFile) -> None:
        self.path, self._file, self._zipped = path, file, zipped
        self._entries = {info.filename: info for info in zipped.infolist()}
        self._check()

    @property
    def names(self) -> list[str]:
        """Every entry, in the order of the archive."""
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """An entry, unpacked; UserError where it is not what it says it is."""
        info = self._entries[name]
        where = f"{self.path}:{name}"
        if info.flag_bits & 1:
            raise UserError(f"{where}: encrypted: unpack the archive with its password first")
        if info.file_size > MAX_ENTRY or (
            info.file_size > 2**20 and info.file_size > MAX_RATIO * max(info.compress_size, 1)
        ):
            raise UserError(
                f"{where}: unpacks to {info.file_size >> 20:,} MB from {info.compress_size:,} bytes: refused as a bomb"
            )
        try:
            data = self._zstandard(info) if info.compress_type == _ZSTANDARD else self._plain(info)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError, struct.error) as error:
            raise UserError(f"{where}: damaged ({str(error)[:80]}): copy the log again") from None
        if len(data) > info.file_size:
            raise UserError(f"{where}: unpacks to more than it says: refused as a bomb")
        if len(data) < info.file_size:
            raise UserError(f"{where}: cut off after {len(data):,} of {info.file_size:,} bytes: copy the log again")
        return data

    def _check(self) -> None:
        if len(self._entries) < len(self._zipped.infolist()):
            raise UserError(f"{self.path}: an entry stands twice in the archive: this is no log as the tool writes it")
        if len(self._entries) > MAX_ENTRIES:
            raise UserError(f"{self.path}: more than {MAX_ENTRIES:,} entries: this is no log of answers")
        for name in self._entries:
            parts = PurePosixPath(name).parts
            if name.startswith("/") or "\\" in name or ".." in parts or (parts and ":" in parts[0]):
                raise UserError(f"{self.path}: entry {name[:60]!r} leaves the archive: refused")

    def _plain(self, info: zipfile.ZipInfo) -> bytes:
        with self._zipped.open(info) as entry:
            try:
                return entry.read(info.file_size + 1)
            except Exception as error:
                if type(error).__module__ == "zlib":  # zlib.error is no OSError
                    raise zipfile.BadZipFile(str(error)) from None
                raise

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        try:
            import zstandard
        except ModuleNotFoundError:
            raise UserError(
                f"{self.path}: packed with zstandard: pip install 'variantbench[exchange]' to read it"
            ) from None
        self._file.seek(info.header_offset)
        mark, name_size, extra_size = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if mark != b"PK\x03\x04":
            raise zipfile.BadZipFile("no entry where one should begin")
        self._file.seek(name_size + extra_size, 1)
        try:
            with zstandard.ZstdDecompressor(max_window_size=MAX_ENTRY).stream_reader(
                self._file, read_across_frames=False, closefd=False
            ) as stream:
                return bytes(stream.read(info.file_size + 1))
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The archive at a path; UserError where it is none or cut off."""
    try:
        with path.open("rb") as file:
            try:
                zipped = zipfile.ZipFile(file)
            except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
                raise UserError(
                    f"{path}: no whole archive ({str(error)[:80]}): it was cut off or is another format"
                ) from None
            with zipped:
                yield Archive(path, file, zipped)
    except OSError as error:
        raise unreadable(path, error) from None
