"""Grade-school word problems: the known question of each template and fresh variants of it, per prompt format."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from variantbench.benchmarks.gsm import load_easy_items, load_items
from variantbench.plugins.answers import Answer
from variantbench.plugins.datatypes import Item
from variantbench.plugins.options import RunConfig

FORMATS = ("gsm", "simple_nl", "structured_nl", "simple_code", "structured_code")


def gsm_items(run: RunConfig) -> Sequence[Item]:
    """GSM-Base and GSM-Variants, from where ``--gsm-source`` says."""
    return load_items(run.gsm_source, variants_per_template=run.variants_per_template, seed=run.seed, sample=run.sample)


def easy_items(run: RunConfig) -> Sequence[Item]:
    """Problems of one or two steps, for models that solve hardly any of the others. Reported apart."""
    return load_easy_items(variants_per_template=run.variants_per_template, seed=run.seed, sample=run.sample)


@pytest.mark.questions(items=gsm_items, formats=FORMATS)
def test_gsm(answer: Answer) -> None:
    """The model solves a grade-school word problem."""
    assert answer.is_correct


@pytest.mark.questions(items=easy_items, formats=FORMATS)
def test_easy(answer: Answer) -> None:
    """The model solves a word problem of one or two steps."""
    assert answer.is_correct
