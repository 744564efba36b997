"""Published rows of results, from CSV: what a simulation should look like.

Columns of a word-problem table: ``model, prompt_format, acc_base_pct, acc_variants_pct, log_or``; of a logic table:
``model, prompting, batch, accuracy_pct``. Formats are named as the study names them, or as ours are.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from variantbench.plugins.errors import UserError

FORMATS = {
    "GSM": "gsm",
    "NL-simple": "simple_nl",
    "NL-structured": "structured_nl",
    "code-simple": "simple_code",
    "code-structured": "structured_code",
    "zero-shot": "zero_shot",
    "few-shot": "few_shot",
    "cot-before": "cot_before",
    "cot-after": "cot_after",
}
_VARIANTS = ("model", "prompt_format", "acc_base_pct", "acc_variants_pct", "log_or")
_LOGIC = ("model", "prompting", "batch", "accuracy_pct")


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One model in one format: shares right of base questions and variants, and the log odds ratio of the variant."""

    model: str
    format: str
    base: float
    variants: float
    log_odds_ratio: float


@dataclass(frozen=True, slots=True)
class LogicRow:
    """One model in one style on one batch: the share right."""

    model: str
    format: str
    batch: str
    accuracy: float


def read_published(path: Path) -> tuple[VariantRow | LogicRow, ...]:
    """The rows of a table; of a logic table without baseline and totals. UserError says what is wrong with it."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            columns, rows = set(table.fieldnames or ()), list(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read ({error}): give a CSV file of published figures") from None
    if columns >= set(_VARIANTS):
        return tuple(_variant_row(path, row) for row in rows)
    if columns >= set(_LOGIC):
        return tuple(
            LogicRow(row["model"], _format(path, row["prompting"]), row["batch"], _share(path, row, "accuracy_pct"))
            for row in rows
            if row["batch"] != "ALL" and row["model"] != "baseline"
        )
    raise UserError(f"{path}: columns {', '.join(_VARIANTS)}, or {', '.join(_LOGIC)}, are needed")


def _variant_row(path: Path, row: Mapping[str, str]) -> VariantRow:
    return VariantRow(
        row["model"],
        _format(path, row["prompt_format"]),
        _share(path, row, "acc_base_pct"),
        _share(path, row, "acc_variants_pct"),
        _number(path, row, "log_or"),
    )


def _format(path: Path, name: str) -> str:
    if name not in FORMATS and name not in FORMATS.values():
        raise UserError(f"{path}: no format {name!r}: one of {', '.join(FORMATS)}")
    return FORMATS.get(name, name)


def _share(path: Path, row: Mapping[str, str], column: str) -> float:
    value = _number(path, row, column)
    if not 0 <= value <= 100:
        raise UserError(f"{path}: {column} {value:g}: a percentage, 0 to 100")
    return value / 100


def _number(path: Path, row: Mapping[str, str], column: str) -> float:
    try:
        return float(row[column])
    except (TypeError, ValueError):
        raise UserError(f"{path}: {column} {row[column]!r} of {row['model']}: a number is needed") from None
