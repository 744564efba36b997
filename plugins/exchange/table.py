"""Plain tables: CSV, JSON lines and Parquet with one answer a row, and a map of their columns to ours.

Columns: `item` and `verdict` (or `correct`) are needed; `benchmark`, `model`, `format`, `question`, `target`, `group`,
`variant`, `batch`, `seed`, `answer`, `value`, `prompt`, `finish_reason`, `prompt_tokens`, `new_tokens`, `seconds`,
`max_new_tokens`, `temperature`, `top_p` are read where they are. ``--map theirs=ours`` names them; dotted paths reach
into JSON. A verdict is 1/0, true/false, correct, incorrect, no_answer or error.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Decoding, FinishReason
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.columns import batches
from variantbench.plugins.exchange.fields import (
    OWN,
    count_of,
    look_up,
    place_of,
    seconds_of,
    target_of,
    text_of,
    verdict_of,
    whole,
)
from variantbench.plugins.exchange.foreign import FORMAT, Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import MAX_LINE, lines_of, objects_of, parsed
from variantbench.plugins.exchange.own import from_own

NAME = "table"
COLUMNS = (
    "item", "verdict", "correct", "benchmark", "model", "format", "question", "target", "group", "variant", "batch",
    "seed", "answer", "value", "prompt", "finish_reason", "prompt_tokens", "new_tokens", "seconds", "max_new_tokens",
    "temperature", "top_p",
)  # fmt: skip
_SUFFIXES = (".csv", ".jsonl", ".parquet")


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a table: its name says so."""
    del head
    return path.suffix in _SUFFIXES


def read(source: Source) -> Iterator[Entry]:
    """Every row, in the order of the file."""
    unknown = sorted(set(source.columns.values()) - set(COLUMNS))
    if unknown:
        raise UserError(f"--map: no column {', '.join(unknown)}; ours are {', '.join(COLUMNS)}")
    for where, row in _rows(source.path):
        own = row.get(OWN)
        if isinstance(own, str) and own:
            own = parsed(own, where)
        if isinstance(own, dict):
            verdict = verdict_of(own.get("verdict"))
            if verdict is None:
                raise UserError(f"{where}: verdict is {own.get('verdict')!r:.40}: export the run again")
            answer = text_of(own.get("answer", row.get("answer")))
            yield from_own(own, where, reading="verdict", verdict=verdict, text=answer, value=None)
        else:
            yield _answer(row, where, source)


def stated(source: Source) -> list[Stated]:
    """Nothing: a table states no accuracy."""
    del source
    return []


def version(source: Source) -> str:
    """Nothing: a table says nothing of its version."""
    del source
    return ""


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix == ".csv":
        return _csv_rows(path)
    return batches(path) if path.suffix == ".parquet" else objects_of(path)


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader((line for _, line in lines_of(path, blank=True)), strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            where = f"{path}:{reader.line_num}"
            if header is None:
                header = cells
                if len(set(header)) < len(header):
                    raise UserError(f"{where}: a column stands twice: each name once")
            elif cells and len(cells) != len(header):
                raise UserError(f"{where}: {len(cells)} cells, {len(header)} columns: the row is damaged or cut off")
            elif cells:
                yield where, {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not CSV ({error}): the file is damaged or cut off") from None


def _answer(row: Mapping[str, Any], where: str, source: Source) -> Entry:
    given = {name: row[name] for name in COLUMNS if row.get(name) is not None}
    for theirs, ours in source.columns.items():
        if (value := look_up(row, theirs)) is not None:
            given[ours] = value
    if "item" not in given:
        raise UserError(f"{where}: no column 'item': name it with --map theirs=item; there are {', '.join(row)[:200]}")
    name = source.reading or ("verdict" if "verdict" in given else "correct")
    score = given.get(name, row.get(name))
    if score is None:
        raise UserError(
            f"{where}: no column {name!r}: name it with --map theirs=correct; there are {', '.join(row)[:200]}"
        )
    verdict = verdict_of(score)
    if verdict is None:
        return LeftOut(where, f"a verdict that is neither right nor wrong ({name})")
    group, variant = place_of(given, where)
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", source.path.stem)),
        item=text_of(given["item"]),
        question=text_of(given.get("question", given["item"])),
        target=target_of(given.get("target")),
        model=text_of(given.get("model", source.path.stem)),
        verdict=verdict,
        reading=name,
        value=text_of(given["value"]) if "value" in given else None,
        text=text_of(given.get("answer")),
        prompt=text_of(given.get("prompt")),
        format=text_of(given.get("format")) or FORMAT,
        seed=whole(given.get("seed", 0), where, "seed"),
        group=group,
        variant=variant,
        batch=text_of(given.get("batch")) or None,
        finish_reason=_reason(given.get("finish_reason"), where),
        prompt_tokens=count_of(_number(given, "prompt_tokens", where)),
        new_tokens=count_of(_number(given, "new_tokens", where)),
        seconds=seconds_of(_number(given, "seconds", where)),
        decoding=Decoding(
            count_of(_number(given, "max_new_tokens", where)),
            seconds_of(_number(given, "temperature", where)),
            seconds_of(_number({"top_p": 1.0, **given}, "top_p", where)),
        ),
    )


def _reason(value: Any, where: str) -> FinishReason:
    if value is None:
        return FinishReason.END
    try:
        return FinishReason(value)
    except ValueError:
        allowed = ", ".join(FinishReason)
        raise UserError(f"{where}: finish_reason is {value!r:.40}; allowed are {allowed}") from None


def _number(given: Mapping[str, Any], name: str, where: str) -> float:
    try:
        return float(given.get(name, 0))
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{where}: {name} is {given[name]!r:.40}; a number is needed") from None
