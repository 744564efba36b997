"""What one line states: the tokens of a line -> one number, several, or none.

* "12 + 13 = 25": 25, behind the last equals sign
* "18 eggs, which is 1.5 dozen": 18, the first number
* "5-7", "10 or 12", "5:30": ambiguous, not a lucky number
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from variantbench.plugins.datatypes import ExtractionStatus
from variantbench.prompts.numbers import Kind, Token, tokens_of
from variantbench.prompts.segments import THIN, word_set


@dataclass(frozen=True, slots=True)
class Reading:
    """What a line states. `why` says in words how it was read, or why it was not."""

    status: ExtractionStatus
    value: Fraction | None = None
    exact: bool = True
    why: str = ""


def _unclear(why: str) -> Reading:
    return Reading(ExtractionStatus.AMBIGUOUS, why=why)


def _nothing(why: str) -> Reading:
    return Reading(ExtractionStatus.NO_NUMBER, why=why)


def _found(token: Token, why: str) -> Reading:
    if token.value is None:
        return _unclear(f"{token.text!r} can be read in several ways or in none")
    return Reading(ExtractionStatus.OK, token.value, token.exact, why)


# The text of a line, without what is no text.

_STRUCK = re.compile(r"~~[^~\n]*~~|<<[^<>\n]*>>")
_TAG = re.compile(r"<(/?)(b|i|em|strong|u|su[bp]|p|br|span|div|code|pre|(?:final_)?answer|s|pad)(?:[ /][^<>\n]*)?>")
_FRACTION = re.compile(r"\\[dtc]?frac[ ]?\{([^{}\n]*)\}[ ]?\{([^{}\n]*)\}|\\[dtc]?frac[ ]?(\d)[ ]?\{?(\d+)\}?")
_SIMPLE = re.compile(r"[ ]?-?[\d.,]+[ ]?")
_LIST_MARK = re.compile(r"^[ \t>]*(?:[-*•+][ \t]+|\(?\d{1,3}[.)][ \t]+(?=\S))+")
_POWER_STARS = re.compile(r"(?<=[\d)])[ ]?\*\*[ ]?(?=[\d(-])")


def tidy(line: str) -> str:
    """The line without Markdown, HTML, calculator notes and the dress of LaTeX."""
    if "~" in line or "<" in line:
        line = _TAG.sub(_without_tag, _STRUCK.sub("", line))
    if "**" in line:
        line = _POWER_STARS.sub("^", line).replace("**", "")
    if "\\" in line or "{" in line:
        line = _without_latex(line)
    return line


def without_list_mark(line: str) -> str:
    """The line without a bullet or a number in front."""
    return _LIST_MARK.sub("", line, count=1)


def _without_tag(match: re.Match[str]) -> str:
    if match[2] == "sup":
        return "" if match[1] else "^"
    return " " if match[2] == "br" else ""


def _without_latex(line: str) -> str:
    line = line.replace("{,}", ",").replace("{.}", ".").replace("\\$", "$").replace("\\%", "%")
    for blank in ("\\,", "\\!", "\\;", "\\:", "\\ "):
        line = line.replace(blank, THIN if blank != "\\!" else "")
    line = _FRACTION.sub(_fraction, line)
    return line.replace("{", "").replace("}", "")


def _fraction(match: re.Match[str]) -> str:
    top, bottom = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
    before = match.string[match.start() - 1] if match.start() else ""
    gap = " " if before.isalnum() else ""
    if _SIMPLE.fullmatch(top) and _SIMPLE.fullmatch(bottom):
        return f"{gap}{top.strip()}/{bottom.strip()}"
    return f"{gap}({top})/({bottom})"


# Sentences.

_ABBREVIATIONS = word_set("approx rs no ca vs mr mrs ms dr st eg ie est inc u us p a fig eq")


def sentences(tokens: Sequence[Token], line: str) -> list[list[Token]]:
    """The tokens of a line by sentence; sentences of no token are left out, except a first one."""
    found: list[list[Token]] = [[]]
    for place, token in enumerate(tokens):
        if token.kind is not Kind.STOP:
            found[-1].append(token)
        elif _ends_sentence(token, line) and not _is_abbreviation(tokens[place - 1] if place else None, token):
            found.append([])
    return [sentence for place, sentence in enumerate(found) if sentence or place == 0]


def _ends_sentence(token: Token, line: str) -> bool:
    following = line[token.end : token.end + 1]
    return not following.isalnum() and following not in ("$", "€", "£") if following else True


def _is_abbreviation(before: Token | None, token: Token) -> bool:
    return (
        before is not None
        and token.text == "."
        and before.kind is Kind.WORD
        and before.end == token.start
        and before.text.lower() in _ABBREVIATIONS
    )


# The number that a sentence states.

_REFUSING = word_set(
    "unknown undefined undetermined indeterminate impossible infinity infinite unclear insufficient cannot can't "
    "couldn't unable error wrong incorrect missing ambiguous invalid none nan inconsistent contradictory unanswerable"
)
_NO_ANSWER = re.compile(r"\bnot (?:enough|possible|given|sure|known|determin|clear)|\bno (?:solution|answer|way)")
_BOUNDS = re.compile(r"\b(?:more|less|fewer|greater|larger|smaller) than$|\b(?:over|under|above|below)$")
# What follows these is a remark on the answer, not the answer.
_REMARKS = word_set("because since which as where from if when while whereas after before given with")
_CONCLUSIONS = word_set("so thus therefore hence total giving leaving altogether")
_JOINING = word_set("to or and through till until versus vs")
_PREPOSITIONS = word_set(
    "of per for in on at by than out each every more less fewer left remaining is are was were has have had that this "
    "a an the will would can could should must do does did not but so thus therefore hence"
)
_MOST_UNIT_WORDS = 4
# A sentence with so many words before its first number tells how the answer comes about.
_NARRATIVE = 2


def stated_number(sentence: Sequence[Token]) -> Reading:
    """The number that an answer sentence states."""
    first = next((place for place, token in enumerate(sentence) if token.kind is Kind.NUMBER), None)
    if first is None:
        return _nothing("no number in the answer")
    lead = " ".join(token.text.lower() for token in sentence[:first] if token.kind is Kind.WORD)
    words = lead.split()
    if not _REFUSING.isdisjoint(words) or _NO_ANSWER.search(lead):
        return _nothing("the answer says that there is none")
    if _BOUNDS.search(lead):
        return _unclear("a bound, not a number")
    if "not" in words:
        return _after_not(sentence, first)
    clauses = _assignments(sentence)
    if len(clauses) > 1:
        return _same(clauses, stated_number)
    return _right_side(sentence)


def _after_not(sentence: Sequence[Token], first: int) -> Reading:
    """The answer in "not 12 but 14"."""
    for place in range(first, len(sentence)):
        if sentence[place].text.lower() == "but":
            return stated_number(sentence[place + 1 :])
    return _unclear("says only what the answer is not")


def _same(clauses: Sequence[Sequence[Token]], read: Callable[[Sequence[Token]], Reading]) -> Reading:
    readings = [read(clause) for clause in clauses]
    if len({reading.value for reading in readings}) == 1:
        return readings[0]
    return _unclear("several values")


def _assignments(sentence: Sequence[Token]) -> list[Sequence[Token]]:
    """The clauses of "x = 5 and y = 7", each of which gives a name its value; one clause otherwise."""
    starts, start, has_number, has_equals = [], 0, False, False
    for place, token in enumerate(sentence):
        if token.kind is Kind.COMMA or token.text.lower() in ("and", "or"):
            start, has_number, has_equals = place + 1, False, False
        elif token.kind is Kind.NUMBER:
            has_number = True
        elif token.kind is Kind.WORD and token.text.lower() in _REMARKS:
            break
        elif token.kind is Kind.EQUALS:
            if not has_number and not has_equals:
                starts.append(start)
            has_equals = True
    if len(starts) < 2:
        return [sentence]
    return [sentence[a:b] for a, b in zip(starts, [*starts[1:], len(sentence)], strict=True)]


def _right_side(sentence: Sequence[Token]) -> Reading:
    """The number behind the last equals sign that belongs to the answer, else the first number."""
    start = _after_equals(sentence)
    place = next((k for k in range(start, len(sentence)) if sentence[k].kind is Kind.NUMBER), None)
    why = "after the last =" if start else ""
    if place is None:
        numbers = [k for k, token in enumerate(sentence) if token.kind is Kind.NUMBER]
        if len(numbers) > 1:
            return _unclear("an equation without a number behind it")
        place, why = numbers[0], ""
    if _is_unworked_before(sentence, place, start):
        return _unclear("an expression that is not worked out")
    reading = _with_what_follows(sentence, place, why)
    if reading.value is None and start and (left := _left_side(sentence[: start - 1])) is not None:
        return left
    return reading


def _left_side(sentence: Sequence[Token]) -> Reading | None:
    """The one number of "42 = 6 * 7"."""
    numbers = [token for token in sentence if token.kind is Kind.NUMBER]
    if len(numbers) != 1 or any(token.kind in (Kind.OPERATOR, Kind.DASH, Kind.EQUALS) for token in sentence):
        return None
    return _found(numbers[0], "before the =")


def _after_equals(sentence: Sequence[Token]) -> int:
    start, place, seen = 0, 0, False
    words_before = 0
    while place < len(sentence):
        token = sentence[place]
        if not seen and token.kind is Kind.WORD:
            words_before += 1
        if seen and not start and words_before < _NARRATIVE and _begins_clause(token):
            break  # the answer stands in front: "42, so each gets 42 / 2 = 21"
        if token.kind is Kind.OPEN and seen and sentence[place - 1].kind in (Kind.NUMBER, Kind.WORD, Kind.PERCENT):
            place = _closing(sentence, place) + 1  # a remark in parentheses
            continue
        if token.kind is Kind.WORD and seen and token.text.lower() in _REMARKS:
            break
        if token.kind is Kind.EQUALS:
            start = place + 1
        seen = seen or token.kind is Kind.NUMBER
        place += 1
    return start


def _begins_clause(token: Token) -> bool:
    return token.kind is Kind.COMMA or token.text.lower() in _CONCLUSIONS


def _closing(sentence: Sequence[Token], place: int) -> int:
    depth = 0
    for at in range(place, len(sentence)):
        depth += (sentence[at].kind is Kind.OPEN) - (sentence[at].kind is Kind.CLOSE)
        if depth == 0:
            return at
    return len(sentence)


def _is_unworked_before(sentence: Sequence[Token], place: int, start: int) -> bool:
    """Whether the number is an operand of what stands before it: x + 5, √5."""
    if place == start:
        return False
    before = sentence[place - 1]
    if before.kind is Kind.ROOT:
        return True
    if before.kind is Kind.OPEN and place - 1 > start:
        before, place = sentence[place - 2], place - 1
    if before.kind is Kind.ROOT:
        return True
    return before.kind is Kind.OPERATOR and place - 1 > start and sentence[place - 2].kind in (Kind.WORD, Kind.CLOSE)


def _with_what_follows(sentence: Sequence[Token], place: int, why: str) -> Reading:
    """The number at that place, unless what follows makes it a range, a list, a time or half of an expression."""
    number, units = sentence[place], 0
    at = place + 1
    while at < len(sentence):
        token = sentence[at]
        following = sentence[at + 1] if at + 1 < len(sentence) else None
        match token.kind:
            case Kind.WORD:
                word = token.text.lower()
                if word in _JOINING:
                    return _joined(sentence, place, at, why)
                if at == place + 1 and token.start == number.end and _is_algebra_or_time(token.text):
                    return _unclear(f"{number.text}{token.text} is no plain number")
                units += 1
                if word in _PREPOSITIONS or word in _REMARKS or units > _MOST_UNIT_WORDS:
                    break
            case Kind.NUMBER:
                if token.value != number.value:
                    return _unclear("two numbers side by side")
            case Kind.COMMA:
                return _joined(sentence, place, at, why)
            case Kind.OPERATOR | Kind.DASH:
                if token.text == "—":
                    break
                if following is not None and following.kind in (Kind.NUMBER, Kind.OPEN, Kind.ROOT):
                    return _unclear("a range, or an expression that is not worked out")
            case Kind.COLON:
                if following is not None and following.kind is Kind.NUMBER and _is_ratio(number, token, following):
                    return _unclear("a time or a ratio")
                break
            case Kind.ROOT:
                return _unclear("an expression that is not worked out")
            case Kind.OPEN:
                if following is not None and following.text.lower() == "or":
                    return _joined(sentence, place, at + 1, why)
                break
            case Kind.EQUALS | Kind.STOP:
                break
            case _:
                pass
        at += 1
    return _found(number, why)


def _is_algebra_or_time(word: str) -> bool:
    return word in ("x", "y", "z") or any(letter.isdigit() for letter in word)


def _is_ratio(number: Token, colon: Token, following: Token) -> bool:
    tight = colon.end == following.start
    return tight or number.end < colon.start


def _joined(sentence: Sequence[Token], place: int, at: int, why: str) -> Reading:
    """What "12 or …", "12 and …", "12, …" says: one number if no other number comes at once."""
    number, word = sentence[place], sentence[at].text.lower()
    rest = [token for token in sentence[at + 1 :] if token.kind not in (Kind.CURRENCY, Kind.OPEN)]
    while rest and rest[0].text.lower() in ("or", "and", "maybe", "perhaps", "possibly", "even"):
        word, rest = rest[0].text.lower(), rest[1:]
    if len(rest) > 2 and len(rest[0].text) == 1 and rest[1].kind is Kind.CLOSE:
        rest = rest[2:]  # the label of a part: (b) 13
    if not rest or rest[0].kind is not Kind.NUMBER or rest[0].value == number.value:
        return _found(number, why)
    cents = rest[1].text.lower() if len(rest) > 1 else ""
    if word == "and" and cents in ("cents", "cent") and _is_money(sentence, place) and rest[0].value is not None:
        value = (number.value or 0) + rest[0].value / 100
        return Reading(ExtractionStatus.OK, value, False, why)
    return _unclear("several numbers")


def _is_money(sentence: Sequence[Token], place: int) -> bool:
    following = sentence[place + 1].text.lower() if place + 1 < len(sentence) else ""
    return sentence[place].currency or following in ("dollars", "dollar", "euros", "euro", "pounds", "pound")


# The last number of a text that states no answer.

_UNCOUNTED = frozenset(("one", "half", "zero"))


def counted(tokens: Sequence[Token]) -> list[int]:
    """The places of the numbers, without words that are often no numbers."""
    return [
        place
        for place, token in enumerate(tokens)
        if token.kind is Kind.NUMBER and token.text.lower() not in _UNCOUNTED
    ]


def last_number(sentence: Sequence[Token]) -> Reading:
    """The number that a sentence without an answer phrase ends on: behind its last equals sign, else its last."""
    places = counted(sentence)
    if not places:
        return _nothing("no number")
    equals = max((k for k, token in enumerate(sentence) if token.kind is Kind.EQUALS), default=-1)
    behind = [place for place in places if place > equals]
    if equals >= 0 and behind and not _concludes_later(sentence, behind):
        return _with_what_follows(sentence, behind[0], "last number, after the last =")
    if equals >= 0 and not behind and len(places) > 1:
        return _unclear("an equation without a number behind it")
    last = places[-1]
    if len(places) > 1 and (why := _pair(sentence, places[-2], last)):
        return _unclear(why)
    return _found(sentence[last], "last number")


def _concludes_later(sentence: Sequence[Token], behind: Sequence[int]) -> bool:
    return len(behind) > 1 and any(
        token.text.lower() in _CONCLUSIONS for token in sentence[behind[0] + 1 : behind[-1]] if token.kind is Kind.WORD
    )


def _pair(sentence: Sequence[Token], first: int, last: int) -> str:
    """Why the last two numbers are no single answer; empty if they are none of each other's business."""
    between = [
        token for token in sentence[first + 1 : last] if token.kind not in (Kind.CURRENCY, Kind.CLOSE, Kind.OPEN)
    ]
    if sentence[first].value == sentence[last].value:
        return ""
    if not between:
        return "two numbers side by side"
    if len(between) > 3 or any(token.kind is Kind.WORD for token in between[:-1]):
        return ""
    joint = between[-1]
    if joint.kind in (Kind.OPERATOR, Kind.DASH):
        return "a range, or an expression that is not worked out"
    if joint.kind is Kind.COLON and joint.end == sentence[last].start:
        return "a time or a ratio"
    if joint.text.lower() in ("to", "or", "and", ","):
        return "several numbers"
    return ""


def tokens_in(line: str, *, leading_minus: bool = False) -> tuple[list[Token], str]:
    """The tokens of a line, and the tidy line they were found in."""
    line = tidy(line)
    return tokens_of(line, leading_minus=leading_minus), line
