"""The search against two judges that share no code with it: z3, and situations walked one by one."""

import os
import random
from itertools import combinations, combinations_with_replacement

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from variantbench.benchmarks.logic.batches import BATCHES, in_batch, logic_set
from variantbench.benchmarks.logic.drawing import Entry, settled_answer
from variantbench.benchmarks.logic.figures import SIDES, WIDTHS, Adjective, Figure, Shape, Side, Situation, every_figure
from variantbench.benchmarks.logic.search import answer, find_situation
from variantbench.benchmarks.logic.semantics import fits, is_true
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
    negate,
)

T, S, C = Shape.TRIANGLE, Shape.SQUARE, Shape.CIRCLE
GREEN, BLUE, RED, YELLOW, THICK, THIN = Adjective
SEEDS = (None, *range(1, 20 if os.environ.get("VARIANTBENCH_SLOW") else 3))
PLACES = 5  # sides a z3 figure may have: more than any figure with a name
COLOR_NUMBERS = {color: number for number, color in enumerate((GREEN, BLUE, RED, YELLOW))}
ALL_COLORS = 12


class Z3Figure:
    """A figure of unknown names, number of sides and coloring; that two names exclude each other must follow."""

    def __init__(self, number: int) -> None:
        self.present = z3.Bool(f"present{number}")
        self.named = {shape: z3.Bool(f"{shape}{number}") for shape in Shape}
        self.count = z3.Int(f"count{number}")
        self.colors = [z3.Int(f"color{number}_{place}") for place in range(PLACES)]
        self.thick = [z3.Bool(f"thick{number}_{place}") for place in range(PLACES)]

    def laws(self, side_counts: bool) -> list[z3.BoolRef]:
        """What is known of every figure; the sides of triangle and square only if no premise has to say so."""
        known = [self.count >= 0, self.count <= PLACES, z3.Implies(self.named[C], self.count == 0)]
        known += [z3.And(color >= 0, color < ALL_COLORS) for color in self.colors]
        if side_counts:
            known += [z3.Implies(self.named[shape], self.count == SIDES[shape]) for shape in (T, S)]
        return known

    def side(self, place: int, adjective: Adjective) -> z3.BoolRef:
        if adjective in WIDTHS:
            return self.thick[place] == (adjective is THICK)
        return self.colors[place] == COLOR_NUMBERS[adjective]

    def there(self, place: int) -> z3.BoolRef:
        return self.count > place


