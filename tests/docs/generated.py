"""`docs/generate.py` as a module: `docs/` is no package, so it is loaded by its path."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PATH = Path(__file__).parent.parent.parent / "docs" / "generate.py"
_SPEC = importlib.util.spec_from_file_location("docs_generate", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
generate = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(generate)
