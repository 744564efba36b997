"""What a page is asked for, from the query of its URL: checked, so that nothing else reaches the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from urllib.parse import urlencode

from variantbench.plugins.errors import UserError

_LONGEST = 300


class Outcome(StrEnum):
    """The verdicts, and what else one looks for."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    NO_ANSWER = "no_answer"
    ERROR = "error"
    CUT_OFF = "cut_off"
    GRADES_DIFFER = "grades_differ"


class Flip(StrEnum):
    """How two runs' answers to a question go together."""

    LOST = "lost"  # right before, not now
    WON = "won"
    SAME = "same"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which answers of a run; what is empty does not filter. ``after`` and ``before`` are case ids to page from."""

    run: str = ""
    model: str = ""
    format: str = ""
    outcome: str = ""
    template: str = ""
    batch: str = ""
    after: str = ""
    before: str = ""

    def query(self, **changes: str) -> str:
        """The query of the URL of this view, or of one that differs so."""
        return _query(asdict(replace(self, **changes)))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side, a model of each."""

    first: str = ""
    second: str = ""
    first_model: str = ""
    second_model: str = ""
    format: str = ""
    flip: str = Flip.LOST.value
    after: str = ""

    def query(self, **changes: str) -> str:
        """The query of the URL of this view, or of one that differs so."""
        return _query(asdict(replace(self, **changes)))


def read_filters(query: Mapping[str, str]) -> Filters:
    """The filters in a query; UserError names what is not known or too long."""
    values = _values(query, Filters)
    _among("outcome", values.get("outcome", ""), Outcome)
    return Filters(**values)


def read_comparison(query: Mapping[str, str]) -> Comparison:
    """The comparison in a query; UserError names what is not known or too long."""
    values = _values(query, Comparison)
    _among("flip", values.get("flip", Flip.LOST.value), Flip)
    return Comparison(**values)


def _values(query: Mapping[str, str], kind: type[Filters] | type[Comparison]) -> dict[str, str]:
    known = tuple(kind.__dataclass_fields__)
    for name, value in query.items():
        if name not in known:
            raise UserError(f"no filter {name[:40]!r}: there are {', '.join(known)}")
        if len(value) > _LONGEST or "\x00" in value:
            raise UserError(f"filter {name}: at most {_LONGEST} characters, none of them null")
    return {name: value for name, value in query.items() if value}


def _among(name: str, value: str, allowed: type[StrEnum]) -> None:
    if value and value not in set(allowed):
        raise UserError(f"{name} {value[:40]!r} is not known: choose from {', '.join(allowed)}")


def _query(values: Mapping[str, str]) -> str:
    return urlencode({name: value for name, value in values.items() if value})
