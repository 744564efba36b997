"""A sample of the logic questions: the same drawn rows in every batch, so that batches stay comparable pair by pair."""

from __future__ import annotations

import random
from collections.abc import Sequence

from variantbench.plugins.datatypes import Item


def sample_rows(items: Sequence[Item], count: int | None, *, seed: int) -> tuple[Item, ...]:
    """The items of `count` rows drawn without replacement, in their old order; all if `count` is None or too large."""
    rows = sorted({_row(item) for item in items})
    if count is None or count >= len(rows):
        return tuple(items)
    drawn = set(random.Random(f"logic sample {seed}").sample(rows, count))  # noqa: S311 - a sample, not a secret
    return tuple(item for item in items if _row(item) in drawn)


def _row(item: Item) -> str:
    """The row of an item such as ``Q3-017``: the underlying question."""
    return item.id.split("-", 1)[1]
