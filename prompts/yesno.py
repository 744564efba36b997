"""The robust protocol for yes/no questions: the word that is given as the answer, not any yes or no in the text.

    position start   the text begins with the answer, perhaps behind a label or an echo of "yes or no?"
    position end     the last yes or no that is stated as an answer, not "no square" in a sentence

Other words than those asked for (true, Y, certainly) are void, and so are both at once.
"""

from __future__ import annotations

import re

from variantbench.plugins.datatypes import Extraction, ExtractionStatus
from variantbench.prompts.segments import own_answer, word_set

_WORDS = {"yes": "yes", "yep": "yes", "yeah": "yes", "no": "no", "nope": "no", "nah": "no"}
_ANSWER = r"(?P<word>yes|no|yep|yeah|nope|nah)(?!\w|['-]\w)"
_TAG = re.compile(r"</?(?:b|i|em|strong|p|br|span|answer|final_answer)>", re.IGNORECASE)
_DRESS = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm|fbox)\s?\{|[*_`{}$\"]|~~")
_ECHO = re.compile(r"[\W_]{0,8}yes\s?(?:/|or)\s?no\s?[?:.)\]]+(?=\W*\w)", re.IGNORECASE)
_LABEL = re.compile(
    r"[\W_]*(?:\(?\d{1,3}[.)]\s+)?(?:(?:(?:so|thus|therefore|hence),? )?(?:the |my )?(?:final |correct )?"
    r"(?:answer|response)"
    r"(?:\s?[:=-]|\s(?:is|would be)\b:?)|(?:A|Assistant)\s?:)?[\W_]*",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:yes\s?(?:[/\\|&]|or|and)\s?no|no\s?(?:[/\\|&]|or|and)\s?yes)\b", re.IGNORECASE)
# "No" before these is an answer without its comma; before any other word it is the "no" of "no square".
_CLAUSE_STARTS = word_set(
    "no it it's its that that's this these those there there's because since as for so but i you we they he she not "
    "the a an if in according all every some both at from given wait sorry"
)
_CORRECTION = re.compile(
    r"(?:[.!?…]\s{0,3}|\b(?:wait|actually|sorry|rather|correction|mean)\b[\s,:.-]{0,4})"
    r"(?P<word>yes|no)\b(?=\s{0,2}(?:[.,!;:]|$))",
    re.IGNORECASE,
)


def robust_yesno(text: str, *, answer_at: str, at_limit: bool = False) -> Extraction:
    """Yes or no, given where it was asked for (``start`` or ``end``). `at_limit`: ended at the length limit."""
    if not text:
        return Extraction(ExtractionStatus.EMPTY, method="the answer is empty")
    own = own_answer(text)
    if own.open_trace:
        return Extraction(ExtractionStatus.TRUNCATED, method="the reasoning trace never ends")
    plain = _DRESS.sub(" ", _TAG.sub(" ", own.text)).strip()
    if not plain:
        return Extraction(ExtractionStatus.EMPTY_AFTER_TRIM, method="only blanks or another question")
    if answer_at == "end":
        return _at_end(plain, may_be_cut=at_limit and not own.complete)
    return _at_start(plain)


def _void(why: str) -> Extraction:
    return Extraction(ExtractionStatus.VOID, method=why)


# At the start.

_FIRST = re.compile(_ANSWER, re.IGNORECASE)
_NEXT_WORD = re.compile(r"[ \t]+([A-Za-z]+(?:'[A-Za-z]+)?)")


def _at_start(text: str) -> Extraction:
    line = text.split("\n", 1)[0][:400]
    if echo := _ECHO.match(text):
        text = text[echo.end() :].lstrip()
        line = text.split("\n", 1)[0][:400]
    elif _BOTH.match(line.lstrip("([-' ")):
        return _void("says both yes and no")
    label = _LABEL.match(text, 0, 400)
    start = label.end() if label else 0
    match = _FIRST.match(text, start)
    if match is None:
        return _void("does not begin with yes or no")
    if _BOTH.match(text, start, start + 40):
        return _void("says both yes and no")
    word = _WORDS[match["word"].lower()]
    if word == "no" and _is_determiner(text, match.end()):
        return _void('"no" belongs to what follows')
    rest = line if start == 0 else text[start:].split("\n", 1)[0][:400]
    for other in _CORRECTION.finditer(rest, match.end() - (start if rest is not line else 0)):
        if other["word"].lower() != word:
            return _void("says both yes and no")
    return Extraction(ExtractionStatus.OK, word, "start of the text")


def _is_determiner(text: str, end: int) -> bool:
    following = _NEXT_WORD.match(text, end, end + 40)
    return following is not None and following[1].lower() not in _CLAUSE_STARTS


# At the end.

_CANDIDATE = re.compile(
    r"""
      (?P<asserted>\banswer(?:\s\w{1,12}){0,2}?\s?(?:is|:|=|would\sbe|must\sbe)[\s:(*'-]{0,6}
                   (?:yes|no)\b(?!\s?(?:/|or\b|and\b)\s?(?:yes|no)\b))
    | (?P<concluded>\b(?:hence|therefore|thus|so|then|conclusion|overall)[\s,:(-]{0,4}
                   (?:yes|no)\b(?=\s{0,2}(?:[.,;!:)]|$|\n|because|since|it)))
    | (?P<opening>(?:^|(?<=[.!?:\n])\s{0,3}|(?<=\n)[-\s]{0,4}|^-\s)(?:yes|no|yep|nope)\b
                   (?=\s{0,2}(?:[.,;!)]|$|\n)|\s(?:it|this|that|because|since)\b))
    | (?P<closing>(?<![/\w'-])(?:yes|no)(?=\W{0,8}\Z))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST_END = 4000
_SPOILED = re.compile(r"(?:\bnot|\bor|\band|/|\beither|\bneither|\bnor)\s?\(?\Z", re.IGNORECASE)
_YES_OR_NO = re.compile(r"yes|no|yep|nope", re.IGNORECASE)


def _at_end(text: str, *, may_be_cut: bool) -> Extraction:
    text, found = text[-_LONGEST_END:], None
    for match in _CANDIDATE.finditer(text):
        word = [*_YES_OR_NO.finditer(match[0])][-1]
        if not _SPOILED.search(text, max(0, match.start() + word.start() - 12), match.start() + word.start()):
            found = (_WORDS[word[0].lower()], match)
    if may_be_cut and (found is None or found[1].lastgroup in ("opening", "closing") or found[1].end() == len(text)):
        return Extraction(ExtractionStatus.TRUNCATED, method="cut off by the length limit")
    if found is None:
        return _void("does not end with yes or no")
    return Extraction(ExtractionStatus.OK, found[0], "the last answer stated")
