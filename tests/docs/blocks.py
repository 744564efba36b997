"""The fenced blocks of a page, and what the comment above each says of how it is run.

* ``bash``: commands, run one by one in the page's folder; exit status 0 is expected.
* ``python``: run with the page's earlier Python blocks before it.
* any block with ``title="NAME"``: a file of that name in the page's folder.
* ``<!-- exit status: N -->`` above a block: its last command ends so.
* ``<!-- output -->`` above a ``text`` block: the commands before it printed this. ``...`` stands for any text, on a
  line of its own for any lines; run ids and seconds may differ.
* ``<!-- not run: REASON -->`` above a block: parsed only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"(?:^<!-- (?P<comment>(?:not run|exit status|output)[^>]*?) -->\n\n?)?"
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is where its fence stands."""

    page: str
    line: int
    language: str
    title: str
    text: str
    reason: str  # why it is not run
    status: int
    is_output: bool

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """The commands of a ``bash`` block: comments left out, continued lines joined."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        return [command for line in lines if (command := re.sub(r"(^|\s+)# .*$", "", line).strip())]


def read_blocks(path: Path, root: Path) -> list[Block]:
    """Every fenced block of a page in order."""
    text = path.read_text("utf-8")
    fences = len(re.findall(r"^```\w", text, re.MULTILINE))
    found = [_block(path.relative_to(root).as_posix(), text, match) for match in _FENCE.finditer(text)]
    assert len(found) == fences, f"{path}: {fences} fences, {len(found)} of them read: how is the other one written?"
    return found


def _block(page: str, text: str, match: re.Match[str]) -> Block:
    kind, _, said = (match["comment"] or "").partition(":")
    return Block(
        page=page,
        line=text.count("\n", 0, match.start("language")) + 1,
        language=match["language"],
        title=match["title"] or "",
        text=match["text"],
        reason=said.strip() if kind == "not run" else "",
        status=int(said) if kind == "exit status" else 0,
        is_output=kind == "output",
    )
