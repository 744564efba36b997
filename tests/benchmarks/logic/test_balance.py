"""No surface rule, and no small decision tree over the surface, guesses the answers."""

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from variantbench.benchmarks.logic import BATCHES, load_items
from variantbench.benchmarks.logic.balance import features, rule_scores
from variantbench.benchmarks.logic.figures import Adjective
from variantbench.benchmarks.logic.wording import NUMERALS
from variantbench.plugins.datatypes import Item
from variantbench.plugins.report.baselines import baselines

SEEDS: tuple[int | None, ...] = (None, 1, 2, *(range(3, 21) if os.environ.get("VARIANTBENCH_SLOW") else ()))
HIGHEST_RULE, HIGHEST_TREE = 0.58, 0.62

Row = tuple[float, ...]
Tree = Callable[[Row], bool]


def batch_of(items: Sequence[Item], batch: str) -> list[Item]:
    return [item for item in items if item.batch == batch]


def row_of(item: Item) -> Row:
    """Everything on the surface as numbers: flags, counts, lengths, and whether each word is asked about."""
    seen = features(item.question)
    asked = item.question.rpartition(". ")[2].lower().rstrip("?").split()
    words = (*Adjective, *NUMERALS, "every", "there", "circle", "contains", "if", "the", "and", "that")
    flags = (seen.asks == "certain", seen.negated, seen.negated_premises, *(word in asked for word in words))
    counts = (seen.premises, len(seen.figures), seen.words, seen.characters, len(seen.adjectives), seen.repeated)
    return (*map(float, flags), *map(float, counts), float(len(item.question)))


def grow(rows: Sequence[Row], answers: Sequence[bool], depth: int, smallest: int = 5) -> Tree:
    """A decision tree by Gini impurity, at most `depth` questions deep, with at least `smallest` rows in a leaf."""
    majority = sum(answers) * 2 > len(answers)
    best: tuple[float, int, float] | None = None
    for column in range(len(rows[0])) if depth else ():
        order = sorted(zip((row[column] for row in rows), answers, strict=True))
        left, right = Counter[bool](), Counter(answers)
        for position, (value, answer) in enumerate(order[:-1], start=1):
            left[answer] += 1
            right[answer] -= 1
            if value != order[position][0] and smallest <= position <= len(order) - smallest:
                impurity = sum(2 * side[True] * side[False] / side.total() for side in (left, right))
                if best is None or impurity < best[0]:
                    best = (impurity, column, (value + order[position][0]) / 2)
    if best is None:
        return lambda _row: majority
    _, column, cut = best
    low, high = (
        grow([row for row, _ in part], [answer for _, answer in part], depth - 1, smallest)
        for part in (
            [pair for pair in zip(rows, answers, strict=True) if (pair[0][column] > cut) is above]
            for above in (False, True)
        )
    )
    return lambda row: high(row) if row[column] > cut else low(row)


def cross_validated(rows: Sequence[Row], answers: Sequence[bool], units: Sequence[str], *, depth: int) -> float:
    """The mean accuracy on unseen rows, in five rounds of nine folds; rows of one unit share a fold."""
    right, rounds, folds = 0, 5, 9
    for number in range(rounds):
        order = random.Random(number).sample(sorted(set(units)), len(set(units)))
        fold_of = {unit: position % folds for position, unit in enumerate(order)}
        for fold in range(folds):
            seen = [index for index, unit in enumerate(units) if fold_of[unit] != fold]
            tree = grow([rows[index] for index in seen], [answers[index] for index in seen], depth)
            right += sum(tree(rows[i]) is answers[i] for i, unit in enumerate(units) if fold_of[unit] == fold)
    return right / (rounds * len(rows))


def tree_scores(items: Sequence[Item]) -> dict[tuple[int, str], float]:
    """By depth and by how folds are cut: item by item, and by premise set, so that the halves of a pair stay together.

    The second is the harder test: cut item by item, a pair that is split teaches the tree the wrong answer.
    """
    rows, answers = [row_of(item) for item in items], [item.target == "yes" for item in items]
    cuts = {"items": [item.id for item in items], "premise sets": [item.group for item in items]}
    return {
        (depth, cut): cross_validated(rows, answers, units, depth=depth)
        for depth in (2, 3)
        for cut, units in cuts.items()
    }


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_surface_rule_scores_above_58_percent(seed: int | None, batch: str) -> None:
    scores = rule_scores(batch_of(load_items(seed=seed), batch))
    assert {name for name, score in scores.items() if score > HIGHEST_RULE} == set()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("seed", SEEDS)
def test_small_decision_tree_stays_below_62_percent(seed: int | None, batch: str) -> None:
    scores = tree_scores(batch_of(load_items(seed=seed), batch))
    assert {cut: score for cut, score in scores.items() if score >= HIGHEST_TREE} == {}


def test_the_tree_would_find_a_shortcut() -> None:
    # The two tests above mean something only if rules and tree see a shortcut that is there: "certain: no, can: yes",
    # right on five items of six.
    items = []
    for number, item in enumerate(batch_of(load_items(), "Q1")):
        shortcut_right = number % 6 != 0
        certain = features(item.question).asks == "certain"
        items.append(replace(item, target="no" if certain is shortcut_right else "yes"))
    assert rule_scores(items)["certain or can"] > 0.8
    assert min(tree_scores(items).values()) > HIGHEST_TREE


def test_features_are_read_from_the_text() -> None:
    seen = features(
        "every marmal has three sides; every marmal has a green side; if a side is thick, then it is not blue."
        " Can there be a marmal with three thick sides that is green?"
    )
    assert (seen.asks, seen.negated, seen.negated_premises, seen.premises) == ("can", False, True, 3)
    assert (seen.figures, seen.words, seen.first_word, seen.number) == (("marmal",), 12, "can", "three")
    assert (seen.adjectives, seen.repeated) == (("thick", "green"), 2)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("there is a circle. Is it certain that there is a circle?", "certain"),
        ("there is a circle. Is it possible that no circle is green?", "can"),
        ("there is a circle. Can there be a square?", "can"),
        ("there is a circle. Is every circle a square?", "other"),
    ],
)
def test_what_is_asked_is_recognised(question: str, expected: str) -> None:
    assert features(question).asks == expected


def test_baselines_are_counted_from_the_answers_at_hand() -> None:
    texts = {
        "Is it certain that there is a square?": "no",
        "Is it certain that there is a circle?": "yes",
        "Can there be a circle?": "yes",
        "Is every circle a square?": "no",
    }
    answers = [(f"there is a circle. {text}", said) for text, said in texts.items()]
    found = {one.name: (one.correct, one.total) for one in baselines(answers)}
    assert found == {"always no": (2, 4), "always yes": (2, 4), "certain: no, can: yes": (2, 3)}


def test_certain_no_can_yes_scores_no_better_than_a_constant_on_the_default_set() -> None:
    for batch in BATCHES:
        no, yes, shortcut = baselines([(item.question, item.target) for item in batch_of(load_items(), batch)])
        assert shortcut.total == 108
        assert shortcut.accuracy <= max(no.accuracy, yes.accuracy)
