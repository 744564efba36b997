"""Every table of a report in LaTeX, for the packages booktabs and longtable."""

from __future__ import annotations

from collections.abc import Iterator

from variantbench.plugins.report.tables import Report, Table
from variantbench.plugins.report.values import heading, shown
from variantbench.plugins.report.visible import visible

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # behind a line's end it would be an argument
    "−": r"$-$",
    "–": "--",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "γ": r"$\gamma$",
    "…": r"\ldots{}",
    "●": r"$\bullet$",
    "⟨": r"\textless{}",
    "⟩": r"\textgreater{}",
}


def latex(report: Report) -> str:
    """All tables that a page shows rows of, each a longtable with its own caption and label."""
    lines = [r"% \usepackage{booktabs,longtable}; made by variantbench, not by hand"]
    for table in report.tables():
        if table.rows:
            lines += _table(table)
    return "\n".join(lines) + "\n"


def _table(table: Table) -> Iterator[str]:
    places = "".join("l" if column.is_text else "r" for column in table.columns)
    header = " & ".join(escaped(heading(column)) for column in table.columns)
    yield ""
    yield rf"\begin{{longtable}}{{{places}}}"
    yield rf"\caption{{{escaped(table.title)}}}\label{{tab:{table.name}}}\\"
    yield rf"\toprule {header} \\ \midrule \endhead"
    for row in table.rows[: table.shown]:
        yield " & ".join(escaped(shown(*pair)) for pair in zip(table.columns, row, strict=True)) + r" \\"
    yield r"\bottomrule"
    yield r"\end{longtable}"
    if len(table.rows) > table.shown:
        yield rf"% the first {table.shown:,} of {len(table.rows):,} rows"


def escaped(text: str) -> str:
    """A text of one line in which nothing acts."""
    return "".join(_ESCAPES.get(character, character) for character in visible(text, 300).replace("\n", " "))
