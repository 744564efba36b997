"""Who of several replicas generates what, without any cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.replicas import DEATHS, Backlog, largest_share, places_for

DONE = Completion("7", FinishReason.END, 1, 1, "scripted")


def backlog(jobs: int, *, size: int = 2, replicas: int = 2) -> Backlog:
    prompts = [Prompt(f"item-{n}", "f", "shots ", f"w{n}", Decoding(8)) for n in range(jobs)]
    return Backlog(plan_batches([Job(one.item_id, "m", one) for one in prompts], size=size), replicas=replicas)


def answer(waiting: Backlog, batches) -> dict[str, Completion]:
    return waiting.keep({job.id: DONE for batch in batches for job in batch.jobs})


def test_every_batch_goes_to_one_replica():
    waiting, given_out = backlog(50), []
    while batches := waiting.take():
        given_out += [batch.id for batch in batches]
        answer(waiting, batches)
    assert len(set(given_out)) == len(given_out) == 25
    assert not waiting.owed


def test_the_last_batches_go_one_by_one_so_that_all_replicas_end_together():
    waiting = backlog(40)
    sizes = []
    while batches := waiting.take():
        sizes.append(len(batches))
    assert sizes[0] == 4
    assert sizes[-4:] == [1, 1, 1, 1]


def test_only_what_has_no_answer_is_given_again_and_first():
    waiting = backlog(40)
    taken = waiting.take()
    answer(waiting, taken[:1])
    assert waiting.give_back(taken) == []
    again = waiting.take()
    assert again == [taken[1]]  # a batch that saw a death goes alone


def test_a_batch_that_kills_is_set_aside_and_its_neighbours_are_answered():
    waiting = backlog(40)
    poison = waiting.waiting[1].id
    aside, answered = [], 0
    while batches := waiting.take():
        if poison in [batch.id for batch in batches]:
            aside += waiting.give_back(batches)
        else:
            answered += len(answer(waiting, batches))
    assert [batch.id for batch in aside] == [poison]
    assert answered == 38
    assert waiting.deaths[poison] == DEATHS
    assert not waiting.owed


def test_an_answer_counts_once_whoever_gives_it():
    waiting = backlog(4)
    taken = waiting.take()
    assert len(answer(waiting, taken)) == 2
    assert answer(waiting, taken) == {}


@given(st.integers(1, 80), st.integers(1, 5), st.integers(1, 6), st.randoms(use_true_random=False))
def test_whatever_dies_each_job_is_answered_or_set_aside_once(jobs, size, replicas, draw):
    waiting, answered, aside = backlog(jobs, size=size, replicas=replicas), [], []
    while batches := waiting.take():
        done = batches[: draw.randint(0, len(batches))]
        answered += answer(waiting, done)
        aside += [job.id for batch in waiting.give_back(batches) for job in batch.jobs]
    assert sorted(answered + aside) == sorted(f"item-{n}" for n in range(jobs))


@pytest.mark.parametrize(
    ("nodes", "replicas", "share"),
    [([1, 1], 2, 1), ([64, 64], 2, 64), ([64, 64], 4, 32), ([3, 3], 3, 1), ([4, 2], 3, 2), ([2], 3, 0), ([], 1, 0)],
)
def test_replicas_have_equal_parts_and_none_is_spread_over_nodes(nodes, replicas, share):
    assert largest_share(nodes, replicas) == share
    assert not share or places_for(nodes, share) >= replicas
