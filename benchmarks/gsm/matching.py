"""Which template a question was drawn from, by its text alone: exact, the inverse of rendering, never a likeness.

A question matches a template if every literal piece stands where the template has it, every field holds an element of
its variable's domain as the template would show it, a variable has one value throughout, variables drawn together
differ, and the conditions hold. A question that several templates could have given matches none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.domains import Domain, Mode
from variantbench.benchmarks.gsm.expressions import InexactError
from variantbench.benchmarks.gsm.items import item_id, read_any, read_folder
from variantbench.benchmarks.gsm.template import Template
from variantbench.plugins.datatypes import text_hash

_KEY = 12  # characters of a template's last words, by which candidates are found
Values = Mapping[str, int]  # the index of each variable's element in its domain


@dataclass(frozen=True, slots=True)
class Match:
    """The template of a question, and an item's id and variant that depend on the text alone."""

    group: str
    variant: int
    item: str


class _Pattern:
    """One template, ready to be matched."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.domains: dict[str, Domain] = {name: draw.domain for draw in template.draws for name in draw.names}

    @cached_property
    def plain(self) -> dict[str, dict[str, int]]:
        """The elements of every variable by their text."""
        return {
            name: {domain.text(index): index for index in range(len(domain))} for name, domain in self.domains.items()
        }

    @cached_property
    def capital(self) -> dict[str, dict[str, list[int]]]:
        """The same by their text at the start of a sentence, where two may look alike."""
        found: dict[str, dict[str, list[int]]] = {}
        for name, domain in self.domains.items():
            found[name] = defaultdict(list)
            for index in range(len(domain)):
                text = domain.text(index)
                found[name][text[:1].upper() + text[1:]].append(index)
        return found

    def fits(self, question: str) -> bool:
        """Whether the template could have given the question."""
        pieces = self.template.question.pieces
        if not (question.startswith(pieces[0]) and question.endswith(pieces[-1])):
            return False
        return any(self.holds(values) for values in self.assignments(question, 0, len(pieces[0]), {}))

    def assignments(self, question: str, field: int, start: int, values: Values) -> Iterator[Values]:
        """Every way to read the rest of the question from `start` on, given the fields before."""
        text = self.template.question
        if field == len(text.names):
            if start == len(question):
                yield values
            return
        name, piece = text.names[field], text.pieces[field + 1]
        for end in _ends(question, piece, start, last=field + 1 == len(text.names)):
            for index in self.elements(name, question[start:end], capital=text.capitals[field]):
                if values.get(name, index) == index:
                    yield from self.assignments(question, field + 1, end + len(piece), {**values, name: index})

    def elements(self, name: str, text: str, *, capital: bool) -> Sequence[int]:
        """The elements of a variable that are shown so."""
        if capital:
            return self.capital[name].get(text, ())
        index = self.plain[name].get(text)
        return () if index is None else (index,)

    def holds(self, values: Values) -> bool:
        """Whether variables drawn together differ, and every condition on what the question shows is met."""
        for draw in self.template.draws:
            known = [values[name] for name in draw.names if name in values]
            if draw.mode is Mode.DISTINCT and len(set(known)) < len(known):
                return False
        env: dict[str, Any] = {}
        for name, index in values.items():
            domain = self.domains[name]
            env[name] = domain.text(index) if domain.numbers is None else domain.numbers[index]
        try:
            return all(bool(one.evaluate(env)) for one in self.template.conditions if one.names <= set(env))
        except (ZeroDivisionError, InexactError):
            return False


def _ends(question: str, piece: str, start: int, *, last: bool) -> Iterator[int]:
    """Where the field that begins at `start` may end: wherever the next piece begins."""
    if last:
        yield len(question) - len(piece)
        return
    if not piece:
        yield from range(start + 1, len(question) + 1)
        return
    end = question.find(piece, start + 1)
    while end >= 0:
        yield end
        end = question.find(piece, end + 1)


class Matcher:
    """Templates, looked up by question."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self.bases = {template.base.question: template for template in templates}
        self.by_ending: dict[str, list[_Pattern]] = defaultdict(list)
        for template in templates:
            self.by_ending[_ending(template.question.pieces[-1])].append(_Pattern(template))

    def __call__(self, question: str) -> Match | None:
        """The template of a question, None where there is none or more than one."""
        question = " ".join(question.split())
        base = self.bases.get(question)
        if base is not None:
            return Match(base.id, 0, item_id(base.id, 0))
        endings = dict.fromkeys((_ending(question), ""))
        candidates = [pattern for ending in endings for pattern in self.by_ending.get(ending, ())]
        found = [pattern.template.id for pattern in candidates if pattern.fits(question)]
        if len(found) != 1:
            return None
        digest = text_hash(question)
        return Match(found[0], 1 + int(digest[:7], 16), f"{found[0]}-x{digest[:12]}")


def _ending(text: str) -> str:
    return text[-_KEY:] if len(text) >= _KEY else ""


def read_matcher(path: Path) -> Matcher:
    """The matcher of a template file or a folder of them, ours or Apple's."""
    templates = read_folder(path) if path.is_dir() else (read_any(path),)
    return Matcher([template for template, _ in templates])
