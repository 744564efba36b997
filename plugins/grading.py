"""Completion -> two grades: by the paper protocol and by the robust protocol.

What the model did not answer is NO_ANSWER, with the reason in words; what we could not judge (the engine died, there is
no sandbox) is ERROR and never counts as a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from variantbench.plugins.datatypes import (
    Completion,
    Execution,
    ExecutionClass,
    Extraction,
    ExtractionStatus,
    FinishReason,
    Grade,
    Item,
    Verdict,
)
from variantbench.prompts.extraction import (
    paper_function,
    paper_number,
    paper_yesno,
    robust_function,
    robust_number,
    robust_yesno,
)
from variantbench.prompts.format import AnswerKind, Format

# Version of the rules: part of every record. Two runs are compared only when graded by one version.
GRADER = "3"

# The study's tolerance (PROTOCOL.md section 4), for answers written as floats.
TOLERANCE = Fraction(1, 100_000)

NO_SANDBOX = "not executed: no sandbox for answers that are code was given"


class Execute(Protocol):
    """Runs a program that defines ``solution`` in a sandbox.

    `profile`: ``python`` is the whole language; ``paper`` the names that the study's code gives a program.
    """

    def __call__(self, source: str, *, profile: str = "python") -> Execution:
        """How it ended; NOT_EXECUTED where there is no sandbox, SANDBOX_FAILED where it died."""


@dataclass(frozen=True, slots=True)
class Grades:
    """Both protocols' grades of one answer, and what its program did in the robust one."""

    paper: Grade
    robust: Grade
    execution: Execution | None = None


def grade(item: Item, form: Format, completion: Completion, execute: Execute | None = None) -> Grades:
    """Both grades of an answer. Without `execute`, answers that are code are not judged."""
    match completion.finish_reason:
        case FinishReason.ERROR:
            ours = Grade(Verdict.ERROR, Extraction(ExtractionStatus.EMPTY), completion.text)
            return Grades(ours, ours)
        case FinishReason.PROMPT_TOO_LONG:
            reason = "prompt too long: prompt and answer do not fit the model's context"
            unasked = Grade(Verdict.NO_ANSWER, Extraction(ExtractionStatus.PROMPT_TOO_LONG), reason)
            return Grades(unasked, unasked)
    text, at_limit = completion.text, completion.finish_reason is FinishReason.LENGTH
    match form.kind:
        case AnswerKind.TEXT:
            robust = robust_number(text, at_limit=at_limit)
            return Grades(_compare_paper(item, paper_number(text)), _compare(item, robust))
        case AnswerKind.YESNO:
            robust = robust_yesno(text, answer_at=form.answer_at, at_limit=at_limit)
            return Grades(_compare(item, paper_yesno(text, answer_at=form.answer_at)), _compare(item, robust))
        case AnswerKind.CODE:
            return _grade_code(item, form, text, at_limit=at_limit, execute=execute)


# Numbers and words.


def _compare(item: Item, extraction: Extraction) -> Grade:
    if extraction.value is None:
        status = extraction.status.value.replace("_", " ")
        return Grade(Verdict.NO_ANSWER, extraction, f"{status}: {extraction.method}" if extraction.method else status)
    if is_right(extraction, item.target):
        return Grade(Verdict.CORRECT, extraction)
    return Grade(Verdict.INCORRECT, extraction, f"{extraction.value} is not {item.target}")


def _compare_paper(item: Item, extraction: Extraction) -> Grade:
    """The study compares as floats, whatever was written."""
    if extraction.value is None:
        return _compare(item, extraction)
    if abs(_as_float(extraction.value) - _as_float(item.target)) < float(TOLERANCE):
        return Grade(Verdict.CORRECT, extraction)
    return Grade(Verdict.INCORRECT, extraction, f"{extraction.value} is not {item.target}")


