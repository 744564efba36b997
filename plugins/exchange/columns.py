"""Parquet files row by row, in batches of bounded size. The only file that knows pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError

ROWS = 512
NEEDED = "Parquet needs pyarrow: pip install 'variantbench[exchange]'"


def names_of(path: Path) -> list[str]:
    """The names of a Parquet file's columns."""
    with _opened(path) as file:
        return [str(name) for name in file.schema_arrow.names]


def batches(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a Parquet file, each with its ``file:row``, counted from 1."""
    import pyarrow

    number = 0
    with _opened(path) as file:
        try:
            for batch in file.iter_batches(batch_size=ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}:{number}", row
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise UserError(f"{path}:{number + 1}: damaged ({_short(error)}): copy the file again") from None


def _opened(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise UserError(f"{path}: {NEEDED}") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UserError(
            f"{path}: no whole Parquet file ({_short(error)}): it was cut off or is another format"
        ) from None


def _short(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:80]
