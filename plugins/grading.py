"""Completion -> two grades: by the paper protocol and by the robust protocol.

Until the robust reader is written, both protocols read as the paper does. Answers that are code are not executed yet.
"""

from __future__ import annotations

from fractions import Fraction

from variantbench.plugins.datatypes import (
    Completion,
    Extraction,
    ExtractionStatus,
    FinishReason,
    Grade,
    Item,
    Verdict,
)
from variantbench.prompts.extraction import paper_number, paper_yesno
from variantbench.prompts.format import AnswerKind, Format

# Version of the rules: part of every record. Two runs are compared only when graded by one version.
GRADER = "1"

# The study's tolerance (PROTOCOL.md section 4), for answers written as floats.
TOLERANCE = Fraction(1, 100_000)


def grade_paper(item: Item, form: Format, completion: Completion) -> Grade:
    """The grade that the studies' own code gives."""
    match completion.finish_reason:
        case FinishReason.ERROR:
            return Grade(Verdict.ERROR, Extraction(ExtractionStatus.EMPTY), completion.text)
        case FinishReason.PROMPT_TOO_LONG:
            reason = "prompt too long: prompt and answer do not fit the model's context"
            return Grade(Verdict.NO_ANSWER, Extraction(ExtractionStatus.PROMPT_TOO_LONG), reason)
    match form.kind:
        case AnswerKind.TEXT:
            return _compare(item, paper_number(completion.text))
        case AnswerKind.YESNO:
            return _compare(item, paper_yesno(completion.text, answer_at=form.answer_at))
        case AnswerKind.CODE:
            reason = "not executed: this version has no sandbox for answers that are code"
            return Grade(Verdict.ERROR, Extraction(ExtractionStatus.NOT_EXECUTED), reason)


def _compare(item: Item, extraction: Extraction) -> Grade:
    if extraction.value is None:
        return Grade(Verdict.NO_ANSWER, extraction, extraction.status.value.replace("_", " "))
    if is_right(extraction, item.target):
        return Grade(Verdict.CORRECT, extraction)
    return Grade(Verdict.INCORRECT, extraction)


def is_right(extraction: Extraction, target: str) -> bool:
    """Whether the value read is the target: words alike, numbers equal, floats within the tolerance."""
    if extraction.value == target:
        return True
    if extraction.value is None or target in ("yes", "no"):
        return False
    difference = abs(Fraction(extraction.value) - Fraction(target))
    return difference == 0 if extraction.exact else difference < TOLERANCE
