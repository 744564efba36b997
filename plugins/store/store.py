"""Reading and writing the store. All SQL is in this folder: what reads or writes in bulk has files of its own here."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt, text_hash
from variantbench.plugins.errors import StoreError
from variantbench.plugins.store import schema

_MOST_PARAMETERS = 500  # SQLite takes a limited number of bound values a statement


def now() -> str:
    """The present time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def shown_url(text: str) -> str:
    """A store's URL, or an argument that may hold one, as it may be printed and kept: without its passwords."""
    text = re.sub(r"(://[^:/@\s]*:)\S*@", r"\1***@", text)  # up to the last @: a password may hold one
    return re.sub(r"(password=)[^&\s]*", r"\1***", text, flags=re.IGNORECASE)


def store_url(text: str) -> str:
    """The database URL of what ``--store`` was given: a URL as it is, anything else as the path of a SQLite file."""
    return text if "://" in text else f"sqlite:///{Path(text).expanduser().resolve()}"


def store_file(text: str) -> str | None:
    """The file of a store that ``--store`` was given as a path or as a URL of SQLite; None where a server keeps it."""
    if "://" not in text:
        return text
    url = make_url(text)
    return url.database if url.get_backend_name() == "sqlite" else None


def open_store(text: str, *, create: bool = True) -> Store:
    """The store at a path or URL, its schema brought up to date; StoreError says what is wrong with it."""
    try:
        store = _connect(store_url(text), create=create)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, OSError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"--store {shown_url(text)!r} is no path or URL that can be opened ({short(error)}): give a file in a "
            "folder that you may write, or postgresql+psycopg://user:password@host/database "
            "(pip install 'variantbench[postgres]')"
        ) from None
    try:
        _migrate_in_turn(store)
    except (SQLAlchemyError, StoreError) as error:
        store.close()
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"store {shown_url(text)!r} cannot be opened ({short(error)}): check that it is a variantbench store, that "
            "you may write it and that the disk is not full, or give another --store"
        ) from None
    return store


def _migrate_in_turn(store: Store) -> None:
    """Migrate; where another process does so at the same time, see what is left. Each step can be taken twice."""
    for pause in (0.2, 0.5, 1.0, 2.0, 4.0):
        try:
            store.migrate()
            return
        except (OperationalError, ProgrammingError, IntegrityError) as error:
            if not re.search("already exists|duplicate|unique|locked|deadlock", str(error), re.IGNORECASE):
                raise
            time.sleep(pause)
    store.migrate()


def _connect(url: str, *, create: bool) -> Store:
    if url.startswith("sqlite:///"):
        path = Path(url.removeprefix("sqlite:///"))
        if not create and not path.exists():
            raise StoreError(f"no store at {path}: run a benchmark first, or give --store the file or URL of one")
        path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    return Store(engine, url)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def insert_into(table: Table, dialect: str) -> Any:
    """An insert in that dialect, which can be told what to do with rows whose key is there already."""
    return (postgresql if dialect == "postgresql" else sqlite).insert(table)