class Z3World:
    """Some figures, which may lie inside each other, and the sentences about them."""

    def __init__(self, size: int, *, side_counts: bool, exactly: bool) -> None:
        self.figures = [Z3Figure(number) for number in range(size)]
        self.inside = [[z3.Bool(f"in{a}_{b}") for b in range(size)] for a in range(size)]
        self.exactly = exactly
        self.laws = [law for figure in self.figures for law in figure.laws(side_counts)]
        depth = [z3.Int(f"depth{number}") for number in range(size)]
        for a in range(size):
            for b in range(size):
                self.laws.append(z3.Implies(self.inside[a][b], depth[a] > depth[b]))
                for c in range(size):
                    self.laws.append(z3.Implies(z3.And(self.inside[a][b], self.inside[b][c]), self.inside[a][c]))

    def fits(self, predicate: Predicate, index: int) -> z3.BoolRef:
        figure = self.figures[index]
        places = range(PLACES)
        match predicate:
            case Not(inner):
                return z3.Not(self.fits(inner, index))
            case HasSides(adjective, number):
                total = z3.Sum([z3.If(z3.And(figure.there(p), figure.side(p, adjective)), 1, 0) for p in places])
                return total == number if self.exactly and number > 1 else total >= number
            case AllSides(adjective):
                return z3.And([z3.Implies(figure.there(p), figure.side(p, adjective)) for p in places])
            case SideNumber(number):
                return figure.count == number
            case IsA(shape):
                return figure.named[shape]
            case SidesMatch(Pattern.DIFFERENT_COLORS):
                pairs = combinations(places, 2)
                return z3.And([z3.Implies(figure.there(q), figure.colors[p] != figure.colors[q]) for p, q in pairs])
            case SidesMatch(pattern):
                same = [z3.Implies(figure.there(p), figure.colors[p] == figure.colors[0]) for p in places]
                if pattern is Pattern.EQUAL:
                    same += [z3.Implies(figure.there(p), figure.thick[p] == figure.thick[0]) for p in places]
                return z3.And(same)
            case HasColors(number):
                groups = combinations(places, number)
                return z3.Or(
                    [
                        z3.And(figure.there(group[-1]), z3.Distinct([figure.colors[p] for p in group]))
                        for group in groups
                    ]
                )
            case Contains(shape, sides):
                return z3.Or(
                    [
                        z3.And(
                            self.inside[index][j],
                            other.present,
                            other.named[shape],
                            sides is None or other.count == sides,
                        )
                        for j, other in enumerate(self.figures)
                    ]
                )
            case SideRule(given, then, negated):
                return z3.And(
                    [
                        z3.Implies(z3.And(figure.there(p), figure.side(p, given)), figure.side(p, then) != negated)
                        for p in places
                    ]
                )

    def under(self, noun: Noun, index: int) -> z3.BoolRef:
        figure = self.figures[index]
        return z3.And(figure.present, figure.named[noun.shape], *(self.fits(part, index) for part in noun.qualities))

    def exactly_one(self, shape: Shape) -> z3.BoolRef:
        return z3.Sum([z3.If(z3.And(f.present, f.named[shape]), 1, 0) for f in self.figures]) == 1

    def says(self, sentence: Sentence) -> z3.BoolRef:
        every = range(len(self.figures))
        match sentence:
            case Every(noun, predicate):
                return z3.And([z3.Implies(self.under(noun, i), self.fits(predicate, i)) for i in every])
            case Some(noun, predicate):
                return z3.Or([z3.And(self.under(noun, i), predicate is None or self.fits(predicate, i)) for i in every])
            case No(noun, predicate):
                return z3.Not(self.says(Some(noun, predicate)))
            case The(shape, predicate):
                return z3.And(self.exactly_one(shape), self.says(Every(Noun(shape), predicate)))
            case EverySide(rule):
                return z3.And([z3.Implies(self.figures[i].present, self.fits(rule, i)) for i in every])
            case SomeSide(rule):
                return z3.Not(self.says(EverySide(rule)))
            case OneEach(first, second):
                return z3.And(self.exactly_one(first), self.exactly_one(second))
            case SharesColors(of, among):
                return z3.And(
                    self.exactly_one(of),
                    self.exactly_one(among),
                    *(self.shares(of, among, i, j) for i in every for j in every),
                )

    def shares(self, of: Shape, among: Shape, i: int, j: int) -> z3.BoolRef:
        one, other = self.figures[i], self.figures[j]
        both = z3.And(one.present, other.present, one.named[of], other.named[among])
        found = [
            z3.Implies(
                one.there(p),
                z3.Or([z3.And(other.there(q), one.colors[p] == other.colors[q]) for q in range(PLACES)]),
            )
            for p in range(PLACES)
        ]
        return z3.Implies(both, z3.And(found))


def z3_answer(premises: tuple[Sentence, ...], question: Question, *, side_counts: bool, exactly: bool) -> bool:
    certain = question.mode is Mode.CERTAIN
    sentences = (*premises, negate(question.sentence) if certain else question.sentence)
    # One figure more than the bound of the search allows, so that a bound too small would show.
    size = 2 + sum(
        2 if isinstance(sentence, OneEach) else isinstance(sentence, Some | SomeSide) for sentence in sentences
    )
    size += any(isinstance(sentence, Every) and isinstance(sentence.predicate, Contains) for sentence in sentences)
    world = Z3World(size, side_counts=side_counts, exactly=exactly)
    solver = z3.Solver()
    solver.add(*world.laws, *(world.says(sentence) for sentence in sentences))
    result = solver.check()
    assert result != z3.unknown
    return (result == z3.sat) is not certain


def entries_of(seed: int | None) -> tuple[Entry, ...]:
    return (*logic_set(seed).entries, *logic_set(seed).shots)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("batch", BATCHES)
def test_search_and_z3_agree_on_every_item(seed: int | None, batch: str) -> None:
    # In Q2 and Q3 z3 knows of triangle and square what the premises say, and no more: the explanation must suffice.
    for entry in entries_of(seed):
        premises, question = in_batch(entry, batch)
        known = batch in ("Q1", "Q4")
        assert answer(premises, question) is z3_answer(premises, question, side_counts=known, exactly=False), entry


