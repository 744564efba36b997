"""Prompt formats: one TOML file each, checked when loaded, rendered to the exact text a model reads.

    format = load_format("gsm")
    prompt = format.render(item)

A format's name is its file's name. The suffix ``-nospace`` (``gsm-nospace``) drops the blanks at the end of the
prompt: several of the study's prompts end in a lone space, after which some tokenizers answer nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Decoding, Item, Prompt
from variantbench.plugins.errors import UserError

FOLDER = Path(__file__).parent
NO_SPACE = "-nospace"
PLACEHOLDER = "{question}"


class AnswerKind(StrEnum):
    """What a format asks for: a number in prose, a Python function, or yes/no."""

    TEXT = "text"
    CODE = "code"
    YESNO = "yesno"


@dataclass(frozen=True, slots=True)
class Shot:
    """A solved question shown before the item's own. `gold` is the number or word that its answer states."""

    question: str
    answer: str
    gold: str


@dataclass(frozen=True, slots=True)
class Format:
    """A way of asking. `answer_at` says where a yes/no answer must stand: ``start`` or ``end`` of the text.

    `chat` says whether chat models get their chat template; `item_shots` that the shots come with the items.
    """

    name: str
    title: str
    source: str
    licence: str
    kind: AnswerKind
    decoding: Decoding
    intro: str
    separator: str
    question: str
    shots: tuple[Shot, ...] = ()
    item_shots: bool = False
    chat: bool = False
    answer_at: str = "start"

    @property
    def prefilled(self) -> str:
        """What the prompt itself already holds of the answer: for code, the function's head."""
        return "def solution():" if self.kind is AnswerKind.CODE else ""

    def prefix(self, shots: Sequence[Shot] = ()) -> str:
        """The text before the item's own part: the same for every item with the same shots."""
        return _prefix(self, tuple(shots))

    def render(
        self,
        item: Item,
        *,
        shots: Sequence[Shot] = (),
        decoding: Decoding | None = None,
        seed: int = 0,
        chat: bool = False,
    ) -> Prompt:
        """The prompt for one item. `shots` are the item's own, where `item_shots` says that it has some."""
        return Prompt(
            item_id=item.id,
            format=self.name,
            prefix=self.prefix(shots),
            suffix=self.ask(item.question),
            decoding=decoding or self.decoding,
            seed=seed,
            chat=chat,
        )

    def ask(self, question: str) -> str:
        """The question's own part of a prompt."""
        # replace, not str.format: braces in a question are text
        return self.question.replace(PLACEHOLDER, question)


@lru_cache(maxsize=256)
def _prefix(form: Format, shots: tuple[Shot, ...]) -> str:
    """Kept, since thousands of prompts share it: as one text, not as many equal ones."""
    parts = [form.intro] if form.intro else []
    parts += [form.ask(shot.question) + shot.answer for shot in (*form.shots, *shots)]
    return "".join(part + form.separator for part in parts)


