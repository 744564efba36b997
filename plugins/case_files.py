"""Files of cases, one JSON object a line: what `variantbench cases` and `sandbox cases` read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from variantbench.plugins.errors import UserError

Case = TypeVar("Case")


def read_cases(path: Path, case_of: Callable[[Any], Case], *, shape: str) -> list[Case]:
    """Every line as a case; UserError names the first line that is none, and the keys that one has."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"case file {path} cannot be read: {error}") from None
    cases = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                cases.append(case_of(json.loads(line)))
            except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
                raise UserError(
                    f"{path}:{number}: no case ({type(error).__name__}: {error}): a case is a JSON object with {shape}"
                ) from None
    return cases
