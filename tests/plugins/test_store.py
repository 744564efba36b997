"""The store: what goes in comes out, once; what is wrong with a file is said."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest
from sqlalchemy import text

from variantbench.plugins.datatypes import (
    Completion,
    Decoding,
    Extraction,
    ExtractionStatus,
    FinishReason,
    Grade,
    Item,
    Prompt,
    Record,
    Verdict,
)
from variantbench.plugins.errors import StoreError
from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.terminal import accuracy_lines
from variantbench.plugins.store import open_store, schema
from variantbench.plugins.store.frame import answers_and_questions
from variantbench.plugins.store.rows import record_rows
from variantbench.plugins.store.store import shown_url

PROMPT = Prompt("0001-base", "gsm", "eight shots\n\n", "Q: How many?", Decoding(16))
DONE = Completion("It is 7.\x00 \ud800 ü", FinishReason.END, 12, 5, "scripted", "b1", 0.5)


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    opened.add_model("identity", "some-model", {"hub": "x/y"})
    opened.add_texts([PROMPT.prefix])
    yield opened
    opened.close()


def add(store, *keys, completion=DONE):
    store.add_completions([(key, PROMPT, completion) for key in keys], model_identity="identity", settings={"a": 1})


def record(variant: int, verdict: Verdict, key: str = "k") -> Record:
    item = Item(f"0001-{variant}", "gsm", "0001", "How many?", "7", variant)
    grade = Grade(verdict, Extraction(ExtractionStatus.OK, "7", "last number"))
    return Record(f"case-{variant}", "some-model", item, PROMPT, DONE, grade, grade, "1", key)


def test_a_completion_comes_back_as_it_was(store):
    plain = replace(DONE, text="It is 7.\n\nQ: ü")
    add(store, "k1", "k2", completion=plain)
    assert store.completions(["k1", "k3"]) == {"k1": plain}


def test_how_it_was_asked_is_kept(store, tmp_path):
    asked = replace(PROMPT, chat=True, seed=3, decoding=Decoding(16, 0.7))
    store.add_completions(
        [("k1", asked, replace(DONE, text="yes"))], model_identity="identity", settings={"device": "cpu"}
    )
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        (settings,) = connection.execute("select settings from completions").fetchone()
    expected = {"max_new_tokens": 16, "temperature": 0.7, "top_p": 1.0, "stops": []}
    assert json.loads(settings) == {"device": "cpu", "decoding": expected, "seed": 3, "chat": True}


def test_hostile_text_is_kept(store):
    strange = replace(DONE, text="\x00 \u202e <script>alert(1)</script> \x1b[31m \ud800" + "x" * 100_000)
    add(store, "k1", completion=strange)
    assert store.completions(["k1"])["k1"].text == strange.text


def test_many_keys_are_asked_in_slices(store):
    add(store, *(f"k{n}" for n in range(1500)))
    assert len(store.completions(f"k{n}" for n in range(2000))) == 1500


def test_the_first_completion_under_a_key_stays(store):
    add(store, "k1")
    add(store, "k1", completion=replace(DONE, text="another"))
    assert store.completions(["k1"])["k1"].text == DONE.text


def test_prefixes_are_stored_once(store, tmp_path):
    add(store, *(f"k{n}" for n in range(50)))
    store.add_texts([PROMPT.prefix, PROMPT.prefix])
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        assert connection.execute("select count(*) from texts").fetchone() == (1,)
        assert "eight shots" not in str(connection.execute("select * from completions").fetchall())


def test_records_make_a_report(store):
    add(store, "k")
    store.start_run("run-1", {"models": [{"name": "some-model"}]})
    verdicts = [Verdict.CORRECT, Verdict.CORRECT, Verdict.INCORRECT, Verdict.NO_ANSWER, Verdict.ERROR]
    records = [record(n, verdict, "k" if verdict is not Verdict.ERROR else "") for n, verdict in enumerate(verdicts)]
    store.add_records("run-1", [record_rows(each) for each in records])
    store.add_records("run-1", [record_rows(each) for each in records])  # twice is once
    base, variants = accuracy(*answers_and_questions(store, "run-1")).lines
    assert (base.part, base.counts[Verdict.CORRECT], base.judged) == ("base", 1, 1)
    assert (variants.part, variants.counts[Verdict.CORRECT], variants.judged, variants.not_judged) == (
        "variants",
        1,
        3,
        1,
    )
    assert variants.accuracy.estimate == pytest.approx(1 / 3)
    lines = list(accuracy_lines(accuracy(*answers_and_questions(store, "run-1"))))
    assert any("1/3" in line and "1 not judged, 1 no answer" in line for line in lines)
    assert any("difference" in line and "-66.7 pp" in line for line in lines)
    assert max(map(len, lines)) <= 100


def test_items_with_doubtful_labels_are_counted_and_can_be_left_out(store):
    add(store, "k")
    store.start_run("run-1", {"models": []})
    records = [record(n, Verdict.CORRECT) for n in range(1, 5)]
    noted = [("label: may be wrong",), ("wording: odd",), (), ("label: one too small",)]
    records = [replace(r, item=replace(r.item, notes=notes)) for r, notes in zip(records, noted, strict=True)]
    store.add_records("run-1", [record_rows(each) for each in records])
    (line,) = accuracy(*answers_and_questions(store, "run-1")).lines
    assert (line.judged, line.doubtful_labels) == (4, 2)
    assert any("2 labels in doubt" in text for text in accuracy_lines(accuracy(*answers_and_questions(store, "run-1"))))
    (line,) = accuracy(*answers_and_questions(store, "run-1", with_doubtful_labels=False)).lines
    assert (line.judged, line.doubtful_labels) == (2, 0)


def test_runs_are_listed_newest_first_with_their_records(store):
    store.start_run("run-1", {"models": []})
    store.start_run("run-2", {"models": []})
    store.finish_run("run-1", "complete", {"models": [], "more": 1})
    runs = {run["id"]: run for run in store.runs()}
    assert runs["run-1"]["status"] == "complete"
    assert runs["run-1"]["manifest"]["more"] == 1
    assert runs["run-2"]["status"] == "running"
    assert store.find_run("run-1")["id"] == "run-1"
    with pytest.raises(StoreError, match="several runs begin with 'run': run-"):
        store.find_run("run")
    with pytest.raises(StoreError, match="no run nothing in .*: `variantbench runs` lists them"):
        store.find_run("nothing")


def test_the_answers_view_is_there_for_people_with_sql(store, tmp_path):
    add(store, "k", completion=replace(DONE, text="It is 7."))
    store.start_run("run-1", {"models": []})
    store.add_records("run-1", [record_rows(record(0, Verdict.CORRECT))])
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        row = connection.execute("select prompt_prefix, prompt_suffix, answer, target from answers").fetchone()
    assert row == (PROMPT.prefix, PROMPT.suffix, "It is 7.", "7")


def test_a_newer_schema_is_refused(store, tmp_path):
    with store.engine.begin() as connection:
        connection.execute(text(f"insert into schema_version values ({schema.CURRENT + 1}, 'later')"))
    with pytest.raises(StoreError, match=f"has schema {schema.CURRENT + 1}, this variantbench knows {schema.CURRENT}"):
        open_store(str(tmp_path / "runs.db"))


def test_opening_what_is_not_there_does_not_create_it(tmp_path):
    with pytest.raises(StoreError, match="no store at .*: run a benchmark first"):
        open_store(str(tmp_path / "none.db"), create=False)
    assert not (tmp_path / "none.db").exists()


def test_two_connections_write_at_once(store, tmp_path):
    other = open_store(str(tmp_path / "runs.db"))
    for n in range(50):
        add(store if n % 2 else other, f"k{n}")
    assert len(store.completions(f"k{n}" for n in range(50))) == 50
    other.close()


def test_many_open_a_new_store_at_once(tmp_path):
    code = "import sys; from variantbench.plugins.store import open_store; open_store(sys.argv[1]).close()"
    command = [sys.executable, "-c", code, str(tmp_path / "new.db")]
    opening = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[1] for process in opening] == [""] * 4
    assert [process.returncode for process in opening] == [0] * 4


def test_a_migration_that_was_cut_off_goes_on(store, tmp_path):
    with store.engine.begin() as connection:
        connection.execute(text("delete from schema_version where version > 1"))
    with open_store(str(tmp_path / "runs.db")) as again, again.engine.connect() as connection:
        version = connection.execute(text("select max(version) from schema_version")).scalar_one()
    assert version == schema.CURRENT


def test_passwords_are_not_kept():
    assert shown_url("postgresql+psycopg://me:secret@host/db") == "postgresql+psycopg://me:***@host/db"
    assert shown_url("some/file.db") == "some/file.db"
    assert "secret" not in command_line_of(
        ["--store=postgresql://me:secret@host/db", "--base-url", "http://a:secret@b/v1"]
    )


def command_line_of(arguments):
    return " ".join(map(shown_url, arguments))


def test_a_full_disk_is_said(store, monkeypatch):
    with store.engine.begin() as connection:
        pages = connection.execute(text("pragma page_count")).scalar()
        connection.execute(text(f"pragma max_page_count={pages}"))
    with pytest.raises(StoreError, match="cannot be written .*full.*: free the disk"):
        add(store, *(f"k{n}" for n in range(5000)))
