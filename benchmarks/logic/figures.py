"""The small world the logic items speak of: sides, figures and finite situations, and every figure there can be.

A triangle has three sides, a square four, a circle none. A side has one color and is thick or thin, and nothing else.
Besides the four colors with a name here there are as many unnamed ones as a figure has sides, which is as good as
endlessly many.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations_with_replacement


class Shape(StrEnum):
    """What a figure is."""

    TRIANGLE = "triangle"
    SQUARE = "square"
    CIRCLE = "circle"


class Adjective(StrEnum):
    """What a side, or a figure as a whole, can be said to be."""

    GREEN = "green"
    BLUE = "blue"
    RED = "red"
    YELLOW = "yellow"
    THICK = "thick"
    THIN = "thin"


COLORS = (Adjective.GREEN, Adjective.BLUE, Adjective.RED, Adjective.YELLOW)
WIDTHS = (Adjective.THICK, Adjective.THIN)
UNNAMED_COLORS = ("other1", "other2", "other3", "other4")
SIDES = {Shape.TRIANGLE: 3, Shape.SQUARE: 4, Shape.CIRCLE: 0}


@dataclass(frozen=True, slots=True)
class Side:
    """One side: a color, named or not, and a width."""

    color: str
    width: Adjective

    def is_a(self, adjective: Adjective) -> bool:
        """Whether the adjective applies to this side."""
        return adjective in (self.color, self.width)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its shape, its sides in no particular order, and the shapes of the figures it contains."""

    shape: Shape
    sides: tuple[Side, ...]
    inside: frozenset[Shape] = frozenset()

    def count(self, adjective: Adjective) -> int:
        """How many sides the adjective applies to."""
        return sum(side.is_a(adjective) for side in self.sides)

    @property
    def colors(self) -> frozenset[str]:
        """The colors of the sides."""
        return frozenset(side.color for side in self.sides)


@dataclass(frozen=True, slots=True)
class Situation:
    """Finitely many figures. Whatever one of them contains is among them."""

    figures: tuple[Figure, ...]

    def of(self, shape: Shape) -> tuple[Figure, ...]:
        """The figures of that shape."""
        return tuple(figure for figure in self.figures if figure.shape is shape)


@cache
def every_figure() -> tuple[Figure, ...]:
    """Every figure up to the order of its sides and the names of its unnamed colors, containing nothing."""
    kinds = [Side(color, width) for color in (*COLORS, *UNNAMED_COLORS) for width in WIDTHS]
    return tuple(
        Figure(shape, sides)
        for shape in Shape
        for sides in combinations_with_replacement(kinds, SIDES[shape])
        if _unnamed_in_order(sides)
    )


def _unnamed_in_order(sides: tuple[Side, ...]) -> bool:
    """Whether the unnamed colors used are the first ones, so that mere renamings are listed once."""
    used = {side.color for side in sides}.intersection(UNNAMED_COLORS)
    return used == set(UNNAMED_COLORS[: len(used)])
