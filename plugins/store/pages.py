"""Pages of a store's answers, for the viewer: filtered, in the order of case ids, none of them slow in a large store.

Pages go from a case id on, never by counting rows. SQLite and PostgreSQL find the rows by the indexes of the schema's
third version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, false, func, select
from sqlalchemy.sql.selectable import FromClause

from variantbench.plugins.store import schema
from variantbench.plugins.store.store import Store

PAGE = 50
COUNTED = 10_000  # beyond, a page says "more than"
_SNIPPET = 140
_FEW = 500

_R, _I, _C = schema.records.c, schema.items.c, schema.completions.c
_LISTED = (
    _R.case_id, _R.model, _R.format, _R.seed, _R.robust_verdict, _R.robust_value, _R.paper_verdict,
    _I.id.label("item"), _I.target, _C.finish_reason, func.substr(_C.text, 1, _SNIPPET).label("start"),
)  # fmt: skip


class Pages:
    """Reads pages of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def choices(self, run_id: str) -> dict[str, list[str]]:
        """The models and formats of a run."""
        grader = self.grader(run_id)
        query = select(_R.model, _R.format).where(_R.run_id == run_id, _R.grader == grader).distinct()
        rows = self._rows(query)
        return {
            "models": list(dict.fromkeys(row["model"] for row in rows)),
            "formats": list(dict.fromkeys(row["format"] for row in rows)),
        }

    def batches(self, run_id: str) -> list[str]:
        """The batches of a run."""
        rows = self._rows(select(_I.batch).where(_I.batch.is_not(None)).distinct())
        found = sorted(row["batch"] for row in rows)
        return [batch for batch in found if self._rows(self._cases(run_id, self.where(batch=batch)).limit(1))]

    def answers(self, run_id: str, where: Sequence[ColumnElement[bool]], *, after: str, before: str) -> list[Any]:
        """At most `PAGE` + 1 answers behind the case ``after``, or before ``before``; in the order of case ids."""
        cases = self._cases(run_id, where)
        if before:
            cases = cases.where(_R.case_id < before).order_by(_R.case_id.desc())
        else:
            cases = (cases.where(_R.case_id > after) if after else cases).order_by(_R.case_id)
        found = [row["case_id"] for row in self._rows(cases.limit(PAGE + 1))]
        query = select(*_LISTED).select_from(_joined()).where(_R.run_id == run_id, _R.grader == self.grader(run_id))
        return self._rows(query.where(_R.case_id.in_(found)).order_by(_R.case_id))

    def count(self, run_id: str, where: Sequence[ColumnElement[bool]]) -> int:
        """How many there are, counted up to one more than `COUNTED`."""
        some = self._cases(run_id, where).limit(COUNTED + 1).subquery()
        with self.store.engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(some)).scalar_one())

    def answer(self, run_id: str, case_id: str) -> Mapping[str, Any] | None:
        """Everything of one answer, by its newest grader; None if there is none."""
        query = (
            select(
                schema.records,
                _I.id.label("item"), _I.benchmark, _I.group_id, _I.variant, _I.batch, _I.question, _I.target, _I.notes,
                _I.covariates, _C.text, _C.finish_reason, _C.prompt_tokens, _C.new_tokens, _C.seconds, _C.suffix,
                _C.settings, schema.texts.c.text.label("prefix"),
            )
            .join_from(schema.records, schema.items, _I.hash == _R.item_hash)
            .join(schema.completions, _C.key == _R.completion_key, isouter=True)
            .join(schema.texts, schema.texts.c.hash == _C.prefix_hash, isouter=True)
            .where(_R.run_id == run_id, _R.case_id == case_id)
        )  # fmt: skip
        rows = self._rows(query)
        return max(rows, key=lambda row: (len(row["grader"]), row["grader"]), default=None)

    def neighbour(self, run_id: str, where: Sequence[ColumnElement[bool]], case_id: str, *, back: bool) -> str | None:
        """The case before or behind that one under the same filters."""
        query = self._cases(run_id, where)
        if back:
            query = query.where(_R.case_id < case_id).order_by(_R.case_id.desc())
        else:
            query = query.where(_R.case_id > case_id).order_by(_R.case_id)
        rows = self._rows(query.limit(1))
        return rows[0]["case_id"] if rows else None

    def elsewhere(self, run_id: str, item_hash: str) -> list[Any]:
        """The same question's answers in that run: other models, formats and repeats."""
        query = select(_R.case_id, _R.model, _R.format, _R.seed, _R.robust_verdict, _R.robust_value)
        query = query.where(_R.run_id == run_id, _R.grader == self.grader(run_id), _R.item_hash == item_hash)
        return self._rows(query.order_by(_R.model, _R.format, _R.seed).limit(2 * PAGE))

    def pairs(
        self, runs: tuple[str, str], models: tuple[str, str], form: str, flip: str, after: str
    ) -> tuple[list[Any], int]:
        """Two runs' answers to the same questions, and how many such pairs there are (counted up to a limit)."""
        one, two = schema.records.alias("one"), schema.records.alias("two")
        same = and_(two.c.item_hash == one.c.item_hash, two.c.format == one.c.format, two.c.seed == one.c.seed)
        query = select(one.c.case_id).join_from(one, two, same)
        for side, run, model in zip((one, two), runs, models, strict=True):
            query = query.where(side.c.run_id == run, side.c.grader == self.grader(run), side.c.model == model)
        query = query.where(*_flipped(one, two, flip), *([one.c.format == form] if form else []))
        counted = query.limit(COUNTED + 1).subquery()
        with self.store.engine.connect() as connection:
            count = int(connection.execute(select(func.count()).select_from(counted)).scalar_one())
        page = (
            query.join(schema.items, _I.hash == one.c.item_hash)
            .with_only_columns(
                one.c.case_id, two.c.case_id.label("second_case"), one.c.format, one.c.seed, _I.id.label("item"),
                _I.target, one.c.robust_verdict.label("before"), two.c.robust_verdict.label("now"),
                one.c.robust_value.label("value_before"), two.c.robust_value.label("value_now"),
            )
        )  # fmt: skip
        if after:
            page = page.where(one.c.case_id > after)
        return self._rows(page.order_by(one.c.case_id).limit(PAGE + 1)), count

    def where(
        self, *, model: str = "", form: str = "", outcome: str = "", template: str = "", batch: str = ""
    ) -> list[ColumnElement[bool]]:
        """The conditions of those filters; what is empty is none."""
        found: list[ColumnElement[bool]] = []
        if model:
            found.append(_R.model == model)
        if form:
            found.append(_R.format == form)
        if outcome == "cut_off":
            found.append(self._among(_R.completion_key, select(_C.key).where(_C.finish_reason == "length")))
        elif outcome == "grades_differ":
            found.append(_R.robust_verdict != _R.paper_verdict)
        elif outcome:
            found.append(_R.robust_verdict == outcome)
        if template:
            found.append(self._among(_R.item_hash, select(_I.hash).where(_I.group_id == template)))
        if batch:
            found.append(self._among(_R.item_hash, select(_I.hash).where(_I.batch == batch)))
        return found

    def grader(self, run_id: str) -> str:
        """The newest grader of a run's answers; '' if there is none."""
        newest, last = "", ""
        while True:
            query = select(func.min(_R.grader)).where(_R.run_id == run_id, _R.grader > last)
            with self.store.engine.connect() as connection:
                following = connection.execute(query).scalar()
            if following is None:
                return newest
            last = following
            newest = max(newest, following, key=lambda grader: (len(grader), grader))

    def _among(self, column: ColumnElement[Any], query: Select[Any]) -> ColumnElement[bool]:
        """That the column is among what the query finds: where that is little, by name, so that it is looked up."""
        with self.store.engine.connect() as connection:
            few = list(connection.execute(query.limit(_FEW + 1)).scalars())
        if not few:
            return false()
        return column.in_(few if len(few) <= _FEW else query)

    def _cases(self, run_id: str, where: Sequence[ColumnElement[bool]]) -> Select[Any]:
        """The case ids, from the one table that all filters speak of."""
        return select(_R.case_id).where(_R.run_id == run_id, _R.grader == self.grader(run_id), *where)

    def _rows(self, query: Select[Any]) -> list[Any]:
        with self.store.engine.connect() as connection:
            return list(connection.execute(query).mappings())


def _joined() -> FromClause:
    return schema.records.join(schema.items, _I.hash == _R.item_hash).join(
        schema.completions, _C.key == _R.completion_key, isouter=True
    )


def _flipped(one: Any, two: Any, flip: str) -> list[ColumnElement[bool]]:
    first, second = one.c.robust_verdict, two.c.robust_verdict
    right = "correct"
    return {
        "lost": [first == right, second != right],
        "won": [first != right, second == right],
        "same": [first == second],
        "any": [],
    }[flip]
