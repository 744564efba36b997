"""The robust protocol on tables of answers: shared cases and our own."""

from __future__ import annotations

import pytest

from tests.prompts.number_answers import AT_LIMIT, NUMBERS
from tests.prompts.yesno_answers import YESNO
from variantbench.plugins.conformance import load_cases, run_cases
from variantbench.plugins.datatypes import Extraction
from variantbench.prompts.extraction import robust_number, robust_yesno


def said(extraction: Extraction) -> str:
    return extraction.value if extraction.value is not None else extraction.status.value


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_number(text, expected):
    assert said(robust_number(text)) == expected


@pytest.mark.parametrize(("text", "expected"), AT_LIMIT)
def test_number_at_the_length_limit(text, expected):
    assert said(robust_number(text, at_limit=True)) == expected


@pytest.mark.parametrize(("text", "answer_at", "expected"), YESNO)
def test_yesno(text, answer_at, expected):
    assert robust_yesno(text, answer_at=answer_at).value == expected


def test_the_tables_hold_150_answers_of_our_own():
    assert len({text for text, *_ in (*NUMBERS, *AT_LIMIT, *YESNO)}) >= 150


@pytest.mark.parametrize("kind", ["number", "yesno"])
def test_every_shared_case_agrees(shared, kind):
    cases = load_cases(shared / "cases" / "grading-cases.jsonl", protocol="robust", kinds=[kind])
    assert cases
    assert [o.as_dict() for o in run_cases(cases, protocol="robust") if not o.agrees] == []


def test_no_answer_of_ours_is_a_shared_case(shared):
    texts = {case.completion.text for case in load_cases(shared / "cases" / "grading-cases.jsonl", protocol="robust")}
    ours = [text for text, *_ in (*NUMBERS, *YESNO) if len(text) > 25]
    assert len([text for text in ours if text not in texts]) >= 130


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The final answer is 42.", "answer sentence"),
        ("Answer: 40 + 2 = 42", "after the last ="),
        ("\\boxed{42}", "box"),
        ("#### 42", "####"),
        ("That makes 42", "last number"),
    ],
)
def test_the_method_says_how_a_number_was_found(text, word):
    assert word in robust_number(text).method


@pytest.mark.parametrize("text", ["The final answer is 5-7.", "The final answer is unknown.", "<think>5", " \n", ""])
def test_the_method_says_why_no_number_was_read(text):
    assert robust_number(text).method


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("The answer is 12.", True),
        ("The answer is 7/2.", True),
        ("The answer is 3.5.", False),
        ("The answer is 1e3.", False),
    ],
)
def test_decimals_are_not_exact(text, exact):
    assert robust_number(text).exact is exact
