"""Draws the set, so that nothing on the surface of an item gives its answer away.

Items are drawn in pairs: two questions of one frame (the same form, figure and number) about the same premises, or
about premises of the same form, one answered yes, one no. What holds of one half of a pair on the surface holds of
the other, so no surface feature helps. Four single items make up the odd numbers. A question is taken only if its
answer is the same whether a bare numeral ("two green sides") means at least or exactly.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from variantbench.benchmarks.logic.figures import Adjective, Shape
from variantbench.benchmarks.logic.premises import (
    FOUR_PREMISES,
    ONE_PREMISE,
    THREE_PREMISES,
    TWO_PREMISES,
    Form,
    PremiseSet,
    draw,
)
from variantbench.benchmarks.logic.questions import Frame, frames
from variantbench.benchmarks.logic.search import answer
from variantbench.benchmarks.logic.sentences import (
    Contains,
    EverySide,
    Mode,
    OneEach,
    Question,
    negate,
    predicates_of,
    shapes_of,
)
from variantbench.benchmarks.logic.wording import sentence_text

T = TypeVar("T")

# How many pairs each group of forms gives, and whether its single item is a yes: 21, 39, 3 and 45 items with one to
# four premises, as in the study; 52 pairs, one more yes and three more no make 55 no and 53 yes.
PLAN: tuple[tuple[tuple[Form, ...], int, bool], ...] = (
    (ONE_PREMISE, 10, False),
    (TWO_PREMISES, 19, False),
    (THREE_PREMISES, 1, True),
    (FOUR_PREMISES, 22, False),
)
CERTAIN_PAIRS = 34  # of 52: two questions of three ask for certainty, as in the study
USES_OF_A_FORM = 4  # pairs of one question form in a set, at most
SHOTS = (ONE_PREMISE, TWO_PREMISES, FOUR_PREMISES)  # one pair of examples from each


@dataclass(frozen=True, slots=True)
class Entry:
    """One underlying item: what is given and what is asked. `group` is the name of its premise set."""

    group: str
    premises: PremiseSet
    question: Question


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that might be asked about some premises, and its answer."""

    premises: PremiseSet
    question: Question
    words: tuple[Adjective, ...]
    yes: bool

    @property
    def repeated(self) -> int:
        """How many of its adjectives the premises name."""
        given = " ".join(sentence_text(sentence) for sentence in self.premises).split()
        return sum(word in given for word in self.words)

    def cues(self) -> Counter[str]:
        """What differs between the halves of a pair: the adjectives, and how many of them the premises name."""
        return Counter((*(word.value for word in self.words), *["repeated"] * self.repeated))


Pair = tuple[Candidate, Candidate]  # answered yes, answered no


@dataclass(slots=True)
class Drawing:
    """The state of one drawing: what is used up, and how far the pairs lean to one side so far."""

    rng: random.Random
    premise_sets: set[PremiseSet] = field(default_factory=set)
    asked: set[tuple[PremiseSet, Question]] = field(default_factory=set)
    uses: Counter[str] = field(default_factory=Counter)
    lean: Counter[str] = field(default_factory=Counter)  # each cue, in the yes items less in the no items

    def block(self, form: Form) -> tuple[PremiseSet, ...]:
        """Fresh premise sets of that form."""
        while True:
            block = form(draw(self.rng))
            if self.premise_sets.isdisjoint(block):
                self.premise_sets.update(block)
                return block

    def pair(self, block: tuple[PremiseSet, ...], modes: Sequence[Mode]) -> Pair | None:
        """A pair of one frame about the block, of the first mode that has one."""
        for mode in modes:
            for frame in _shuffled(self.rng, frames_about(block[0], mode)):
                if self.uses[frame.form.name] < USES_OF_A_FORM:
                    pair = self._closest(list(self._candidates(block, frame)))
                    if pair is not None:
                        self._take(frame, *pair)
                        return pair
        return None

    def single(self, block: tuple[PremiseSet, ...], *, yes: bool) -> Candidate | None:
        """One more question about the block with that answer."""
        for frame in _shuffled(self.rng, frames_about(block[0], Mode.CERTAIN)):
            for candidate in self._candidates(block, frame):
                if candidate.yes is yes and candidate.repeated == len(candidate.words):
                    self._take(frame, candidate)
                    return candidate
        return None

    def _candidates(self, block: tuple[PremiseSet, ...], frame: Frame) -> Iterator[Candidate]:
        for premises in block:
            for question, words in _shuffled(self.rng, tuple(frame.questions()))[:16]:
                if (premises, question) not in self.asked and not echoes(premises, question):
                    yes = settled_answer(premises, question)
                    if yes is not None:
                        yield Candidate(premises, question, words, yes)

    def _closest(self, candidates: Sequence[Candidate]) -> Pair | None:
        """The two that look most alike, or that take back some of the lean."""
        cues = {candidate: candidate.cues() for candidate in candidates}
        pairs = [(one, other) for one in candidates if one.yes for other in candidates if not other.yes]
        return min(pairs, key=lambda pair: self._lean_with(cues[pair[0]], cues[pair[1]]), default=None)

    def _lean_with(self, yes: Counter[str], no: Counter[str]) -> int:
        """How far the set would lean with such a pair; squares, so that no cue leans far."""
        return sum((self.lean[cue] + yes[cue] - no[cue]) ** 2 for cue in {*self.lean, *yes, *no})

    def _take(self, frame: Frame, *candidates: Candidate) -> None:
        self.uses[frame.form.name] += 1
        for candidate in candidates:
            self.asked.add((candidate.premises, candidate.question))
            if candidate.yes:
                self.lean.update(candidate.cues())
            else:
                self.lean.subtract(candidate.cues())


