"""Reads the English of premises and questions back into sentences: the inverse of `wording`, and the forms of the
authors' files.

Tolerated, as the authors' files need it: doubled and trailing blanks, capitals, a missing article, "which" for "that",
the misspelling "taht", "colour". Everything else is refused with `Unreadable`, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from variantbench.benchmarks.logic.figures import Adjective, Shape
from variantbench.benchmarks.logic.sentences import (
    AllSides,
    Contains,
    Every,
    EverySide,
    HasColors,
    HasSides,
    IsA,
    Mode,
    No,
    Noun,
    OneEach,
    Pattern,
    Predicate,
    Question,
    Sentence,
    SharesColors,
    SideNumber,
    SideRule,
    SidesMatch,
    Some,
    SomeSide,
    The,
    complement,
)
from variantbench.benchmarks.logic.wording import NUMERALS

# The names of figures in the four batches of the authors' files, and by default in ours.
NAMES: Mapping[str, Shape] = {**{shape.value: shape for shape in Shape}, "marmal": Shape.TRIANGLE, "wusp": Shape.SQUARE}

_SPELLINGS = {"taht": "that", "which": "that", "colour": "color", "colours": "colors"}
_NUMBERS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(NUMERALS) if number}
_ADJECTIVES = {word.value: word for word in Adjective}


class Unreadable(ValueError):  # noqa: N818 - said of a text, as in "unreadable: …"
    """The text is in none of the forms known here. The message says where reading stopped."""


def read_premises(text: str, names: Mapping[str, Shape] = NAMES) -> tuple[Sentence, ...]:
    """The premises, separated by semicolons."""
    return tuple(_premise(_Reader(part, names)) for part in text.split(";"))


def read_question(text: str, names: Mapping[str, Shape] = NAMES) -> Question:
    """The question, with or without its question mark."""
    reader = _Reader(text.strip().removesuffix("?"), names)
    question = reader.question()
    reader.finish()
    return question


def _premise(reader: _Reader) -> Sentence:
    sentence = reader.sentence()
    reader.finish()
    return sentence


class _Reader:
    """Reads words from left to right; each method takes what it is named for, or raises Unreadable."""

    def __init__(self, text: str, names: Mapping[str, Shape]) -> None:
        self.names = names
        self.words: list[str] = [_SPELLINGS.get(word, word) for word in re.findall(r"[^\s,]+", text.lower())]
        self.at = 0

    def refuse(self) -> Unreadable:
        rest = " ".join(self.words[self.at :]) or "the end"
        return Unreadable(f"cannot read on at {rest!r}")

    def finish(self) -> None:
        """Check that nothing is left over."""
        if self.at < len(self.words):
            raise self.refuse()

    def next_is(self, phrase: str) -> bool:
        """Take these words if they come next."""
        words = phrase.split()
        found = self.words[self.at : self.at + len(words)] == words
        self.at += len(words) if found else 0
        return found

    def expect(self, phrase: str) -> None:
        if not self.next_is(phrase):
            raise self.refuse()

    def one_of(self, table: Mapping[str, object]) -> bool:
        """Whether the next word stands in the table."""
        return self.at < len(self.words) and self.words[self.at] in table

    def taken(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def article(self) -> None:
        """Take an article, if there is one."""
        if not self.next_is("a"):
            self.next_is("an")

    def adjective(self) -> Adjective:
        if not self.one_of(_ADJECTIVES):
            raise self.refuse()
        return _ADJECTIVES[self.taken()]

    def shape(self) -> Shape:
        if not self.one_of(self.names):
            raise self.refuse()
        return self.names[self.taken()]

    def number(self) -> int:
        if not self.one_of(_NUMBERS):
            raise self.refuse()
        return _NUMBERS[self.taken()]

    def question(self) -> Question:
        if self.next_is("is it certain that"):
            return Question(Mode.CERTAIN, self.sentence())
        if self.next_is("is it possible that"):
            return Question(Mode.POSSIBLE, self.sentence())
        if self.next_is("can there be"):
            return Question(Mode.POSSIBLE, self.existence())
        if self.next_is("can"):
            return Question(Mode.POSSIBLE, self.sentence())
        raise Unreadable("asks neither for certainty nor for possibility")

    def sentence(self) -> Sentence:
        if self.next_is("if a side is"):
            return self.rule()
        if self.next_is("all the sides of"):
            return self.all_the_sides()
        if self.next_is("every side of the"):
            of = self.shape()
            self.expect("has the same color as a side of the")
            return SharesColors(of, self.shape())
        if self.next_is("there are"):
            return self.one_each()
        if self.next_is("there is"):
            return self.existence()
        if self.next_is("the"):
            return The(self.shape(), self.predicate())
        if self.next_is("every"):
            return Every(self.noun(), self.predicate())
        if self.next_is("no"):
            return No(self.noun(), self.predicate())
        if self.one_of({"a": 1, "an": 1}):
            self.article()
            return Some(self.noun(), self.predicate())
        raise self.refuse()

    def rule(self) -> EverySide:
        given = self.adjective()
        self.next_is("then")
        self.expect("it is")
        negated = self.next_is("not")
        return EverySide(SideRule(given, self.adjective(), negated))

    def all_the_sides(self) -> Sentence:
        definite = self.next_is("the")
        if not definite and not self.next_is("every"):
            self.article()
        noun = self.noun()
        predicate = SidesMatch(self.pattern())
        return The(noun.shape, predicate) if definite else Every(noun, predicate)

    def pattern(self) -> Pattern:
        if self.next_is("are equal"):
            return Pattern.EQUAL
        if self.next_is("have the same color"):
            return Pattern.SAME_COLOR
        if self.next_is("have different colors") or self.next_is("have a different color"):
            return Pattern.DIFFERENT_COLORS
        raise self.refuse()

    def one_each(self) -> OneEach:
        self.article()
        first = self.shape()
        self.expect("and")
        self.article()
        return OneEach(first, self.shape())

    def existence(self) -> Sentence:
        """What follows "there is" or "can there be"."""
        negated = self.next_is("no")
        if not negated:
            self.article()
        start = self.at
        if self.one_of(_ADJECTIVES):
            given = self.adjective()
            if self.next_is("side that is"):
                kept = self.next_is("not")
                rule = SideRule(given, self.adjective(), not kept)
                return EverySide(rule) if negated else SomeSide(rule)
            self.at = start
        noun = self.noun()
        if self.at == len(self.words):
            return No(noun) if negated else Some(noun)
        *more, last = self.clause()
        noun = Noun(noun.shape, (*noun.qualities, *more))
        return No(noun, last) if negated else Some(noun, last)

    def clause(self) -> list[Predicate]:
        """A relative clause; of several verb phrases all but the last count as qualities of the noun."""
        if self.next_is("that"):
            found = [self.predicate()]
            while self.next_is("and"):
                found.append(self.predicate())
            return found
        return [self.match_of_sides()]

    def match_of_sides(self) -> Predicate:
        self.expect("whose sides")
        if self.next_is("all"):
            return SidesMatch(self.pattern())
        if self.next_is("are all equal"):
            return SidesMatch(Pattern.EQUAL)
        if self.next_is("are not all equal"):
            return complement(SidesMatch(Pattern.EQUAL))
        self.expect("do not all")
        return complement(SidesMatch(self.pattern()))

    def noun(self) -> Noun:
        qualities: list[Predicate] = []
        while self.one_of(_ADJECTIVES):
            qualities.append(AllSides(self.adjective()))
        shape = self.shape()
        if self.next_is("with"):
            qualities.append(self.sides())
            while self.next_is("and"):
                qualities.append(self.sides())
        return Noun(shape, tuple(qualities))

    def sides(self) -> Predicate:
        """What a noun or "has" is followed by: "a green side", "two green sides", "no green side"."""
        if self.next_is("no"):
            predicate = complement(HasSides(self.adjective()))
        else:
            self.next_is("at least")
            number = self.number()
            predicate = HasSides(self.adjective(), number)
        if not self.next_is("side"):
            self.expect("sides")
        return predicate

    def predicate(self) -> Predicate:
        """A verb phrase, finite or after "can"."""
        if self.next_is("is") or self.next_is("be"):
            negated = self.next_is("not")
            found = self.is_what()
        elif self.next_is("does not") or self.next_is("not"):
            negated, found = True, self.has_what()
        else:
            negated, found = False, self.has_what()
        return complement(found) if negated else found

    def is_what(self) -> Predicate:
        if self.one_of(_ADJECTIVES):
            return AllSides(self.adjective())
        self.article()
        return IsA(self.shape())

    def has_what(self) -> Predicate:
        if self.next_is("contains") or self.next_is("contain"):
            return self.contained()
        if not self.next_is("has"):
            self.expect("have")
        if self.next_is("sides of"):
            self.next_is("at least")
            number = self.number()
            self.next_is("different")
            self.expect("colors")
            return HasColors(number)
        start = self.at
        if self.one_of(_NUMBERS):
            number = self.number()
            if self.next_is("sides"):
                return SideNumber(number)
            self.at = start
        return self.sides()

    def contained(self) -> Contains:
        self.article()
        sided = {f"{word}-sided": number for word, number in _NUMBERS.items()}
        number = sided[self.taken()] if self.one_of(sided) else None
        return Contains(self.shape(), number)
