"""The premise sets: for each form, what it says once shapes, colors and widths are drawn.

A block is one or two premise sets of the same form and length. Two where one set is contradictory, so that every
answer has a counterpart under premises that look alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from variantbench.benchmarks.logic.figures import COLORS, WIDTHS, Adjective, Shape
from variantbench.benchmarks.logic.sentences import (
    AllSides,
    Contains,
    Every,
    EverySide,
    HasColors,
    HasSides,
    IsA,
    No,
    Noun,
    OneEach,
    Pattern,
    Sentence,
    SharesColors,
    SideRule,
    SidesMatch,
    Some,
    The,
)

PremiseSet = tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """The words a form is filled with: a figure and the other one, four different colors, and a width."""

    figure: Shape
    other: Shape
    a: Adjective
    b: Adjective
    c: Adjective
    d: Adjective
    width: Adjective


def draw(rng: random.Random) -> Draw:
    """Words at random; two of three times the figure is the triangle."""
    figure = rng.choices((Shape.TRIANGLE, Shape.SQUARE), (2, 1))[0]
    other = Shape.SQUARE if figure is Shape.TRIANGLE else Shape.TRIANGLE
    a, b, c, d = rng.sample(COLORS, 4)
    return Draw(figure, other, a, b, c, d, rng.choice(WIDTHS))


def _has(shape: Shape, adjective: Adjective) -> Sentence:
    return Every(Noun(shape), HasSides(adjective))


def _is(shape: Shape, adjective: Adjective) -> Sentence:
    return Every(Noun(shape), AllSides(adjective))


def _some(shape: Shape, adjective: Adjective, number: int = 1) -> Sentence:
    return Some(Noun(shape, (HasSides(adjective, number),)))


def _rule(given: Adjective, then: Adjective, *, negated: bool = False) -> Sentence:
    return EverySide(SideRule(given, then, negated))


def _match(shape: Shape, pattern: Pattern) -> Sentence:
    return Every(Noun(shape), SidesMatch(pattern))


def _contains_circle(shape: Shape) -> Sentence:
    return Every(Noun(shape), Contains(Shape.CIRCLE))


Form = Callable[[Draw], tuple[PremiseSet, ...]]

ONE_PREMISE: tuple[Form, ...] = (
    lambda w: ((_is(w.figure, w.a),),),
    lambda w: ((_has(w.figure, w.a),),),
    lambda w: ((_rule(w.width, w.a),),),
    lambda w: ((_rule(w.width, w.a, negated=True),),),
    lambda w: ((_some(w.figure, w.a, 2),),),
)
TWO_PREMISES: tuple[Form, ...] = (
    lambda w: ((_has(w.figure, w.a), _rule(w.width, w.b, negated=True)),),
    lambda w: ((_has(w.figure, w.a), _rule(w.a, w.width)),),
    lambda w: ((_is(w.figure, w.width), _rule(w.width, w.a)),),
    lambda w: ((_has(w.figure, w.a), _has(w.figure, w.b)),),
    lambda w: ((_match(w.figure, Pattern.SAME_COLOR), _some(w.figure, w.a)),),
    lambda w: ((_match(w.figure, Pattern.DIFFERENT_COLORS), _has(w.figure, w.a)),),
    lambda w: ((_contains_circle(w.figure), _some(w.figure, w.a)),),
    lambda w: (
        (Every(Noun(Shape.TRIANGLE), Contains(Shape.SQUARE, 3)), _has(Shape.SQUARE, w.a)),
        (Every(Noun(Shape.TRIANGLE), Contains(Shape.SQUARE)), _has(Shape.SQUARE, w.a)),
    ),
    lambda w: ((No(Noun(w.figure, (HasSides(w.a),)), HasSides(w.b)), _has(w.figure, w.a)),),
    lambda w: ((_some(w.figure, w.width, 2), _rule(w.width, w.a)),),
)
THREE_PREMISES: tuple[Form, ...] = (
    lambda w: ((_has(w.figure, w.a), _has(w.figure, w.b), _rule(w.a, w.width, negated=True)),),
)
FOUR_PREMISES: tuple[Form, ...] = (
    lambda w: ((_has(w.figure, w.a), _has(w.figure, w.b), _has(w.figure, w.c), _rule(w.c, w.width)),),
    lambda w: (
        (*(_has(Shape.TRIANGLE, color) for color in (w.a, w.b, w.c)), _some(Shape.TRIANGLE, w.d)),
        (_has(Shape.TRIANGLE, w.a), _has(Shape.SQUARE, w.a), _has(Shape.TRIANGLE, w.b), _some(Shape.TRIANGLE, w.d)),
    ),
    lambda w: (
        (OneEach(w.other, w.figure), SharesColors(w.other, w.figure), The(w.other, HasColors(2)),
         The(w.figure, HasSides(w.a))),
    ),
    lambda w: (
        (OneEach(w.figure, w.other), SharesColors(w.figure, w.other), The(w.figure, AllSides(w.a)),
         _rule(w.a, w.width)),
    ),
    lambda w: ((_has(w.figure, w.a), _is(w.other, w.b), _rule(w.a, w.width), Some(Noun(w.figure))),),
    lambda w: (
        (_rule(w.a, w.width), _rule(w.width, w.b, negated=True), _has(w.figure, w.a), _some(w.figure, w.c)),
    ),
    lambda w: (
        (_match(w.figure, Pattern.SAME_COLOR), _rule(w.width, w.a, negated=True), _some(w.figure, w.width),
         _has(w.other, w.a)),
    ),
    lambda w: ((_contains_circle(w.figure), _has(w.other, w.a), _rule(w.a, w.width), _some(w.figure, w.b)),),
    lambda w: (
        (Every(Noun(w.figure, (HasSides(w.a),)), AllSides(w.width)), _rule(w.width, w.b, negated=True),
         _has(w.figure, w.c), _some(w.figure, w.a)),
    ),
    lambda w: (
        (No(Noun(w.figure, (HasSides(w.a, 2),)), HasSides(w.b)), _has(w.figure, w.b), _is(w.other, w.a),
         _rule(w.b, w.width)),
    ),
    lambda w: (
        (No(Noun(w.figure), IsA(Shape.CIRCLE)), _is(w.figure, w.width), _rule(w.width, w.a, negated=True),
         _some(w.figure, w.b)),
    ),
)  # fmt: skip
