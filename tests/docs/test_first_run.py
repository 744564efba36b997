"""What the README shows of its two commands is what they printed."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import read_blocks

ROOT = Path(__file__).parent.parent.parent


def test_the_readme_shows_lines_of_the_first_run():
    printed = (ROOT / "docs" / "first-run.md").read_text("utf-8").splitlines()
    shown = [block for block in read_blocks(ROOT / "README.md", ROOT) if block.language == "text"]
    assert len(shown) == 2
    for block in shown:
        for line in block.text.splitlines():
            assert line in printed, f"{block.place}: not in docs/first-run.md: {line}"