def echoes(premises: PremiseSet, question: Question) -> bool:
    """Whether the question only repeats a premise or its negation."""
    return question.sentence in premises or negate(question.sentence) in premises


def settled_answer(premises: PremiseSet, question: Question) -> bool | None:
    """Whether the answer is yes, or None if that depends on how bare numerals are read."""
    least = answer(premises, question)
    return least if least is answer(premises, question, exactly=True) else None


def frames_about(premises: PremiseSet, mode: Mode) -> tuple[Frame, ...]:
    """The frames about the figures that the premises speak of; about both where they speak of sides alone."""
    named = {shape for sentence in premises for shape in shapes_of(sentence)} - {Shape.CIRCLE}
    only_sides = all(isinstance(sentence, EverySide) for sentence in premises)
    shapes = sorted(named) or ([Shape.TRIANGLE, Shape.SQUARE] if only_sides else [])
    definite = any(isinstance(sentence, OneEach) for sentence in premises)
    nested = {part.shape for sentence in premises for _, part in predicates_of(sentence) if isinstance(part, Contains)}
    return tuple(
        frame
        for shape in shapes
        for frame in frames(mode, shape, definite=definite)
        if not (frame.form.nests and shape in nested)  # the search covers one level of figures inside figures
    )


def draw_entries(rng: random.Random) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The 108 entries and the six examples, whose premises occur in none of the 108."""
    drawing = Drawing(rng)
    pairs = sum(count for _, count, _ in PLAN)
    modes = _shuffled(rng, [Mode.CERTAIN] * CERTAIN_PAIRS + [Mode.POSSIBLE] * (pairs - CERTAIN_PAIRS))
    chosen: list[Candidate] = []
    for group, count, single in PLAN:
        chosen += _draw_group(drawing, group, [modes.pop() for _ in range(count)], single)
    drawing.uses.clear()
    shots: list[Candidate] = []
    for group, mode in zip(SHOTS, (Mode.CERTAIN, Mode.POSSIBLE, Mode.CERTAIN), strict=True):
        shots += _draw_pair(drawing, drawing.block(rng.choice(group)), mode)
    return _entries(rng, chosen, "P"), tuple(_shuffled(rng, _entries(rng, shots, "S")))


def _draw_group(drawing: Drawing, group: tuple[Form, ...], modes: list[Mode], single: bool) -> list[Candidate]:
    """As many pairs as there are modes, spread evenly over the forms of the group, and one single item."""
    blocks = [drawing.block(form) for form in group]
    chosen = [
        item for index, mode in enumerate(modes) for item in _draw_pair(drawing, blocks[index % len(blocks)], mode)
    ]
    for block in _shuffled(drawing.rng, blocks):
        extra = drawing.single(block, yes=single)
        if extra is not None:
            return [*chosen, extra]
    raise RuntimeError("no single item could be drawn")


def _draw_pair(drawing: Drawing, block: tuple[PremiseSet, ...], mode: Mode) -> Pair:
    other = Mode.POSSIBLE if mode is Mode.CERTAIN else Mode.CERTAIN
    pair = drawing.pair(block, (mode, other))
    if pair is None:
        raise RuntimeError(f"no pair could be drawn about {block}")
    return pair


def _entries(rng: random.Random, chosen: Sequence[Candidate], letter: str) -> tuple[Entry, ...]:
    """The entries by premise set, in random order within each; the sets are numbered as they come."""
    by_set: dict[PremiseSet, list[Question]] = {}
    for candidate in chosen:
        by_set.setdefault(candidate.premises, []).append(candidate.question)
    return tuple(
        Entry(f"{letter}{number:02d}", premises, question)
        for number, (premises, questions) in enumerate(by_set.items(), start=1)
        for question in _shuffled(rng, questions)
    )


def _shuffled(rng: random.Random, things: Sequence[T]) -> list[T]:
    return rng.sample(things, len(things))
