"""A template, whatever form it was written in, and the reader of our own TOML form.

The form, one file a template, the file's name its id::

    topic = "money"
    question = "{name} buys {n} {fruit}s ..."         # fields are variable names
    conditions = ["n * p < total"]                     # all must hold
    answer = "total - n * p"                           # exact; int() and // may not lose a fraction
    solution = "{n} * {p} = {n * p} ..."               # fields are expressions
    notes = []                                         # optional: known troubles, carried on every item

    [init]                                             # domains; "a, b" draws two different elements
    name = "sample(names)"
    n = "range(2, 20)"

    [base]                                             # the known question: one value a variable
    name = "Kofi"
    n = 12
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.domains import Draw, Mode, read_draw
from variantbench.benchmarks.gsm.exact import exact_text
from variantbench.benchmarks.gsm.expressions import Expression, ExpressionError, InexactError, Kind, compile_expression
from variantbench.benchmarks.gsm.rendering import QuestionText, SolutionText, fields_of, read_question, read_solution
from variantbench.plugins.datatypes import text_hash
from variantbench.plugins.errors import UserError

REQUIRED = ("topic", "question", "answer", "solution", "init", "base")
OPTIONAL = ("conditions", "notes")


@dataclass(frozen=True, slots=True)
class Base:
    """The known question of a template, its answer as exact text, its worked solution, and (ours only) its values."""

    question: str
    target: str
    solution: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """A question with variables. `answer` is strict: it raises `InexactError` rather than lose a fraction."""

    id: str
    path: str
    topic: str
    question: QuestionText
    draws: tuple[Draw, ...]
    conditions: tuple[Expression, ...]
    answer: Expression
    solution: SolutionText
    base: Base
    notes: tuple[str, ...]
    hash: str


def kinds_of(draws: tuple[Draw, ...]) -> dict[str, Kind]:
    """The kind of every variable."""
    return {name: Kind.NUMBER if draw.domain.is_number else Kind.TEXT for draw in draws for name in draw.names}


def fail(path: Path, source: str, found: str, problem: object) -> UserError:
    """The error for a malformed template: file, line of `found` (quoted, else anywhere), problem."""
    lines = source.splitlines()
    wanted = found.strip().splitlines()[0] if found.strip() else ""
    for form in (f'"{wanted}"', f"'{wanted}'", wanted):
        number = next((i for i, line in enumerate(lines, 1) if wanted and form in line), None)
        if number is not None:
            return UserError(f"{path}:{number}: {problem}")
    return UserError(f"{path}:1: {problem}")


def read_template(path: Path) -> Template:
    """Read one TOML template. Raises `UserError` with file, line, what was found and what is allowed."""
    try:
        source = path.read_text(encoding="utf-8")
        table = tomllib.loads(source)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a readable TOML template: {error}") from error
    _check_keys(path, source, table)
    return _Reader(path, source, table).template()


def _check_keys(path: Path, source: str, table: Mapping[str, Any]) -> None:
    for key in REQUIRED:
        if key not in table:
            raise UserError(f"{path}:1: key {key!r} is missing; needed are {', '.join(REQUIRED)}")
    for key, value in table.items():
        if key not in REQUIRED + OPTIONAL:
            raise fail(path, source, key, f"unknown key {key!r}; allowed are {', '.join(REQUIRED + OPTIONAL)}")
        if key in ("init", "base"):
            right, wanted = isinstance(value, dict), "table"
        elif key in OPTIONAL:
            right, wanted = isinstance(value, list) and all(isinstance(entry, str) for entry in value), "list of texts"
        else:
            right, wanted = isinstance(value, str), "text"
        if not right:
            raise fail(path, source, key, f"{key!r} is {value!r:.60}; a {wanted} is needed")


class _Reader:
    """One TOML template on its way to a `Template`; keeps the source for the line numbers of errors."""

    def __init__(self, path: Path, source: str, table: Mapping[str, Any]) -> None:
        self.path = path
        self.source = source
        self.table = table

    def template(self) -> Template:
        draws = tuple(self.draw(names, domain) for names, domain in self.table["init"].items())
        kinds = kinds_of(draws)
        if len(kinds) != sum(len(draw.names) for draw in draws):
            raise fail(self.path, self.source, "[init]", "a variable is defined twice in [init]")
        conditions = tuple(self.expression(text, kinds, Kind.TRUTH) for text in self.table.get("conditions", ()))
        answer = self.expression(self.table["answer"], kinds, Kind.NUMBER, strict=True)
        try:
            question = read_question(self.table["question"], kinds.__contains__)
            solution = read_solution(self.table["solution"], kinds)
        except ExpressionError as error:
            raise fail(self.path, self.source, self.table["question"], error) from error
        self.check_used(kinds, conditions, answer)
        return Template(
            id=self.path.stem,
            path=str(self.path),
            topic=self.table["topic"],
            question=question,
            draws=draws,
            conditions=conditions,
            answer=answer,
            solution=solution,
            base=self.base(draws, conditions, question, answer, solution),
            notes=tuple(self.table.get("notes", ())),
            hash=text_hash(self.source),
        )

    def draw(self, names: str, domain: object) -> Draw:
        try:
            return read_draw([name.strip() for name in names.split(",")], str(domain))
        except ExpressionError as error:
            raise fail(self.path, self.source, str(domain), error) from error

    def expression(self, text: str, kinds: Mapping[str, Kind], wanted: Kind, *, strict: bool = False) -> Expression:
        try:
            expression = compile_expression(text, kinds, strict=strict)
        except ExpressionError as error:
            raise fail(self.path, self.source, text, error) from error
        if expression.kind is not wanted:
            problem = f"{text!r} is a {expression.kind.value}; a {wanted.value} is needed"
            raise fail(self.path, self.source, text, problem)
        return expression

    def check_used(self, kinds: Mapping[str, Kind], conditions: tuple[Expression, ...], answer: Expression) -> None:
        used = {name.strip() for name in fields_of(self.table["question"])} | answer.names
        for expression in conditions:
            used |= expression.names
        for name in kinds:
            if name not in used:
                raise fail(self.path, self.source, name, f"variable {name!r} is never used; remove it from [init]")

    def base(
        self,
        draws: tuple[Draw, ...],
        conditions: tuple[Expression, ...],
        question: QuestionText,
        answer: Expression,
        solution: SolutionText,
    ) -> Base:
        env, shown = self.base_values(draws)
        try:
            broken = next((one.text for one in conditions if not one.evaluate(env)), None)
            if broken is not None:
                raise fail(self.path, self.source, "[base]", f"the base values break the condition {broken!r}")
            target = exact_text(answer.evaluate(env))
            return Base(question.render(env, shown), target, solution.render(env, shown), env)
        except (ZeroDivisionError, InexactError) as error:
            problem = f"the base values give no number in a condition, the answer or the solution: {error}"
            raise fail(self.path, self.source, "[base]", problem) from error

    def base_values(self, draws: tuple[Draw, ...]) -> tuple[dict[str, Any], dict[str, str]]:
        given: Mapping[str, object] = self.table["base"]
        names = [name for draw in draws for name in draw.names]
        if set(given) != set(names):
            wrong = ", ".join(sorted(set(given) ^ set(names)))
            raise fail(self.path, self.source, "[base]", f"[base] must name each variable once; wrong: {wrong}")
        env: dict[str, Any] = {}
        shown: dict[str, str] = {}
        for draw in draws:
            self.base_draw(draw, [str(given[name]) for name in draw.names], env, shown)
        return env, shown

    def base_draw(self, draw: Draw, texts: list[str], env: dict[str, Any], shown: dict[str, str]) -> None:
        indices = [draw.domain.find(text) for text in texts]
        for name, index, text in zip(draw.names, indices, texts, strict=True):
            if index is None:
                raise fail(self.path, self.source, "[base]", f"base value {name} = {text!r} is not in {draw.source!r}")
            env[name] = draw.domain.text(index) if draw.domain.numbers is None else draw.domain.numbers[index]
            if draw.domain.texts is not None:
                shown[name] = draw.domain.texts[index]
        if draw.mode is Mode.DISTINCT and len(set(indices)) < len(indices):
            raise fail(self.path, self.source, "[base]", f"base values of {', '.join(draw.names)} must differ")
