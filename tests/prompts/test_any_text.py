"""Whatever a model writes: no exception, and no more than 10 ms of one core for 10 kB."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variantbench.prompts.extraction import (
    paper_function,
    paper_number,
    paper_yesno,
    robust_function,
    robust_number,
    robust_yesno,
)

READERS = {
    "robust number": robust_number,
    "robust number at the limit": lambda text: robust_number(text, at_limit=True),
    "robust yes/no at the start": lambda text: robust_yesno(text, answer_at="start"),
    "robust yes/no at the end": lambda text: robust_yesno(text, answer_at="end", at_limit=True),
    "robust function": lambda text: robust_function(text, prefilled="def solution():", at_limit=True),
    "paper number": paper_number,
    "paper yes/no": lambda text: paper_yesno(text, answer_at="end"),
    "paper function": paper_function,
}

# What the readers look for, and what they look past.
PIECES = [
    "1 ", "1", "1,", "1.", "-", "- ", "$", "####", "#### ", "#### 1 ", "\\boxed{", "\\boxed{1}", "{", "}",
    "the answer to ", "The final answer is ", "The final answer is 1. ", "answer: ", "Answer:\n", "\n", "\n\n", " ",
    "\t", "one ", "hundred ", "one hundred and ", "twenty-", "a half ", "and ", "1/", "1/2 ", "½", "1 1/2 ", "^",
    "10^", "1 × 10^5 ", "1e5 ", "1e999999999 ", "\\frac{", "\\frac{1}{2}", "\\text{", "<think>", "</think>", "<",
    "<b", "<<", "~~", "**", "`", "Q:", "\nQ:", "\nQuestion: ", "Wait, ", "\nWait, 5 ", "= ", "1 = ", "x = 1, ", "(",
    "1 (", "( 1 ", "or ", "1 or ", "&#1", "&nbsp;", "&", "９", "−", "\u202f", "1\u202f000", "def ", "def f():\n",
    "def f():\n  x\n", "def f(): ", "open(", "\nopen(", "yes ", "no ", "yes or no? ", "the answer is yes ",
    "Therefore yes. ", "'", "1'000", "a", "é", "答", "的42", ".", "...", "5. ", ",", "\\", "\\,", "%", "import x\n",
    "```\n", "    return 1\n", "step 3 ", "negative ", "No, ", "((((", "-5 ", "not 5 but ", "1:", "5:30 ",
    "<answer>", "\"answer\": ", "\x00", "\ud800", "²", "𝟒",
]  # fmt: skip
pieces = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=60).map("".join)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
@settings(max_examples=300)
@given(text=st.one_of(st.text(), pieces))
def test_no_text_raises(read, text):
    read(text)


def fastest(read, text: str, *, enough: float) -> float:
    """Seconds of this process for one reading, the best of many: other processes of the machine slow some of them."""
    best = float("inf")
    for _ in range(40):
        start = time.process_time()
        read(text)
        best = min(best, time.process_time() - start)
        if best < enough:
            break
    return best


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_no_repetition_takes_long(read):
    slow = {}
    for piece in PIECES:
        repeated = (piece * 10_000)[:10_000]
        for text in (repeated, "The final answer is " + repeated + " 5", "    x = 1\n" + repeated):
            seconds = fastest(read, text, enough=0.010)
            if seconds > 0.010:
                slow[text[:40]] = seconds
    assert slow == {}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
@settings(max_examples=40, deadline=None)
@given(first=st.sampled_from(PIECES), second=st.sampled_from(PIECES), third=st.sampled_from(PIECES))
def test_no_mixture_takes_long(read, first, second, third):
    text = ((first + second) * 10_000)[:5_000] + (third * 10_000)[:5_000]
    assert fastest(read, text, enough=0.010) <= 0.010


@pytest.mark.parametrize("digits", [400, 4_000, 5_000])
def test_endless_digits_are_no_answer_and_no_error(digits):
    text = f"The final answer is {'9' * digits}."
    assert robust_number(text).value is None
    assert paper_number(text).value is not None
