"""The loader of the authors' files, on files in their form with sentences of our own."""

import hashlib
import os
from pathlib import Path

import pytest

from variantbench.benchmarks.logic import few_shot_items, load_items, raganato, rejudge
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

FRAME = "Consider the following knowledge of a class of geometric figures: "
REQUEST = " Answer with yes or no only."

# What Q1 asks, and its label. The third label is wrong, the fourth row has the typos and blanks of the authors' files.
ROWS = (
    ("every square is thin. Is it certain that every square with two red sides is thin?", "yes"),
    ("every square is thin. Can there be a square with two thick sides?", "no"),
    ("there is a square; if a side is red, then it is thin. Is it certain that every square is thin?", "yes"),
    ("every  square is thin. Is it certain taht there is square with two red sides? ", "no"),
    ("every square is thin. Is every square thin?", "yes"),
    ("every square is thin. Is it certain that there is a square with two red sides is a circle?", "no"),
)
Q4 = (
    ("every square is thin. Can there be a square with two red sides which is not thin?", "no"),
    ("every square is thin. Is it certain that there is no square with two thick sides?", "yes"),
    ("there is a square; if a side is red, then it is thin. Can there be a square which is not thin?", "no"),
    ("every square is thin. Can there be no square with two red sides?", "yes"),
    ("every square is thin. Is no square thin?", "no"),
    ("every square is thin. Can there be a square with two red sides which is not a circle?", "yes"),
)
EXPLANATION = "every square has four sides; "


def lines(rows: tuple[tuple[str, str], ...], before: str = "", name: str = "square") -> str:
    # As in the published files, the last row does not end its line.
    return "\n".join(f"{FRAME}{(before + text).replace('square', name)}{REQUEST}\t{label}" for text, label in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part, rows in (("test", ROWS), ("dev", ROWS[:2])):
        (tmp_path / f"questions_en1_{part}.txt").write_text(lines(rows), encoding="utf-8")
        (tmp_path / f"questions_en2_{part}.txt").write_text(lines(rows, EXPLANATION), encoding="utf-8")
        (tmp_path / f"questions_en3_{part}.txt").write_text(lines(rows, EXPLANATION, "wusp"), encoding="utf-8")
        (tmp_path / f"questions_en4_{part}.txt").write_text(lines(Q4[: len(rows)]) + "\n", encoding="utf-8")
    return tmp_path


def by_id(folder: Path) -> dict[str, Item]:
    return {item.id: item for item in load_items(f"raganato:{folder}")}


def test_items_lose_the_frame_and_keep_label_batch_and_premise_set(folder: Path) -> None:
    items = by_id(folder)
    assert list(items) == [f"Q{batch}-{row:03d}" for batch in range(1, 5) for row in range(1, 7)]
    item = items["Q3-002"]
    assert item.question == "every wusp has four sides; every wusp is thin. Can there be a wusp with two thick sides?"
    assert (item.target, item.batch, item.variant, item.source) == ("no", "Q3", 2, "raganato")
    assert [items[f"Q1-00{row}"].group for row in range(1, 7)] == ["P01", "P01", "P02", "P01", "P01", "P01"]
    assert all(items[f"Q{batch}-003"].group == "P02" for batch in range(1, 5))


def test_examples_come_from_the_dev_file_of_the_batch(folder: Path) -> None:
    shots = few_shot_items(f"raganato:{folder}", batch="Q4")
    assert [(item.question, item.target) for item in shots] == list(Q4[:2])
    assert {item.id for item in shots} == {"Q4-shot1", "Q4-shot2"}


def test_rejudging_finds_the_wrong_label_and_reports_what_it_cannot_read(folder: Path) -> None:
    found = {one.item_id: one for one in rejudge(load_items(f"raganato:{folder}"))}
    assert len(found) == 24
    assert {name for name, one in found.items() if one.disagrees} == {"Q1-003", "Q2-003", "Q3-003", "Q4-003"}
    unread = {name: one.reason for name, one in found.items() if one.formal is None}
    assert {name[3:] for name in unread} == {"005", "006"}
    assert "neither for certainty nor for possibility" in unread["Q1-005"]
    assert "'is a circle'" in unread["Q1-006"]
    assert found["Q1-004"].formal == "no"


def test_wrong_label_is_noted_on_the_item_and_kept(folder: Path) -> None:
    items = by_id(folder)
    assert items["Q1-003"].target == "yes"
    assert items["Q1-003"].notes == ("the label disagrees with formal semantics, which says no (search)",)
    assert items["Q4-003"].notes == ("the label disagrees with formal semantics, which says yes (search)",)
    assert items["Q1-001"].notes == ()


def test_known_notes_belong_to_the_published_files_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raganato, "KNOWN_DISAGREEMENTS", {3: "no"})
    monkeypatch.setattr(raganato, "Q4_REMARKS", {1: "a remark"})
    assert by_id(folder)["Q1-003"].notes[0].endswith("(search)")
    for batch in "14":
        content = (folder / f"questions_en{batch}_test.txt").read_bytes()
        monkeypatch.setitem(raganato.PUBLISHED, f"Q{batch}", hashlib.sha256(content).hexdigest())
    items = by_id(folder)
    assert items["Q1-003"].notes == ("the label disagrees with formal semantics, which says no (known)",)
    assert items["Q4-003"].notes == ("the label disagrees with formal semantics, which says yes (known)",)
    assert items["Q4-001"].notes == ("a remark",)
    assert items["Q2-003"].notes[0].endswith("(search)")


