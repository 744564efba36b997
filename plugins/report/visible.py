"""Text of strangers as it can be shown: nothing in it acts, and nothing in it hides."""

from __future__ import annotations

import re

# What no page can hold, or what makes a text look other than it is: controls, directional marks, lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str, most: int | None = None) -> str:
    """The text with what cannot be seen spelt out (``⟨U+202E⟩``), cut at ``most``, saying how much follows."""
    cut = text if most is None or len(text) <= most else text[:most]
    shown = _HIDDEN.sub(_spelt, cut)
    return shown if cut is text else f"{shown}\n… {len(text) - len(cut):,} more characters"


def _spelt(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"
