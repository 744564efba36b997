"""The paper protocol: answers read as the studies' own code reads them, quirks included.

Source: PROTOCOL.md sections 4 and 5 for the re-evaluation of GSM-Symbolic; Raganato et al. 2024, section IV-A, for yes
and no. The quirks are kept: they are what makes published tables comparable. tests/prompts/test_paper.py lists them.

The study's patterns take time that grows with the square of the text; where they do, the same text is found here by
searching forward only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from variantbench.plugins.datatypes import Extraction, ExtractionStatus

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ANSWER_SENTENCES = (re.compile(r"####"), re.compile(r"[Tt]he (?:final )?answer is"))
_DIGIT_OR_MINUS = re.compile(r"[\d-]")
_FIRST_WORD = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_LAST_WORD = re.compile(r"\b(yes|no)\W*$", re.IGNORECASE)

ANSWER_SENTENCE, LAST_NUMBER = "answer sentence", "last number"


def paper_segment(text: str) -> str:
    """The part before the first "Q:", else before the first "Question:", wherever in a line they stand."""
    for mark in ("Q:", "Question:"):
        if mark in text:
            return text[: text.index(mark)]
    return text


def paper_number(text: str) -> Extraction:
    """The number that the study's extractor reads: behind the first answer sentence, else the last of the text."""
    if not text:
        return Extraction(ExtractionStatus.EMPTY)
    own = paper_segment(text)
    if not own.strip():
        return Extraction(ExtractionStatus.EMPTY_AFTER_TRIM)
    own = own.replace(",", "")
    for sentence in _ANSWER_SENTENCES:
        number = _behind(own, sentence)
        if number is not None:
            return _read(number, ANSWER_SENTENCE)
    numbers = _NUMBER.findall(own)
    if not numbers:
        return Extraction(ExtractionStatus.NO_NUMBER)
    return _read(numbers[-1], LAST_NUMBER)


def _behind(own: str, sentence: re.Pattern[str]) -> str | None:
    r"""What ``sentence:?\s*[^\d-]*(number)`` finds: the next digit or minus must begin a number, over any distance."""
    start = 0
    while match := sentence.search(own, start):
        following = _DIGIT_OR_MINUS.search(own, match.end())
        if following is None:
            return None
        if number := _NUMBER.match(own, following.start()):
            return number[0]
        start = following.end()
    return None


def _read(numeral: str, method: str) -> Extraction:
    # Python refuses to convert integers of thousands of digits; the study's float() turns them into infinity
    value = str(Fraction(numeral)) if len(numeral) < 1000 else numeral
    return Extraction(ExtractionStatus.OK, value, method, exact=False)


def paper_yesno(text: str, *, answer_at: str) -> Extraction:
    """Yes or no where the style wants it (``start`` or ``end``); anything else is void."""
    if not text.strip():
        return Extraction(ExtractionStatus.EMPTY)
    match = _LAST_WORD.search(text) if answer_at == "end" else _FIRST_WORD.match(text)
    if match is None:
        return Extraction(ExtractionStatus.VOID)
    return Extraction(ExtractionStatus.OK, match[1].lower(), f"{answer_at} of the text")


# Functions.

_HEAD = "def solution():\n"
_FUNCTION = re.compile(r"^def (\w+)\(\):\s*\n((?:\s+.*|\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"\s*(?:from \w+ )?import \w+")
_FORBIDDEN = re.compile(r"(?:open|eval|exec|__import__|getattr|setattr)\(")


@dataclass(frozen=True, slots=True)
class PaperFunction:
    """What the study's code would run. `source` None: it finds no function; `forbidden`: it refuses to run it."""

    source: str | None
    name: str = ""
    forbidden: bool = False


def paper_function(text: str) -> PaperFunction:
    """The function that the study's code takes out of an answer to a prompt that ends in ``def solution():``."""
    match = _FUNCTION.search(_HEAD + paper_segment(text))
    if match is None:
        return PaperFunction(None)
    lines = []
    for line in match[2].split("\n"):
        if line and not line[0].isspace():
            break
        lines.append("" if _IMPORT.match(line) else line)
    source = f"def {match[1]}():\n" + "\n".join(lines)
    return PaperFunction(source, match[1], is_forbidden(source))


def is_forbidden(source: str) -> bool:
    """Whether a line of the source holds ``open(...)`` or the like, also as the end of a longer name."""
    return any(map(_forbids, source.split("\n")))


def _forbids(line: str) -> bool:
    match = _FORBIDDEN.search(line)
    return match is not None and line.find(")", match.end()) >= 0
