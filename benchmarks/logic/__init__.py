"""The logic items: four batches of 108 questions about geometric figures, whose answers are proved by search."""

from __future__ import annotations

from variantbench.benchmarks.logic.baselines import Baseline, baselines
from variantbench.benchmarks.logic.batches import BATCHES, build
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

__all__ = ["BATCHES", "Baseline", "baselines", "few_shot_items", "load_items"]

_SOURCES = "allowed are 'builtin' and 'raganato:PATH' with the folder of the authors' question files"


def load_items(source: str = "builtin", *, seed: int | None = None) -> tuple[Item, ...]:
    """All items, Q1-001 to Q4-108, batch by batch. Row i of each batch is the same underlying item.

    `seed` gives a fresh built-in set with the same properties; None is the default set. Raises UserError for an unknown source and
    for files that cannot be read.
    """
    if source == "builtin":
        return build(seed)[0]
    raise UserError(f"logic source {source!r}: {_SOURCES}")


def few_shot_items(source: str = "builtin", *, batch: str = "Q1", seed: int | None = None) -> tuple[Item, ...]:
    """The six examples, three yes and three no, in the wording of a batch. They occur in no batch."""
    if batch not in BATCHES:
        raise UserError(f"logic batch {batch!r}: allowed are {', '.join(BATCHES)}")
    if source == "builtin":
        return tuple(item for item in build(seed)[1] if item.batch == batch)
    raise UserError(f"logic source {source!r}: {_SOURCES}")
