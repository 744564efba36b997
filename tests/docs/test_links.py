"""Links and file names in the pages lead somewhere, as read in the repository; the site has a check of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_NAMED = re.compile(r"`((?:benchmarks|docs|docker|plugins|prompts|stats|tests)/[\w./-]*)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs both make them of plain words."""
    words = (re.sub(r"[`*.,:?'()/]", "", heading).lower() for heading in _HEADING.findall(path.read_text("utf-8")))
    return {re.sub(r"[^\w-]+", "-", text).strip("-") for text in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = _FENCED.sub("", page.read_text("utf-8"))
    for link in _LINK.findall(text):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page}: {link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{page}: {link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_named_are_there(page):
    for name in _NAMED.findall(page.read_text("utf-8")):
        assert (ROOT / name).exists(), f"{page} names {name}, which is not there"
