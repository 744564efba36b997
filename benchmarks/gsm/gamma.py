"""γ, the size of the numbers in a question: the sum of log10 of the integers it writes in digits.

`gamma` follows the paper's wording (all numerically written integers; fractions and decimals ignored; absolute value;
0 counts as 1; log10). What that leaves open is settled here, and tested:

* a whole decimal is the integer it equals (``$5.00`` counts 5); other decimals are ignored, the digits with them;
* fractions (``1/2``), mixed numbers (``2 1/2``) and dates with strokes (``7/4/2021``) are ignored as a whole;
* thousands are one number, grouped by commas or by blanks: ``1,234``, ``400 000`` (groups of exactly three digits);
* a colon separates two integers (``7:13``, ``3:30``), as does a hyphen (``10-20``); a sign is ignored;
* ``5%``, ``$3``, ``#5``, years (``2021``), ordinals (``1st``), ``COVID-19`` and ``3x`` count the digits they show;
* numbers written as words and one-character fractions (½) do not count;
* no integer at all gives 0.

`gamma_code` is the rule that the study's own code used, quirks included, for reproducing its tables.
"""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(
    r"""
    (?:\d+[ ])?\d+(?:/\d+)+                     # fraction, mixed number, date
  | (?P<number>
        (?:\d{1,3}(?:,\d{3})+(?![\d])           # 1,234
         | \d{1,3}(?:[ ]\d{3})+(?![\d])         # 400 000
         | \d+)?
        (?P<decimals>(?:\.\d+)*)
    )
    """,
    re.VERBOSE,
)
_CODE_NUMBER = re.compile(r"\d*\.?\d+")
_LONG = 300


def gamma(question: str) -> float:
    """The sum of log10 of the integers written in digits; 0.0 where there are none."""
    return math.fsum(_log10(digits) for digits in integers(question))


def integers(question: str) -> list[str]:
    """The integers that count, as strings of digits without separators, in order."""
    found = []
    for match in _TOKEN.finditer(question):
        number, decimals = match["number"], match["decimals"]
        if not number:
            continue
        whole = number[: len(number) - len(decimals)]
        if whole and re.fullmatch(r"(\.0+)?", decimals):
            found.append(re.sub(r"[ ,]", "", whole))
    return found


def gamma_code(question: str) -> float | None:
    """The study's code: every match of ``\\d*\\.?\\d+`` that is whole as a float, log10 summed, 0 adding nothing.

    None for a question without digits, where the code has NaN and its mixed model drops the row.
    """
    values = [float(text) for text in _CODE_NUMBER.findall(question)]
    if not values:
        return None
    return math.fsum(math.log10(value) for value in values if value and value % 1 == 0)


def covariates(question: str) -> dict[str, float]:
    """The covariates of an item. `gamma_code` is absent where the study's code has NaN."""
    code = gamma_code(question)
    return {"gamma": gamma(question)} | ({} if code is None else {"gamma_code": code})


def _log10(digits: str) -> float:
    if len(digits) > _LONG:  # beyond what int() may read from text
        return len(digits) - 1 + math.log10(int(digits[:20]) / 10**19)
    return math.log10(max(int(digits), 1))
