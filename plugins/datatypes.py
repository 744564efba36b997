"""The chain every answer passes through, as frozen dataclasses.

    Item -> Prompt -> Completion -> Extraction (+ Execution) -> Grade -> Record

This module imports the standard library only and nothing of ours, so every part of the suite may import it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any


def text_hash(text: str) -> str:
    """The sha256 of a text, in hex: how prompts, prefixes and templates are named in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=64)
def _hashed(prefix: str) -> tuple[hashlib._Hash, str]:
    """What `text_hash` is made of, for texts that begin like this: a format's prefix is hashed once; and its own."""
    begun = hashlib.sha256(prefix.encode("utf-8", "surrogatepass"))
    return begun, begun.hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its proved answer.

    `target` is exact text: an integer or a fraction in lowest terms (``"18"``, ``"-3"``, ``"7/2"``) for GSM items,
    ``"yes"`` or ``"no"`` for logic items. `group` is the grouping factor of the mixed model: the template of a GSM
    item, the premise set of a logic item. `id` is unique within its benchmark and stable between versions.
    """

    id: str
    benchmark: str
    group: str
    question: str
    target: str
    variant: int = 0
    batch: str | None = None
    covariates: Mapping[str, float] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    source: str = "builtin"

    @property
    def is_base(self) -> bool:
        """Whether this is the known question rather than a fresh variant of it."""
        return self.variant == 0

    @property
    def content_hash(self) -> str:
        """Hash of what is asked and what is right, so that two runs can tell whether they asked the same."""
        return text_hash(json.dumps([self.benchmark, self.id, self.group, self.question, self.target]))


def label_in_doubt(notes: Iterable[str]) -> bool:
    """Whether one of an item's notes says that its label may be wrong."""
    return any(note.startswith("label:") for note in notes)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an answer is generated. `temperature` 0 is greedy; `max_new_tokens` counts tokens of the answer."""

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The exact text a model reads. `prefix` is shared by every item of the format, `suffix` is the item's own.

    `seed` matters only when the answer is sampled. `chat` says that the text goes through the model's chat template.
    """

    item_id: str
    format: str
    prefix: str
    suffix: str
    decoding: Decoding
    seed: int = 0
    chat: bool = False

    @property
    def text(self) -> str:
        """Prefix and suffix together, before any chat template."""
        return self.prefix + self.suffix

    @property
    def hash(self) -> str:
        """Hash of the whole text."""
        begun = _hashed(self.prefix)[0].copy()
        begun.update(self.suffix.encode("utf-8", "surrogatepass"))
        return begun.hexdigest()

    @property
    def prefix_hash(self) -> str:
        """Hash of the prefix alone."""
        return _hashed(self.prefix)[1]


class FinishReason(StrEnum):
    """Why an answer ended."""

    END = "end"  # the model wrote one of its own end tokens
    STOP = "stop"  # a stop string of the format
    LENGTH = "length"  # max_new_tokens reached: the answer is truncated
    PROMPT_TOO_LONG = "prompt_too_long"  # nothing was generated: prompt and answer do not fit the context
    ERROR = "error"  # the engine failed; `Completion.text` holds the cause


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model wrote, untouched. `seconds` is the wall time from reading the prompt to the end."""

    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    new_tokens: int
    engine: str
    batch: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the wire and the store; `dataclasses.asdict` takes four times as long."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Completion:
        """What `as_dict` was made of."""
        return cls(**{**values, "finish_reason": FinishReason(values["finish_reason"])})


class ExecutionClass(StrEnum):
    """How a program written by the model ended."""

    OK = "ok"
    SYNTAX_ERROR = "syntax_error"
    NAME_ERROR = "name_error"
    ATTRIBUTE_ERROR = "attribute_error"
    ZERO_DIVISION_ERROR = "zero_division_error"
    TYPE_VALUE_ERROR = "type_value_error"
    NONE_RETURNED = "none_returned"
    NOT_A_NUMBER = "not_a_number"
    NO_FUNCTION = "no_function"
    FORBIDDEN_STRING = "forbidden_string"
    MEMORY = "memory"
    TIMEOUT = "timeout"
    OTHER = "other"
    NOT_EXECUTED = "not_executed"  # no sandbox here: not the answer's fault, resumable
    SANDBOX_FAILED = "sandbox_failed"  # its box died again and again: not known whose fault, never graded


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of one program in the sandbox.

    `value` is exact text: an integer, a fraction, or the shortest decimal that gives the float back bit for bit; None
    for what is no finite number. `kind` is its type: int, float, bool, nan, inf, decimal, …, or other: no number.
    `message` is the exception, or the type returned; `output` the beginning of what was printed. `backend` names the
    sandbox, with its runtime where that is not the usual one.
    """

    ending: ExecutionClass
    value: str | None = None
    output: str = ""
    seconds: float = 0.0
    backend: str = ""
    kind: str = ""
    message: str = ""
    cpu_seconds: float = 0.0
    profile: str = ""
    image: str = ""  # digest of what the box is made of


class ExtractionStatus(StrEnum):
    """Whether, and if not why not, an answer could be read."""

    OK = "ok"
    EMPTY = "empty"
    EMPTY_AFTER_TRIM = "empty_after_trim"
    NO_NUMBER = "no_number"
    AMBIGUOUS = "ambiguous"
    TRUNCATED = "truncated"
    VOID = "void"  # neither yes nor no where it must stand
    NO_FUNCTION = "no_function"
    NEEDS_ARGUMENTS = "needs_arguments"  # a function, but not one that can be called as asked
    FORBIDDEN_STRING = "forbidden_string"  # paper protocol only
    PROMPT_TOO_LONG = "prompt_too_long"
    NOT_EXECUTED = "not_executed"
    SANDBOX_FAILED = "sandbox_failed"
    EXECUTION_FAILED = "execution_failed"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read from a completion. `value` is exact text as in `Item.target`; `method` says how it was found.

    `exact` is False where the value was written as a float, so that it is compared with a tolerance.
    """

    status: ExtractionStatus
    value: str | None = None
    method: str = ""
    exact: bool = True


class Verdict(StrEnum):
    """The grade of an answer. ERROR is ours (engine or sandbox died): never a wrong answer, always reported."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    NO_ANSWER = "no_answer"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Grade:
    """One protocol's reading of one answer."""

    verdict: Verdict
    extraction: Extraction
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One graded answer: what a report is built from."""

    case: str
    model: str
    item: Item
    prompt: Prompt
    completion: Completion
    paper: Grade
    robust: Grade
    grader: str
    completion_key: str = ""
    execution: Execution | None = None
