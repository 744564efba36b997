"""Tables in LaTeX, as pdflatex sets them: all of a report, and whatever a model may be called."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from variantbench.plugins.report.build import build_report
from variantbench.plugins.report.files import render
from variantbench.plugins.report.latex import escaped
from variantbench.plugins.store import open_store

DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}\usepackage{array,booktabs,longtable,pdflscape}
\begin{document}
%s
\end{document}
"""


@pytest.fixture
def compiled(needs, tmp_path):
    """Compiles a body, and gives back what pdflatex has said."""
    needs(shutil.which("pdflatex") is not None, "no pdflatex: apt-get install texlive-latex-recommended")

    def run(body: str) -> str:
        (tmp_path / "all.tex").write_text(DOCUMENT % body)
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
        assert done.returncode == 0, done.stdout[-3000:]
        assert (tmp_path / "all.pdf").stat().st_size > 5_000
        return done.stdout

    return run


@pytest.mark.parametrize("name", ["study", "history", "hostile"])
def test_every_table_of_a_report_compiles(compiled, stored, name):
    runs = {"study": [stored.study], "history": [stored.before, stored.after], "hostile": [stored.hostile]}[name]
    with open_store(stored.path) as store:
        report = build_report(store, runs)
    text = render(report, "latex")
    said = compiled(text)
    assert text.count(r"\begin{longtable}") == sum(bool(one.rows) for one in report.tables()) > 5
    assert "Missing character" not in said
    assert _too_wide(said) < 2  # points: no table leaves the page


def _too_wide(said: str) -> float:
    return max(map(float, re.findall(r"Overfull \\hbox \((\d+\.\d+)pt too wide\) in alignment", said)), default=0.0)


def test_any_name_of_a_model_compiles_as_text(compiled, hostile_texts):
    letters = "".join(map(chr, range(0x20, 0x250)))
    names = ["a_b/c%d&e#f$g~h^i{j}k\\l", "--``''--", "模型-العربية-😀", letters, *hostile_texts.values()]
    said = compiled("\n\n".join(map(escaped, names)))
    assert "Missing character" not in said
    assert "U+6A21" in escaped("模型")
    assert escaped("Müller–2") == "Müller--2"