def is_right(extraction: Extraction, target: str) -> bool:
    """Whether the value read is the target: words alike, numbers equal, floats within the tolerance."""
    if extraction.value == target:
        return True
    if extraction.value is None or target in ("yes", "no"):
        return False
    try:
        difference = abs(Fraction(extraction.value) - Fraction(target))
    except ValueError:  # an integer of more digits than Python converts
        return False
    return difference == 0 if extraction.exact else difference < TOLERANCE


def _as_float(value: str) -> float:
    try:
        return float(Fraction(value))
    except (OverflowError, ValueError):
        return float("-inf") if value.startswith("-") else float("inf")


# Programs.


def _grade_code(item: Item, form: Format, text: str, *, at_limit: bool, execute: Execute | None) -> Grades:
    function = robust_function(text, prefilled=form.prefilled, at_limit=at_limit)
    if function.source is None:
        robust, execution = _compare(item, Extraction(function.status, method=function.why)), None
    else:
        execution = execute(function.source) if execute else _NOT_EXECUTED
        robust = _ours(execution) or _grade_robust_execution(item, execution, function.why)
    return Grades(_grade_paper_code(item, text, execute), robust, execution if execute else None)


_NOT_EXECUTED = Execution(ExecutionClass.NOT_EXECUTED, output=NO_SANDBOX)


def _grade_paper_code(item: Item, text: str, execute: Execute | None) -> Grade:
    function = paper_function(text)
    if function.source is None:
        return _compare(item, Extraction(ExtractionStatus.NO_FUNCTION))
    if function.forbidden:
        return _compare(item, Extraction(ExtractionStatus.FORBIDDEN_STRING))
    source = function.source if function.name == "solution" else f"{function.source}\nsolution = {function.name}\n"
    execution = execute(source, profile="paper") if execute else _NOT_EXECUTED
    return _ours(execution) or _grade_paper_execution(item, execution)


def _ours(execution: Execution) -> Grade | None:
    """The grade of a program that did not run through no fault of the answer's."""
    if execution.ending is ExecutionClass.NOT_EXECUTED:
        reason = execution.output or "not executed"
        return Grade(Verdict.ERROR, Extraction(ExtractionStatus.NOT_EXECUTED), reason)
    if execution.ending is ExecutionClass.SANDBOX_FAILED:
        return Grade(
            Verdict.ERROR, Extraction(ExtractionStatus.SANDBOX_FAILED), f"the sandbox failed: {execution.message}"
        )
    return None


def _grade_robust_execution(item: Item, execution: Execution, why: str) -> Grade:
    """Any finite number counts, of whichever type; True and False are none."""
    if execution.value is None or execution.kind == "bool":
        return _failed(item, execution)
    method = f"returned by the program; {why}" if why else "returned by the program"
    # a program works with floats: 0.1 + 0.2 is meant to be 0.3
    exact = execution.kind == "int" or (not execution.kind and "/" not in execution.value)
    return _compare(item, Extraction(ExtractionStatus.OK, execution.value, method, exact=exact))


# What the study's code takes for numbers although no value can be told.
_PAPER_VALUES = {"nan": "nan", "inf": "inf", "-inf": "-inf", "big int": "inf"}


def _grade_paper_execution(item: Item, execution: Execution) -> Grade:
    """The study's test: whatever is an int or a float to Python, so True is 1, and nan is a number that is wrong."""
    value = _PAPER_VALUES.get(execution.kind, execution.value)
    if execution.ending is not ExecutionClass.OK or value is None:
        return _failed(item, execution)
    if execution.kind == "bool":
        value = str(int(value == "True"))
    return _compare_paper(item, Extraction(ExtractionStatus.OK, value, "returned by the program", exact=False))


def _failed(item: Item, execution: Execution) -> Grade:
    ending, message = execution.ending.value.replace("_", " "), execution.message
    if execution.ending is ExecutionClass.OK:
        ending, message = "not a number", f"it returned {execution.kind or 'nothing'}"
    grade = _compare(item, Extraction(ExtractionStatus.EXECUTION_FAILED, method=ending))
    return replace(grade, reason=f"the program failed: {ending}{f' ({message})' if message else ''}")
