"""A small grammar of numbers: one line of text -> tokens, with the numbers in it read as exact rationals.

    quantity := sign? currency? sign? number scale? percent?
    number   := numeral | numeral fraction | fraction | numeral "×" "10" "^" integer | number words
    fraction := numeral "/" numeral | ½
    numeral  := digits with separators, a decimal point or comma, an exponent

Every step moves forward over the tokens, so the time is linear in the text. A numeral that can be read in two ways or
in none ("1,234,56", "5/0", "12/25/2020") is a number token without a value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from variantbench.prompts.number_words import FIRST_WORDS, MOST_WORDS, POINTING, SCALES, WORDS, read_words
from variantbench.prompts.segments import THIN, word_set

# Longer numerals and larger exponents are no answers, and cost time.
MOST_DIGITS = 300
_LARGEST_EXPONENT = 300


class Kind(StrEnum):
    """What a token is."""

    NUMBER = "number"
    WORD = "word"
    OPERATOR = "operator"
    DASH = "dash"
    EQUALS = "equals"
    COMMA = "comma"
    COLON = "colon"
    OPEN = "open"
    CLOSE = "close"
    STOP = "stop"
    CURRENCY = "currency"
    PERCENT = "percent"
    POWER = "power"
    ROOT = "root"  # √, π, ±: what stands beside it is no plain number


@dataclass(slots=True)
class Token:
    """A piece of a line. `value` None: a number that cannot be read; `exact` False: decimals were written."""

    kind: Kind
    text: str
    start: int
    end: int
    value: Fraction | None = None
    exact: bool = True
    currency: bool = False


_BLANK = rf"[ {THIN}]"
_TOKEN = re.compile(
    rf"""
      (?P<grouped>[1-9]\d{{0,2}}(?:{_BLANK}\d{{3}})+(?![\d/]|-[A-Za-z]|[.,]\d*[.,]\d)(?:[.,]\d+)?)
    | (?P<numeral>(?:\d+(?:[.,'_]\d+)*|\.\d+)(?:[eE][+-]?\d+(?![A-Za-z0-9]))?)
    | (?P<vulgar>[\u00bc-\u00be\u2150-\u215e\u2189])
    | \\(?P<command>[A-Za-z]+)
    | (?P<word>[A-Za-z][A-Za-z0-9_]*(?:'[A-Za-z]+)?|[^\W\d_]+)
    | (?P<sign>[^\s\w\\])
    """,
    re.VERBOSE,
)
_KINDS = {
    **dict.fromkeys("+*×÷/", Kind.OPERATOR),
    **dict.fromkeys("-–—", Kind.DASH),
    **dict.fromkeys("=≈→⇒", Kind.EQUALS),
    ",": Kind.COMMA,
    ";": Kind.COMMA,
    ":": Kind.COLON,
    **dict.fromkeys("([", Kind.OPEN),
    **dict.fromkeys(")]", Kind.CLOSE),
    **dict.fromkeys(".!?", Kind.STOP),
    **dict.fromkeys("$€£¥₹₩₽₺₴₦฿¢", Kind.CURRENCY),
    "%": Kind.PERCENT,
    "^": Kind.POWER,
    **dict.fromkeys("√π±∓∞", Kind.ROOT),
}
_COMMANDS = {
    **dict.fromkeys(("times", "cdot"), (Kind.OPERATOR, "×")),
    "div": (Kind.OPERATOR, "÷"),
    **dict.fromkeys(("approx", "equiv", "simeq", "rightarrow", "to", "implies", "Rightarrow"), (Kind.EQUALS, "=")),
    **dict.fromkeys(("sqrt", "pi", "pm", "mp"), (Kind.ROOT, "√")),
    "infty": (Kind.WORD, "infinity"),
    "circ": (Kind.WORD, "degrees"),
    "percent": (Kind.PERCENT, "%"),
}
_SUFFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "bn": 10**9, "B": 10**9}
_MONEY_ONLY = {"m": 10**6, "b": 10**9}
_MULTIPLIERS = {**SCALES, "hundred": 100, **{f"{word}s": size for word, size in SCALES.items()}}
_LABELS = word_set(
    "step steps equation eq part question problem line section figure table example case note option version"
)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))


def tokens_of(line: str, *, leading_minus: bool = False) -> list[Token]:
    """The tokens of one line, its numbers read. `leading_minus`: a dash in front is a sign, even with a blank."""
    return _Reader(_raw(line), leading_minus=leading_minus).read()


def _raw(line: str) -> list[Token]:
    found = []
    for match in _TOKEN.finditer(line):
        start, end, text = match.start(), match.end(), match[0]
        match match.lastgroup:
            case "grouped" | "numeral" | "vulgar":
                found.append(_numeral_token(text, start, end, vulgar=match.lastgroup == "vulgar"))
            case "command":
                kind, text = _COMMANDS.get(match["command"], (None, ""))
                if kind is not None:
                    found.append(Token(kind, text, start, end))
            case "word":
                found.append(Token(_KINDS.get(text, Kind.WORD), text, start, end))
            case _:
                kind = _KINDS.get(text)
                if kind is not None:
                    found.append(Token(kind, text, start, end))
    return found


def _numeral_token(text: str, start: int, end: int, *, vulgar: bool) -> Token:
    if vulgar:
        part = Fraction(unicodedata.numeric(text)).limit_denominator(100)
        return Token(Kind.NUMBER, text, start, end, part)
    value, exact = read_numeral(text)
    return Token(Kind.NUMBER, text, start, end, value, exact)


def read_numeral(text: str) -> tuple[Fraction | None, bool]:
    """The value of digits with separators, and whether it was written without decimals; None if it is malformed."""
    mantissa, mark, exponent = text.replace("E", "e").partition("e")
    if len(mantissa) > MOST_DIGITS or len(exponent) > 4:
        return None, False
    plain = mantissa if mantissa.isdecimal() else _without_separators(mantissa)
    if plain is None:
        return None, False
    if not mark and "." not in plain:
        return Fraction(int(plain)), True
    power = int(exponent) if mark else 0
    if abs(power) > _LARGEST_EXPONENT:
        return None, False
    whole, _, decimals = plain.partition(".")
    shift = power - len(decimals)
    digits = int((whole + decimals) or "0")
    return (Fraction(digits * 10**shift) if shift >= 0 else Fraction(digits, 10**-shift)), False


def _without_separators(text: str) -> str | None:
    for separator in (" ", THIN, "'", "_"):
        if separator in text:
            head, mark, decimals = _split_decimals(text, separator)
            groups = head.split(separator)
            return "".join(groups) + mark + decimals if _are_thousands(groups) else None
    commas, points = text.count(","), text.count(".")
    if commas and points:
        decimal = "," if text.rindex(",") > text.rindex(".") else "."
        other = "." if decimal == "," else ","
        head, _, decimals = text.rpartition(decimal)
        groups = head.split(other)
        grouped = decimal not in head and (_are_thousands(groups) or (other == "," and _are_indian(groups)))
        return "".join(groups) + "." + decimals if grouped else None
    if not commas and points == 1:
        return text
    return _one_separator(text, "," if commas else ".")


def _one_separator(text: str, separator: str) -> str | None:
    """The numeral without its commas, or without its several points."""
    groups = text.split(separator)
    if _are_thousands(groups) or (separator == "," and _are_indian(groups)):
        return "".join(groups)
    if len(groups) == 2 and (len(groups[1]) != 3 or groups[0] == "0"):
        return ".".join(groups)  # a decimal comma: nobody groups by other than three
    return None


def _split_decimals(text: str, separator: str) -> tuple[str, str, str]:
    for point in (".", ","):
        head, found, decimals = text.rpartition(point)
        if found and separator not in decimals:
            return head, ".", decimals
    return text, "", ""


def _are_thousands(groups: Sequence[str]) -> bool:
    first, *rest = groups
    return bool(rest) and 1 <= len(first) <= 3 and first[0] != "0" and all(_is_digits(group, 3) for group in rest)


def _are_indian(groups: Sequence[str]) -> bool:
    first, *middle, last = groups
    return (
        bool(middle)
        and 1 <= len(first) <= 2
        and all(_is_digits(group, 2) for group in middle)
        and _is_digits(last, 3)
        and first[0] != "0"
    )


def _is_digits(text: str, count: int) -> bool:
    return len(text) == count and text.isdecimal()


class _Reader:
    """Joins the raw tokens of a line to quantities, from left to right."""

    def __init__(self, raw: list[Token], *, leading_minus: bool) -> None:
        self.raw, self.leading_minus = raw, leading_minus
        self.at = 0
        self.done: list[Token] = []

    def read(self) -> list[Token]:
        while self.at < len(self.raw):
            token = self.raw[self.at]
            if token.kind is Kind.NUMBER:
                self._take_number(negative=False, start=token.start)
            elif token.kind is Kind.WORD:
                self._take_word(token)
            elif token.kind is Kind.DASH or token.text == "+":
                self._take_dash(token)
            elif token.kind is Kind.CURRENCY:
                self._take_currency(token)
            else:
                self._keep(token)
        return self.done

    def _keep(self, token: Token) -> None:
        self.done.append(token)
        self.at += 1

    def _peek(self, ahead: int = 0) -> Token | None:
        place = self.at + ahead
        return self.raw[place] if place < len(self.raw) else None

    def _take_dash(self, token: Token) -> None:
        if not self._is_sign(token):
            self._keep(token)
            return
        self.at += 1
        currency = self._skip_currency()
        if self._starts_number():
            self._take_number(negative=token.text != "+", start=token.start, currency=currency)
        else:
            self.done.append(token)

    def _is_sign(self, token: Token) -> bool:
        following, before = self._peek(1), self.done[-1] if self.done else None
        if following is None or following.kind not in (Kind.NUMBER, Kind.CURRENCY, Kind.WORD):
            return False
        if following.kind is Kind.WORD and following.text.lower() not in FIRST_WORDS:
            return False
        tight = following.start == token.end
        if before is None:
            return tight or (self.leading_minus and token.text != "—")
        if token.text == "—":
            return False
        if before.kind in (Kind.EQUALS, Kind.OPERATOR):
            return True
        return tight and before.end < token.start if before.kind is not Kind.OPEN else tight

    def _take_currency(self, token: Token) -> None:
        """A sign of money before a number, with or without a minus between."""
        following = self._peek(1)
        if following is not None and following.kind is Kind.NUMBER:
            self.at += 1
            self._take_number(negative=False, start=token.start, currency=True)
        elif following is not None and following.text in ("-", "–") and following.start == token.end:
            number = self._peek(2)
            if number is not None and number.kind is Kind.NUMBER and number.start == following.end:
                self.at += 2
                self._take_number(negative=True, start=token.start, currency=True)
                return
            self._keep(token)
        else:
            self._keep(token)

    def _skip_currency(self) -> bool:
        token = self._peek()
        if token is not None and token.kind is Kind.CURRENCY:
            self.at += 1
            return True
        return False

    def _starts_number(self) -> bool:
        token = self._peek()
        if token is None:
            return False
        return token.kind is Kind.NUMBER or (token.kind is Kind.WORD and token.text.lower() in FIRST_WORDS)

    def _take_word(self, token: Token) -> None:
        word = token.text.lower()
        before = self.done[-1] if self.done else None
        if word in ("negative", "minus") and (before is None or before.kind is not Kind.NUMBER):
            self.at += 1
            currency = self._skip_currency()
            if self._starts_number():
                self._take_number(negative=True, start=token.start, currency=currency)
            else:
                self.done.append(token)
        elif word in ("minus", "plus", "times", "x") and before is not None and before.kind is Kind.NUMBER:
            following = self._peek(1)
            is_operator = following is not None and following.kind in (Kind.NUMBER, Kind.CURRENCY, Kind.OPEN)
            self._keep(Token(Kind.OPERATOR, word, token.start, token.end) if is_operator else token)
        elif word in FIRST_WORDS and not (before and before.kind is Kind.WORD and before.text.lower() in POINTING):
            self._take_number(negative=False, start=token.start)
        else:
            self._keep(token)
            self._skip_glued_number(token)

    def _skip_glued_number(self, token: Token) -> None:
        """Leave out numbers that name something: the exponent of a unit, COVID-19, step 3."""
        mark, number = self._peek(), self._peek(1)
        if mark is None:
            return
        if mark.kind is Kind.NUMBER and token.text.lower() in _LABELS:
            self.at += 1
        elif number is None or number.kind is not Kind.NUMBER:
            return
        elif mark.kind is Kind.POWER:
            self.at += 2
        elif mark.kind is Kind.DASH and mark.start == token.end and number.start == mark.end:
            if mark.text == "-":
                self.at += 2
        elif mark.text == "#" and token.text.lower() in _LABELS:
            self.at += 2

    def _take_number(self, *, negative: bool, start: int, currency: bool = False) -> None:
        token = self.raw[self.at]
        if token.kind is Kind.WORD:
            number = self._words()
            if number is None:
                self._keep(token)
                return
        else:
            number = self._digits()
        self._scale(number, currency=currency)
        if negative and number.value is not None:
            number.value = -number.value
        number.start, number.currency = start, currency
        self.done.append(number)

    def _words(self) -> Token | None:
        words, ends = [], []
        for place in range(self.at, min(self.at + 2 * MOST_WORDS, len(self.raw))):
            token = self.raw[place]
            if token.kind is Kind.WORD and token.text.lower() in WORDS:
                words.append(token.text.lower())
                ends.append(place)
            elif not (token.text == "-" and place > self.at and self.raw[place - 1].end == token.start):
                break
        read = read_words(words)
        if read is None:
            return None
        value, used = read
        first, last = self.raw[self.at], self.raw[ends[used - 1]]
        self.at = ends[used - 1] + 1
        return Token(Kind.NUMBER, " ".join(words[:used]), first.start, last.end, value, value.denominator == 1)

    def _digits(self) -> Token:
        number = self._join(self.raw[self.at], 1)
        following = self._peek()
        if following is None or number.value is None:
            return number
        if following.kind is Kind.NUMBER:
            self._mixed(number, following)
        elif following.text == "/":
            self._fraction(number)
        elif following.kind is Kind.POWER:
            self._power(number)
        elif following.text in ("×", "*", "x", "X"):
            self._scientific(number)
        elif following.text == "and":
            self._and_fraction(number)
        return number

    def _join(self, number: Token, used: int) -> Token:
        self.at += used
        return number

    def _is_vulgar(self, token: Token) -> bool:
        return not token.text[0].isdecimal() and not token.text.startswith(".")

    def _plain_fraction(self, ahead: int) -> Fraction | None:
        """The fraction a/b below one at that place, written tightly."""
        top, slash, bottom = self._peek(ahead), self._peek(ahead + 1), self._peek(ahead + 2)
        if top is None or slash is None or bottom is None or slash.text != "/" or bottom.kind is not Kind.NUMBER:
            return None
        if top.kind is not Kind.NUMBER or top.value is None or not bottom.value or top.value >= bottom.value:
            return None
        return top.value / bottom.value if top.end == slash.start and slash.end == bottom.start else None

    def _mixed(self, number: Token, following: Token) -> None:
        if number.value is None or not number.exact:
            return
        if self._is_vulgar(following) and following.value is not None:
            part, used = following.value, 1
        else:
            fraction = self._plain_fraction(0)
            if fraction is None:
                return
            part, used = fraction, 3
        number.value += part
        number.end = self.raw[self.at + used - 1].end
        self.at += used

    def _and_fraction(self, number: Token) -> None:
        following, article = self._peek(1), self._peek(2)
        part = self._plain_fraction(1)
        used = 4
        if part is None and following is not None and following.kind is Kind.NUMBER and self._is_vulgar(following):
            part, used = following.value, 2
        elif part is None and following is not None and article is not None:
            read = read_words([following.text.lower(), article.text.lower()])
            part, used = (read[0], 3) if read is not None and read[1] == 2 and read[0] < 1 else (None, 0)
        if part is None or number.value is None or not number.exact:
            return
        number.value += part
        number.end = self.raw[self.at + used - 1].end
        self.at += used

    def _fraction(self, number: Token) -> None:
        bottom, slash = self._peek(1), self._peek(2)
        if bottom is None or bottom.kind is not Kind.NUMBER:
            return
        self.at += 2
        number.end = bottom.end
        if number.value is None or not bottom.value or (slash is not None and slash.text == "/" and self._is_number(1)):
            number.value = None  # 5/0, 12/25/2020
            return
        number.value /= bottom.value
        number.exact = number.exact and bottom.exact

    def _is_number(self, ahead: int) -> bool:
        token = self._peek(ahead)
        return token is not None and token.kind is Kind.NUMBER

    def _power(self, number: Token) -> None:
        """A power of ten; other powers are sums to be worked out, not numbers."""
        exponent, used = self._exponent(1)
        if exponent is None:
            if used:
                number.value = None
                self.at += used
            return
        self.at += used
        number.end = self.raw[self.at - 1].end
        number.value = Fraction(10) ** exponent if number.value == 10 else None

    def _exponent(self, ahead: int) -> tuple[int | None, int]:
        """The integer after the ``^`` before that place, and how many tokens to it."""
        sign, place = 1, ahead
        token = self._peek(place)
        if token is not None and token.text in ("-", "+"):
            sign = -1 if token.text == "-" else 1
            place += 1
            token = self._peek(place)
        if token is None or token.kind is not Kind.NUMBER:
            return None, 0
        if token.value is None or token.value.denominator != 1 or token.value > _LARGEST_EXPONENT:
            return None, place + 1
        return sign * int(token.value), place + 1

    def _scientific(self, number: Token) -> None:
        """What follows is ``× 10^n``."""
        base, power = self._peek(1), self._peek(2)
        if base is None or base.value != 10 or power is None or power.kind is not Kind.POWER:
            return
        exponent, used = self._exponent(3)
        if exponent is None or number.value is None:
            return
        number.value *= Fraction(10) ** exponent
        number.exact = False
        self.at += used
        number.end = self.raw[self.at - 1].end

    def _scale(self, number: Token, *, currency: bool) -> None:
        """Suffixes and words that multiply, ordinal endings, percent signs."""
        word = self._peek()
        if word is None or number.value is None:
            return
        if word.kind is Kind.PERCENT:
            self.at += 1
            number.end = word.end
            return
        if word.kind is not Kind.WORD:
            return
        tight = word.start == number.end
        factor = _MULTIPLIERS.get(word.text.lower())
        if factor is None and tight:
            factor = _SUFFIXES.get(word.text) or (_MONEY_ONLY.get(word.text) if currency else None)
        if factor is not None:
            number.value *= factor
        elif not (tight and word.text.lower() in _ORDINALS):
            return
        self.at += 1
        number.end = word.end
