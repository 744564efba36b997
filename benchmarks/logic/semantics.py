"""When a predicate fits a figure and when a sentence is true in a situation.

Two readings of a bare numeral are offered, "with two green sides" as at least two (the default) or as exactly two. An
item of the built-in set has the same answer under both.
"""

from __future__ import annotations

from variantbench.benchmarks.logic.figures import SIDES, Figure, Situation
from variantbench.benchmarks.logic.sentences import (
    AllSides,
    Contains,
    Every,
    EverySide,
    HasColors,
    HasSides,
    IsA,
    No,
    Not,
    Noun,
    OneEach,
    Pattern,
    Predicate,
    Sentence,
    SharesColors,
    SideNumber,
    SideRule,
    SidesMatch,
    Some,
    SomeSide,
    The,
)


def fits(predicate: Predicate, figure: Figure, *, exactly: bool = False) -> bool:
    """Whether the figure is as the predicate says; `exactly` is the reading of bare numerals from two on."""
    match predicate:
        case HasSides(adjective, number):
            count = figure.count(adjective)
            return count == number if exactly and number > 1 else count >= number
        case AllSides(adjective):
            return all(side.is_a(adjective) for side in figure.sides)
        case SideNumber(number):
            return len(figure.sides) == number
        case IsA(shape):
            return figure.shape is shape
        case SidesMatch(pattern):
            return _sides_match(pattern, figure)
        case HasColors(number):
            return len(figure.colors) >= number
        case Contains(shape, sides):
            return shape in figure.inside and sides in (None, SIDES[shape])
        case SideRule(given, then, negated):
            return all(side.is_a(then) is not negated for side in figure.sides if side.is_a(given))
        case Not(inner):
            return not fits(inner, figure, exactly=exactly)


def is_true(sentence: Sentence, situation: Situation, *, exactly: bool = False) -> bool:
    """Whether the sentence is true in the situation."""
    match sentence:
        case Every(noun, predicate):
            return all(fits(predicate, figure, exactly=exactly) for figure in _under(noun, situation, exactly))
        case Some(noun, predicate) | No(noun, predicate):
            found = any(
                predicate is None or fits(predicate, figure, exactly=exactly)
                for figure in _under(noun, situation, exactly)
            )
            return found is isinstance(sentence, Some)
        case The(shape, predicate):
            figures = situation.of(shape)
            return len(figures) == 1 and fits(predicate, figures[0], exactly=exactly)
        case EverySide(rule) | SomeSide(rule):
            kept = all(fits(rule, figure) for figure in situation.figures)
            return kept is isinstance(sentence, EverySide)
        case OneEach(first, second):
            return len(situation.of(first)) == 1 == len(situation.of(second))
        case SharesColors(of, among):
            one, other = situation.of(of), situation.of(among)
            return len(one) == 1 == len(other) and one[0].colors <= other[0].colors


def _under(noun: Noun, situation: Situation, exactly: bool) -> list[Figure]:
    return [
        figure
        for figure in situation.of(noun.shape)
        if all(fits(quality, figure, exactly=exactly) for quality in noun.qualities)
    ]


def _sides_match(pattern: Pattern, figure: Figure) -> bool:
    match pattern:
        case Pattern.EQUAL:
            return len(set(figure.sides)) <= 1
        case Pattern.SAME_COLOR:
            return len(figure.colors) <= 1
        case Pattern.DIFFERENT_COLORS:
            return len(figure.colors) == len(figure.sides)