def test_search_and_z3_agree_when_numerals_mean_exactly() -> None:
    for entry in entries_of(1):
        found = answer(entry.premises, entry.question, exactly=True)
        assert found is z3_answer(entry.premises, entry.question, side_counts=True, exactly=True), entry


GREEN_SIDE = Every(Noun(T), HasSides(GREEN))
GREEN_ALL = Every(Noun(T), AllSides(GREEN))
THREE_COLORS = tuple(Every(Noun(T), HasSides(color)) for color in (GREEN, BLUE, RED))


@pytest.mark.parametrize(
    ("premises", "mode", "sentence", "expected"),
    [
        ((GREEN_ALL,), Mode.CERTAIN, Some(Noun(T)), False),  # no existential import
        ((Some(Noun(T)),), Mode.CERTAIN, Some(Noun(T)), True),
        ((GREEN_ALL,), Mode.CERTAIN, Every(Noun(T, (HasSides(RED),)), IsA(C)), True),  # vacuous truth
        ((GREEN_ALL,), Mode.CERTAIN, No(Noun(T), HasSides(RED)), True),
        ((GREEN_SIDE,), Mode.CERTAIN, GREEN_ALL, False),
        ((GREEN_SIDE,), Mode.POSSIBLE, GREEN_ALL, True),
        ((*THREE_COLORS, Some(Noun(T, (HasSides(YELLOW),)))), Mode.CERTAIN, Some(Noun(C)), True),  # contradictory
        ((*THREE_COLORS, Some(Noun(T, (HasSides(YELLOW),)))), Mode.POSSIBLE, Some(Noun(C)), False),
        ((), Mode.POSSIBLE, Some(Noun(T, (HasSides(GREEN, 4),))), False),
        ((), Mode.POSSIBLE, Some(Noun(S, (HasSides(GREEN, 4),))), True),
        ((), Mode.CERTAIN, No(Noun(T), IsA(S)), True),
        ((), Mode.POSSIBLE, Some(Noun(C, (HasSides(GREEN),))), False),
        ((), Mode.CERTAIN, Every(Noun(C), AllSides(GREEN)), True),  # a circle has no sides
        ((Every(Noun(T), Contains(S, 3)),), Mode.POSSIBLE, Some(Noun(T)), False),
        ((Every(Noun(T), Contains(S)),), Mode.CERTAIN, Some(Noun(S)), False),
        ((Every(Noun(T), Contains(S)), Some(Noun(T))), Mode.CERTAIN, Some(Noun(S)), True),
        ((Every(Noun(T), Contains(S)), Every(Noun(S), HasSides(GREEN, 4)), No(Noun(S), HasSides(GREEN))),
         Mode.POSSIBLE, Some(Noun(T)), False),
        ((EverySide(SideRule(THICK, GREEN)),), Mode.POSSIBLE, SomeSide(SideRule(THICK, BLUE, negated=True)), False),
        ((Every(Noun(S), SidesMatch(Pattern.DIFFERENT_COLORS)), *(No(Noun(S), HasSides(c)) for c in COLOR_NUMBERS)),
         Mode.POSSIBLE, Some(Noun(S)), True),  # colors without a name
        ((SharesColors(S, T), The(S, HasColors(2))), Mode.POSSIBLE, The(T, AllSides(GREEN)), False),
        ((SharesColors(S, T), The(S, HasColors(4))), Mode.POSSIBLE, The(T, HasSides(GREEN)), False),
        ((SharesColors(S, T), The(S, HasSides(RED))), Mode.CERTAIN, The(T, HasSides(RED)), True),
        ((OneEach(S, T), Some(Noun(T, (HasSides(RED, 2),)))), Mode.POSSIBLE,
         Some(Noun(T, (HasSides(BLUE, 2),))), False),
    ],
)  # fmt: skip
def test_semantics_as_documented(
    premises: tuple[Sentence, ...], mode: Mode, sentence: Sentence, expected: bool
) -> None:
    assert answer(premises, Question(mode, sentence)) is expected
    assert z3_answer(premises, Question(mode, sentence), side_counts=True, exactly=False) is expected


def test_numeral_reading_is_noticed() -> None:
    question = Question(Mode.POSSIBLE, Some(Noun(T, (HasSides(GREEN, 2),))))
    assert answer((GREEN_ALL,), question)
    assert not answer((GREEN_ALL,), question, exactly=True)
    assert settled_answer((GREEN_ALL,), question) is None


