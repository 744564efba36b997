"""The set: numbers, names, determinism, the relation of the four batches, and the examples."""

import hashlib
import os
import random
import time
from collections import Counter

import pytest

from variantbench.benchmarks.logic import BATCHES, few_shot_items, load_items
from variantbench.benchmarks.logic.batches import in_batch, logic_set
from variantbench.benchmarks.logic.drawing import draw_entries, echoes, settled_answer
from variantbench.benchmarks.logic.search import answer
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

SEEDS: tuple[int | None, ...] = (None, *range(20 if os.environ.get("VARIANTBENCH_SLOW") else 3))
each_seed = pytest.mark.parametrize("seed", SEEDS)


def batch_of(seed: int | None, batch: str) -> list[Item]:
    return [item for item in load_items(seed=seed) if item.batch == batch]


def test_ids_run_from_q1_001_to_q4_108() -> None:
    expected = [f"{batch}-{row:03d}" for batch in ("Q1", "Q2", "Q3", "Q4") for row in range(1, 109)]
    assert [item.id for item in load_items()] == expected


@each_seed
def test_answers_are_55_no_and_53_yes_and_turned_round_in_q4(seed: int | None) -> None:
    for batch in ("Q1", "Q2", "Q3"):
        assert Counter(item.target for item in batch_of(seed, batch)) == {"no": 55, "yes": 53}
    assert Counter(item.target for item in batch_of(seed, "Q4")) == {"yes": 55, "no": 53}


@each_seed
def test_numbers_of_premises_are_those_of_the_study(seed: int | None) -> None:
    premises = Counter(item.covariates["premises"] for item in batch_of(seed, "Q1"))
    assert premises == {1: 21, 2: 39, 3: 3, 4: 45}


@each_seed
def test_rows_of_the_batches_are_the_same_items(seed: int | None) -> None:
    rows = zip(*(batch_of(seed, batch) for batch in BATCHES), strict=True)
    names = logic_set(seed).lexicon.names
    for q1, q2, q3, q4 in rows:
        assert q1.group == q2.group == q3.group == q4.group
        assert [item.variant for item in (q1, q2, q3, q4)] == [0, 1, 2, 3]
        assert q2.question.endswith(q1.question)
        added = q2.question.removesuffix(q1.question)
        assert added == "".join(
            f"every {name} has {number} sides; "
            for name, number in (("triangle", "three"), ("square", "four"))
            if name in q1.question
        )
        renamed = q2.question
        for shape, name in names.items():
            renamed = renamed.replace(shape.value, name)
        # Only the article may differ, where an invented word begins with a vowel.
        assert q3.question.replace(" an ", " a ") == renamed
        assert q4.question.rpartition(". ")[0] == q1.question.rpartition(". ")[0]
        assert q4.question != q1.question
        assert q1.target == q2.target == q3.target


@each_seed
def test_premise_sets_and_groups_are_one_to_one(seed: int | None) -> None:
    pairs = {(item.group, item.question.rpartition(". ")[0]) for item in batch_of(seed, "Q1")}
    assert len(pairs) == len({group for group, _ in pairs}) == len({premises for _, premises in pairs})
    assert 20 <= len(pairs) <= 32


@each_seed
def test_no_item_occurs_twice_or_repeats_a_premise(seed: int | None) -> None:
    for batch in BATCHES:
        assert len({item.question for item in batch_of(seed, batch)}) == 108
    assert not any(echoes(entry.premises, entry.question) for entry in logic_set(seed).entries)


@each_seed
def test_answers_do_not_depend_on_how_numerals_are_read(seed: int | None) -> None:
    for entry in (*logic_set(seed).entries, *logic_set(seed).shots):
        for batch in BATCHES:
            assert settled_answer(*in_batch(entry, batch)) is not None, entry


def test_targets_are_what_the_search_says() -> None:
    for batch in BATCHES:
        for entry, item in zip(logic_set().entries, batch_of(None, batch), strict=True):
            assert item.target == ("yes" if answer(*in_batch(entry, batch)) else "no")


def test_notes_mark_contradictory_premises_and_empty_statements() -> None:
    notes = Counter(note.split()[0] for item in load_items() for note in item.notes)
    assert notes["contradictory"] >= 4
    assert notes["no"] >= 4
    assert sum(notes.values()) < len(load_items()) / 4
    for item in load_items():
        if item.notes and item.notes[0].startswith("contradictory"):
            assert item.target == ("yes" if item.covariates["certain"] else "no")


@each_seed
@pytest.mark.parametrize("batch", BATCHES)
def test_examples_are_three_yes_three_no_and_occur_in_no_batch(seed: int | None, batch: str) -> None:
    shots = few_shot_items(batch=batch, seed=seed)
    assert Counter(item.target for item in shots) == {"yes": 3, "no": 3}
    assert {item.batch for item in shots} == {batch}
    assert len({item.question for item in shots}) == 6
    premises = {item.question.rpartition(". ")[0] for item in load_items(seed=seed)}
    assert not {item.question.rpartition(". ")[0] for item in shots} & premises
    assert not {item.id for item in shots} & {item.id for item in load_items(seed=seed)}


def test_examples_are_the_same_in_every_batch() -> None:
    groups = {batch: [item.group for item in few_shot_items(batch=batch)] for batch in BATCHES}
    assert len({tuple(names) for names in groups.values()}) == 1


def test_same_seed_gives_the_same_set() -> None:
    first = load_items(seed=7)
    logic_set.cache_clear()
    assert load_items(seed=7) == first
    one, other = (draw_entries(random.Random(5)) for _ in range(2))
    assert one == other


def test_different_seeds_give_different_sets() -> None:
    questions = [{item.question for item in load_items(seed=seed)} for seed in (None, 1, 2)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert len(questions[one] & questions[other]) < 43  # a tenth


# What the shipped set asks, so that it cannot change unnoticed: stored answers belong to these questions.
DEFAULT_SET = "3445b70dadadea03f0670300ac810f64119e3a9e48b9db2ff079552c3481a7ed"


def test_default_set_is_the_published_one() -> None:
    hashes = "".join(item.content_hash for item in load_items())
    assert hashlib.sha256(hashes.encode()).hexdigest() == DEFAULT_SET


def test_loading_the_default_set_takes_well_under_a_second() -> None:
    logic_set.cache_clear()
    start = time.process_time()
    load_items()
    assert time.process_time() - start < 1


@pytest.mark.parametrize("source", ["Raganato:/tmp", "raganato:", "raganato", "hub"])
def test_unknown_source_is_refused_with_what_is_allowed(source: str) -> None:
    for load in (load_items, few_shot_items):
        with pytest.raises(UserError, match=rf"logic source '{source}': allowed are 'builtin' and 'raganato:PATH'"):
            load(source)


def test_unknown_batch_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(UserError, match="logic batch 'Q5': allowed are Q1, Q2, Q3, Q4"):
        few_shot_items(batch="Q5")
