"""A hook of MkDocs: the documents at the repository's root are pages of the site, and links to them lead there.

The pages are written for readers of the repository (``../SECURITY.md`` in ``docs/sandbox.md``, ``docs/gate.md`` in the
README), where every link works as it stands. On the site all lie in one tree, so links are turned while it is built.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
_LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the documents at the root."""
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links between the repository's root and ``docs/``."""
    own = page.file.src_uri
    folder = "" if own in PAGES else posixpath.dirname(posixpath.join("docs", own))

    def turned(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        place = path.removeprefix("docs/") if path.startswith("docs/") or path in PAGES else path
        return f"]({posixpath.relpath(place, posixpath.dirname(own) or '.')}{link[2] or ''})"

    return _LINK.sub(turned, markdown)
