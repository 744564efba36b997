"""The paper protocol, quirk by quirk. Expected is what the study's own code gives (PROTOCOL.md sections 4, 5)."""

from __future__ import annotations

import pytest

from variantbench.prompts.extraction import paper_function, paper_number, paper_yesno

NUMBERS = [
    # text, value or status, why the study reads it so
    ("The final answer is 18.", "18"),
    ("the answer is: 18", "18"),  # "final" and the colon are optional, a small "the" is accepted
    ("Answer: 4 of 5", "5"),  # but no other wording: last number
    ("THE FINAL ANSWER IS 3 of 4", "4"),  # case matters but for the T
    ("#### 54", "54"),
    ("The answer is $1,234.50", "2469/2"),  # every comma of the text is removed, currency is skipped
    ("The answer is 50%", "50"),  # percent signs mean nothing
    ("The answer is **18**", "18"),  # Markdown is skipped
    ("The answer is .5", "5"),  # a number begins with a digit: the point is skipped
    ("The answer is 3/4", "3"),  # fractions are their numerator
    ("The answer is 1e5", "1"),  # no exponents
    ("The answer is 1 000", "1"),  # blanks end a number
    ("The answer is 23 - 15 = 8", "23"),  # the first number behind the sentence, not behind the =
    ("The answer is - 5", "5"),  # a minus with a blank is no sign: the sentence fails, and the last number is 5
    ("The answer is −5", "5"),  # the Unicode minus is skipped like any other character
    ("The answer is 12,5 litres", "125"),  # so a decimal comma multiplies
    ("The answer is 10, 20", "10"),  # the comma is removed, the blank ends the number
    ("The answer is 5-7", "5"),  # a range is its lower bound
    ("#### Step 1: add\nThe final answer is 9", "1"),  # a heading is taken for the GSM8K mark
    ("The final answer is 9. #### 4", "4"),  # and the mark wins wherever it stands
    ("The answer is 5. Wait, no. The final answer is 7", "5"),  # the FIRST sentence counts
    ("So 10-3", "-3"),  # in the last-number fallback a hyphen is a sign
    ("He has 7 apples.", "7"),
    ("Three steps: 4, then 5.", "5"),
    ("The answer is unknown. I tried 12 and 13.", "12"),  # the next number, over any distance and line
    ("The answer is twenty-five", "no_number"),  # no words
    ("twenty-five", "no_number"),
    ("FAQ: the answer is 9", "no_number"),  # cut at "Q:" in the middle of a word; "FA" holds no number
    ("It is 4.\nQ: 5?\nA: The answer is 6", "4"),
    ("It is 4. Question: 5?", "4"),
    ("Question: 1 Q: 2", "1"),  # cut at the first "Q:", and only without one at "Question:"
    ("", "empty"),
    (" \n", "empty_after_trim"),
    ("Q: again", "empty_after_trim"),
    ("Question: again", "empty_after_trim"),
    ("no digits at all", "no_number"),
    ("The final answer is 1", "1"),  # what the length limit cut is read all the same
    ("The answer is 007", "7"),
    ("The answer is 2.50", "5/2"),
    ("The answer is ٣", "3"),  # \d is any decimal digit of Unicode
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_number(text, expected):
    read = paper_number(text)
    assert (read.value if read.value is not None else read.status.value) == expected


def test_the_method_tells_the_last_number_from_the_answer_sentence():
    assert paper_number("The answer is 4").method == "answer sentence"
    assert paper_number("It is 4").method == "last number"


def test_every_number_is_compared_as_a_float():
    assert paper_number("The answer is 4").exact is False


YESNO = [
    ("Yes, it is.", "start", "yes"),
    ("**no**", "start", "no"),
    ("No figure is red.", "start", "no"),  # a determiner is taken for the answer
    ("Yes or no? No.", "start", "yes"),  # an echo, too
    ("No, wait. Yes.", "start", "no"),
    ("It is yes", "start", "void"),
    ("Yess", "start", "void"),
    ("1. Yes", "start", "void"),  # a list number
    ("Answer: yes", "start", "void"),  # a label
    ("so the answer is no.", "end", "no"),
    ("there is no", "end", "no"),
    ("The answer is yes, since no square is red.", "end", "void"),
    ("yes\nQ: and this? A: no", "end", "no"),  # the next question is not cut off
    (" ", "start", "empty"),
]


@pytest.mark.parametrize(("text", "answer_at", "expected"), YESNO)
def test_yesno(text, answer_at, expected):
    read = paper_yesno(text, answer_at=answer_at)
    assert (read.value or read.status.value) == expected


def test_a_function_is_found_behind_the_prompts_head():
    found = paper_function("\n    cars = 3\n    return cars + 9\n")
    assert found.name == "solution"
    assert found.source is not None
    assert eval_solution(found.source) == 12


def test_imports_are_blanked_wherever_they_stand():
    source = paper_function("\n    import math\n    from math import ceil\n    return ceil(2.5)\n").source
    assert source is not None
    assert "import" not in source  # so that it ends in a NameError


def test_only_the_first_function_without_arguments_counts():
    found = paper_function("def helper():\n    return 1\n\ndef solution():\n    return helper()\n")
    assert found.name == "helper"


@pytest.mark.parametrize(
    "text",
    [
        "",  # the head alone has no body
        "def solution(x=1):\n    return x\n",  # arguments, even with defaults
        "def solution() -> int:\n    return 1\n",  # annotations
        "def solution(): return 1\n",  # one line
        "solution = lambda: 1\n",
        "return 1\n",  # no indentation
    ],
)
def test_no_function(text):
    assert paper_function(text).source is None


@pytest.mark.parametrize(
    "text",
    [
        "\n\nQ: another",  # an empty answer counts as a syntax error
        "\n    # only a comment\n",
        "\n    return sum([\n    1,\n])\n",  # cut at the closing bracket at the line's beginning
    ],
)
def test_a_syntax_error_is_made_of_what_is_none(text):
    source = paper_function(text).source
    assert source is not None
    with pytest.raises(SyntaxError):
        compile(source, "answer", "exec")


def test_lines_behind_the_body_are_cut_off():
    source = paper_function("\n    return 12\n\n\nThis adds the cars.\n    return 13\n").source
    assert source is not None
    assert eval_solution(source) == 12
    assert "adds" not in source


@pytest.mark.parametrize(
    ("line", "forbidden"),
    [
        ("return open('x').read()", True),
        ("return eval('3 + 9')", True),
        ("exec('x = 1')", True),
        ("return __import__('os').getpid()", True),
        ("return getattr(x, 'y')", True),
        ("setattr(x, 'y', 1)", True),
        ("return reopen(3)", True),  # the end of a longer name
        ("# the shop is open(9 to 5)", True),  # a comment
        ("f = open; return f('x')", False),  # a label, not a defence
        ("return open(\n        'x')", False),  # looked for line by line
        ("return opening", False),
    ],
)
def test_forbidden_strings(line, forbidden):
    assert paper_function(f"\n    {line}\n    return 1\n").forbidden is forbidden


def eval_solution(source: str) -> object:
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102 - a program of this file
    return names["solution"]()  # type: ignore[operator]
