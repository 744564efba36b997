"""Numbers in English words: ``twenty-five``, ``one hundred and five``, ``two and a half``, ``three quarters``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from variantbench.prompts.segments import word_set

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: number for number, word in enumerate(_ONES)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10,
}  # fmt: skip
_PARTS |= {f"{word}s": number for word, number in _PARTS.items() if not word.endswith("s") and word != "half"}

# Every word that a number may begin with.
FIRST_WORDS = frozenset(_SMALL) | {"a", "an", "half", "hundred", *SCALES}
# Every word that may stand in one.
WORDS = FIRST_WORDS | frozenset(_PARTS) | {"and", "point"}
# Before these, "one" is no number: "the one that", "each one".
POINTING = word_set("the this that these those each every which no any another some")
# No number in words is longer.
MOST_WORDS = 32


def read_words(words: Sequence[str]) -> tuple[Fraction, int] | None:
    """The number that lower-case words begin with, and how many of them it takes; None if they begin with none."""
    if not words or words[0] not in FIRST_WORDS:
        return None
    if words[0] == "half":
        return Fraction(1, 2), 1
    if words[0] in ("a", "an"):
        return _after_article(words)
    whole, used = _whole(words)
    if used == 0:
        return None
    return _with_part(words, whole, used)


def _after_article(words: Sequence[str]) -> tuple[Fraction, int] | None:
    following = words[1] if len(words) > 1 else ""
    if following in _PARTS:
        return Fraction(1, _PARTS[following]), 2
    if following == "hundred" or following in SCALES:
        whole, used = _whole(["one", *words[1:]])
        return Fraction(whole), used
    return None


def _whole(words: Sequence[str]) -> tuple[int, int]:
    total, current, used = 0, 0, 0
    smallest = 10**15  # of the places filled so far: each next one must be lower
    for place, word in enumerate(words[:MOST_WORDS]):
        if word in _SMALL:
            size = 100 if _SMALL[word] >= 10 else 10
            if size > smallest or (_SMALL[word] == 0 and place):
                break
            current += _SMALL[word]
            smallest = 10 if _SMALL[word] >= 20 else 1
        elif word == "hundred" and current < 100 and smallest > 0:
            current = max(current, 1) * 100
            smallest = 100
        elif word in SCALES and (total == 0 or SCALES[word] < total):
            total += max(current, 1) * SCALES[word]
            current, smallest = 0, 10**15
        elif word == "and" and place == used and _goes_on(words, place, smallest, total, current):
            continue
        else:
            break
        used = place + 1
    return total + current, used


def _goes_on(words: Sequence[str], place: int, smallest: int, total: int, current: int) -> bool:
    """Whether the "and" at that place is inside a number, as in "one hundred and five"."""
    following = words[place + 1] if place + 1 < len(words) else ""
    if following not in _SMALL or not (total or current >= 100) or (smallest < 100 and current):
        return False
    after = words[place + 2] if place + 2 < len(words) else ""
    return after not in _PARTS


def _with_part(words: Sequence[str], whole: int, used: int) -> tuple[Fraction, int]:
    rest = words[used : used + 3]
    if rest[:1] == ["point"]:
        return _with_decimals(words, whole, used)
    if rest and rest[0] in _PARTS:  # two thirds
        return Fraction(whole, _PARTS[rest[0]]), used + 1
    if len(rest) == 3 and rest[0] == "and" and rest[2] in _PARTS:  # two and a half, two and three quarters
        count = 1 if rest[1] in ("a", "an") else _SMALL.get(rest[1], 0)
        if count:
            return whole + Fraction(count, _PARTS[rest[2]]), used + 3
    return Fraction(whole), used


def _with_decimals(words: Sequence[str], whole: int, used: int) -> tuple[Fraction, int]:
    digits = ""
    for word in words[used + 1 : used + MOST_WORDS]:
        if _SMALL.get(word, 10) > 9:
            break
        digits += str(_SMALL[word])
    if not digits:
        return Fraction(whole), used
    return whole + Fraction(int(digits), 10 ** len(digits)), used + 1 + len(digits)