def test_known_rows_of_the_published_files_are_the_eight_and_two_of_q4() -> None:
    q1, q4 = (
        {row: notes for row in range(1, 109) if (notes := list(raganato.known_notes(batch, row)))}
        for batch in ("Q1", "Q4")
    )
    assert sorted(q1) == [12, 16, 22, 34, 36, 37, 38, 98]
    assert sorted(q4) == [12, 16, 22, 34, 36, 37, 38, 98, 99]
    assert "says yes" in q1[12][0]
    assert "says no" in q4[12][0]
    assert "formally right here" in q4[22][0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "row 2: 1 columns where 2 are needed"),
        (f"{FRAME}there is a square. Can there be a circle?{REQUEST}", "row 2: 1 columns where 2 are needed"),
        (f"{FRAME}there is a square. Can there be a circle?{REQUEST}\tyes\tno", "row 2: 3 columns where 2 are needed"),
        (
            f"{FRAME}there is a square. Can there be a circle?{REQUEST}\tmaybe",
            "row 2: label 'maybe' where 'yes' or 'no'",
        ),
        (f"there is a square. Can there be a circle?{REQUEST}\tyes", "row 2: the prompt does not begin with 'Consider"),
        (f"{FRAME}there is a square. Can there be a circle?\tyes", "row 2: the prompt does not end with 'Answer with"),
        (f"{FRAME}Can there be a circle?{REQUEST}\tyes", "row 2: no full stop and blank between premises and question"),
    ],
)
def test_malformed_row_is_refused_with_file_row_and_reason(folder: Path, line: str, reason: str) -> None:
    path = folder / "questions_en2_test.txt"
    good = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([good[0], line, *good[2:]]), encoding="utf-8")
    with pytest.raises(UserError) as raised:
        load_items(f"raganato:{folder}")
    assert str(raised.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(raised.value)


def test_every_malformed_row_is_named(folder: Path) -> None:
    path = folder / "questions_en1_test.txt"
    path.write_text("\n".join(["bad"] * 12), encoding="utf-8")
    with pytest.raises(UserError, match=r"row 1: .*; row 10: .*; and 2 more"):
        load_items(f"raganato:{folder}")


def test_batches_of_different_length_are_refused(folder: Path) -> None:
    path = folder / "questions_en3_test.txt"
    path.write_text(lines(ROWS[:4], EXPLANATION, "wusp"), encoding="utf-8")
    with pytest.raises(UserError, match=r"questions_en3_test.txt: 4 rows, but Q1 has 6"):
        load_items(f"raganato:{folder}")


def test_missing_empty_and_undecodable_files_are_refused(folder: Path) -> None:
    path = folder / "questions_en4_test.txt"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"questions_en4_test.txt: cannot be read as UTF-8 text"):
        load_items(f"raganato:{folder}")
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"questions_en4_test.txt: no rows"):
        load_items(f"raganato:{folder}")
    path.unlink()
    with pytest.raises(UserError, match=r"questions_en4_test.txt: no such file"):
        load_items(f"raganato:{folder}")


def test_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        load_items(f"raganato:{tmp_path / 'absent'}")


def test_windows_line_ends_are_read(folder: Path) -> None:
    path = folder / "questions_en1_test.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert by_id(folder)["Q1-006"].target == "no"


@pytest.mark.skipif(
    "VARIANTBENCH_RAGANATO" not in os.environ, reason="needs the authors' files: VARIANTBENCH_RAGANATO=PATH"
)
def test_the_eight_known_disagreements_come_out_of_the_authors_files() -> None:
    items = load_items(f"raganato:{os.environ['VARIANTBENCH_RAGANATO']}")
    found = {int(one.item_id[3:]): one for one in rejudge(item for item in items if item.batch == "Q1")}
    read = {row for row, one in found.items() if one.formal is not None}
    assert len(read) >= 100
    assert {row for row in read if found[row].disagrees} == set(raganato.KNOWN_DISAGREEMENTS) & read


def test_rejudging_the_built_in_set_agrees_with_every_answer() -> None:
    found = rejudge(load_items())
    assert len(found) == 432
    assert all(one.formal == one.label for one in found)
