"""Certainty and possibility, decided by searching every situation up to a bound that loses nothing.

Why the bound suffices. Each sentence forbids descriptions ("no triangle that is not green") and wants descriptions
fitted ("a square with a thick side"). If a situation fits the premises, keep one witness for each description wanted
and one figure for each shape a witness contains, and drop all others: nothing forbidden can appear by dropping, and
nothing wanted is lost. So a situation fits if and only if one does with at most one figure for each description
wanted, plus one for each shape contained. Where "the square" speaks of one figure of a shape, its witnesses are that
figure. As forbidden descriptions speak of one figure at a time, the search need not walk the combinations: it takes
the set of all figures (`every_figure`, as bits of an integer), strikes the forbidden ones, and asks of each
description wanted whether a figure is left; only "has the same color as a side of the triangle" joins two figures,
and there all pairs of colorings are tried. A figure has at most four sides, so four unnamed colors beside the named
ones are as good as endlessly many.

Not covered, and refused with ValueError: figures nested more than one deep, and "there is a … side" together with
"the".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

from variantbench.benchmarks.logic.figures import Figure, Shape, Situation, every_figure
from variantbench.benchmarks.logic.semantics import fits
from variantbench.benchmarks.logic.sentences import (
    Contains,
    Every,
    EverySide,
    HasSides,
    Mode,
    No,
    Not,
    OneEach,
    Predicate,
    Question,
    Sentence,
    SharesColors,
    Some,
    SomeSide,
    The,
    complement,
    negate,
    predicates_of,
)

Inside = frozenset[Shape]


@dataclass(frozen=True, slots=True)
class Description:
    """Figures of a shape (any shape, if none) that fit all the predicates."""

    shape: Shape | None
    predicates: tuple[Predicate, ...] = ()


def answer(premises: Sequence[Sentence], question: Question, *, exactly: bool = False) -> bool:
    """Whether the right answer is yes. From contradictory premises everything is certain and nothing possible."""
    if question.mode is Mode.POSSIBLE:
        return find_situation((*premises, question.sentence), exactly=exactly) is not None
    return find_situation((*premises, negate(question.sentence)), exactly=exactly) is None


def find_situation(sentences: Sequence[Sentence], *, exactly: bool = False) -> Situation | None:
    """A smallest situation in which all the sentences are true, or None if there is none of any size."""
    inner = _inner_shapes(sentences)
    single = _single_shapes(sentences)
    if single and (inner & single or any(isinstance(sentence, SomeSide) for sentence in sentences)):
        raise ValueError("the search does not join 'the' with 'there is a … side' or with being contained")
    wanted, forbidden = _demands(sentences, single)
    left = _left(forbidden, inner, exactly)
    witnesses = []
    for description in wanted:
        found = _choose(description, left, exactly)
        if found is None:
            return None
        witnesses.append(found)
    for sentence in sentences:
        if isinstance(sentence, SharesColors):
            pair = _matching_pair(sentence, left)
            if pair is None:
                return None
            witnesses = [figure for figure in witnesses if figure.shape not in (sentence.of, sentence.among)]
            witnesses.extend(pair)
    return Situation(_complete(witnesses, single, left))


def _inner_shapes(sentences: Iterable[Sentence]) -> Inside:
    pairs = [
        (shape, part.shape)
        for sentence in sentences
        for shape, part in predicates_of(sentence)
        if isinstance(part, Contains)
    ]
    inner = frozenset(shape for _, shape in pairs)
    if inner & {shape for shape, _ in pairs}:
        raise ValueError("the search covers one level of figures inside figures")
    return inner


def _single_shapes(sentences: Iterable[Sentence]) -> frozenset[Shape]:
    """The shapes that "the" refers to."""
    found: set[Shape] = set()
    for sentence in sentences:
        match sentence:
            case OneEach(first, second) | SharesColors(first, second):
                found |= {first, second}
            case The(shape):
                found.add(shape)
    return frozenset(found)


def _demands(
    sentences: Iterable[Sentence], single: frozenset[Shape]
) -> tuple[tuple[Description, ...], tuple[Description, ...]]:
    """What the sentences want fitted and what they forbid."""
    wanted = [Description(shape) for shape in sorted(single)]
    forbidden = []
    for sentence in sentences:
        match sentence:
            case Every(noun, predicate):
                forbidden.append(Description(noun.shape, (*noun.qualities, complement(predicate))))
            case No(noun, predicate):
                forbidden.append(
                    Description(noun.shape, (*noun.qualities, *(() if predicate is None else (predicate,))))
                )
            case Some(noun, predicate):
                parts = (*noun.qualities, *(() if predicate is None else (predicate,)))
                if noun.shape in single:
                    forbidden.extend(Description(noun.shape, (complement(part),)) for part in parts)
                else:
                    wanted.append(Description(noun.shape, parts))
            case The(shape, predicate):
                forbidden.append(Description(shape, (complement(predicate),)))
            case EverySide(rule):
                forbidden.append(Description(None, (Not(rule),)))
            case SomeSide(rule):
                wanted.append(Description(None, (Not(rule),)))
    return tuple(wanted), tuple(forbidden)


def _left(forbidden: Iterable[Description], inner: Inside, exactly: bool) -> dict[Inside, int]:
    """The figures not forbidden, as bits, for each set of shapes they may contain."""
    forbidden = tuple(forbidden)
    outer = ~_bits_of_shapes(inner)

    def allowed(inside: Inside) -> int:
        bits = _bits_of_shapes(frozenset(Shape))
        for description in forbidden:
            bits &= ~_bits(description, inside, exactly)
        return bits

    empty = allowed(frozenset())
    left = {frozenset[Shape](): empty}
    present = [shape for shape in sorted(inner) if empty & _bits_of_shapes(frozenset((shape,)))]
    for inside in chain.from_iterable(combinations(present, size) for size in range(1, len(present) + 1)):
        left[frozenset(inside)] = allowed(frozenset(inside)) & outer
    return left


def _choose(description: Description, left: dict[Inside, int], exactly: bool) -> Figure | None:
    """The first figure left that fits the description."""
    for inside, allowed in left.items():
        bits = allowed & _bits(description, inside, exactly)
        if bits:
            return _figure((bits & -bits).bit_length() - 1, inside)
    return None


def _matching_pair(sentence: SharesColors, left: dict[Inside, int]) -> tuple[Figure, Figure] | None:
    """Two figures left, such that the colors of the first are among those of the second."""
    ones, others = (
        [
            _figure((bits & -bits).bit_length() - 1, inside)
            for inside, allowed in left.items()
            for coloring in _colorings(shape)
            if (bits := allowed & coloring)
        ]
        for shape in (sentence.of, sentence.among)
    )
    return next(((one, other) for one in ones for other in others if one.colors <= other.colors), None)


def _complete(witnesses: Iterable[Figure], single: frozenset[Shape], left: dict[Inside, int]) -> tuple[Figure, ...]:
    """The witnesses and the figures inside them; of a single shape, one."""
    figures: list[Figure] = []
    for witness in witnesses:
        if witness.shape not in single or all(figure.shape is not witness.shape for figure in figures):
            figures.append(witness)
    for shape in sorted(frozenset[Shape]().union(*(figure.inside for figure in figures))):
        bits = left[frozenset()] & _bits_of_shapes(frozenset((shape,)))
        figures.append(_figure((bits & -bits).bit_length() - 1, frozenset()))
    return tuple(figures)


def _figure(index: int, inside: Inside) -> Figure:
    plain = every_figure()[index]
    return Figure(plain.shape, plain.sides, inside) if inside else plain


@cache
def _bits_of_shapes(shapes: Inside) -> int:
    return sum(1 << index for index, figure in enumerate(every_figure()) if figure.shape in shapes)


@cache
def _colorings(shape: Shape) -> tuple[int, ...]:
    """The figures of a shape as bits, by their set of colors."""
    by_colors: dict[frozenset[str], int] = {}
    for index, figure in enumerate(every_figure()):
        if figure.shape is shape:
            by_colors[figure.colors] = by_colors.get(figure.colors, 0) | 1 << index
    return tuple(by_colors.values())


def _bits(description: Description, inside: Inside, exactly: bool) -> int:
    bits = _bits_of_shapes(frozenset(Shape) if description.shape is None else frozenset((description.shape,)))
    for predicate in description.predicates:
        bits &= _fitting(predicate, inside, exactly)
    return bits


def _fitting(predicate: Predicate, inside: Inside, exactly: bool) -> int:
    """The figures that fit, as bits, when they contain those shapes."""
    match predicate:
        case Not(inner):
            return ~_fitting(inner, inside, exactly)
        case Contains():
            return _tabulated(predicate, inside, exactly=False)
        case HasSides():
            return _tabulated(predicate, frozenset(), exactly=exactly)
    return _tabulated(predicate, frozenset(), exactly=False)


@cache
def _tabulated(predicate: Predicate, inside: Inside, *, exactly: bool) -> int:
    """The same, figure by figure; what the predicate does not look at is left out of the arguments by the caller."""
    figures = [_figure(index, inside) for index in range(len(every_figure()))] if inside else every_figure()
    return sum(1 << index for index, figure in enumerate(figures) if fits(predicate, figure, exactly=exactly))
