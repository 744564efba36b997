"""Every table of a report in LaTeX, as wide as the text; a table of many columns lies on its side.

It needs the packages array, booktabs, longtable, pdflscape and fontenc (T1), and any engine sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from variantbench.plugins.report.tables import Report, Table
from variantbench.plugins.report.values import heading, shown
from variantbench.plugins.report.visible import visible

# Characters that fit into a line: beyond the first, of a page on its side
_PORTRAIT = 88
_SIZES = ((r"\footnotesize", 75), (r"\scriptsize", 140), (r"\tiny", 10_000))
_WORD, _CELL, _CELL_AMONG_MANY, _MANY = 14, 22, 10, 12
_BREAK = "\x1f"  # where a long word may end its line; `visible` leaves none of a stranger's
_ESCAPES = {
    _BREAK: r"\allowbreak{}",
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
    '"': r"\textquotedbl{}",
    "-": "{-}",  # two would be a dash
    "`": "{`}",  # the same of quotes
    "'": "{'}",
    "−": r"$-$",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "→": r"$\to$",
    "∞": r"$\infty$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "σ": r"$\sigma$",
    "²": r"$^2$",
    "…": r"\ldots{}",
    "●": r"$\bullet$",
    "“": "``",
    "”": "''",
    "’": "'",
    "⟨": r"\textless{}",
    "⟩": r"\textgreater{}",
}
_LONG_WORD = re.compile(r"(\w{12})(?=\w{3})|(?<=[_/])(?=\w)")
_SET = re.compile(r"[\x20-\x7eÀ-ÖØ-öø-ÿŒœŠšŽž]")  # letters that T1 has


def latex(report: Report) -> str:
    """All tables that a page shows rows of, each a longtable with its own caption and label."""
    lines = [
        r"% \usepackage[T1]{fontenc}\usepackage{array,booktabs,longtable,pdflscape}; "
        "made by variantbench, not by hand"
    ]
    for table in report.tables():
        if table.rows:
            lines += _table(table)
    return "\n".join(lines) + "\n"


def _table(table: Table) -> Iterator[str]:
    widths = _widths(table)
    header = " & ".join(escaped(heading(column)) for column in table.columns)
    wide = sum(widths) > _PORTRAIT
    yield ""
    yield r"\begin{landscape}" if wide else r"\begingroup"
    yield next(size for size, most in _SIZES if sum(widths) <= most) + r"\setlength{\tabcolsep}{2pt}"
    yield rf"\begin{{longtable}}{{{''.join(_places(table, widths))}}}"
    yield rf"\caption{{{escaped(table.title)}}}\label{{tab:{table.name}}}\\"
    yield rf"\toprule {header} \\ \midrule \endhead"
    for row in table.rows[: table.shown]:
        yield " & ".join(escaped(shown(*pair)) for pair in zip(table.columns, row, strict=True)) + r" \\"
    yield r"\bottomrule"
    yield r"\end{longtable}"
    yield r"\end{landscape}" if wide else r"\endgroup"
    if len(table.rows) > table.shown:
        yield rf"% the first {table.shown:,} of {len(table.rows):,} rows"


def _widths(table: Table) -> list[int]:
    """How many characters each column is given: its longest word, and most cells in one line if that is short."""
    found, most = [], _CELL if len(table.columns) <= _MANY else _CELL_AMONG_MANY
    for place, column in enumerate(table.columns):
        cells = [shown(column, row[place]) for row in table.rows[: table.shown]]
        word = max(len(word) for text in (heading(column), *cells) for word in re.split(r"[\s/_-]", text))
        found.append(1 + max(4, min(word, _WORD), min(max(map(len, cells)), most)))
    return found


def _places(table: Table, widths: Sequence[int]) -> Iterator[str]:
    for column, width in zip(table.columns, widths, strict=True):
        side = "right" if column.is_text else "left"  # the side that is ragged
        share = rf"\dimexpr {width / sum(widths):.4f}\linewidth-2\tabcolsep\relax"
        yield rf">{{\ragged{side}\arraybackslash}}p{{{share}}}"


def escaped(text: str) -> str:
    """A text of one line in which nothing acts; what few fonts have is spelt out (``<U+0627>``)."""
    return "".join(map(_escaped, _LONG_WORD.sub(rf"\1{_BREAK}", visible(text, 300).replace("\n", " "))))


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if _SET.fullmatch(character) else rf"\textless{{}}U+{ord(character):04X}\textgreater{{}}"
