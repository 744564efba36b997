"""What a yes/no question asks for, by its wording: reports and benchmarks count by it."""

from __future__ import annotations

import re


def asks(question: str) -> str:
    """Whether the last sentence asks for certainty ("certain") or possibility ("can"); "other" if neither is said."""
    lowered = question.rsplit(". ", 1)[-1].lower()
    if re.search(r"\bcertain\b", lowered):
        return "certain"
    return "can" if re.match(r"can\b|is it possible\b", lowered) else "other"
