"""Reading answers: text -> Extraction. So far by the paper protocol, which reads as the study's own code does.

Source: PROTOCOL.md section 4 (numbers) and Raganato et al. 2024, section IV-A (yes and no). Quirks are kept: they are
what makes published tables comparable.
"""

from __future__ import annotations

import re
from fractions import Fraction

from variantbench.plugins.datatypes import Extraction, ExtractionStatus

_NUMBER = r"-?\d+(?:\.\d+)?"
_ANSWER_SENTENCES = (
    re.compile(rf"####\s*[^\d-]*({_NUMBER})"),
    re.compile(rf"[Tt]he (?:final )?answer is:?\s*[^\d-]*({_NUMBER})"),
)
_ANY_NUMBER = re.compile(_NUMBER)
_FIRST_WORD = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_LAST_WORD = re.compile(r"\b(yes|no)\W*$", re.IGNORECASE)


def own_segment(text: str) -> str:
    """The part before the first question that the model goes on to ask itself."""
    for mark in ("Q:", "Question:"):
        if mark in text:
            return text[: text.index(mark)]
    return text


def exact(number: str) -> str:
    """The canonical text of a decimal numeral: ``"3.50"`` -> ``"7/2"``."""
    return str(Fraction(number))


def paper_number(text: str) -> Extraction:
    """The number that the study's extractor reads: the first answer sentence, else the last number."""
    if not text:
        return Extraction(ExtractionStatus.EMPTY)
    own = own_segment(text)
    if not own.strip():
        return Extraction(ExtractionStatus.EMPTY_AFTER_TRIM)
    own = own.replace(",", "")
    for pattern in _ANSWER_SENTENCES:
        if match := pattern.search(own):
            return Extraction(ExtractionStatus.OK, exact(match[1]), "answer sentence", exact="." not in match[1])
    numbers = _ANY_NUMBER.findall(own)
    if not numbers:
        return Extraction(ExtractionStatus.NO_NUMBER)
    return Extraction(ExtractionStatus.OK, exact(numbers[-1]), "last number", exact="." not in numbers[-1])


def paper_yesno(text: str, *, answer_at: str) -> Extraction:
    """Yes or no where the style wants it (``start`` or ``end``); anything else is void."""
    if not text.strip():
        return Extraction(ExtractionStatus.EMPTY)
    match = _LAST_WORD.search(text) if answer_at == "end" else _FIRST_WORD.match(text)
    if match is None:
        return Extraction(ExtractionStatus.VOID)
    return Extraction(ExtractionStatus.OK, match[1].lower(), f"{answer_at} of the text")
