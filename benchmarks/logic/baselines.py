"""What answering without reading would score, counted from the answers of the items at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from variantbench.benchmarks.logic.balance import features
from variantbench.plugins.datatypes import Item

_CERTAIN_OR_CAN = {"certain": "no", "can": "yes"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """One baseline: how many of the items it speaks about it answers rightly."""

    name: str
    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share answered rightly; nan if it speaks about none."""
        return self.correct / self.total if self.total else float("nan")


def baselines(items: Sequence[Item]) -> tuple[Baseline, ...]:
    """Always no, always yes, and "certain: no, can: yes", in this order.

    The third leaves out questions that say neither, such as a plain "Is every triangle green?": they are not in its
    total.
    """
    rule = [(item, _CERTAIN_OR_CAN.get(features(item.question).asks)) for item in items]
    spoken = [item.target == said for item, said in rule if said is not None]
    return (
        *(Baseline(f"always {word}", sum(item.target == word for item in items), len(items)) for word in ("no", "yes")),
        Baseline("certain: no, can: yes", sum(spoken), len(spoken)),
    )
