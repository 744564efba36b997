"""Fields of foreign rows: found by dotted path, checked, and turned into ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError

_WORDS = {
    "correct": Verdict.CORRECT, "true": Verdict.CORRECT, "1": Verdict.CORRECT, "1.0": Verdict.CORRECT,
    "c": Verdict.CORRECT, "incorrect": Verdict.INCORRECT, "false": Verdict.INCORRECT, "0": Verdict.INCORRECT,
    "0.0": Verdict.INCORRECT, "i": Verdict.INCORRECT, "wrong": Verdict.INCORRECT, "no_answer": Verdict.NO_ANSWER,
    "n": Verdict.NO_ANSWER, "error": Verdict.ERROR,
}  # fmt: skip

OWN = "variantbench"  # under this key our exports carry what the other tool has no field for
_MOST = 2**63


def look_up(row: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path such as ``doc.question``, None where there is none."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def verdict_of(score: Any) -> Verdict | None:
    """The verdict that a score says; None for partial credit and for what is no score."""
    if isinstance(score, bool):
        return Verdict.CORRECT if score else Verdict.INCORRECT
    if isinstance(score, int | float):
        return Verdict.CORRECT if score == 1 else Verdict.INCORRECT if score == 0 else None
    return _WORDS.get(score.strip().casefold()) if isinstance(score, str) else None


def text_of(value: Any) -> str:
    """A value as text: whole floats without their ``.0``, nothing for None."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list) and len(value) == 1:
        return text_of(value[0])
    return str(value)


def target_of(value: Any) -> str:
    """A label: what stands behind ``####`` in a worked answer, numbers without separators, other text as it is."""
    text = text_of(value).rpartition("####")[2].strip()
    try:
        number = Fraction(text.replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return text
    return str(number) if len(text) < 40 else text


def whole(value: Any, where: str, name: str) -> int:
    """A whole number, also written as text or as a float."""
    try:
        number = int(value)
        if isinstance(value, bool) or number != float(value) or abs(number) >= _MOST:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{where}: {name} is {value!r:.40}; a whole number is needed") from None
    return number


def count_of(value: Any) -> int:
    """A count that may be missing: 0 where it is no number."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and 0 <= value < _MOST else 0


def seconds_of(value: Any) -> float:
    """Seconds that may be missing."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def place_of(metadata: Mapping[str, Any], where: str) -> tuple[str, int | None]:
    """Group and variant as metadata have them: ours (``group``, ``variant``) or Apple's (``id``, ``instance``)."""
    group = metadata.get("group")
    if group is not None:
        variant = metadata.get("variant")
        return text_of(group), None if variant is None else whole(variant, where, "variant")
    if "instance" in metadata and "original_id" in metadata:
        return f"{whole(metadata.get('id'), where, 'id'):04d}", whole(metadata["instance"], where, "instance") + 1
    return "", None
