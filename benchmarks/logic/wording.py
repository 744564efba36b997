"""The English of sentences and questions, in the words of a batch.

A lexicon says what a figure is called: `PLAIN` by its own name, in batch Q3 by an invented word. Only singular nouns
are used, so an invented word needs no plural; its article follows its first letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from variantbench.benchmarks.logic.figures import Shape
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
    Not,
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
)

NUMERALS = ("no", "one", "two", "three", "four")

_PATTERNS = {
    Pattern.EQUAL: "equal",
    Pattern.SAME_COLOR: "have the same color",
    Pattern.DIFFERENT_COLORS: "have different colors",
}


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What each shape is called; a shape that is not listed keeps its own name."""

    names: Mapping[Shape, str] = field(default_factory=dict)

    def __getitem__(self, shape: Shape) -> str:
        return self.names.get(shape, shape.value)


PLAIN = Lexicon()


def with_article(phrase: str) -> str:
    """The phrase with "a" or "an" in front."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def sentence_text(sentence: Sentence, lexicon: Lexicon = PLAIN) -> str:
    """The sentence in English, without capital and full stop, as premises are written."""
    match sentence:
        case Every(noun, predicate):
            return _universal("every", noun, predicate, lexicon)
        case No(noun, None):
            return f"there is no {_noun(noun, lexicon)}"
        case No(noun, predicate) if predicate is not None:
            return _universal("no", noun, predicate, lexicon)
        case Some():
            return f"there is {_some(sentence, lexicon)}"
        case The(shape, predicate):
            return f"the {lexicon[shape]} {_verb_phrase(predicate, lexicon)}"
        case EverySide(rule):
            return _rule(rule, "a side")
        case SomeSide():
            return f"there is {_some(sentence, lexicon)}"
        case OneEach(first, second):
            return f"there are {with_article(lexicon[first])} and {with_article(lexicon[second])}"
        case SharesColors(of, among):
            return f"every side of the {lexicon[of]} has the same color as a side of the {lexicon[among]}"
    raise ValueError(f"no wording for {sentence}")


def question_text(question: Question, lexicon: Lexicon = PLAIN) -> str:
    """The question as a sentence with its question mark."""
    sentence = question.sentence
    if question.mode is Mode.POSSIBLE and isinstance(sentence, Some | SomeSide):
        return f"Can there be {_some(sentence, lexicon)}?"
    return f"Is it {question.mode} that {sentence_text(sentence, lexicon)}?"


def _some(sentence: Some | SomeSide, lexicon: Lexicon) -> str:
    """What "there is" is followed by: "a triangle that has a thick side and is not green".

    Not "a triangle with a thick side that is not green", which might speak of the side.
    """
    if isinstance(sentence, SomeSide):
        rule = sentence.rule
        return f"{with_article(rule.given)} side that is {'' if rule.negated else 'not '}{rule.then}"
    noun, predicate = sentence.noun, sentence.predicate
    if predicate is None:
        return with_article(_noun(noun, lexicon))
    match predicate:
        case SidesMatch() | Not(SidesMatch()):
            return f"{with_article(_noun(noun, lexicon))} {_whose(predicate)}"
    whole = tuple(quality for quality in noun.qualities if isinstance(quality, AllSides))
    has = [f"has {_sides(quality)}" for quality in noun.qualities if isinstance(quality, HasSides | Not)]
    clause = " and ".join([*has, _verb_phrase(predicate, lexicon)])
    return f"{with_article(_noun(Noun(noun.shape, whole), lexicon))} that {clause}"


def _universal(determiner: str, noun: Noun, predicate: Predicate, lexicon: Lexicon) -> str:
    """A sentence with "every" or "no"; patterns of sides have a form of their own."""
    subject = _noun(noun, lexicon)
    if isinstance(predicate, SidesMatch) and determiner == "every":
        are = "are " if predicate.pattern is Pattern.EQUAL else ""
        return f"all the sides of {with_article(subject)} {are}{_PATTERNS[predicate.pattern]}"
    return f"{determiner} {subject} {_verb_phrase(predicate, lexicon)}"


def _rule(rule: SideRule, subject: str) -> str:
    return f"if {subject} is {rule.given}, then it is {'not ' if rule.negated else ''}{rule.then}"


def _noun(noun: Noun, lexicon: Lexicon) -> str:
    """A noun without its article: "green triangle with two thick sides and a blue side"."""
    before = [quality.adjective.value for quality in noun.qualities if isinstance(quality, AllSides)]
    sides = [_sides(quality) for quality in noun.qualities if isinstance(quality, HasSides)]
    without = [_sides(quality) for quality in noun.qualities if isinstance(quality, Not)]
    if len(before) + len(sides) + len(without) != len(noun.qualities):
        raise ValueError(f"no wording for a noun with {noun.qualities}")
    parts = [*before, lexicon[noun.shape]]
    if sides or without:
        parts += ["with", " and ".join([*sides, *without])]
    return " ".join(parts)


def _sides(quality: HasSides | Not) -> str:
    """What "with" or "has" is followed by: "a green side", "two green sides", "no green side"."""
    if isinstance(quality, HasSides):
        if quality.number == 1:
            return f"{with_article(quality.adjective)} side"
        return f"{NUMERALS[quality.number]} {quality.adjective} sides"
    if isinstance(quality.predicate, HasSides) and quality.predicate.number == 1:
        return f"no {quality.predicate.adjective} side"
    raise ValueError(f"no wording for {quality} in a noun")


def _verb_phrase(predicate: Predicate, lexicon: Lexicon) -> str:
    """What stands after a singular subject: "has a green side", "is not green"."""
    match predicate:
        case HasSides():
            return f"has {_sides(predicate)}"
        case Not(HasSides(_, 1)):
            return f"has {_sides(predicate)}"
        case AllSides(adjective):
            return f"is {adjective}"
        case SideNumber(number):
            return f"has {NUMERALS[number]} sides" if number != 1 else "has one side"
        case IsA(shape):
            return f"is {with_article(lexicon[shape])}"
        case HasColors(number):
            return f"has sides of at least {NUMERALS[number]} different colors"
        case Contains():
            return f"contains {_contained(predicate, lexicon)}"
        case Not(Contains() as inner):
            return f"does not contain {_contained(inner, lexicon)}"
        case Not(AllSides() | IsA() as inner):
            return "is not" + _verb_phrase(inner, lexicon).removeprefix("is")
        case Not(HasSides() | HasColors() | SideNumber() as inner):
            return "does not have" + _verb_phrase(inner, lexicon).removeprefix("has")
    raise ValueError(f"no verb phrase for {predicate}")


def _contained(predicate: Contains, lexicon: Lexicon) -> str:
    noun = lexicon[predicate.shape]
    return with_article(noun if predicate.sides is None else f"{NUMERALS[predicate.sides]}-sided {noun}")


def _whose(predicate: Predicate) -> str:
    """The clause of a pattern: "whose sides do not all have the same color"."""
    pattern = predicate.predicate if isinstance(predicate, Not) else predicate
    if not isinstance(pattern, SidesMatch):
        raise ValueError(f"no clause with 'whose' for {predicate}")
    negated = isinstance(predicate, Not)
    if pattern.pattern is Pattern.EQUAL:
        return f"whose sides are {'not ' if negated else ''}all equal"
    return f"whose sides {'do not ' if negated else ''}all {_PATTERNS[pattern.pattern]}"
