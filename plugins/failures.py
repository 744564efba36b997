"""How answers fail, in the classes of the re-evaluation study (section 11): four of prose, ten of code."""

from __future__ import annotations

from enum import StrEnum

from variantbench.plugins.datatypes import ExecutionClass, ExtractionStatus, Grade, Verdict
from variantbench.prompts.paper import LAST_NUMBER


class Failure(StrEnum):
    """A class of the study, in its words. WRONG_ANSWER is what its figures add: read as meant, but wrong."""

    WRONG_ANSWER = "wrong answer"
    WRONG_LAST_NUMBER = "wrong answer - last number"
    EMPTY = "empty response"
    EMPTY_AFTER_TRIM = "empty (after trimming)"
    NO_NUMBER = "no number found"

    NO_FUNCTION = "no function"
    FORBIDDEN_STRING = "forbidden string"
    SYNTAX_ERROR = "syntax error"
    NAME_ERROR = "name error"
    TYPE_VALUE_ERROR = "type/value error"
    ZERO_DIVISION_ERROR = "zero division error"
    ATTRIBUTE_ERROR = "attribute error"
    NONE_RETURNED = "none returned"
    NOT_A_NUMBER = "not a number"
    UNCLASSIFIED = "unclassified"


CODE_FAILURES = tuple(Failure)[tuple(Failure).index(Failure.NO_FUNCTION) :]

_OF_STATUS = {
    ExtractionStatus.EMPTY: Failure.EMPTY,
    ExtractionStatus.EMPTY_AFTER_TRIM: Failure.EMPTY_AFTER_TRIM,
    ExtractionStatus.NO_NUMBER: Failure.NO_NUMBER,
    ExtractionStatus.NO_FUNCTION: Failure.NO_FUNCTION,
    ExtractionStatus.FORBIDDEN_STRING: Failure.FORBIDDEN_STRING,
}
_OF_ENDING = {
    ending.value.replace("_", " "): Failure[ending.name]
    for ending in ExecutionClass
    if ending.name in Failure.__members__
}


def failure_of(grade: Grade) -> Failure | None:
    """The study's class of a grade by the paper protocol; None for right answers and for what could not be judged."""
    if grade.verdict in (Verdict.CORRECT, Verdict.ERROR):
        return None
    extraction = grade.extraction
    if grade.verdict is Verdict.INCORRECT:
        return Failure.WRONG_LAST_NUMBER if extraction.method == LAST_NUMBER else Failure.WRONG_ANSWER
    if extraction.status is ExtractionStatus.EXECUTION_FAILED:
        return _OF_ENDING.get(extraction.method, Failure.UNCLASSIFIED)
    return _OF_STATUS.get(extraction.status, Failure.UNCLASSIFIED)
