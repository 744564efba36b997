"""The functions and the arithmetic that expressions may use, all exact.

`divides(a, b)` follows Apple's usage: b divides a. `int` truncates toward zero. `round` is Python's (ties to even).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from variantbench.benchmarks.gsm.numbers import Number, normal, show_mixed, show_money

MAX_BITS = 4_096


class InexactError(ArithmeticError):
    """A strict expression would have dropped a fraction: the drawn values do not give an exact label."""


def divide(left: Number, right: Number) -> Number:
    """The exact quotient, an ``int`` where it is whole."""
    if isinstance(left, int) and isinstance(right, int):
        quotient, rest = divmod(left, right)
        return Fraction(left, right) if rest else quotient
    return left / right


def power(base: Number, exponent: Number) -> Number:
    """An exact power with a whole exponent; refuses results of more than 4,096 bits."""
    if exponent.denominator != 1:
        raise InexactError(f"power with the fractional exponent {exponent}")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent.numerator) > MAX_BITS:
        raise InexactError(f"power {base} ** {exponent} has more than {MAX_BITS} bits")
    if exponent < 0:
        return normal(Fraction(1) / Fraction(base) ** -exponent.numerator)
    return base**exponent.numerator


def is_int(value: Number) -> bool:
    """Whether the number is whole."""
    return value.denominator == 1


def divides(dividend: Number, divisor: Number) -> bool:
    """Whether `divisor` divides `dividend`, which may both be fractions."""
    return not dividend % divisor


def truncate(value: Number) -> int:
    """The whole part, toward zero."""
    return int(value)


def exact_int(value: Number) -> int:
    """The number as an ``int``; `InexactError` if it is not whole."""
    if value.denominator != 1:
        raise InexactError(f"int({value}) would drop a fraction")
    return value.numerator


def exact_floor_divide(left: Number, right: Number) -> int:
    """The quotient as an ``int``; `InexactError` if it is not whole."""
    return exact_int(divide(left, right))


def fraction(numerator: Number, denominator: Number = 1) -> Number:
    """``Fraction(a, b)`` of whole or fractional arguments; its text is ``3/4``, or ``3`` where whole."""
    return normal(Fraction(numerator) / Fraction(denominator))


def round_exactly(value: Number, places: Number = 0) -> Number:
    """Python's ``round`` on an exact number, to at most 12 places."""
    if not 0 <= places <= 12:
        raise InexactError(f"round to {places} places")
    return normal(Fraction(round(Fraction(value), int(places))))


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of the language: what runs, how many arguments it takes, the kind of its value."""

    call: Callable[..., Any]
    arity: tuple[int, ...]
    yields: str


TABLE: dict[str, Entry] = {
    "is_int": Entry(is_int, (1,), "truth value"),
    "divides": Entry(divides, (2,), "truth value"),
    "int": Entry(truncate, (1,), "number"),
    "Fraction": Entry(fraction, (1, 2), "number"),
    "round": Entry(round_exactly, (1, 2), "number"),
    "ceil": Entry(math.ceil, (1,), "number"),
    "abs": Entry(abs, (1,), "number"),
    "min": Entry(min, (2, 3, 4), "number"),
    "max": Entry(max, (2, 3, 4), "number"),
    "format_frac": Entry(show_mixed, (1,), "text"),
    "money": Entry(show_money, (1,), "text"),
}
