"""Surface features of a question, and how well a rule that sees nothing else can guess the answers.

Features are read from the text alone, as a reader who does not reason would see them, so they serve for any source of
items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from variantbench.benchmarks.logic.figures import Adjective
from variantbench.benchmarks.logic.wording import NUMERALS
from variantbench.plugins.datatypes import Item
from variantbench.plugins.questions import asks

_NEGATIONS = frozenset(("no", "not"))


@dataclass(frozen=True, slots=True)
class Features:
    """What stands on the surface of one question."""

    asks: str  # "certain", "can" (also "is it possible"), or "other"
    negated: bool  # the question itself, not the premises
    negated_premises: bool
    premises: int
    figures: tuple[str, ...]  # named in the question
    words: int
    characters: int
    first_word: str
    number: str  # the first numeral of the question, or ""
    adjectives: tuple[str, ...]  # named in the question
    repeated: int  # how many of the adjectives of the question stand in the premises, too


def features(text: str) -> Features:
    """The surface features of premises and question, written as in `Item.question`."""
    premises, _, question = text.rstrip().rpartition(". ")
    words, given = _words(question), set(_words(premises))
    adjectives = [word for word in words if word in set(Adjective)]
    return Features(
        asks=asks(question),
        negated=not _NEGATIONS.isdisjoint(words),
        negated_premises=not _NEGATIONS.isdisjoint(given),
        premises=len(premises.split(";")) if premises else 0,
        figures=tuple(sorted(set(words) & _figures(text))),
        words=len(words),
        characters=len(question),
        first_word=words[0] if words else "",
        number=next((word for word in words if word in NUMERALS[1:]), ""),
        adjectives=tuple(adjectives),
        repeated=sum(word in given for word in adjectives),
    )


def _names(word: str, seen: Features) -> bool:
    return word in seen.adjectives


# The rules that look at one thing; the lengths are read as "longer than", all others by value.
RULES: dict[str, Callable[[Features], Hashable]] = {
    "certain or can": lambda seen: seen.asks,
    "negation": lambda seen: seen.negated,
    "negation in the premises": lambda seen: seen.negated_premises,
    "number of premises": lambda seen: seen.premises,
    "figures named": lambda seen: seen.figures,
    "first word": lambda seen: seen.first_word,
    "number named": lambda seen: seen.number,
    "adjectives repeated": lambda seen: seen.repeated,
} | {f"{word} named": partial(_names, word) for word in Adjective}
LENGTHS: dict[str, Callable[[Features], int]] = {
    "words": lambda seen: seen.words,
    "characters": lambda seen: seen.characters,
}


def rule_scores(items: Sequence[Item]) -> dict[str, float]:
    """For each rule the accuracy of its best version, chosen with the answers in hand: the most it could score."""
    seen = [features(item.question) for item in items]
    answers = [item.target for item in items]
    scores = {name: _by_value([rule(one) for one in seen], answers) for name, rule in RULES.items()}
    return scores | {name: _by_threshold([rule(one) for one in seen], answers) for name, rule in LENGTHS.items()}


def _by_value(values: Sequence[Hashable], answers: Sequence[str]) -> float:
    """The accuracy of answering each value with its more frequent answer."""
    counts = Counter(zip(values, answers, strict=True))
    return sum(max(counts[value, "yes"], counts[value, "no"]) for value in set(values)) / len(answers)


def _by_threshold(values: Sequence[int], answers: Sequence[str]) -> float:
    """The accuracy of the best cut into short and long."""
    cuts = [[value > cut for value in values] for cut in (min(values) - 1, *set(values))]
    scores = (sum(long is (answer == "yes") for long, answer in zip(cut, answers, strict=True)) for cut in cuts)
    return max(max(score, len(answers) - score) for score in scores) / len(answers)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9-]+", text.lower())


def _figures(text: str) -> set[str]:
    """The names of figures in a text; an invented one is known by its side count."""
    named = {"triangle", "square", "circle"} & set(_words(text))
    return named | set(re.findall(r"every (\w+) has (?:three|four) sides", text))
