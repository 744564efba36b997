"""What premises and questions say, as small frozen expressions. Their truth is in `semantics`, their English in
`wording`.

Predicates are about one figure; sentences are about a situation; a question asks whether a sentence is certain or
possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from variantbench.benchmarks.logic.figures import Adjective, Shape


class Pattern(StrEnum):
    """How the sides of one figure compare with each other."""

    EQUAL = "equal"  # the same color and the same width
    SAME_COLOR = "same color"
    DIFFERENT_COLORS = "different colors"  # no two sides share a color


@dataclass(frozen=True, slots=True)
class HasSides:
    """Existential and number restriction: at least `number` sides are so."""

    adjective: Adjective
    number: int = 1


@dataclass(frozen=True, slots=True)
class AllSides:
    """Value restriction, "is green": every side is so."""

    adjective: Adjective


@dataclass(frozen=True, slots=True)
class SideNumber:
    """The figure has exactly that many sides."""

    number: int


@dataclass(frozen=True, slots=True)
class IsA:
    """The figure is of that shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class SidesMatch:
    """The sides of the figure compare with each other as the pattern says."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class HasColors:
    """The sides have at least that many different colors."""

    number: int


@dataclass(frozen=True, slots=True)
class Contains:
    """A figure of that shape lies inside; `sides` may describe an impossible one, as in "a three-sided square"."""

    shape: Shape
    sides: int | None = None


@dataclass(frozen=True, slots=True)
class SideRule:
    """Implication on sides: each side that is `given` is also `then`, or is not, if `negated`."""

    given: Adjective
    then: Adjective
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """The figure is not as the predicate says."""

    predicate: Predicate


Predicate = HasSides | AllSides | SideNumber | IsA | SidesMatch | HasColors | Contains | SideRule | Not


@dataclass(frozen=True, slots=True)
class Noun:
    """A shape with qualities: "triangle with two green sides", "green triangle"."""

    shape: Shape
    qualities: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Every:
    """Every figure under the noun is so. True if there is none."""

    noun: Noun
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Some:
    """There is a figure under the noun (that is so)."""

    noun: Noun
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class No:
    """No figure under the noun is so; without a predicate, there is none."""

    noun: Noun
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class The:
    """The one figure of that shape is so. Says that there is exactly one, and so does its negation."""

    shape: Shape
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class EverySide:
    """The rule holds of every side of every figure."""

    rule: SideRule


@dataclass(frozen=True, slots=True)
class SomeSide:
    """Some side of some figure breaks the rule."""

    rule: SideRule


@dataclass(frozen=True, slots=True)
class OneEach:
    """There are one figure of the first and one of the second shape, which "the" may then refer to."""

    first: Shape
    second: Shape


@dataclass(frozen=True, slots=True)
class SharesColors:
    """Every side of the one figure `of` has the color of a side of the one figure `among`."""

    of: Shape
    among: Shape


Sentence = Every | Some | No | The | EverySide | SomeSide | OneEach | SharesColors


class Mode(StrEnum):
    """What is asked about a sentence."""

    CERTAIN = "certain"  # is it true in every situation that fits the premises?
    POSSIBLE = "possible"  # is it true in at least one?


@dataclass(frozen=True, slots=True)
class Question:
    """Whether the sentence is certain, or possible, given the premises."""

    mode: Mode
    sentence: Sentence

    def negated(self) -> Question:
        """The question of batch Q4: certain and possible change places, and the sentence is negated."""
        return Question(Mode.POSSIBLE if self.mode is Mode.CERTAIN else Mode.CERTAIN, negate(self.sentence))


def complement(predicate: Predicate) -> Predicate:
    """The predicate that holds of exactly the other figures, without a double negation."""
    return predicate.predicate if isinstance(predicate, Not) else Not(predicate)


def negate(sentence: Sentence) -> Sentence:
    """The sentence that is true in exactly the other situations (of those with one figure of the shape, for `The`).

    No negation is doubled. Raises ValueError for the two forms that serve as premises only.
    """
    match sentence:
        case Every(noun, predicate):
            return Some(noun, complement(predicate))
        case Some(noun, Not(predicate)):
            return Every(noun, predicate)  # rather than "no triangle is not green"
        case Some(Noun(shape, (*qualities, Not(predicate))), None):
            return Every(Noun(shape, tuple(qualities)), predicate)  # rather than "no triangle with no green side"
        case Some(noun, predicate):
            return No(noun, predicate)
        case No(noun, predicate):
            return Some(noun, predicate)
        case The(shape, predicate):
            return The(shape, complement(predicate))
        case EverySide(rule):
            return SomeSide(rule)
        case SomeSide(rule):
            return EverySide(rule)
    raise ValueError(f"{sentence} is a premise only and has no negation here")


def predicates_of(sentence: Sentence) -> tuple[tuple[Shape, Predicate], ...]:
    """Each predicate that the sentence applies to figures of a named shape, with that shape, `Not` taken off."""
    match sentence:
        case Every(noun, predicate) | Some(noun, predicate) | No(noun, predicate):
            found = (*noun.qualities, *(() if predicate is None else (predicate,)))
            return tuple((noun.shape, part.predicate if isinstance(part, Not) else part) for part in found)
        case The(shape, predicate):
            return ((shape, predicate.predicate if isinstance(predicate, Not) else predicate),)
    return ()


def shapes_of(sentence: Sentence) -> frozenset[Shape]:
    """The shapes that the sentence names."""
    match sentence:
        case EverySide() | SomeSide():
            return frozenset()
        case OneEach(first, second) | SharesColors(first, second):
            return frozenset((first, second))
        case The(shape):
            named = {shape}
        case Every(noun) | Some(noun) | No(noun):
            named = {noun.shape}
    inner = {part.shape for _, part in predicates_of(sentence) if isinstance(part, Contains | IsA)}
    return frozenset(named | inner)
