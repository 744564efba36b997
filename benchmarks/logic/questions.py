"""The question forms, and the questions that a form gives about a figure.

A form is a mode and a sentence with gaps; a frame is a form with figure and number filled in, so that its questions
differ in their adjectives alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import permutations

from variantbench.benchmarks.logic.figures import COLORS, SIDES, Adjective, Shape
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
    Predicate,
    Question,
    Sentence,
    SideRule,
    Some,
    SomeSide,
    The,
)

Builder = Callable[[Shape, int, Adjective, Adjective], Sentence]


class Kinds(Enum):
    """How the two adjectives of a form relate.

    In "two green sides and a blue side" they are alike, so nobody wonders whether the blue side may be one of the two.
    """

    ANY = "any"
    ALIKE = "both colors or both widths"
    CROSSED = "one color and one width"

    def allow(self, words: tuple[Adjective, ...]) -> bool:
        """Whether these adjectives relate so."""
        alike = len({word in COLORS for word in words}) == 1
        return self is Kinds.ANY or alike is (self is Kinds.ALIKE)


@dataclass(frozen=True, slots=True)
class Form:
    """A question form. `words` is how many adjectives it takes, `numbers` which numbers make sense."""

    name: str
    mode: Mode
    build: Builder
    words: int = 1
    numbers: tuple[int, ...] = (1,)
    kinds: Kinds = Kinds.ANY
    definite: bool = False
    nests: bool = False  # speaks of figures inside the figure


@dataclass(frozen=True, slots=True)
class Frame:
    """A form about one figure with one number."""

    form: Form
    shape: Shape
    number: int

    def questions(self) -> Iterator[tuple[Question, tuple[Adjective, ...]]]:
        """Every question of this frame, with the adjectives it uses."""
        for words in permutations(Adjective, self.form.words):
            if self.form.kinds.allow(words):
                sentence = self.form.build(self.shape, self.number, words[0], words[-1])
                yield Question(self.form.mode, sentence), words


def frames(mode: Mode, shape: Shape, *, definite: bool) -> tuple[Frame, ...]:
    """The frames of a mode about a shape; `definite` ones speak of "the triangle"."""
    return tuple(
        Frame(form, shape, number)
        for form in FORMS
        if form.mode is mode and form.definite is definite
        for number in form.numbers
        if number <= SIDES[shape]
    )


def _with(shape: Shape, number: int, adjective: Adjective) -> Noun:
    return Noun(shape, (HasSides(adjective, number),))


def _a(shape: Shape, *qualities: Predicate) -> Some:
    return Some(Noun(shape, qualities))


_C, _P = Mode.CERTAIN, Mode.POSSIBLE

# s: the shape, n: the number, x and y: the adjectives.
FORMS: tuple[Form, ...] = (
    Form("every with is", _C, lambda s, n, x, y: Every(_with(s, n, x), AllSides(y)), 2, (1, 2, 3, 4), Kinds.CROSSED),
    Form("every with has", _C, lambda s, n, x, y: Every(_with(s, n, x), HasSides(y)), 2, (1, 2, 3, 4)),
    Form("every is", _C, lambda s, _n, x, _y: Every(Noun(s), AllSides(x))),
    Form("every has", _C, lambda s, n, x, _y: Every(Noun(s), HasSides(x, n)), 1, (1, 2)),
    Form("every is circle", _C, lambda s, n, x, _y: Every(_with(s, n, x), IsA(Shape.CIRCLE)), 1, (1, 2, 3, 4)),
    Form(
        "every contains",
        _C,
        lambda s, n, x, _y: Every(_with(s, n, x), Contains(Shape.CIRCLE)),
        1,
        (1, 3, 4),
        nests=True,
    ),
    Form("every has colors", _C, lambda s, n, x, _y: Every(_with(s, n, x), HasColors(2)), 1, (1, 2)),
    Form("no has", _C, lambda s, n, x, _y: No(Noun(s), HasSides(x, n)), 1, (1, 2, 3)),
    Form("no is", _C, lambda s, _n, x, _y: No(Noun(s), AllSides(x))),
    Form("no with is", _C, lambda s, n, x, y: No(_with(s, n, x), AllSides(y)), 2, (1, 2), Kinds.CROSSED),
    Form("no with has", _C, lambda s, n, x, y: No(_with(s, n, x), HasSides(y)), 2, (1, 2, 3)),
    Form("there is with", _C, lambda s, n, x, _y: Some(_with(s, n, x)), 1, (1, 2, 3, 4)),
    Form("there is not", _C, lambda s, _n, x, _y: Some(Noun(s), Not(AllSides(x)))),
    Form("there is no", _C, lambda s, n, x, _y: No(_with(s, n, x)), 1, (1, 2, 3, 4)),
    Form("if then", _C, lambda _s, _n, x, y: EverySide(SideRule(x, y)), 2, (1,), Kinds.CROSSED),
    Form("if then not", _C, lambda _s, _n, x, y: EverySide(SideRule(x, y, negated=True)), 2, (1,), Kinds.CROSSED),
    Form("the is", _C, lambda s, _n, x, _y: The(s, AllSides(x)), definite=True),
    Form("the is not", _C, lambda s, _n, x, _y: The(s, Not(AllSides(x))), definite=True),
    Form("the has", _C, lambda s, n, x, _y: The(s, HasSides(x, n)), 1, (1, 2), definite=True),
    Form("the has no", _C, lambda s, _n, x, _y: The(s, Not(HasSides(x))), definite=True),
    Form("can with", _P, lambda s, n, x, _y: _a(s, HasSides(x, n)), 1, (1, 2, 3, 4)),
    Form("can with and", _P, lambda s, n, x, y: _a(s, HasSides(x, n), HasSides(y)), 2, (1, 2), Kinds.ALIKE),
    Form("can with no", _P, lambda s, _n, x, _y: _a(s, Not(HasSides(x)))),
    Form("can with and no", _P, lambda s, n, x, y: _a(s, HasSides(x, n), Not(HasSides(y))), 2, (1, 2, 3)),
    Form("can not", _P, lambda s, _n, x, _y: Some(Noun(s), Not(AllSides(x)))),
    Form("can with not", _P, lambda s, n, x, y: Some(_with(s, n, x), Not(AllSides(y))), 2, (2, 3, 4), Kinds.CROSSED),
    Form("can adjective", _P, lambda s, _n, x, _y: _a(s, AllSides(x))),
    Form("can adjective with", _P, lambda s, _n, x, y: _a(s, AllSides(x), HasSides(y)), 2, (1,), Kinds.CROSSED),
    Form("can side", _P, lambda _s, _n, x, y: SomeSide(SideRule(x, y, negated=True)), 2, (1,), Kinds.CROSSED),
    Form("possible every", _P, lambda s, n, x, _y: Every(Noun(s), HasSides(x, n)), 1, (1, 2)),
    Form("possible no", _P, lambda s, n, x, _y: No(Noun(s), HasSides(x, n)), 1, (1, 2)),
    Form("possible the is", _P, lambda s, _n, x, _y: The(s, AllSides(x)), definite=True),
    Form("possible the has", _P, lambda s, n, x, _y: The(s, HasSides(x, n)), 1, (1, 2, 3), definite=True),
    Form("possible the has no", _P, lambda s, _n, x, _y: The(s, Not(HasSides(x))), definite=True),
)
