"""Pages of a store's answers, for the viewer: filtered, none of them slow in a large store.

Answers come by model, format and case id. Pages go on from a case, never by counting rows; which rows are on a page is
found in the indexes alone, of the schema's fourth version, and the texts of these rows are read afterwards.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BinaryExpression, ColumnElement, Select, and_, func, literal_column, select, tuple_
from sqlalchemy.sql.selectable import FromClause

from variantbench.plugins.errors import StoreError
from variantbench.plugins.store import schema
from variantbench.plugins.store.store import Store

PAGE = 50
COUNTED = 10_000  # beyond, a page says "more than"
_SNIPPET = 140
_FEW = 500

_R, _I, _C = schema.records.c, schema.items.c, schema.completions.c
_ORDER = (_R.model, _R.format, _R.case_id)
_LISTED = (
    _R.case_id, _R.model, _R.format, _R.seed, _R.robust_verdict, _R.robust_value, _R.paper_verdict,
    _I.id.label("item"), _I.target, _C.finish_reason, func.substr(_C.text, 1, _SNIPPET).label("start"),
)  # fmt: skip

# Cut-off answers, where there are many: by case for a page, which needs but a few; by key for counting them
_CUT_OFF = select(_C.key).where(_C.finish_reason == literal_column("'length'"))  # as in the index
_WAS_CUT_OFF = _CUT_OFF.where(_C.key == _R.completion_key).correlate(schema.records).exists()


class Pages:
    """Reads pages of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def choices(self, run_id: str) -> dict[str, list[str]]:
        """The models and formats of a run."""
        of_run = (_R.run_id == run_id, _R.grader == self.grader(run_id))
        models = self._distinct(_R.model, *of_run)
        formats = [form for model in models for form in self._distinct(_R.format, *of_run, _R.model == model)]
        return {"models": models, "formats": sorted(set(formats))}

    def batches(self, run_id: str) -> list[str]:
        """The batches of a run."""
        rows = self._rows(select(_I.batch).where(_I.batch.is_not(None)).distinct())
        found = sorted(row["batch"] for row in rows)
        return [batch for batch in found if self._rows(self._cases(run_id, self.where(batch=batch)).limit(1))]

    def answers(self, run_id: str, where: Sequence[ColumnElement[bool]], *, after: str, before: str) -> list[Any]:
        """At most `PAGE` + 1 answers behind the case ``after``, or before ``before``."""
        cases = self._beside(run_id, where, before or after, back=bool(before)).limit(PAGE + 1)
        found = [row["case_id"] for row in self._rows(cases)]
        query = select(*_LISTED).select_from(_joined()).where(_R.run_id == run_id, _R.grader == self.grader(run_id))
        rows = {row["case_id"]: row for row in self._rows(query.where(_R.case_id.in_(found)))}
        return [rows[case] for case in (reversed(found) if before else found)]

    def count(self, run_id: str, where: Sequence[ColumnElement[bool]]) -> int:
        """How many there are, counted up to one more than `COUNTED`."""
        of_key = [_R.completion_key.in_(_CUT_OFF) if one is _WAS_CUT_OFF else one for one in where]
        some = self._cases(run_id, of_key).limit(COUNTED + 1).subquery()
        with self.store.reading() as connection:
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
        rows = self._rows(self._beside(run_id, where, case_id, back=back).limit(1))
        return rows[0]["case_id"] if rows else None

    def elsewhere(self, run_id: str, item_hash: str) -> list[Any]:
        """The same question's answers in that run: other models, formats and repeats."""
        query = select(_R.case_id, _R.model, _R.format, _R.seed, _R.robust_verdict, _R.robust_value)
        query = query.where(_R.run_id == run_id, _R.grader == self.grader(run_id), _R.item_hash == item_hash)
        return self._rows(query.order_by(_R.model, _R.format, _R.seed).limit(2 * PAGE))

    def pairs(
        self, runs: tuple[str, str], models: tuple[str, str], form: str, flip: str, after: str
    ) -> tuple[list[tuple[Any, Any]], int]:
        """Two runs' answers to the same questions behind the case ``after``, by format and case, at most `PAGE` + 1.

        Also how many such pairs there are, counted up to one more than `COUNTED`.
        """
        one, two = schema.records.alias("one"), schema.records.alias("two")
        same = and_(two.c.item_hash == one.c.item_hash, two.c.format == one.c.format, two.c.seed == one.c.seed)
        query = select(one.c.format, one.c.case_id, two.c.case_id.label("second_case")).join_from(one, two, same)
        graders = [self.grader(run) for run in runs]
        for side, run, grader, model in zip((one, two), runs, graders, models, strict=True):
            query = query.where(side.c.run_id == run, side.c.grader == grader, side.c.model == model)
        query = query.where(*_flipped(one, two, flip), *([one.c.format == form] if form else []))
        behind = ("", "") if not after else (self._place(runs[0], after)["format"], after)
        some = self._tuples(query.limit(COUNTED + 1))
        if len(some) <= COUNTED:
            page = sorted(pair for pair in some if pair[:2] > behind)[: PAGE + 1]
        else:  # so many that a page of them is soon found in order
            order = (one.c.format, one.c.case_id)
            page = self._tuples(query.where(tuple_(*order) > tuple_(*behind)).order_by(*order).limit(PAGE + 1))
        return self._side_by_side(runs, graders, page), len(some)

    def _side_by_side(
        self, runs: Sequence[str], graders: Sequence[str], pairs: Sequence[tuple[str, ...]]
    ) -> list[tuple[Any, Any]]:
        """What a page shows of pairs of cases, in their order."""
        columns = (
            _R.case_id, _R.format, _R.seed, _R.robust_verdict.label("verdict"), _R.robust_value.label("value"),
            _I.id.label("item"), _I.target,
        )  # fmt: skip
        sides = []
        for place, (run, grader) in enumerate(zip(runs, graders, strict=True), start=1):
            query = select(*columns).join_from(schema.records, schema.items, _I.hash == _R.item_hash)
            query = query.where(_R.run_id == run, _R.grader == grader, _R.case_id.in_([pair[place] for pair in pairs]))
            sides.append({row["case_id"]: row for row in self._rows(query)})
        return [(sides[0][first], sides[1][second]) for _, first, second in pairs]

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
            few = self._few(_CUT_OFF)
            found.append(_WAS_CUT_OFF if few is None else _R.completion_key.in_(few))
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
        found = self._distinct(_R.grader, _R.run_id == run_id)
        return max(found, key=lambda grader: (len(grader), grader), default="")

    def _distinct(self, column: ColumnElement[str], *where: ColumnElement[bool]) -> list[str]:
        """The values of a column, each found by a look into an index behind the one before."""
        value = select(func.min(column).label("value")).where(*where).cte(recursive=True)
        behind = select(func.min(column)).where(*where, column > value.c.value).scalar_subquery()
        value = value.union_all(select(behind).where(value.c.value.is_not(None)))
        return [row["value"] for row in self._rows(select(value.c.value).where(value.c.value.is_not(None)))]

    def _among(self, column: ColumnElement[Any], query: Select[Any]) -> ColumnElement[bool]:
        """That the column is among what the query finds: where that is little, by name, so that it is looked up."""
        few = self._few(query)
        return column.in_(query if few is None else few)

    def _few(self, query: Select[Any]) -> list[Any] | None:
        """What the query finds, None if that is much."""
        with self.store.reading() as connection:
            few = list(connection.execute(query.limit(_FEW + 1)).scalars())
        return few if len(few) <= _FEW else None

    def _cases(self, run_id: str, where: Sequence[ColumnElement[bool]]) -> Select[Any]:
        """The case ids, from the one table that all filters speak of."""
        return select(_R.case_id).where(_R.run_id == run_id, _R.grader == self.grader(run_id), *where)

    def _beside(self, run_id: str, where: Sequence[ColumnElement[bool]], case_id: str, *, back: bool) -> Select[Any]:
        """The cases behind that one, or before it, the nearest first; all from the start if it is ''."""
        cases = self._cases(run_id, where).order_by(*(column.desc() if back else column for column in _ORDER))
        if not case_id:
            return cases
        place = self._place(run_id, case_id)
        left = [column for column in _ORDER if not _fixed(column, where)]  # SQLite would take a worse index for all
        here, there = tuple_(*left), tuple_(*(place[column.key] for column in left))
        return cases.where(here < there if back else here > there)

    def _place(self, run_id: str, case_id: str) -> Mapping[str, str]:
        """Where a case stands in the order; StoreError if the run has none such."""
        rows = self._rows(self._cases(run_id, [_R.case_id == case_id]).with_only_columns(*_ORDER))
        if not rows:
            raise StoreError(f"no answer to {case_id[:120]!r} in run {run_id}: start from the first page")
        place: Mapping[str, str] = rows[0]
        return place

    def _tuples(self, query: Select[Any]) -> list[tuple[str, ...]]:
        with self.store.reading() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def _rows(self, query: Select[Any]) -> list[Any]:
        with self.store.reading() as connection:
            return list(connection.execute(query).mappings())


def _fixed(column: ColumnElement[Any], where: Sequence[ColumnElement[bool]]) -> bool:
    """Whether a condition leaves the column one value."""
    return any(
        isinstance(one, BinaryExpression) and one.operator is operator.eq and one.left is column for one in where
    )


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
