"""The part of a completion that is the model's own answer, in plain characters.

Covers: reasoning traces, the next question of a few-shot text, turns of a chat, end tokens left in the text; digits,
blanks, dashes and quotes of other scripts. Does not cover: translation; what the answer means.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import unescape


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set to look in."""
    return frozenset(text.split())


THIN = "\u202f"  # every blank that may stand inside a number

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
# Short references only: html.unescape raises on a numeric reference of thousands of digits.
_ENTITY = re.compile(r"&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[A-Za-z][A-Za-z0-9]{1,7});")

_MARK = re.compile(
    r"""
      (?P<trace><(?:think|thinking|thought|reasoning)>)
    | (?P<traced></(?:think|thinking|thought|reasoning)>)
    | (?P<end></s>|<(?:eos|pad|end_of_turn|start_of_turn)>|<\|[A-Za-z_]{1,24}\|>|\[/?INST\])
    | (?P<question>^[ \t>*\#_]{0,8}(?:Q|Question|QUESTION|Question[ ]\d{1,3})[*_]{0,3}[ \t]?:
                  |(?<=[.!?])[ ]{1,3}Q:
                  |^(?:Human|User|\#\#\#[ ]Instruction):)
    """,
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """The model's own answer. `complete`: it went on to something else, so that a length limit did not cut it.

    `open_trace`: its reasoning trace never ended, so that no answer was given.
    """

    text: str
    complete: bool = False
    open_trace: bool = False


def own_answer(text: str, *, plain: bool = True) -> Segment:
    """What the model says for itself: no reasoning trace, nothing after the next question or an end token.

    `plain` False leaves the characters as they are, for code.
    """
    text = plain_characters(text) if plain else text
    kept: list[str] = []
    start, in_trace, complete = 0, False, False
    for mark in _MARK.finditer(text):
        kind = mark.lastgroup
        if kind == "traced":
            if not in_trace:
                kept.clear()  # the trace was opened by the prompt
            start, in_trace = mark.end(), False
        elif in_trace:
            continue
        elif kind == "trace":
            kept.append(text[start : mark.start()])
            in_trace = True
        elif kind == "end" and not "".join(kept).strip() and not text[start : mark.start()].strip():
            start = mark.end()  # a beginning, not an end
        else:
            kept.append(text[start : mark.start()])
            complete = True
            break
    if not complete and not in_trace:
        kept.append(text[start:])
    return Segment("".join(kept), complete, in_trace)


def plain_characters(text: str) -> str:
    """The text with characters of other scripts and fonts in their plain form; a superscript 4 becomes ``^4``."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: unescape(match[0]), text)
    if text.isascii():
        return text
    text = _SUPERSCRIPT.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    return text.translate(_PLAIN)


class _Plain(dict[int, str]):
    """A table for str.translate that fills itself."""

    def __missing__(self, code: int) -> str:
        self[code] = result = _plain(chr(code))
        return result


def _plain(character: str) -> str:
    code = ord(character)
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if 0xFF01 <= code <= 0xFF5E:  # full width
        return chr(code - 0xFEE0)
    if 0x2080 <= code <= 0x2089:  # subscripts
        return chr(code - 0x2080 + ord("0"))
    if 0x1D400 <= code <= 0x1D7FF:  # mathematical letters
        return unicodedata.normalize("NFKC", character)
    if unicodedata.category(character) == "Cf":  # zero width, direction marks, soft hyphen, byte order mark
        return ""
    return character


_ALIKE = {
    "-": "\u2212\ufe63\u2010\u2011\u2012",
    "—": "\u2015",
    THIN: "\u00a0\u2007\u2008\u2009\u200a\u202f",
    " ": "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u205f\u3000",
    "/": "\u2044\u2215",
    "×": "✕✖⋅·∙",
    "≈": "≃≅≐",
    "'": "’‘‛´ʼ",
    '"': "“”„«»",
    ".": "٫。",
    ",": "٬，、",
}
_PLAIN = _Plain()
for _plain_form, _others in _ALIKE.items():
    for _other in _others:
        _PLAIN[ord(_other)] = _plain_form
_PLAIN[ord("…")] = "..."