def available_formats() -> tuple[str, ...]:
    """The names of the formats that ship with the suite."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def shots_from_items(items: Sequence[Item]) -> tuple[Shot, ...]:
    """Solved items as shots: the answer is the bare target."""
    return tuple(Shot(item.question, item.target, item.target) for item in items)


@cache
def load_format(name: str) -> Format:
    """The format of that name, or of a TOML file at that path; UserError says what is wrong with it."""
    if name.endswith(NO_SPACE):
        plain = load_format(name.removesuffix(NO_SPACE))
        return replace(plain, name=plain.name + NO_SPACE, question=plain.question.rstrip(" "))
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if path.stem.removesuffix(NO_SPACE) in available_formats() and path.resolve().parent != FOLDER.resolve():
        raise UserError(
            f"{path}: {path.stem} is a format of variantbench's, and answers carry its name: rename the file"
        )
    if not _is_file(path):
        raise UserError(
            f"no prompt format {name!r}: choose from {', '.join(available_formats())} "
            f"(each also with {NO_SPACE}), or give the path of a .toml file"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}): a prompt format is a TOML file in UTF-8") from None
    return parse_format(path.stem, text, place=str(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def parse_format(name: str, text: str, *, place: str) -> Format:
    """The format that a TOML text describes; `place` names its file in errors."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not valid TOML: {error}") from None
    body = _Table(place, "", table)
    decoding = _Table(place, "[decoding].", body.take("decoding", dict))
    wording = _Table(place, "[text].", body.take("text", dict))
    result = Format(
        name=name,
        title=body.take("title", str),
        source=body.take("source", str),
        licence=body.take("licence", str),
        kind=AnswerKind(body.take("kind", str, allowed=tuple(AnswerKind))),
        chat=body.take("chat", bool),
        answer_at=body.take("answer_at", str, default="start", allowed=("start", "end")),
        decoding=Decoding(
            max_new_tokens=decoding.number("max_new_tokens", int, low=1, high=1_000_000),
            temperature=decoding.number("temperature", float | int, default=0.0, low=0, high=10),
            top_p=decoding.number("top_p", float | int, default=1.0, low=0.01, high=1),
            stops=decoding.words("stops"),
        ),
        intro=wording.take("intro", str, default=""),
        separator=wording.take("separator", str, default=""),
        question=wording.take("question", str),
        item_shots=wording.take("item_shots", bool, default=False),
        shots=tuple(_shot(place, number, shot) for number, shot in enumerate(body.take("shots", list, default=[]), 1)),
    )
    for part in (decoding, wording, body):
        part.must_be_empty()
    if PLACEHOLDER not in result.question:
        raise UserError(f"{place}: [text].question does not hold {PLACEHOLDER}: put it where the item's question goes")
    return result


def _shot(place: str, number: int, table: Any) -> Shot:
    if not isinstance(table, dict):
        raise UserError(f"{place}: shot {number} is {table!r}: write it as a [[shots]] table")
    shot = _Table(place, f"[[shots]] {number}: ", table)
    result = Shot(*(shot.take(field.name, str) for field in fields(Shot)))
    shot.must_be_empty()
    return result


class _Table:
    """A TOML table being read: keys are taken one by one, and whatever is left over is a mistake."""

    def __init__(self, place: str, where: str, table: Mapping[str, Any]) -> None:
        self.place, self.where, self.rest, self.known = place, where, dict(table), list[str]()

    def take(self, key: str, kind: Any, *, default: Any = None, allowed: Sequence[str] = ()) -> Any:
        self.known.append(key)
        value = self.rest.pop(key, default)
        if value is None:
            raise UserError(f"{self.place}: {self.where}{key} is missing: add it")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            wanted = getattr(kind, "__name__", str(kind))
            raise UserError(f"{self.place}: {self.where}{key} is {value!r}: a value of type {wanted} belongs there")
        if allowed and value not in allowed:
            raise UserError(f"{self.place}: {self.where}{key} is {value!r}: allowed are {', '.join(allowed)}")
        return value

    def number(self, key: str, kind: Any, *, low: float, high: float, default: Any = None) -> Any:
        """A number within bounds."""
        value = self.take(key, kind, default=default)
        if not low <= value <= high:
            raise UserError(f"{self.place}: {self.where}{key} is {value!r}: between {low} and {high:,} is allowed")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of texts that are not empty."""
        values = self.take(key, list, default=[])
        if not all(isinstance(value, str) and value for value in values):
            raise UserError(f"{self.place}: {self.where}{key} is {values!r}: a list of texts belongs there")
        return tuple(values)

    def must_be_empty(self) -> None:
        if self.rest:
            unknown = ", ".join(sorted(self.rest))
            raise UserError(
                f"{self.place}: unknown key {self.where}{unknown}: allowed are {', '.join(self.known)}; "
                "remove or rename it"
            )
