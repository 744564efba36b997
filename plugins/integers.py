"""The integers that a question writes in digits: what γ sums, and what the distributions of numbers show.

All numerically written integers count; fractions and decimals do not. What that leaves open is settled here:

* a whole decimal is the integer it equals (``$5.00`` counts 5); other decimals are ignored, the digits with them;
* fractions (``1/2``), mixed numbers (``2 1/2``) and dates with strokes (``7/4/2021``) are ignored as a whole;
* thousands are one number, grouped by commas or by blanks: ``1,234``, ``400 000`` (groups of exactly three digits);
* a colon separates two integers (``7:13``, ``3:30``), as does a hyphen (``10-20``); a sign is ignored;
* ``5%``, ``$3``, ``#5``, years (``2021``), ordinals (``1st``), ``COVID-19`` and ``3x`` count the digits they show;
* numbers written as words and one-character fractions (½) do not count;
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?=\.?\d)                                 # quick refusal elsewhere
    (?:
    (?:\d+[ ])?\d+(?:/\d+)+                     # fraction, mixed number, date
  | (?P<number>
        (?:\d{1,3}(?:,\d{3})+(?![\d])           # 1,234
         | \d{1,3}(?:[ ]\d{3})+(?![\d])         # 400 000
         | \d+)?
        (?P<decimals>(?:\.\d+)*)
    ))
    """,
    re.VERBOSE,
)
_WHOLE_DECIMALS = re.compile(r"\.0+")


def integers(question: str) -> list[str]:
    """The integers that count, as strings of digits without separators, in order."""
    found = []
    for match in _TOKEN.finditer(question):
        number, decimals = match["number"], match["decimals"]
        if not number:
            continue
        whole = number[: len(number) - len(decimals)]
        if whole and (not decimals or _WHOLE_DECIMALS.fullmatch(decimals)):
            found.append(whole.replace(",", "").replace(" ", ""))
    return found
