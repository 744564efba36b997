"""Writing a whole run in one transaction: all of it is stored, or nothing.

Rows are plain tuples in the order of the table's columns, so that hundreds of thousands take seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Table, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from variantbench.plugins.errors import StoreError
from variantbench.plugins.store import schema
from variantbench.plugins.store.store import Store, insert_into, look_at_data, now, short
from variantbench.plugins.store.types import AnyText, stored

_CACHE_KB = 256_000
_AT_ONCE = 500  # SQLite takes a limited number of bound values a statement
Rows = Sequence[tuple[Any, ...]]


class BulkWriter:
    """An open transaction on a store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._statements: dict[str, tuple[str, bool, list[str], list[int]]] = {}

    def add(self, table: Table, rows: Rows) -> None:
        """Insert the rows whose key is new."""
        if not rows:
            return
        statement, positional, names, texts = self._statement(table)
        if texts:
            rows = [_as_stored(row, texts) for row in rows]
        given: Any = list(rows) if positional else [dict(zip(names, row, strict=True)) for row in rows]
        self._connection.exec_driver_sql(statement, given)

    def places(self, hashes: Sequence[str]) -> dict[str, tuple[int, str | None]]:
        """Variant and batch under which the store holds items: no part of their hash, and the first to come stay."""
        items = schema.items.c
        found: dict[str, tuple[int, str | None]] = {}
        for start in range(0, len(hashes), _AT_ONCE):
            query = select(items.hash, items.variant, items.batch).where(
                items.hash.in_(hashes[start : start + _AT_ONCE])
            )
            found |= {key: (variant, batch) for key, variant, batch in self._connection.execute(query)}
        return found

    def finish(self, run_id: str, manifest: str, answers: int) -> None:
        """Complete the run that was begun."""
        runs = schema.runs
        self._connection.execute(update(runs).where(runs.c.id == run_id).values(finished=now(), manifest=manifest))
        self._connection.execute(insert(schema.run_totals).values(run_id=run_id, answers=answers))
        look_at_data(self._connection)

    def _statement(self, table: Table) -> tuple[str, bool, list[str], list[int]]:
        if table.name not in self._statements:
            names = [column.name for column in table.columns]
            dialect = self._connection.dialect
            insert_new = insert_into(table, dialect.name).on_conflict_do_nothing()
            compiled = insert_new.compile(dialect=dialect, column_keys=names)
            texts = [place for place, column in enumerate(table.columns) if isinstance(column.type, AnyText)]
            order = list(compiled.positiontup or names)
            assert order == names  # noqa: S101 - SQLAlchemy keeps the order of columns
            self._statements[table.name] = str(compiled), compiled.positional, names, texts
        return self._statements[table.name]


def _as_stored(row: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    for place in places:
        value = row[place]
        if value is not None and not (value.isascii() and "\0" not in value):
            changed = list(row)
            for each in places:
                changed[each] = None if row[each] is None else stored(row[each])
            return tuple(changed)
    return row


@contextmanager
def bulk_writer(store: Store) -> Iterator[BulkWriter]:
    """One transaction; an error of any kind takes everything back."""
    try:
        with store.engine.begin() as connection:
            if store.engine.dialect.name == "sqlite":  # keys are hashes: what does not fit is read again and again
                connection.exec_driver_sql(f"PRAGMA cache_size=-{_CACHE_KB}")
            yield BulkWriter(connection)
    except SQLAlchemyError as error:
        raise StoreError(
            f"store {store.url} cannot be written ({short(error)}): free the disk or mend its permissions; nothing of "
            "this run was stored, run the same command again"
        ) from None
