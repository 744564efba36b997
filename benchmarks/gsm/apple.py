"""Reader of Apple's annotated templates (GSM-Symbolic release), their irregularities included.

The form is described in `../shared/data/TEMPLATE-LANGUAGE.md`. None of Apple's files is part of this project; this
reads them from a checkout that the user names. The label of an instance is the ``####`` expression of the worked
answer, as in the published data; where ``#answer`` differs it is ``#answer`` that is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.domains import Draw, read_draw
from variantbench.benchmarks.gsm.exact import exact_text, parse_number
from variantbench.benchmarks.gsm.expressions import Expression, ExpressionError, Kind, compile_expression
from variantbench.benchmarks.gsm.label_notes import template_notes
from variantbench.benchmarks.gsm.rendering import read_question, read_solution
from variantbench.benchmarks.gsm.template import Base, Template, kinds_of
from variantbench.plugins.datatypes import text_hash
from variantbench.plugins.errors import UserError

KEYS = ("question", "answer", "id_orig", "id_shuffled", "question_annotated", "answer_annotated")
# Their final expression floors a value that is fractional on valid instances, and the published label is the floor.
FLOORED = frozenset({"p1/0046", "p2/0046"})

_HEADER = re.compile(r"^#(init|conditions|answer)[ \t]*[:=]", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{([^{},]*),([^{}]*)\}")
_NOTE = re.compile(r"<<.*?(?:>>|>(?!>))", re.DOTALL)  # one note is closed by a single >
_FINAL = re.compile(r"####\s*\{(.*)\}\s*\Z")
_NAMES = re.compile(r"\A\s*-?\s*(\$?)\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=(?!=)(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AnnotatedTemplate:
    """Apple's template: ours, plus what only Apple's has.

    `declared_answer` is the ``#answer`` expression, `defaults` the values of the original question by name (first
    occurrence), `original_id` the row of GSM8K test.
    """

    template: Template
    declared_answer: Expression
    defaults: Mapping[str, str]
    original_id: int


def read_annotated(path: Path) -> AnnotatedTemplate:
    """Read one of Apple's JSON templates. Raises `UserError` with file, line, what was found and what is allowed."""
    try:
        source = path.read_text(encoding="utf-8")
        table = json.loads(source)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a readable JSON template: {error}") from error
    if not isinstance(table, dict) or any(key not in table for key in KEYS):
        raise UserError(f"{path}:1: an annotated template is an object with the keys {', '.join(KEYS)}")
    return _Reader(path, source, table).read()


def final_answer(answer: str) -> str:
    """The exact text of the value after ``####`` in a worked answer. Raises ``ValueError``."""
    _, mark, last = answer.rpartition("####")
    if not mark:
        raise ValueError("no line '#### answer'")
    return exact_text(parse_number(last))


class _Reader:
    """One annotated template on its way in; keeps the annotated text for the line numbers of errors."""

    def __init__(self, path: Path, source: str, table: Mapping[str, Any]) -> None:
        self.path = path
        self.source = source
        self.table = table
        self.annotated = str(table["question_annotated"])
        self.name = f"{path.parent.name}/{path.stem}"

    def read(self) -> AnnotatedTemplate:
        text, sections = self.split()
        draws = self.draws(sections["init"])
        kinds = kinds_of(draws)
        lines = [line.strip().lstrip("-").strip() for line in sections.get("conditions", "").splitlines()]
        conditions = tuple(self.expression(line, kinds, Kind.TRUTH) for line in lines if line)
        declared = self.expression(re.sub(r"[{}$]", "", sections["answer"]), kinds, Kind.NUMBER)
        template = Template(
            id=self.path.stem,
            path=str(self.path),
            topic="",
            question=self.text(lambda: read_question(_PLACEHOLDER.sub(r"{\1}", text), kinds.__contains__), text),
            draws=draws,
            conditions=conditions,
            answer=self.final(kinds),
            solution=self.text(lambda: read_solution(self.worked(), kinds), ""),
            base=self.base(),
            notes=template_notes(self.name),
            hash=text_hash(self.source),
        )
        return AnnotatedTemplate(template, declared, _defaults(text), self.original_id())

    def original_id(self) -> int:
        try:
            return int(self.table["id_orig"])
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(f"{self.path}:1: key 'id_orig': {error}") from None

    def split(self) -> tuple[str, dict[str, str]]:
        parts = _HEADER.split(self.annotated)
        sections = dict(zip(parts[1::2], parts[2::2], strict=True))
        for needed in ("init", "answer"):
            if needed not in sections:
                raise self.fail(
                    "", f"section #{needed} is missing; needed are #init: and #answer:, allowed is #conditions:"
                )
        return parts[0], sections

    def draws(self, section: str) -> tuple[Draw, ...]:
        """The init lines; a name defined twice keeps its last definition."""
        found: dict[tuple[str, ...], Draw] = {}
        for line in filter(str.strip, section.splitlines()):
            match = _NAMES.match(line)
            if match is None:
                raise self.fail(
                    line, f"init line {line.strip()[:60]!r}; '- name = domain' or '- $name = domain' is allowed"
                )
            names = tuple(name.strip() for name in match[2].split(","))
            try:
                found[names] = read_draw(names, match[3], value=bool(match[1]))
            except ExpressionError as error:
                raise self.fail(line, error) from error
        return tuple(found.values())

    def expression(self, text: str, kinds: Mapping[str, Kind], wanted: Kind, *, strict: bool = False) -> Expression:
        try:
            expression = compile_expression(text, kinds, strict=strict)
        except ExpressionError as error:
            raise self.fail(text, error) from error
        if expression.kind is not wanted:
            raise self.fail(text, f"{text.strip()!r} is a {expression.kind.value}; a {wanted.value} is needed")
        return expression

    def final(self, kinds: Mapping[str, Kind]) -> Expression:
        match = _FINAL.search(str(self.table["answer_annotated"]))
        if match is None:
            raise self.fail("", "answer_annotated does not end in '#### {expression}'")
        return self.expression(match[1], kinds, Kind.NUMBER, strict=self.name not in FLOORED)

    def worked(self) -> str:
        """The worked answer without calculator notes and without its last line."""
        return _NOTE.sub("", str(self.table["answer_annotated"])).rpartition("####")[0].strip()

    def base(self) -> Base:
        answer = str(self.table["answer"])
        try:
            target = final_answer(answer)
        except ValueError as error:
            raise self.fail("", f"key 'answer': {error}") from error
        return Base(" ".join(str(self.table["question"]).split()), target, answer)

    def text(self, read: Any, near: str) -> Any:
        try:
            return read()
        except ExpressionError as error:
            raise self.fail(near, error) from error

    def fail(self, found: str, problem: object) -> UserError:
        """An error that names the line of the annotated question, which is one JSON string."""
        wanted = found.strip()
        lines = self.annotated.splitlines()
        number = next((i for i, line in enumerate(lines, 1) if wanted and wanted in line), 1)
        return UserError(f"{self.path}: question_annotated, line {number}: {problem}")


def _defaults(text: str) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for match in _PLACEHOLDER.finditer(text):
        defaults.setdefault(match[1].strip(), match[2].strip())
    return defaults