def look_at_data(connection: Connection) -> None:
    """Have the database look at samples of what it holds: else it guesses which index is the good one, and badly."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA analysis_limit=400")  # or it would read everything
    for table in (schema.records, schema.completions, schema.items):
        connection.exec_driver_sql(f"ANALYZE {table.name}")


def short(error: BaseException) -> str:
    """What the database says, in one line."""
    return str(getattr(error, "orig", None) or error).splitlines()[0]


class Store:
    """An open store. Every method is a transaction of its own."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine, self.url = engine, shown_url(url)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def migrate(self) -> None:
        """Bring the schema up to date; StoreError if a newer variantbench wrote it."""
        with self.engine.begin() as connection:
            version = self._version(connection)
            if version > schema.CURRENT:
                raise StoreError(
                    f"store {self.url} has schema {version}, this variantbench knows {schema.CURRENT}: "
                    "upgrade variantbench, or give another --store"
                )
            for number in range(version + 1, schema.CURRENT + 1):
                for step in schema.MIGRATIONS[number - 1]:
                    if isinstance(step, Table):
                        step.create(connection, checkfirst=True)
                    else:
                        connection.execute(step)
                connection.execute(insert(schema.schema_version).values(version=number, applied=now()))

    def _version(self, connection: Connection) -> int:
        if not inspect(connection).has_table("schema_version"):
            return 0
        return connection.execute(select(func.max(schema.schema_version.c.version))).scalar() or 0

    # completions

    def add_texts(self, texts: Iterable[str]) -> None:
        """Keep shared texts, each once."""
        self._add(schema.texts, [{"hash": text_hash(text), "text": text} for text in set(texts)])

    def add_model(self, identity: str, name: str, details: Mapping[str, Any]) -> None:
        """Keep what generated; known identities stay as they are."""
        self._add(schema.models, [{"identity": identity, "name": name, "details": json.dumps(details, sort_keys=True)}])

    def add_completions(
        self, completions: Sequence[tuple[str, Prompt, Completion]], *, model_identity: str, settings: Mapping[str, Any]
    ) -> None:
        """Keep completions under their keys; the texts of their prefixes must be in the store."""

        @cache
        def asked(decoding: Decoding, seed: int, chat: bool) -> str:
            return json.dumps({**settings, "decoding": asdict(decoding), "seed": seed, "chat": chat})

        created = now()
        self._add(
            schema.completions,
            [
                {
                    "key": key,
                    "model_identity": model_identity,
                    "settings": asked(prompt.decoding, prompt.seed, prompt.chat),
                    "prefix_hash": prompt.prefix_hash,
                    "suffix": prompt.suffix,
                    **completion.as_dict(),
                    "created": created,
                }
                for key, prompt, completion in completions
            ],
        )

    def text(self, key: str) -> str:
        """The shared text of that hash, empty if there is none."""
        with self.reading() as connection:
            found = connection.execute(select(schema.texts.c.text).where(schema.texts.c.hash == key)).scalar()
        return found or ""

    def completions(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The stored completions among those keys."""
        table = schema.completions
        names = tuple(Completion.__dataclass_fields__)
        found: dict[str, Completion] = {}
        with self.reading() as connection:
            for some in _slices(list(keys), _MOST_PARAMETERS):
                query = select(table.c.key, *(table.c[name] for name in names)).where(table.c.key.in_(some))
                for key, *values in connection.execute(query):
                    completion = dict(zip(names, values, strict=True))
                    completion["finish_reason"] = FinishReason(completion["finish_reason"])
                    found[key] = Completion(**completion)
        return found

    # runs

    def start_run(self, run_id: str, manifest: Mapping[str, Any]) -> None:
        """Note that a run has begun, after every other: the newest stays the newest where a clock was set back."""
        row = {"id": run_id, "status": "running", "manifest": json.dumps(manifest, sort_keys=True)}
        with self.reading() as connection:
            latest = connection.execute(select(func.max(schema.runs.c.started))).scalar()
        self._add(schema.runs, [{**row, "started": max(now(), _just_after(latest))}])

    def finish_run(self, run_id: str, status: str, manifest: Mapping[str, Any]) -> None:
        """Note how a run ended, and with how many answers."""
        change = update(schema.runs).where(schema.runs.c.id == run_id)
        with self._writing() as connection:
            connection.execute(
                change.values(finished=now(), status=status, manifest=json.dumps(manifest, sort_keys=True))
            )
            connection.execute(delete(schema.run_totals).where(schema.run_totals.c.run_id == run_id))
            connection.execute(
                insert(schema.run_totals).values(run_id=run_id, answers=self._count_answers(connection, run_id))
            )
            look_at_data(connection)

    def runs(self, beginning: str = "") -> list[dict[str, Any]]:
        """Every run whose id begins so, newest first, with its number of answers as ``records``."""
        query = (
            select(schema.runs, schema.run_totals.c.answers.label("records"))
            .join_from(schema.runs, schema.run_totals, isouter=True)
            .where(schema.runs.c.id.startswith(beginning, autoescape=True))
            .order_by(schema.runs.c.started.desc(), schema.runs.c.id.desc())
        )
        with self.reading() as connection:
            found = [dict(row) for row in connection.execute(query).mappings()]
            for run in found:
                run["manifest"] = self.decoded(run["manifest"], dict)
                if run["records"] is None:  # not finished, or killed
                    run["records"] = self._count_answers(connection, run["id"])
        return found

    def _count_answers(self, connection: Connection, run_id: str) -> int:
        records = schema.records.c
        counted = select(func.count(records.case_id.distinct())).where(records.run_id == run_id)
        return connection.execute(counted).scalar_one()

    def find_run(self, text: str | None = None) -> dict[str, Any]:
        """The run whose id begins with `text`, or the newest; StoreError if there is none or several."""
        found = self.runs(text or "")
        if not found:
            raise StoreError(f"no run {text or ''} in {self.url}: `variantbench runs` lists them".replace("  ", " "))
        if text is not None and len(found) > 1 and text not in {run["id"] for run in found}:
            raise StoreError(
                f"several runs begin with {text!r}: {', '.join(run['id'] for run in found)}; give more of it"
            )
        return found[0]

    # records

    def add_records(self, run_id: str, records: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
        """Keep a run's graded answers, as `record_rows` gives them; a record that is there already stays."""
        items = {rows["item"]["hash"]: rows["item"] for rows in records}
        with self._writing() as connection:
            for table, rows in (
                (schema.items, list(items.values())),
                (schema.records, [{"run_id": run_id, **one["record"]} for one in records]),
            ):
                if rows:
                    connection.execute(insert_into(table, connection.dialect.name).on_conflict_do_nothing(), rows)

    def records(self, run_id: str) -> Iterator[Mapping[str, Any]]:
        """The rows that a report needs, in the order of the cases' ids: record, item and completion joined.

        Of an answer that was graded several times, the row of the newest grader.
        """
        query = (
            select(
                schema.records,
                *(column for column in schema.items.c if column.name != "hash"),
                schema.completions.c.finish_reason,
                schema.completions.c.new_tokens,
                schema.completions.c.prompt_tokens,
                schema.completions.c.text,
                schema.completions.c.suffix,
                schema.completions.c.prefix_hash,
                schema.completions.c.settings,
            )
            .join(schema.items, schema.items.c.hash == schema.records.c.item_hash)
            .join(schema.completions, schema.completions.c.key == schema.records.c.completion_key, isouter=True)
            .where(schema.records.c.run_id == run_id)
            .order_by(schema.records.c.case_id)
        )
        return self._newest_gradings(query)

    def outcomes(self, run_id: str) -> Iterator[Mapping[str, Any]]:
        """How the answers of a run ended and were judged, and nothing else of them: a row each."""
        records, completions = schema.records.c, schema.completions.c
        query = (
            select(
                records.case_id,
                records.grader,
                records.model,
                records.robust_verdict,
                records.robust_status,
                completions.finish_reason,
            )
            .join(schema.completions, completions.key == records.completion_key, isouter=True)
            .where(records.run_id == run_id)
            .order_by(records.case_id)
        )
        return self._newest_gradings(query)

    def _newest_gradings(self, query: Select[Any]) -> Iterator[Mapping[str, Any]]:
        """The rows of a query ordered by case, of the newest grader each."""
        with self.reading() as connection:
            rows = connection.execute(query).mappings()
            for _, gradings in groupby(rows, key=lambda row: row["case_id"]):
                yield dict(max(gradings, key=lambda row: (len(row["grader"]), row["grader"])))

    def add_grades(self, run_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep further grades of a run's answers, as `regraded_row` gives them, beside those of other versions.

        A grade of the same version is replaced: it only said that the answer was not executed.
        """
        if not rows:
            return
        insert = insert_into(schema.records, self.engine.dialect.name)
        keys = ("run_id", "case_id", "grader")
        given = {name: insert.excluded[name] for name in rows[0] if name not in keys}
        with self._writing() as connection:
            connection.execute(
                insert.on_conflict_do_update(index_elements=keys, set_=given),
                [{"run_id": run_id, **row} for row in rows],
            )

    def prune(self, run_ids: Sequence[str], *, completions: bool) -> dict[str, int]:
        """Forget runs with their records; with `completions` also every completion that no run's record needs now.

        StoreError if a run is a baseline or half of a noise measurement, or if completions are to go while another run
        is under way. Returns how many rows went, by table.
        """
        self._refuse_to_prune(run_ids)
        if completions:
            self._refuse_beside_running(run_ids)
        gone: dict[str, int] = {}
        records = schema.records.c
        with self._writing() as connection:
            for table, column in (
                (schema.records, records.run_id),
                (schema.run_totals, schema.run_totals.c.run_id),
                (schema.runs, schema.runs.c.id),
            ):
                gone[table.name] = connection.execute(delete(table).where(column.in_(run_ids))).rowcount
            if completions:
                kept = select(records.completion_key).where(records.completion_key.is_not(None))
                unused = delete(schema.completions).where(schema.completions.c.key.not_in(kept))
                gone["completions"] = connection.execute(unused).rowcount
        return gone

    def needed_runs(self) -> dict[str, str]:
        """Runs that something else stands on, with what that is."""
        noise = schema.noise.c
        needed = {row["run_id"]: f"baseline {row['name']!r}" for row in self.baselines()}
        with self.reading() as connection:
            for pair in connection.execute(select(noise.first_run, noise.second_run)):
                needed |= dict.fromkeys(pair, "a noise measurement")
        return needed

    def _refuse_to_prune(self, run_ids: Sequence[str]) -> None:
        needed = self.needed_runs()
        for run_id in run_ids:
            if run_id in needed:
                raise StoreError(f"run {run_id} is needed by {needed[run_id]}: it is not pruned")

    def _refuse_beside_running(self, run_ids: Sequence[str]) -> None:
        """A run's completions are stored at once, its records later: until then nothing shows that it needs them."""
        for run in self.runs():
            if run["status"] == "running" and run["id"] not in run_ids:
                raise StoreError(
                    f"run {run['id']} is under way, and may need completions that no record names yet: wait for its "
                    "end, or, if it was killed, forget it first by its name"
                )

    # baselines and noise

    def set_baseline(self, name: str, run_id: str, *, why: str, set_by: str) -> None:
        """From now on `name` stands for that run; what it stood for before stays in the history."""
        self._add(schema.baselines, [{"name": name, "run_id": run_id, "why": why, "set_by": set_by, "created": now()}])

    def baselines(self, name: str | None = None) -> list[dict[str, Any]]:
        """The history of all baselines or of one, newest first."""
        query = select(schema.baselines).order_by(schema.baselines.c.number.desc())
        if name is not None:
            query = query.where(schema.baselines.c.name == name)
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def add_noise(
        self, model_identity: str, *, runs: tuple[str, str], items: int, flips: int, other_texts: int
    ) -> None:
        """Keep how many verdicts and texts of a model's items differed between two runs of the same."""
        self._add(
            schema.noise,
            [
                {
                    "model_identity": model_identity,
                    "first_run": runs[0],
                    "second_run": runs[1],
                    "items": items,
                    "flips": flips,
                    "other_texts": other_texts,
                    "created": now(),
                }
            ],
        )

    def noise(self, model_identity: str) -> dict[str, Any] | None:
        """The newest measurement of a model's noise, if there is one."""
        table = schema.noise
        query = select(table).where(table.c.model_identity == model_identity).order_by(table.c.number.desc()).limit(1)
        with self.reading() as connection:
            found = connection.execute(query).mappings().first()
        return dict(found) if found else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read from; StoreError where it cannot."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"store {self.url} cannot be read ({short(error)}): is it whole, and reachable?") from None

    def _add(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert the rows whose key is new."""
        if not rows:
            return
        with self._writing() as connection:
            connection.execute(insert_into(table, connection.dialect.name).on_conflict_do_nothing(), list(rows))

    def decoded(self, cell: Any, kind: type) -> Any:
        """The value of a cell that must hold JSON of that kind; StoreError where somebody else has written there."""
        try:
            value = json.loads(cell)
        except (ValueError, TypeError, RecursionError):
            value = None
        if not isinstance(value, kind):
            raise StoreError(
                f"store {self.url} holds {cell!r:.60} where JSON of type {kind.__name__} belongs: something else has "
                "written to it; take a copy of before"
            )
        return value

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(
                f"store {self.url} cannot be written ({short(error)}): free the disk, mend its permissions "
                "or see that the database is up; what was stored before is safe, run the same command again to go on"
            ) from None


def _just_after(moment: str | None) -> str:
    if moment is None:
        return ""
    return (datetime.fromisoformat(moment) + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")


def _slices(values: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
