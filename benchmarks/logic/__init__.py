"""The logic items: four batches of 108 questions about geometric figures, whose answers are proved by search."""

from __future__ import annotations

from pathlib import Path

from variantbench.benchmarks.logic import raganato
from variantbench.benchmarks.logic.batches import BATCHES, logic_set
from variantbench.benchmarks.logic.rejudge import Judgement, rejudge
from variantbench.benchmarks.logic.sample import sample_rows
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

__all__ = ["BATCHES", "Judgement", "few_shot_items", "load_items", "rejudge", "sample_rows"]


def load_items(source: str = "builtin", *, seed: int | None = None) -> tuple[Item, ...]:
    """All items, Q1-001 to Q4-108, batch by batch. Row i of each batch is the same underlying item.

    `seed` gives a fresh built-in set with the same properties; None is the default set. The authors' files ignore it.
    Raises UserError for an unknown source and for files that cannot be read.
    """
    folder = _folder(source)
    return logic_set(seed).items if folder is None else raganato.load_folder(folder)


def few_shot_items(source: str = "builtin", *, batch: str = "Q1", seed: int | None = None) -> tuple[Item, ...]:
    """The six examples, three yes and three no, in the wording of a batch. They occur in no batch."""
    if batch not in BATCHES:
        raise UserError(f"logic batch {batch!r}: allowed are {', '.join(BATCHES)}")
    folder = _folder(source)
    if folder is not None:
        return raganato.load_examples(folder, batch)
    return tuple(item for item in logic_set(seed).shot_items if item.batch == batch)


def _folder(source: str) -> Path | None:
    """The folder of the authors' files, or None for the built-in set."""
    if source == "builtin":
        return None
    kind, _, path = source.partition(":")
    if kind != "raganato" or not path:
        raise UserError(
            f"logic source {source!r}: allowed are 'builtin' and 'raganato:PATH' with the folder of the files"
        )
    if not Path(path).is_dir():
        raise UserError(
            f"logic source {source!r}: {path} is not a folder; it must hold questions_en1_test.txt and its like"
        )
    return Path(path)
