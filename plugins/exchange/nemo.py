"""NeMo Evaluator: ``results.jsonl``, one problem (or one repeat of it) a line.

Read: `problem_idx`, `reward`, `repeat`, `expected_answer`, `model_response`, `extracted_answer`, `metadata`,
`scoring_details`; the question where `prompt` or `metadata` have it. Task and model are the names of the folders
around the file unless columns are mapped. A reward of 1 or 0 is a verdict; others are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.fields import look_up, place_of, target_of, text_of, verdict_of, whole
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import objects_of

NAME = "nemo-evaluator"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a log."""
    return path.suffix == ".jsonl" and b'"problem_idx"' in head and b'"reward"' in head


def read(source: Source) -> Iterator[Entry]:
    """Every line, in the order of the file."""
    folders = source.path.absolute().parent
    for where, row in objects_of(source.path):
        if "problem_idx" not in row or "reward" not in row:
            raise UserError(f"{where}: no 'problem_idx' or 'reward': a line of results.jsonl has both")
        verdict = verdict_of(row["reward"])
        if verdict is None or isinstance(row["reward"], str):
            yield LeftOut(where, "a reward that is neither 0 nor 1")
        else:
            yield _answer(row, where, verdict, source.columns, folders)


def stated(source: Source) -> list[Stated]:
    """Nothing: the file states no accuracy."""
    del source
    return []


def version(source: Source) -> str:
    """Nothing: the file does not say."""
    del source
    return ""


def _answer(row: Mapping[str, Any], where: str, verdict: Verdict, columns: Mapping[str, str], folder: Path) -> Entry:
    metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    given = {ours: found for theirs, ours in columns.items() if (found := look_up(row, theirs)) is not None}
    group, variant = place_of({**metadata, **given}, where)
    text, value = text_of(row.get("model_response")), text_of(row.get("extracted_answer")) or None
    prompt = text_of(row.get("prompt"))
    question = metadata.get("question", prompt or row["problem_idx"])
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", metadata.get("task", folder.name))),
        item=text_of(given.get("item", row["problem_idx"])),
        question=text_of(given.get("question", question)),
        target=target_of(given.get("target", row.get("expected_answer"))),
        model=text_of(given.get("model", metadata.get("model", folder.parent.name))),
        verdict=verdict,
        reading="reward",
        value=value,
        text=text,
        prompt=prompt,
        seed=whole(given.get("seed", row.get("repeat", 0)), where, "repeat"),
        group=group,
        variant=variant,
    )
