"""Whether a store is whole: what each table says of the others, and hashes of what they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Table, func, select

from variantbench.plugins.datatypes import text_hash
from variantbench.plugins.store import schema
from variantbench.plugins.store.rows import item_of
from variantbench.plugins.store.store import Store

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at, and what is wrong, in words."""

    runs: int
    records: int
    completions: int
    faults: tuple[str, ...]


def check(store: Store) -> Checked:
    """Look at everything that can be checked without a model."""
    with store.reading() as connection:
        return Checked(
            runs=_count(connection, schema.runs),
            records=_count(connection, schema.records),
            completions=_count(connection, schema.completions),
            faults=tuple(_faults(connection)),
        )


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _faults(connection: Connection) -> Iterator[str]:
    records, completions, items = schema.records.c, schema.completions.c, schema.items.c
    for column, other, what in (
        (records.run_id, schema.runs.c.id, "records of a run that is not there"),
        (records.item_hash, items.hash, "records of an item that is not there"),
        (records.completion_key, completions.key, "records of a completion that is not there"),
        (completions.prefix_hash, schema.texts.c.hash, "completions of a prompt that is not there"),
        (completions.model_identity, schema.models.c.identity, "completions of a model that is not there"),
    ):
        query = select(column).where(column.is_not(None), column.not_in(select(other)))
        yield from _named(what, [str(row[0]) for row in connection.execute(query)])
    twice = (
        select(records.run_id, records.model, records.format, records.item_hash, records.seed)
        .group_by(records.run_id, records.model, records.format, records.item_hash, records.seed, records.grader)
        .having(func.count() > 1)
    )
    yield from _named(
        "answers that a run has twice", [f"{row.run_id} {row.format}" for row in connection.execute(twice)]
    )
    texts = connection.execute(select(schema.texts.c.hash, schema.texts.c.text))
    yield from _named("texts that do not have their hash", [key for key, text in texts if text_hash(text) != key])
    rows = map(dict, connection.execute(select(schema.items)).mappings())
    yield from _named(
        "items that do not have their hash", [r["id"] for r in rows if item_of(r).content_hash != r["hash"]]
    )


def _named(what: str, found: list[str]) -> Iterator[str]:
    if found:
        yield f"{len(found):,} {what}: {', '.join(found[:_SHOWN])}{', …' if len(found) > _SHOWN else ''}"
