"""Exact numbers: reading them, and writing them as a person would.

A label never passes through a float: every value is an ``int`` or a ``Fraction``.
"""

from __future__ import annotations

import re
from fractions import Fraction

Number = int | Fraction

_NUMBER = re.compile(r"(-?)\$?(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(?:/(\d+))?%?", re.ASCII)
_MAX_DIGITS = 400


def normal(value: Number) -> Number:
    """The same number as an ``int`` where it is whole."""
    return value.numerator if value.denominator == 1 else value


def exact_text(value: Number) -> str:
    """The form of `Item.target`: ``"18"``, ``"-3"``, ``"7/2"`` (lowest terms)."""
    return str(value)


def show(value: Number) -> str:
    """A number as worked solutions print it: ``18``, ``2.5`` where decimals end, else ``7/3``."""
    if value.denominator == 1:
        return str(value.numerator)
    return _decimal_text(value) or str(value)


def show_money(value: Number) -> str:
    """An amount without its symbol: ``12`` where whole, else two decimals (``12.50``), longer only if cents are broken."""
    if value.denominator == 1:
        return str(value.numerator)
    if (value * 100).denominator == 1:
        cents = abs(int(value * 100))
        return f"{'-' if value < 0 else ''}{cents // 100}.{cents % 100:02d}"
    return show(value)


def show_mixed(value: Number) -> str:
    """A mixed number: ``13 1/2``, ``3/4``, ``5``, ``-2 1/3``."""
    whole, rest = divmod(abs(value), 1)
    sign = "-" if value < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole} {rest}" if whole else f"{sign}{rest}"


def show_float(value: Number) -> str:
    """A number as Python prints the nearest float (``14.0``, ``20.5``): how Apple's release shows its decimals."""
    return str(float(value))


def parse_number(text: str) -> Number:
    """The exact number written in `text`: ``18``, ``1,234``, ``-2.50``, ``7/2``, with an optional ``$`` or ``%``.

    Raises ``ValueError`` for anything else.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[2] is None and match[3] is None) or len(text) > _MAX_DIGITS:
        raise ValueError(f"not a number: {text[:60]!r}")
    value = Fraction((match[2] or "0").replace(",", "") + (match[3] or ""))
    if match[4] is not None:
        if int(match[4]) == 0:
            raise ValueError(f"division by zero: {text[:60]!r}")
        value /= int(match[4])
    return normal(-value if match[1] else value)


def _decimal_text(value: Number) -> str | None:
    """The finite decimal expansion, at most six places, or None."""
    for places in range(1, 7):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return None
