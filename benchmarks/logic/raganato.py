"""Reads the authors' files of the study (Raganato, Peñaloza, Viviani and Pasi, arXiv 2505.00776).

They have no licence and so are not shipped.

A folder holds `questions_en{1..4}_{test,dev}.txt`: UTF-8, no header, one row a line, the full prompt and yes or no,
parted by a tab. The answers are taken as the files give them. Where an answer is known to differ from formal
semantics, or where the search says so, a note of the item tells it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from variantbench.benchmarks.logic.batches import BATCHES
from variantbench.benchmarks.logic.rejudge import judge
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

FRAME = "Consider the following knowledge of a class of geometric figures: "
REQUEST = "Answer with yes or no only."
SHOWN = 10  # rows named in one error message

# sha256 of the published test files (commit 74c4e28 of ikr3-lab/ReasoningLLMs): known notes belong to these rows only.
PUBLISHED = {
    "Q1": "65264b873d6fb2dd2a7f9aa2ec1b4f63a36af6f4cf617657e8bce7c678f520de",
    "Q2": "293d9451178d011b5e7b79a9695268f1185b2b8407e60e955bf74ffab46d6824",
    "Q3": "04b6812f549003e5e8bcb92fe5b4ad504eb7581cc16eb55e711da93ab66f78f1",
    "Q4": "7a75ea64525b97771398d4faded2f6296327f0ad241764edf34d42567adc5c04",
}
# Row: what formal semantics says in Q1 to Q3. Found by an earlier search over the published files.
KNOWN_DISAGREEMENTS = {12: "yes", 16: "no", 22: "yes", 34: "no", 36: "yes", 37: "yes", 38: "no", 98: "no"}
Q4_REMARKS = {
    22: "the answer is formally right here, and not the opposite of Q1's",
    99: "the question is not the negation of Q1's; it repeats that of row 105",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file, the frame taken off."""

    question: str
    label: str


def load_folder(folder: Path) -> tuple[Item, ...]:
    """All items of the four test files, batch by batch. Raises UserError naming file, row and reason."""
    rows = {batch: read_rows(folder / _name(batch, "test")) for batch in BATCHES}
    for batch in BATCHES[1:]:
        if len(rows[batch]) != len(rows["Q1"]):
            raise UserError(
                f"{folder / _name(batch, 'test')}: {len(rows[batch])} rows, but Q1 has {len(rows['Q1'])};"
                " row i must be the same item in every batch"
            )
    groups = _groups(rows["Q1"])
    return tuple(
        item
        for batch in BATCHES
        for item in _items(rows[batch], batch, groups, "{batch}-{row:03d}", _is_published(folder, batch))
    )


def load_examples(folder: Path, batch: str) -> tuple[Item, ...]:
    """The examples of the dev file of a batch."""
    rows = read_rows(folder / _name(batch, "dev"))
    return _items(rows, batch, ["S" + group[1:] for group in _groups(rows)], "{batch}-shot{row}", published=False)


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of one file. Every malformed row is named; none is dropped."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; the folder must hold questions_en1_test.txt and its like") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    if lines[-1] == "":
        lines.pop()  # the last row may or may not end its line
    rows: list[Row] = []
    wrong: list[str] = []
    for number, line in enumerate(lines, start=1):
        row = _row(line.removesuffix("\r"))
        if isinstance(row, Row):
            rows.append(row)
        else:
            wrong.append(f"row {number}: {row}")
    if wrong or not rows:
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise UserError(f"{path}: {'; '.join(wrong[:SHOWN]) or 'no rows'}{more}")
    return tuple(rows)


def _row(line: str) -> Row | str:
    """The row, or why it is none."""
    cells = line.split("\t")
    if len(cells) != 2:
        return f"{len(cells)} columns where 2 are needed (prompt, tab, yes or no)"
    prompt, label = cells[0].strip(), cells[1].strip()
    if label not in ("yes", "no"):
        return f"label {label!r} where 'yes' or 'no' is needed"
    if not prompt.startswith(FRAME.strip()):
        return f"the prompt does not begin with {FRAME.strip()!r}"
    if not prompt.endswith(REQUEST):
        return f"the prompt does not end with {REQUEST!r}"
    question = prompt.removeprefix(FRAME.strip()).removesuffix(REQUEST).strip()
    if ". " not in question:
        return "no full stop and blank between premises and question"
    return Row(question, label)


def _items(rows: Sequence[Row], batch: str, groups: Sequence[str], name: str, published: bool) -> tuple[Item, ...]:
    items = (
        Item(
            id=name.format(batch=batch, row=number),
            benchmark="logic",
            group=group,
            question=row.question,
            target=row.label,
            variant=BATCHES.index(batch),
            batch=batch,
            source="raganato",
        )
        for number, (row, group) in enumerate(zip(rows, groups, strict=True), start=1)
    )
    return tuple(replace(item, notes=_notes(item, row, published)) for row, item in enumerate(items, start=1))


def _notes(item: Item, row: int, published: bool) -> tuple[str, ...]:
    """What is known of the row, and what the search finds, if that is more."""
    known = tuple(known_notes(str(item.batch), row)) if published else ()
    judgement = judge(item)
    found = f"{_disagreement(judgement.formal)} (search)" if judgement.disagrees else None
    return known if known or found is None else (found,)


def known_notes(batch: str, row: int) -> Iterable[str]:
    """The notes that belong to a row of the published files."""
    if batch == "Q4" and row in Q4_REMARKS:
        yield Q4_REMARKS[row]
    elif row in KNOWN_DISAGREEMENTS:
        formal = KNOWN_DISAGREEMENTS[row]
        yield f"{_disagreement({'yes': 'no', 'no': 'yes'}[formal] if batch == 'Q4' else formal)} (known)"


def _disagreement(formal: str | None) -> str:
    return f"the label disagrees with formal semantics, which says {formal}"


def _is_published(folder: Path, batch: str) -> bool:
    return hashlib.sha256((folder / _name(batch, "test")).read_bytes()).hexdigest() == PUBLISHED[batch]


def _groups(rows: Iterable[Row]) -> list[str]:
    """The premise sets, numbered as they come."""
    numbers: dict[str, int] = {}
    premises = [" ".join(row.question.rpartition(". ")[0].split()) for row in rows]
    return [f"P{numbers.setdefault(given, len(numbers) + 1):02d}" for given in premises]


def _name(batch: str, part: str) -> str:
    return f"questions_en{batch[1]}_{part}.txt"
