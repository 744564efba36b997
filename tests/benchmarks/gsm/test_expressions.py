from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.benchmarks.gsm.exact import parse_number, show, show_mixed, show_money
from variantbench.benchmarks.gsm.expressions import (
    ExpressionError,
    InexactError,
    Kind,
    compile_expression,
)

KINDS = {"n": Kind.NUMBER, "k": Kind.NUMBER, "frac": Kind.NUMBER, "unit": Kind.TEXT, "day": Kind.TEXT}
VALUES: dict[str, Any] = {"n": 12, "k": 5, "frac": Fraction(2, 3), "unit": "feet", "day": "Monday"}


def value_of(text: str, *, strict: bool = False) -> Any:
    return compile_expression(text, KINDS, strict=strict).evaluate(VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n / k", Fraction(12, 5)),
        ("n // k", 2),
        ("-n // k", -3),
        ("n % k", 2),
        ("n ** 2 - k", 139),
        ("n ** -1", Fraction(1, 12)),
        ("0.1 + 0.2 == 0.3", True),
        ("n * 0.07 * 100 == 84", True),
        ("380000 * (1 + 3/100 + 12/100) - 410000", 27000),
        ("int(n / k)", 2),
        ("int(-n / k)", -2),
        ("round(n / k)", 2),
        ("round(n / 7, 2)", Fraction(171, 100)),
        ("Fraction(n, 8)", Fraction(3, 2)),
        ("Fraction(0.5)", Fraction(1, 2)),
        ("is_int(n * frac)", True),
        ("is_int(n / k)", False),
        ("divides(n, 4)", True),
        ("divides(4, n)", False),
        ("divides(n * frac, frac)", True),
        ("not divides(n, k)", True),
        ("is_int(n / k) == False", True),
        ("k < n < 20", True),
        ("k < n < 12", False),
        ("n > 3 and k > 3", True),
        ("n > 30 or k > 30", False),
        ("3 if unit == 'feet' else 1", 3),
        ("3 if unit != 'feet' and n == 12 else 1", 1),
        ("frac[1]", Fraction(2, 3)),
        ("day[0]", "M"),
        ("ceil(n / k)", 3),
        ("max(n, k) - min(n, k, 3)", 9),
        ("format_frac(n / k)", "2 2/5"),
        ("money(n / k)", "2.40"),
    ],
)
def test_expressions_have_their_exact_value(text: str, expected: object) -> None:
    value = value_of(text)
    assert value == expected
    assert not isinstance(value, float)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("__import__('os').system('x')", "__import__"),
        ("n.__class__", "Attribute"),
        ("(lambda: 1)()", "not allowed"),
        ("[x for x in (1,)]", "ListComp"),
        ("open('x')", "open"),
        ("eval('1')", "eval"),
        ("f'{n}'", "JoinedStr"),
        ("(n := 3)", "NamedExpr"),
        ("m + 1", "unknown name 'm'"),
        ("n + unit", "'unit' is a text"),
        ("unit * 1000000000", "'unit' is a text"),
        ("unit < day", "comparison"),
        ("n == unit", "'unit' is a text"),
        ("n and k", "'n' is a number"),
        ("not n", "'n' is a number"),
        ("n if k else 3", "'k' is a number"),
        ("n[0]", "only number[1] and text[0]"),
        ("is_int(n, k)", "is_int with 1 argument"),
        ("round(n, ndigits=2)", "not allowed"),
        ("n <> k", "SyntaxError"),
        ("n @ k", "operator"),
        ("~n", "operator"),
        ("1j", "literal"),
        ("None", "literal"),
        ("9" * 30, "literal"),
        ("", "cannot read"),
    ],
)
def test_what_is_not_in_the_language_is_named(text: str, found: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_expression(text, KINDS)
    assert found in str(error.value)


@pytest.mark.parametrize(
    "text", ["(" * 90 + "n" + ")" * 90 + "+(" * 50, "-" * 900 + "n", "n" + "+n" * 600, "not " * 200 + "True", "[" * 500]
)
def test_deep_and_long_expressions_are_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ExpressionError):
        compile_expression(text, KINDS)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("text", ["9 ** 9 ** 9", "(n ** 60) ** 60", "2 ** -100000", "n ** 0.5", "round(n, 10 ** 9)"])
def test_huge_powers_fail_instead_of_hanging(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(InexactError):
        value_of(text)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("text", ["int(n / k)", "n // k", "1 + int(frac)"])
def test_strict_expressions_refuse_to_drop_a_fraction(text: str) -> None:
    assert value_of(text) is not None
    with pytest.raises(InexactError):
        value_of(text, strict=True)


def test_strict_expressions_keep_whole_values() -> None:
    assert value_of("int(n * frac) + n // 4", strict=True) == 11


def test_division_by_zero_is_told() -> None:
    with pytest.raises(ZeroDivisionError):
        value_of("n / (k - 5)")


numbers = st.one_of(
    st.integers(-(10**6), 10**6), st.fractions(max_denominator=1000).filter(lambda value: value.denominator > 1)
)


@given(numbers, numbers.filter(bool), numbers)
def test_arithmetic_agrees_with_fractions(a: Any, b: Any, c: Any) -> None:
    expression = compile_expression("a / b + c * a - b // 3", dict.fromkeys("abc", Kind.NUMBER))
    value = expression.evaluate({"a": a, "b": b, "c": c})
    assert value == Fraction(a) / Fraction(b) + Fraction(c) * Fraction(a) - Fraction(b) // 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", 18),
        ("-3", -3),
        ("1,234", 1234),
        ("$2.50", Fraction(5, 2)),
        (".5", Fraction(1, 2)),
        ("7/2", Fraction(7, 2)),
    ],
)
def test_numbers_are_read_exactly(text: str, value: object) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", "-", "1,23", "1e5", "3 apples", "1/0", "nan", "١"])
def test_other_texts_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number|division by zero"):
        parse_number(text)


@given(numbers)
def test_shown_numbers_read_back(value: Any) -> None:
    assert parse_number(show(value)) == value


def test_numbers_are_shown_as_people_write_them() -> None:
    assert [show(Fraction(5, 2)), show(Fraction(7, 3)), show(-4), show(Fraction(-1, 8))] == [
        "2.5",
        "7/3",
        "-4",
        "-0.125",
    ]
    assert [show_money(Fraction(7, 2)), show_money(Fraction(-1, 20)), show_money(3)] == ["3.50", "-0.05", "3"]
    assert [show_mixed(Fraction(27, 2)), show_mixed(Fraction(3, 4)), show_mixed(Fraction(-7, 3))] == [
        "13 1/2",
        "3/4",
        "-2 1/3",
    ]
