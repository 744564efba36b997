"""Completion -> two grades, reasons and the study's failure classes."""

from __future__ import annotations

import pytest

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
from variantbench.plugins.failures import CODE_FAILURES, Failure, failure_of
from variantbench.plugins.grading import NO_SANDBOX, grade, is_right
from variantbench.prompts.format import load_format

BODY = "\n    return 3 + 9\n"


def item(target: str) -> Item:
    return Item("0001-base", "gsm", "0001", "How many?", target)


def completion(text: str, finish: FinishReason = FinishReason.END) -> Completion:
    return Completion(text, finish, 1, 1, "scripted")


def graded(text: str, target: str = "12", *, form: str = "gsm", finish=FinishReason.END, execute=None):
    return grade(item(target), load_format(form), completion(text, finish), execute)


@pytest.mark.parametrize(
    ("text", "robust", "paper"),
    [
        ("The final answer is 12.", Verdict.CORRECT, Verdict.CORRECT),
        ("The final answer is 13.", Verdict.INCORRECT, Verdict.INCORRECT),
        ("The final answer is 9. Wait, no. The final answer is 12.", Verdict.CORRECT, Verdict.INCORRECT),
        ("The final answer is 12-15.", Verdict.NO_ANSWER, Verdict.CORRECT),
        ("The final answer is twelve.", Verdict.CORRECT, Verdict.NO_ANSWER),
        ("", Verdict.NO_ANSWER, Verdict.NO_ANSWER),
    ],
)
def test_the_protocols_are_graded_apart(text, robust, paper):
    grades = graded(text)
    assert (grades.robust.verdict, grades.paper.verdict) == (robust, paper)


@pytest.mark.parametrize("form", ["gsm", "simple_code", "zero_shot"])
def test_a_dead_engine_is_nobodys_wrong_answer(form):
    grades = graded("the engine died", form=form, finish=FinishReason.ERROR)
    assert grades.robust.verdict is grades.paper.verdict is Verdict.ERROR
    assert grades.robust.reason == "the engine died"


def test_a_prompt_that_does_not_fit_is_no_answer():
    grades = graded("", finish=FinishReason.PROMPT_TOO_LONG)
    assert grades.robust.verdict is Verdict.NO_ANSWER
    assert "too long" in grades.robust.reason


@pytest.mark.parametrize("text", ["", " ", "The final answer is 5-7.", "I do not know.", "<think>"])
def test_no_answer_has_a_reason_in_words(text):
    reason = graded(text).robust.reason
    assert ": " in reason
    assert "_" not in reason


def test_a_wrong_answer_says_what_was_right():
    assert graded("The final answer is 13.").robust.reason == "13 is not 12"


@pytest.mark.parametrize(
    ("value", "exact", "target", "right"),
    [
        ("18", True, "18", True),
        ("1234567", True, "1234568", False),
        ("333333/1000000", False, "1/3", True),
        ("333333/1000000", True, "1/3", False),
        ("33/100", False, "1/3", False),
        ("-80", True, "80", False),
        ("yes", True, "yes", True),
        ("yes", True, "no", False),
        ("5", True, "no", False),
        ("9" * 5000, True, "9", False),
    ],
)
def test_comparison(value, exact, target, right):
    assert is_right(Extraction(ExtractionStatus.OK, value, exact=exact), target) is right


def test_the_paper_compares_floats():
    number = 10**17
    assert graded(f"The final answer is {number + 1}.", str(number)).paper.verdict is Verdict.CORRECT
    assert graded(f"The final answer is {number + 1}.", str(number)).robust.verdict is Verdict.INCORRECT


def test_endless_digits_are_wrong_and_no_error_in_the_paper():
    assert graded(f"The final answer is {'9' * 5000}.").paper.verdict is Verdict.INCORRECT


# Programs.


def test_without_a_sandbox_a_program_is_not_judged():
    grades = graded(BODY, form="simple_code")
    assert grades.robust.verdict is grades.paper.verdict is Verdict.ERROR
    assert grades.robust.extraction.status is ExtractionStatus.NOT_EXECUTED
    assert grades.robust.reason == NO_SANDBOX
    assert grades.execution is None


def test_without_a_sandbox_an_answer_without_a_program_is_judged_all_the_same():
    grades = graded("I think there are 12.", form="simple_code")
    assert grades.robust.verdict is grades.paper.verdict is Verdict.NO_ANSWER


