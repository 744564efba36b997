"""Our answers as a table, CSV or Parquet: readable columns, and one of JSON that holds everything exactly."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.columns import NEEDED, ROWS
from variantbench.plugins.exchange.exporting import Answer
from variantbench.plugins.exchange.fields import OWN

TEXTS = (
    "benchmark", "item", "model", "format", "group", "batch", "question", "target", "verdict", "value", "answer",
    "finish_reason",
)  # fmt: skip
COUNTS = ("variant", "seed", "prompt_tokens", "new_tokens")


def csv_writer(path: Path) -> CsvWriter:
    """What writes a CSV file."""
    return CsvWriter(path)


def parquet_writer(path: Path) -> ParquetWriter:
    """What writes a Parquet file; UserError without pyarrow."""
    return ParquetWriter(path)


def _row(answer: Answer) -> dict[str, Any]:
    given = {**answer.own, "answer": answer.text, "verdict": answer.verdict.value}
    return {
        **{name: _printable(given[name]) for name in TEXTS},
        **{name: given[name] for name in COUNTS},
        OWN: json.dumps({**answer.own, "answer": answer.text}),
    }


def _printable(text: str | None) -> str | None:
    """Text that UTF-8 can hold: half characters are written out, and stand exactly in the column of JSON."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


class CsvWriter:
    """A CSV file."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8", newline="")
        self.csv = csv.DictWriter(self.file, [*TEXTS, *COUNTS, OWN], lineterminator="\n")
        self.csv.writeheader()

    def add(self, answer: Answer) -> None:
        """Write one row."""
        self.csv.writerow(_row(answer))

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class ParquetWriter:
    """A Parquet file, written in groups of rows."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError:
            raise UserError(f"--to parquet: {NEEDED}") from None
        self.arrow = pyarrow
        texts, counts = pyarrow.string(), pyarrow.int64()
        names = [*((name, texts) for name in TEXTS), *((name, counts) for name in COUNTS), (OWN, texts)]
        self.schema = pyarrow.schema(names)
        self.file = pyarrow.parquet.ParquetWriter(path, self.schema, compression="zstd")
        self.rows: list[dict[str, Any]] = []

    def add(self, answer: Answer) -> None:
        """Write one row."""
        self.rows.append(_row(answer))
        if len(self.rows) == ROWS:
            self._flush()

    def close(self) -> None:
        """Write the last rows."""
        self._flush()
        self.file.close()

    def _flush(self) -> None:
        if self.rows:
            self.file.write_table(self.arrow.Table.from_pylist(self.rows, self.schema))
            self.rows.clear()
