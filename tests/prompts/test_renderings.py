"""For any rational and any way to write it, reading gives it back."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.prompts.extraction import robust_number

SENTENCES = [
    "The final answer is {}.",
    "The final answer is {} apples.",
    "**Answer:** {}",
    "So 2 + 2 is 4.\n#### {}",
    "\\boxed{{{}}}",
]
whole = st.integers(-(10**15), 10**15)


def grouped(number: int, separator: str) -> str:
    return f"{number:,}".replace(",", separator)


def indian(number: int) -> str:
    digits = str(abs(number))
    head, tail = digits[:-3], digits[-3:]
    groups = [tail]
    while head:
        groups.insert(0, head[-2:])
        head = head[:-2]
    return ("-" if number < 0 else "") + ",".join(groups)


INTEGERS = {
    "plain": str,
    "plus": lambda n: f"{n:+}",
    "minus sign": lambda n: str(n).replace("-", "\u2212"),
    "en dash": lambda n: str(n).replace("-", "–"),
    "word": lambda n: str(n).replace("-", "negative "),
    "comma": lambda n: grouped(n, ","),
    "blank": lambda n: grouped(n, " "),
    "no-break blank": lambda n: grouped(n, "\u00a0"),
    "narrow blank": lambda n: grouped(n, "\u202f"),
    "apostrophe": lambda n: grouped(n, "'"),
    "typographic apostrophe": lambda n: grouped(n, "’"),
    "underscore": lambda n: grouped(n, "_"),
    "LaTeX comma": lambda n: grouped(n, "{,}"),
    "LaTeX blank": lambda n: grouped(n, "\\,"),
    "Indian": indian,
    "dollars": lambda n: f"-${-n:,}" if n < 0 else f"${n:,}",
    "dollars, inner sign": lambda n: f"${n}",
    "euros": lambda n: f"{n} €",
    "percent": lambda n: f"{n}%",
    "escaped percent": lambda n: f"{n}\\%",
    "bold": lambda n: f"**{n}**",
    "code": lambda n: f"`{n}`",
    "math": lambda n: f"${n}$",
    "LaTeX text": lambda n: f"\\mathbf{{{n}}}",
    "full width": lambda n: str(n).translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    "Arabic digits": lambda n: str(n).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
    "decimals": lambda n: f"{n}.00",
    "an equation": lambda n: f"{n - 1} + 1 = {n}",
    "a variable": lambda n: f"x = {n}",
    "over one": lambda n: f"{n}/1",
}


@pytest.mark.parametrize("rendering", INTEGERS.values(), ids=INTEGERS.keys())
@pytest.mark.parametrize("sentence", SENTENCES)
@given(number=whole)
def test_integers(rendering, sentence, number):
    assert robust_number(sentence.format(rendering(number))).value == str(number)


FRACTIONS = {
    "slash": lambda f: f"{f.numerator}/{f.denominator}",
    "division sign of Unicode": lambda f: f"{f.numerator}⁄{f.denominator}",
    "LaTeX": lambda f: f"{'-' if f < 0 else ''}\\frac{{{abs(f.numerator)}}}{{{f.denominator}}}",
    "LaTeX, inner sign": lambda f: f"\\dfrac{{{f.numerator}}}{{{f.denominator}}}",
}


@pytest.mark.parametrize("rendering", FRACTIONS.values(), ids=FRACTIONS.keys())
@pytest.mark.parametrize("sentence", SENTENCES)
@given(number=st.fractions(max_denominator=10**6))
def test_fractions(rendering, sentence, number):
    assert robust_number(sentence.format(rendering(number))).value == str(number)


@given(whole_part=st.integers(1, 10**6), bottom=st.integers(2, 999), data=st.data(), negative=st.booleans())
def test_mixed_numbers(whole_part, bottom, data, negative):
    top = data.draw(st.integers(1, bottom - 1))
    expected = (whole_part + Fraction(top, bottom)) * (-1 if negative else 1)
    sign = "-" if negative else ""
    for text in (f"{sign}{whole_part} {top}/{bottom}", f"{sign}{whole_part}\\frac{{{top}}}{{{bottom}}}"):
        assert robust_number(f"The final answer is {text} cups.").value == str(expected)


@given(number=st.decimals(-(10**9), 10**9, places=2, allow_nan=False))
def test_decimals(number):
    expected = str(Fraction(number))
    us = f"{number:,}"
    european = us.translate(str.maketrans(",.", ".,"))
    for text in (str(number), us, european, us.replace(",", " "), us.replace(",", "'"), f"{number:e}", f"{number:E}"):
        assert robust_number(f"The final answer is {text}.").value == expected, text


@given(mantissa=st.integers(-999, 999).filter(bool), exponent=st.integers(-30, 30))
def test_powers_of_ten(mantissa, exponent):
    expected = str(mantissa * Fraction(10) ** exponent)
    superscript = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    for text in (f"{mantissa} × 10^{exponent}", f"{mantissa} × 10{superscript}",
                 f"{mantissa} \\times 10^{{{exponent}}}", f"{mantissa}e{exponent}", f"{mantissa} x 10^{exponent}",
                 f"{mantissa}*10^{exponent}"):  # fmt: skip
        assert robust_number(f"The final answer is {text}.").value == expected, text


ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def in_words(number: int, *, joint: str, hyphen: str) -> str:
    """English words for 0 to 999,999,999."""
    if number < 20:
        return ONES.split(" ")[number]
    if number < 100:
        ten = TENS.split(" ")[number // 10 - 2]
        return ten if number % 10 == 0 else f"{ten}{hyphen}{ONES.split(' ')[number % 10]}"
    for size, word in ((10**6, "million"), (10**3, "thousand"), (100, "hundred")):
        if number >= size:
            head = f"{in_words(number // size, joint=joint, hyphen=hyphen)} {word}"
            rest = number % size
            if not rest:
                return head
            return f"{head}{joint if rest < 100 else ' '}{in_words(rest, joint=joint, hyphen=hyphen)}"
    raise AssertionError(number)


@given(number=st.integers(0, 10**9 - 1), joint=st.sampled_from([" ", " and "]), hyphen=st.sampled_from([" ", "-"]))
def test_words(number, joint, hyphen):
    text = in_words(number, joint=joint, hyphen=hyphen)
    assert robust_number(f"The final answer is {text}.").value == str(number)
    assert robust_number(f"The final answer is negative {text} dollars.").value == str(-number)


@given(number=st.integers(1, 9999), scale=st.sampled_from([("thousand", 3), ("million", 6), ("billion", 9), ("k", 3)]))
def test_scales(number, scale):
    word, power = scale
    blank = "" if word == "k" else " "
    text = f"{number / 10}{blank}{word}"
    assert robust_number(f"The final answer is ${text}.").value == str(Fraction(number, 10) * 10**power)
