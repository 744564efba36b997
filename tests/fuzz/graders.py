"""Coverage-guided fuzzing of graders and template reader, by hand: pip install atheris; then, for two minutes,

    python -m tests.fuzz.graders graders -max_total_time=120
    cp -r benchmarks/gsm/templates /tmp/corpus; python -m tests.fuzz.graders templates /tmp/corpus -max_total_time=120

A finding is a file `crash-...` in this folder. Not part of CI: atheris has wheels for few Pythons.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["variantbench"]):
    from variantbench.benchmarks.gsm.items import template_items
    from variantbench.benchmarks.gsm.template import read_template
    from variantbench.plugins.datatypes import Completion, FinishReason, Item, Verdict
    from variantbench.plugins.errors import UserError
    from variantbench.plugins.grading import grade
    from variantbench.prompts.format import available_formats, load_format

FORMATS = [load_format(name) for name in available_formats()]


def graders(data: bytes) -> None:
    """Any text is graded, and never an ERROR of ours."""
    source = atheris.FuzzedDataProvider(data)
    form = FORMATS[source.ConsumeIntInRange(0, len(FORMATS) - 1)]
    text = source.ConsumeUnicode(4_000)
    item = Item("0001-base", "gsm", "0001", "How many?", "yes" if form.kind == "yesno" else "7", 0)
    grades = grade(item, form, Completion(text, FinishReason.END, 1, 1, "atheris"), None)
    assert form.kind == "code" or grades.robust.verdict is not Verdict.ERROR


def templates(data: bytes) -> None:
    """Any file is a template or refused in one line."""
    path = Path(tempfile.gettempdir()) / "atheris.toml"
    path.write_bytes(data)
    try:
        list(template_items(read_template(path), (), count=2, seed=0, scope="fuzz", benchmark="gsm"))
    except UserError as error:
        assert len(str(error).splitlines()) == 1, str(error)  # noqa: PT017 - no test of pytest


if __name__ == "__main__":
    target = {"graders": graders, "templates": templates}[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
