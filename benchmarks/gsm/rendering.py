"""Text with fields: question texts with ``{name}`` and worked solutions with ``{expression}``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from variantbench.benchmarks.gsm.expressions import (
    Environment,
    Expression,
    ExpressionError,
    Kind,
    compile_expression,
)
from variantbench.benchmarks.gsm.numbers import show

_FIELD = re.compile(r"\{([^{}]*)\}")
_SENTENCE_END = re.compile(r"[.!?][\"']? +$")
Shown = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class QuestionText:
    """A question: literal pieces and the names between them, `len(pieces) == len(names) + 1`.

    `capitals` tells which fields open a sentence; there the first letter of a word is put in upper case.
    """

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    capitals: tuple[bool, ...]

    def render(self, env: Environment, shown: Shown) -> str:
        """Fill in `shown[name]`, or the number in `env` where a variable has no text of its own."""
        parts = [self.pieces[0]]
        for name, capital, piece in zip(self.names, self.capitals, self.pieces[1:], strict=True):
            text = shown[name] if name in shown else show(env[name])
            parts.append(text[:1].upper() + text[1:] if capital else text)
            parts.append(piece)
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class SolutionText:
    """A worked solution: literal pieces and the expressions between them."""

    pieces: tuple[str, ...]
    fields: tuple[Expression, ...]

    def render(self, env: Environment, shown: Shown) -> str:
        """Evaluate every field. A lone variable prints as the question shows it only if it is a word."""
        parts = [self.pieces[0]]
        for field, piece in zip(self.fields, self.pieces[1:], strict=True):
            parts.append(_show_field(field, env, shown))
            parts.append(piece)
        return "".join(parts)


def _show_field(field: Expression, env: Environment, shown: Shown) -> str:
    if field.kind is Kind.NUMBER:
        return show(field.evaluate(env))
    return str(shown[field.text] if field.text in shown else field.evaluate(env))


def read_question(text: str, known: Callable[[str], bool]) -> QuestionText:
    """Read a question whose fields are variable names. Blanks collapse to one. Raises `ExpressionError`."""
    pieces, names = _split(" ".join(text.split()))
    for name in names:
        if not known(name):
            raise ExpressionError(f"placeholder {{{name}}} is no variable of the template's init")
    capitals = tuple(piece == "" and i == 0 or bool(_SENTENCE_END.search(piece)) for i, piece in enumerate(pieces[:-1]))
    return QuestionText(pieces, names, capitals)


def read_solution(text: str, kinds: Mapping[str, Kind]) -> SolutionText:
    """Read a worked solution whose fields are expressions. Raises `ExpressionError`."""
    pieces, fields = _split(text.strip())
    return SolutionText(pieces, tuple(compile_expression(field, kinds) for field in fields))


def fields_of(text: str) -> Iterator[str]:
    """The insides of the ``{...}`` fields of a text, in order."""
    return (match[1] for match in _FIELD.finditer(text))


def _split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = _FIELD.split(text)
    pieces, fields = tuple(parts[::2]), tuple(part.strip() for part in parts[1::2])
    for piece in pieces:
        if "{" in piece or "}" in piece:
            raise ExpressionError(f"unbalanced brace near {piece.strip()[:60]!r}; every {{ needs its }}")
    return pieces, fields