def test_situation_found_makes_every_sentence_true() -> None:
    found = 0
    for entry in entries_of(2):
        for sentence in (entry.question.sentence, negate(entry.question.sentence)):
            situation = find_situation((*entry.premises, sentence))
            if situation is not None:
                found += 1
                assert all(is_true(one, situation) for one in (*entry.premises, sentence)), entry
    assert found > 100


DRAWN = sorted({entry.question.sentence for entry in entries_of(1)}, key=repr)
FIGURES = st.sampled_from(every_figure())


@given(st.sampled_from(DRAWN), st.lists(FIGURES, max_size=4))
def test_negation_is_true_exactly_where_the_sentence_is_not(sentence: Sentence, figures: list[Figure]) -> None:
    situation = Situation(tuple(figures))
    if isinstance(sentence, The) and len(situation.of(sentence.shape)) != 1:
        assert not is_true(sentence, situation)  # "the" needs exactly one; its negation needs it, too
        assert not is_true(negate(sentence), situation)
    else:
        assert is_true(negate(sentence), situation) is not is_true(sentence, situation)


@given(st.sampled_from(entries_of(2)), st.lists(FIGURES, max_size=3))
def test_no_situation_contradicts_an_answer(entry: Entry, figures: list[Figure]) -> None:
    situation = Situation(tuple(figures))
    if all(is_true(premise, situation) for premise in entry.premises):
        holds = is_true(entry.question.sentence, situation)
        yes = answer(entry.premises, entry.question)
        assert not (holds and entry.question.mode is Mode.POSSIBLE and not yes)
        assert not (not holds and entry.question.mode is Mode.CERTAIN and yes)


def test_walking_small_situations_finds_nothing_that_the_search_denies() -> None:
    # Every set of at most two figures out of a sample: none may fit where the search says that nothing does.
    rng = random.Random(5)
    sample = rng.sample([figure for figure in every_figure() if figure.shape is not C], 60)
    worlds = [Situation(figures) for size in (0, 1, 2) for figures in combinations_with_replacement(sample, size)]
    denied = 0
    for entry in rng.sample(entries_of(None), 12):
        for sentence in (entry.question.sentence, negate(entry.question.sentence)):
            sentences = (*entry.premises, sentence)
            if find_situation(sentences) is None:
                denied += 1
                assert not any(all(is_true(one, world) for one in sentences) for world in worlds), entry
    assert denied > 3


def test_figures_are_complete_up_to_names_of_unnamed_colors() -> None:
    named = (GREEN, BLUE, RED, YELLOW)
    kinds = [Side(color, width) for color in (*named, "other1", "other2", "other3", "other4") for width in WIDTHS]
    listed = set(every_figure())
    for shape in (T, S):
        for sides in combinations_with_replacement(kinds, SIDES[shape]):
            unnamed = sorted({side.color for side in sides} - set(named))
            renamed = {old: f"other{number}" for number, old in enumerate(unnamed, start=1)}
            canonical = sorted((Side(renamed.get(s.color, s.color), s.width) for s in sides), key=kinds.index)
            assert Figure(shape, tuple(canonical)) in listed


@pytest.mark.parametrize(
    "sentences",
    [
        (Every(Noun(T), Contains(S)), Every(Noun(S), Contains(C))),
        (The(T, AllSides(GREEN)), SomeSide(SideRule(THICK, BLUE))),
        (OneEach(S, T), Every(Noun(T), Contains(S))),
    ],
)
def test_search_refuses_what_its_bound_does_not_cover(sentences: tuple[Sentence, ...]) -> None:
    with pytest.raises(ValueError, match="the search"):
        find_situation(sentences)


@pytest.mark.parametrize("premise", [OneEach(S, T), SharesColors(S, T)])
def test_premise_only_forms_have_no_negation(premise: Sentence) -> None:
    with pytest.raises(ValueError, match="premise only"):
        negate(premise)


def test_green_triangle_is_green_on_all_sides() -> None:
    sides = (Side(GREEN, THICK), Side(GREEN, THIN), Side(BLUE, THIN))
    assert not fits(AllSides(GREEN), Figure(T, sides))
    assert fits(AllSides(GREEN), Figure(T, (sides[0], sides[0], sides[1])))
