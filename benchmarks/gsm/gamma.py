"""γ, the size of the numbers in a question: the sum of log10 of the integers it writes in digits.

`gamma` follows the paper's wording (all numerically written integers; fractions and decimals ignored; absolute value;
0 counts as 1; log10); which integers count, `plugins/integers.py` settles. No integer at all gives 0.

`gamma_code` is the rule that the study's own code used, quirks included, for reproducing its tables.
"""

from __future__ import annotations

import math
import re

from variantbench.plugins.integers import integers

_CODE_NUMBER = re.compile(r"\d*\.?\d+")
_LONG = 300


def gamma(question: str) -> float:
    """The sum of log10 of the integers written in digits; 0.0 where there are none."""
    return math.fsum(_log10(digits) for digits in integers(question))


def gamma_code(question: str) -> float | None:
    r"""The study's code: every match of ``\d*\.?\d+`` that is whole as a float, log10 summed, 0 adding nothing.

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
