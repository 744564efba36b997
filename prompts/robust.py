"""The robust protocol for answers in prose: the number that the model gives as its answer, read as a person would.

    1. the model's own segment (`segments.own_answer`)
    2. the last place that announces an answer: a box, "the answer is", "Answer:", "####", a JSON key, an <answer> tag
    3. what is stated there (`answer_line.stated_number`); an announced answer without a number is no answer
    4. where nothing announces an answer, the last number of the text, unless the text ends in a refusal

An answer that the length limit may have cut is TRUNCATED.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from variantbench.plugins.datatypes import Extraction, ExtractionStatus
from variantbench.prompts.answer_line import (
    Reading,
    counted,
    last_number,
    sentences,
    stated_number,
    tokens_in,
    without_list_mark,
)
from variantbench.prompts.numbers import Kind, Token
from variantbench.prompts.segments import own_answer, word_set

# Of a line that states an answer, so much is read; of a text that announces answers, so many announcements are tried.
_LONGEST_LINE = 400
_MOST_ANCHORS, _MOST_PHRASES = 8, 40
_LONGEST_FALLBACK = 3000


def robust_number(text: str, *, at_limit: bool = False) -> Extraction:
    """The number that the text gives as its answer. `at_limit`: generation ended at the length limit."""
    if not text:
        return Extraction(ExtractionStatus.EMPTY, method="the answer is empty")
    own = own_answer(text)
    if own.open_trace:
        return Extraction(ExtractionStatus.TRUNCATED, method="the reasoning trace never ends")
    if not own.text.strip():
        return Extraction(ExtractionStatus.EMPTY_AFTER_TRIM, method="only blanks or another question")
    reading = _read(own.text, may_be_cut=at_limit and not own.complete)
    if reading.value is None:
        return Extraction(reading.status, method=reading.why)
    return Extraction(reading.status, str(reading.value), reading.why, reading.exact)


def _read(own: str, *, may_be_cut: bool) -> Reading:
    anchors = _last_anchors(own)
    for place in range(len(anchors) - 1, -1, -1):
        anchor = anchors[place]
        reading = _box(own, anchors, place) if anchor.kind is _AnchorKind.BOX else _announced(own, anchor)
        if reading is None:
            continue
        if may_be_cut and anchor.kind is not _AnchorKind.BOX and not _goes_on(own, anchor.end):
            return _cut()
        return _unless_corrected(own, anchor, reading)
    return _cut() if may_be_cut else _fallback(own)


def _cut() -> Reading:
    return Reading(ExtractionStatus.TRUNCATED, why="cut off by the length limit")


# Announcements.


class _AnchorKind(StrEnum):
    BOX = "box"
    HASHES = "#### line"
    TAG = "answer tag"
    SENTENCE = "answer sentence"  # the answer is
    LABEL = "answer label"  # Answer:
    HEADING = "answer heading"


@dataclass(frozen=True, slots=True)
class _Anchor:
    """An announcement; the answer begins at `end`. `minus`: a dash there is a sign even if a blank follows it."""

    kind: _AnchorKind
    start: int
    end: int
    minus: bool = False
    final: bool = False


_ANCHOR = re.compile(
    r"""
      (?P<box>\\(?:boxed|fbox)[ ]?\{)
    | (?P<hashes>\#{4}(?!\#))
    | (?P<tag><(?:final_)?answer>)
    | (?P<phrase>(?<![A-Za-z])(?P<final>final[ _-]?)?(?:answer|(?<=final[ ])result)(?![A-Za-z]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CONNECTOR = re.compile(
    r"""
    [\s"'*_`]{0,6}
    (?:(?:to|for)\b[^.?!\n:=]{1,80}?(?=\b(?:is|was)\b|:))?
    (?:,[^,.\n]{1,30},[ ])?
    (?:\([^()\n]{1,40}\))?[*_ ]{0,4}
    (?:
        (?P<verb>(?:is|are|was|be|equals|becomes|comes[ ]to|(?:would|should|must|will)[ ]be)\b[*_]{0,3}[ ]?[:=]?)
      | (?P<colon>[:=→⇒]|->|=>)
      | (?P<dash>[—–-]{1,2})(?=[\s\d])
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TIGHT = re.compile(r"[ *_]{0,4}(?=[$€£]?[ ]?\d)")
_LINE_END = re.compile(r"[*_:\s]{0,6}(?:\n|$)")
_ALONE = re.compile(r"[ \t#*_>]*(?:(?:the|my|our|correct)[ ])*", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:what|whether|if|once|until|how|find|check) (?:(?:the|my|our) )?(?:correct )?$", re.IGNORECASE
)
_NUMBER_NEXT = re.compile(r"[\s*_$€£¥₹\\(+\-–\u2212]{0,8}\.?\d")
_NUMBERED_HEADING = re.compile(r"\s*\d{1,2}[.)]\s+[A-Za-z]")


def _last_anchors(own: str) -> list[_Anchor]:
    matches = list(_ANCHOR.finditer(own))[-_MOST_PHRASES:]
    return list(_anchors(own, matches))[-_MOST_ANCHORS:]


def _anchors(own: str, matches: Iterable[re.Match[str]]) -> Iterator[_Anchor]:
    for match in matches:
        start, end = match.span()
        match match.lastgroup:
            case "box":
                yield _Anchor(_AnchorKind.BOX, start, end)
            case "hashes":
                if _NUMBER_NEXT.match(own, end) and not _NUMBERED_HEADING.match(own, end):
                    yield _Anchor(_AnchorKind.HASHES, start, end, minus=True)
            case "tag":
                yield _Anchor(_AnchorKind.TAG, start, end, minus=True)
            case _:
                anchor = _phrase(own, start, end, final=match["final"] is not None)
                if anchor is not None:
                    yield anchor


def _phrase(own: str, start: int, end: int, *, final: bool) -> _Anchor | None:
    if _ASKING.search(own, max(0, start - 30), start):
        return None
    line_start = own.rfind("\n", max(0, start - 40), start) + 1
    alone = start - line_start < 40 and _ALONE.fullmatch(own, line_start, start) is not None
    if alone and (match := _LINE_END.match(own, end)) and match.end() < len(own):
        return _Anchor(_AnchorKind.HEADING, start, match.end(), final=True)
    if match := _CONNECTOR.match(own, end):
        if match["verb"]:
            return _Anchor(_AnchorKind.SENTENCE, start, match.end(), minus=True, final=True)
        return _Anchor(_AnchorKind.LABEL, start, match.end(), minus=match["colon"] is not None, final=final)
    if final and (match := _TIGHT.match(own, end)):
        return _Anchor(_AnchorKind.LABEL, start, match.end(), final=True)
    return None


def _box(own: str, anchors: list[_Anchor], place: int) -> Reading:
    """The content of the box there; two boxes that are given as alternatives are ambiguous."""
    anchor = anchors[place]
    end = _closing_brace(own, anchor.end)
    if end is None:
        return Reading(ExtractionStatus.TRUNCATED, why="the box is never closed")
    reading = _line(own[anchor.end : end], _AnchorKind.BOX, minus=True)
    before = anchors[place - 1] if place else None
    if before is not None and before.kind is _AnchorKind.BOX:
        closed = _closing_brace(own, before.end)
        if closed is not None and _are_alternatives(own[closed + 1 : anchor.start]):
            other = _line(own[before.end : closed], _AnchorKind.BOX, minus=True)
            if other.value != reading.value:
                return Reading(ExtractionStatus.AMBIGUOUS, why="several boxes")
    return reading


def _closing_brace(own: str, start: int) -> int | None:
    depth = 1
    for match in _BRACE.finditer(own, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return None


_BRACE = re.compile(r"(?<!\\)[{}]")
_ALTERNATIVES = re.compile(r"[$\\()\s]*(?:and|or|,|\\text\{ ?(?:and|or) ?\})[$\\()\s]*(?:[a-z]\s?=\s?)?[$\\(\s]*", re.I)


def _are_alternatives(between: str) -> bool:
    return len(between) <= 24 and _ALTERNATIVES.fullmatch(between) is not None


# Sentences that go on like this speak about the answer.
_ABOUT = word_set("found obtained calculated computed derived correct wrong incorrect right reached")


def _announced(own: str, anchor: _Anchor) -> Reading | None:
    """What is announced there; None if the words only speak about an answer."""
    line, after_break = _stating_line(own, anchor.end)
    if after_break:
        line = without_list_mark(line)
    tokens, tidy_line = tokens_in(line, leading_minus=anchor.minus and not after_break)
    if tokens and tokens[0].text.lower() in _ABOUT and anchor.kind is _AnchorKind.SENTENCE:
        return None
    parts = sentences(tokens, tidy_line)
    starts_with_number = any(token.kind is Kind.NUMBER for token in parts[0][:2])
    is_heading = anchor.kind is _AnchorKind.LABEL and not anchor.final
    if is_heading and not starts_with_number and (len(parts) > 1 or _goes_on(own, anchor.end)):
        return None  # "Answer:" above a whole solution
    return _named(stated_number(parts[0]), anchor.kind)


def _line(line: str, kind: _AnchorKind, *, minus: bool) -> Reading:
    tokens, tidy_line = tokens_in(line[:_LONGEST_LINE], leading_minus=minus)
    return _named(stated_number(sentences(tokens, tidy_line)[0]), kind)


def _named(reading: Reading, kind: _AnchorKind) -> Reading:
    if reading.value is None:
        return reading
    return replace(reading, why=f"{kind}, {reading.why}" if reading.why else str(kind))


_WORD = re.compile(r"\w")


def _stating_line(own: str, start: int) -> tuple[str, bool]:
    """The line that states the answer, and whether it is not the one that announces it."""
    end = start
    for number in range(6):
        line_end = own.find("\n", end)
        line = own[end : line_end if line_end >= 0 else len(own)]
        has_word = _WORD.search(line) is not None
        if has_word and not (line.rstrip(" *_").endswith(":") and not any(map(str.isdigit, line))):
            return line[:_LONGEST_LINE], number > 0
        if line_end < 0 or (line.strip(" *_:\t") in (".", "!", "?")):
            return line[:_LONGEST_LINE], number > 0
        end = line_end + 1
    return "", True


_GOES_ON = re.compile(r"(?:[.!?][\"')*$`\]]{0,4}\s|\n)\s{0,8}\S")


def _goes_on(own: str, start: int) -> bool:
    """Whether more text follows the sentence or line that begins there."""
    first = _WORD.search(own, start)
    return first is not None and _GOES_ON.search(own, first.end(), first.end() + 2 * _LONGEST_LINE) is not None


_CORRECTION = re.compile(
    r"(?:[.!?\n—]\s{0,3})(?:Oh|Oops|Wait|Hmm|Hold on|No,|No wait|Sorry|Actually|Correction|My mistake)\b", re.IGNORECASE
)


def _unless_corrected(own: str, anchor: _Anchor, reading: Reading) -> Reading:
    """The reading, unless the text takes the answer back without announcing another."""
    if reading.value is None:
        return reading
    match = _CORRECTION.search(own, anchor.end)
    if match is None or not any(map(str.isdigit, own[match.end() :])):
        return reading
    later = _fallback(own[match.end() :])
    if later.value is None or later.value == reading.value:
        return reading
    return Reading(ExtractionStatus.AMBIGUOUS, why="the answer is taken back and none is announced instead")


# No announcement.

_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    "(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|quarters?|thirds?"
)
_MAY_COUNT = re.compile(rf"[\d\u00bc-\u00be\u2150-\u215e]|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|can not|could not|couldn't|unable to|impossible to|not possible to)\s(?:be\s)?"
    r"(?:determine|answer|solve|calculate|compute|say|tell|find|know|give|provide|complete)"
    r"|\b(?:do not|don't) know\b"
    r"|\b(?:not enough|insufficient) (?:information|data)|\bno (?:solution|answer)\b",
    re.IGNORECASE,
)
_GIVING_UP = re.compile(
    r"\b(?:this|that|it|which) (?:is|seems) (?:impossible|not possible)"
    r"|\b(?:does not|doesn't) make sense"
    r"|\bmakes no sense|\berror in the (?:problem|question)"
    r"|\b(?:problem|question)(?: statement)? is (?:wrong|flawed|invalid)",
    re.IGNORECASE,
)


def _fallback(own: str) -> Reading:
    """The last number of the text, unless what follows it refuses."""
    nothing = Reading(ExtractionStatus.NO_NUMBER, why="no number in the text")
    after, end, budget = "", len(own), _LONGEST_FALLBACK
    while end >= 0 and budget > 0:
        start = own.rfind("\n", 0, end) + 1
        line = own[start:end]
        if _MAY_COUNT.search(line):
            line = line if len(line) <= _LONGEST_LINE * 2 else _end_of(line)
            budget -= len(line)
            reading = _last_in(line, after)
            if reading is not None:
                return reading
        if len(after) < _LONGEST_FALLBACK:
            after = line + "\n" + after
        end = start - 1
    return nothing


def _end_of(line: str) -> str:
    """The end of a long line, beginning at a blank where there is one."""
    end = line[-2 * _LONGEST_LINE :]
    return end[end.find(" ") + 1 :]


def _last_in(line: str, after: str) -> Reading | None:
    tokens, tidy_line = tokens_in(without_list_mark(line))
    parts = sentences(tokens, tidy_line)
    for place in range(len(parts) - 1, -1, -1):
        if counted(parts[place]):
            return _unless_refused(parts, place, tidy_line, after)
    return None


def _unless_refused(parts: list[list[Token]], place: int, line: str, after: str) -> Reading:
    here = line[parts[place][0].start :]
    later = (line[parts[place][-1].end :] + "\n" + after) if parts[place] else after
    if _REFUSAL.search(here) or _REFUSAL.search(after) or _GIVING_UP.search(later):
        return Reading(ExtractionStatus.NO_NUMBER, why="the answer says that there is none")
    return last_number(parts[place])
