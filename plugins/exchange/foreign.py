"""What every reader of another tool's log gives: one foreign answer at a time, and what could not be taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from variantbench.plugins.datatypes import Decoding, FinishReason, Verdict

NO_DECODING = Decoding(0)  # how an answer was generated is not known
FORMAT = "imported"  # the prompt format of answers of which no more is known


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """One answer as another tool graded it.

    `where` is the file and line (or entry). `reading` says by which metric, filter or scorer `verdict` came about, and
    `value` what the tool read. `group` is empty and `variant` None where the log does not say. `prompt` is the whole
    text that the model read, empty where unknown, and `prefix` how many of its characters all items share, -1 where
    unknown; `grader` whose rules they were where that is another than the tool.
    """

    where: str
    benchmark: str
    item: str
    question: str
    target: str
    model: str
    verdict: Verdict
    reading: str = ""
    value: str | None = None
    text: str = ""
    prompt: str = ""
    prefix: int = -1
    format: str = FORMAT
    seed: int = 0
    group: str = ""
    variant: int | None = None
    batch: str | None = None
    finish_reason: FinishReason = FinishReason.END
    prompt_tokens: int = 0
    new_tokens: int = 0
    seconds: float = 0.0
    decoding: Decoding = NO_DECODING
    chat: bool = False
    reason: str = ""
    grader: str = ""
    covariates: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that was not taken, and why: rows with the same `why` are counted together, `where` is the example."""

    where: str
    why: str


Entry = ForeignAnswer | LeftOut


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read. `columns` maps its names to ours; `reading` names the metric, filter or scorer that counts."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """An accuracy that the tool itself printed or stored beside its answers."""

    benchmark: str
    reading: str
    accuracy: float
