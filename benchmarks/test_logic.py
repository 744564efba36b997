"""Shallow logic about geometric figures: four wordings of the same 108 questions, per prompting style and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from variantbench.benchmarks.logic import BATCHES, few_shot_items, load_items, sample_rows
from variantbench.plugins.answers import Answer
from variantbench.plugins.datatypes import Item
from variantbench.plugins.options import RunConfig

STYLES = ("zero_shot", "few_shot", "cot_before", "cot_after")


def logic_items(run: RunConfig) -> Sequence[Item]:
    """The batches Q1 to Q4, or with ``--sample`` the same drawn questions of each."""
    return sample_rows(load_items(run.logic_source, seed=run.logic_seed), run.sample, seed=run.seed)


def logic_shots(run: RunConfig) -> Mapping[str, Sequence[Item]]:
    """Six solved questions in the wording of each batch; they occur in no batch."""
    return {batch: few_shot_items(run.logic_source, seed=run.logic_seed, batch=batch) for batch in BATCHES}


def logic_repeats(run: RunConfig) -> int:
    """How often each question is asked, with seeds 1, 2, …."""
    return run.logic_repeats


@pytest.mark.questions(items=logic_items, formats=STYLES, shots=logic_shots, repeats=logic_repeats)
def test_logic(answer: Answer) -> None:
    """The model answers a question of shallow logic."""
    assert answer.is_correct