class FakeSandbox:
    """Ends every program as told, and remembers what it was given."""

    def __init__(self, ending: ExecutionClass, value: str | None = None) -> None:
        self.execution = Execution(ending, value)
        self.given: list[tuple[str, str]] = []

    def __call__(self, source: str, *, profile: str = "python") -> Execution:
        self.given.append((profile, source))
        return self.execution


def test_each_protocol_runs_its_own_program_in_its_own_profile():
    sandbox = FakeSandbox(ExecutionClass.OK, "12")
    grades = graded("\n    import math\n    return math.ceil(11.2)\n", form="simple_code", execute=sandbox)
    assert grades.robust.verdict is grades.paper.verdict is Verdict.CORRECT
    programs = dict(sandbox.given)
    assert "import math" in programs["python"]
    assert "import math" not in programs["paper"]
    assert grades.execution == sandbox.execution


def test_a_forbidden_string_is_never_run_for_the_paper():
    sandbox = FakeSandbox(ExecutionClass.OK, "12")
    grades = graded("\n    return eval('12')\n", form="simple_code", execute=sandbox)
    assert grades.robust.verdict is Verdict.CORRECT
    assert failure_of(grades.paper) is Failure.FORBIDDEN_STRING
    assert [profile for profile, _ in sandbox.given] == ["python"]


@pytest.mark.parametrize("ending", [ending for ending in ExecutionClass if ending is not ExecutionClass.OK])
def test_how_a_program_ends_is_the_reason(ending):
    grades = graded(BODY, form="simple_code", execute=FakeSandbox(ending))
    if ending in (ExecutionClass.NOT_EXECUTED, ExecutionClass.SANDBOX_FAILED):
        assert grades.robust.verdict is grades.paper.verdict is Verdict.ERROR
    else:
        assert grades.robust.verdict is Verdict.NO_ANSWER
        assert ending.value.replace("_", " ") in grades.robust.reason


@pytest.mark.parametrize(
    ("value", "verdict"), [("5404319552844595/18014398509481984", "correct"), ("29/100", "incorrect")]
)
def test_a_float_result_is_compared_with_the_tolerance(value, verdict):
    grades = graded(BODY, "3/10", form="simple_code", execute=FakeSandbox(ExecutionClass.OK, value))
    assert grades.robust.verdict.value == verdict


# The study's failure classes.


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("", Failure.EMPTY),
        ("\n\nQ:", Failure.EMPTY_AFTER_TRIM),
        ("none", Failure.NO_NUMBER),
        ("That makes 13.", Failure.WRONG_LAST_NUMBER),
        ("The final answer is 13.", Failure.WRONG_ANSWER),
        ("That makes 12.", None),
    ],
)
def test_failures_of_prose(text, failure):
    assert failure_of(graded(text).paper) is failure


@pytest.mark.parametrize(
    ("ending", "failure"),
    [
        (ExecutionClass.SYNTAX_ERROR, Failure.SYNTAX_ERROR),
        (ExecutionClass.NAME_ERROR, Failure.NAME_ERROR),
        (ExecutionClass.TYPE_VALUE_ERROR, Failure.TYPE_VALUE_ERROR),
        (ExecutionClass.ZERO_DIVISION_ERROR, Failure.ZERO_DIVISION_ERROR),
        (ExecutionClass.ATTRIBUTE_ERROR, Failure.ATTRIBUTE_ERROR),
        (ExecutionClass.NONE_RETURNED, Failure.NONE_RETURNED),
        (ExecutionClass.NOT_A_NUMBER, Failure.NOT_A_NUMBER),
        (ExecutionClass.MEMORY, Failure.UNCLASSIFIED),
        (ExecutionClass.TIMEOUT, Failure.UNCLASSIFIED),
        (ExecutionClass.OTHER, Failure.UNCLASSIFIED),
        (ExecutionClass.NOT_EXECUTED, None),
    ],
)
def test_failures_of_programs(ending, failure):
    assert failure_of(graded(BODY, form="simple_code", execute=FakeSandbox(ending)).paper) is failure


def test_failures_before_a_program_runs():
    assert failure_of(graded("12", form="simple_code").paper) is Failure.NO_FUNCTION
    assert failure_of(graded("\n    return open('x')\n", form="simple_code").paper) is Failure.FORBIDDEN_STRING


def test_there_are_ten_classes_of_code():
    assert len(CODE_FAILURES) == 10


def test_what_could_not_be_judged_is_no_failure():
    assert failure_of(Grade(Verdict.ERROR, Extraction(ExtractionStatus.EMPTY))) is None
