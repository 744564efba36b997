"""What answering yes/no questions without reading them would score, counted from the answers of the items at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from variantbench.plugins.questions import asks

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


def baselines(answers: Sequence[tuple[str, str]]) -> tuple[Baseline, ...]:
    """Always no, always yes, and "certain: no, can: yes", in this order; `answers` are (question, target).

    The third leaves out questions that say neither, such as a plain "Is every triangle green?": they are not in its
    total.
    """
    rule = [(target, _CERTAIN_OR_CAN.get(asks(question))) for question, target in answers]
    spoken = [target == said for target, said in rule if said is not None]
    constant = (
        Baseline(f"always {word}", sum(target == word for _, target in answers), len(answers)) for word in ("no", "yes")
    )
    return (*constant, Baseline("certain: no, can: yes", sum(spoken), len(spoken)))
