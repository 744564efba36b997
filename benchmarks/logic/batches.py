"""The four batches as items. Row i of Q1 to Q4 is the same underlying item, and each answer is searched for anew.

Q1 as drawn. Q2 says in front how many sides the figures have. Q3 is Q2 with invented names for triangle and square.
Q4 is Q1 with the question negated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from variantbench.benchmarks.logic.balance import features, rule_scores
from variantbench.benchmarks.logic.drawing import Entry, draw_entries
from variantbench.benchmarks.logic.figures import SIDES, Shape
from variantbench.benchmarks.logic.invented import invented_names
from variantbench.benchmarks.logic.search import answer, find_situation
from variantbench.benchmarks.logic.sentences import (
    Every,
    Mode,
    No,
    Noun,
    Question,
    Sentence,
    SideNumber,
    Some,
    shapes_of,
)
from variantbench.benchmarks.logic.wording import PLAIN, Lexicon, question_text, sentence_text
from variantbench.plugins.datatypes import Item

BATCHES = ("Q1", "Q2", "Q3", "Q4")
DEFAULT_SEED = 2024
HIGHEST_RULE_SCORE = 0.58
ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class LogicSet:
    """One set: its entries and examples, the invented names of its Q3, and the items made of them, batch by batch."""

    entries: tuple[Entry, ...]
    shots: tuple[Entry, ...]
    lexicon: Lexicon
    items: tuple[Item, ...]
    shot_items: tuple[Item, ...]


@lru_cache(maxsize=8)
def logic_set(seed: int | None = None) -> LogicSet:
    """The default set, or the set of a seed: drawn anew until no surface rule scores more than it may."""
    for attempt in range(ATTEMPTS):
        rng = random.Random(f"logic {DEFAULT_SEED if seed is None else seed} {attempt}")  # noqa: S311 - no secret
        entries, shots = draw_entries(rng)
        lexicon = invented_names(None if seed is None else rng)
        items = _all_items(entries, lexicon, "{batch}-{row:03d}")
        if all(_balanced(items, batch) for batch in BATCHES):
            return LogicSet(entries, shots, lexicon, items, _all_items(shots, lexicon, "{batch}-shot{row}"))
    raise RuntimeError(f"no balanced set in {ATTEMPTS} attempts from seed {seed}")


def _balanced(items: tuple[Item, ...], batch: str) -> bool:
    scores = rule_scores([item for item in items if item.batch == batch])
    return max(scores.values()) <= HIGHEST_RULE_SCORE


def _all_items(entries: tuple[Entry, ...], lexicon: Lexicon, name: str) -> tuple[Item, ...]:
    return tuple(
        make_item(entry, batch, lexicon, name.format(batch=batch, row=row))
        for batch in BATCHES
        for row, entry in enumerate(entries, start=1)
    )


def in_batch(entry: Entry, batch: str) -> tuple[tuple[Sentence, ...], Question]:
    """The premises and the question of an entry in that batch."""
    premises = entry.premises
    if batch in ("Q2", "Q3"):
        named = {shape for sentence in (*premises, entry.question.sentence) for shape in shapes_of(sentence)}
        premises = (*side_counts(named), *premises)
    return premises, entry.question.negated() if batch == "Q4" else entry.question


def side_counts(named: set[Shape]) -> tuple[Sentence, ...]:
    """How many sides triangle and square have, for those that are named."""
    shapes = (Shape.TRIANGLE, Shape.SQUARE)
    return tuple(Every(Noun(shape), SideNumber(SIDES[shape])) for shape in shapes if shape in named)


def make_item(entry: Entry, batch: str, lexicon: Lexicon, identifier: str) -> Item:
    """The entry as an item of a batch; `lexicon` holds the invented names."""
    premises, question = in_batch(entry, batch)
    words = lexicon if batch == "Q3" else PLAIN
    text = f"{'; '.join(sentence_text(sentence, words) for sentence in premises)}. {question_text(question, words)}"
    seen = features(text)
    return Item(
        id=identifier,
        benchmark="logic",
        group=entry.group,
        question=text,
        target="yes" if answer(premises, question) else "no",
        variant=BATCHES.index(batch),
        batch=batch,
        covariates={
            "certain": float(question.mode is Mode.CERTAIN),
            "negated": float(seen.negated),
            "premises": float(seen.premises),
            "words": float(seen.words),
        },
        notes=_notes(premises, question),
    )


def _notes(premises: tuple[Sentence, ...], question: Question) -> tuple[str, ...]:
    """What a reader who doubts the answer should know: contradictory premises, or a statement about nothing."""
    if find_situation(premises) is None:
        return ("contradictory premises: everything is certain and nothing is possible",)
    match question.sentence:
        case Every(noun, predicate) | No(noun, predicate):
            if predicate is not None and find_situation((*premises, Some(noun))) is None:
                return (f"no {noun.shape} of the kind asked about can exist: what is said of every one is true",)
    return ()
