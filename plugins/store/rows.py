"""Dataclasses to rows of the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from variantbench.plugins.datatypes import Execution, Grade, Item, Record


def item_row(item: Item) -> dict[str, Any]:
    """The row of ``items``."""
    return {
        "hash": item.content_hash,
        "id": item.id,
        "benchmark": item.benchmark,
        "group_id": item.group,
        "variant": item.variant,
        "batch": item.batch,
        "question": item.question,
        "target": item.target,
        "covariates": json.dumps(dict(item.covariates), sort_keys=True),
        "notes": json.dumps(list(item.notes)),
        "source": item.source,
    }


def record_rows(record: Record) -> dict[str, dict[str, Any]]:
    """A record as rows of plain values, to travel as JSON: what goes to ``records`` and to ``items``."""
    return {"record": _record_row(record), "item": item_row(record.item)}


def _record_row(record: Record) -> dict[str, Any]:
    return {
        "case_id": record.case,
        "grader": record.grader,
        "model": record.model,
        "format": record.prompt.format,
        "seed": record.prompt.seed,
        "item_hash": record.item.content_hash,
        "completion_key": record.completion_key or None,
        **grade_columns("paper", record.paper),
        **grade_columns("robust", record.robust),
        "execution": json.dumps(asdict(record.execution)) if record.execution else None,
    }


def regraded_row(
    row: Mapping[str, Any], *, grader: str, paper: Grade, robust: Grade, execution: Execution | None
) -> dict[str, Any]:
    """A row of ``records`` with other grades of the same answer."""
    kept = ("case_id", "model", "format", "seed", "item_hash", "completion_key")
    return {
        **{name: row[name] for name in kept},
        "grader": grader,
        **grade_columns("paper", paper),
        **grade_columns("robust", robust),
        "execution": json.dumps(asdict(execution)) if execution else None,
    }


def item_of(row: Mapping[str, Any]) -> Item:
    """The item that a row of `Store.records` is about."""
    return Item(
        id=row["id"],
        benchmark=row["benchmark"],
        group=row["group_id"],
        question=row["question"],
        target=row["target"],
        variant=row["variant"],
        batch=row["batch"],
        covariates=json.loads(row["covariates"]),
        notes=tuple(json.loads(row["notes"])),
        source=row["source"],
    )


def grade_columns(protocol: str, grade: Grade) -> dict[str, Any]:
    """The columns of one protocol's grade."""
    return {
        f"{protocol}_verdict": grade.verdict.value,
        f"{protocol}_status": grade.extraction.status.value,
        f"{protocol}_value": grade.extraction.value,
        f"{protocol}_method": grade.extraction.method,
        f"{protocol}_reason": grade.reason,
    }
