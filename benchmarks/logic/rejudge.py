"""Judges items by their text alone: reads premises and question back into sentences and searches for the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from variantbench.benchmarks.logic.grammar import read_premises, read_question
from variantbench.benchmarks.logic.search import answer
from variantbench.plugins.datatypes import Item


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the search says of one item. `formal` is None where the text could not be read; `reason` then says why."""

    item_id: str
    label: str
    formal: str | None
    reason: str = ""

    @property
    def disagrees(self) -> bool:
        """Whether label and search differ; False where the text could not be read."""
        return self.formal is not None and self.formal != self.label


def rejudge(items: Iterable[Item]) -> tuple[Judgement, ...]:
    """A judgement for every item, in their order: those that cannot be read are among them."""
    return tuple(judge(item) for item in items)


def judge(item: Item) -> Judgement:
    """The judgement of one item. A bare numeral is read as "at least"."""
    given, _, asked = item.question.rpartition(". ")
    try:
        premises, question = read_premises(given), read_question(asked)
        formal = "yes" if answer(premises, question) else "no"
    except ValueError as error:  # `Unreadable`, or beyond the bound of the search
        return Judgement(item.id, item.target, None, str(error))
    return Judgement(item.id, item.target, formal)
