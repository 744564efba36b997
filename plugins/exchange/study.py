"""The GSM re-evaluation study's own Parquet files: ``<run>/final/<variant>_test/<org_Model>.parquet``.

Read: `id` (template), `original_id`, `instance` (-1 for the known question), `question`, `numerical_result`,
`predicted_numerical_result`, `correct`, `detected_result_pattern`, `full_response`, `inference_time`. The files say
nothing of prompt, decoding and token counts. The items are those of Apple's release, so that runs on
``--gsm-source apple:PATH`` or ``hub`` pair with them. An answer without a number is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.columns import batches, names_of
from variantbench.plugins.exchange.fields import place_of, seconds_of, target_of, text_of
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, Source, Stated

NAME = "study"
COLUMNS = ("id", "original_id", "instance", "question", "numerical_result", "correct", "full_response")


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is one of these."""
    return path.suffix == ".parquet" and head.startswith(b"PAR1") and set(COLUMNS) <= set(names_of(path))


def read(source: Source) -> Iterator[Entry]:
    """Every row, in the order of the file."""
    lacking = [name for name in COLUMNS if name not in names_of(source.path)]
    if lacking:
        raise UserError(f"{source.path}: no column {', '.join(lacking)}: this is no file of the study")
    model = source.path.stem.replace("_", "/", 1)
    for where, row in batches(source.path):
        if not isinstance(row["correct"], bool):
            raise UserError(f"{where}: 'correct' is {row['correct']!r:.40}; true or false is needed")
        yield _answer(row, where, model)


def stated(source: Source) -> list[Stated]:
    """Nothing: the files state no accuracy."""
    del source
    return []


def version(source: Source) -> str:
    """Nothing: the files do not say."""
    del source
    return ""


def _answer(row: Mapping[str, Any], where: str, model: str) -> ForeignAnswer:
    group, variant = place_of(row, where)
    question = " ".join(text_of(row["question"]).split())
    value = text_of(row.get("predicted_numerical_result")) or None
    wrong = Verdict.INCORRECT if value is not None else Verdict.NO_ANSWER
    return ForeignAnswer(
        where=where,
        benchmark="gsm",
        item=f"{group}-v{variant}" if variant else f"{group}-base",
        question=question,
        target=target_of(row["numerical_result"]),
        model=model,
        verdict=Verdict.CORRECT if row["correct"] else wrong,
        reading="correct",
        reason=text_of(row.get("detected_result_pattern")),
        value=value,
        text=text_of(row["full_response"]),
        group=group,
        variant=variant,
        seconds=seconds_of(row.get("inference_time")),
    )
