"""What a run says when it ends, and the report that it leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from variantbench.plugins.generation.channel import Message
from variantbench.plugins.progress import Progress
from variantbench.plugins.report.place import html_place

ANSWER = "The final answer is 10."


def test_a_run_ends_with_words_and_the_path_of_its_report(suite, script, pytester):
    done = suite(*script(default=ANSWER), html=True)
    assert done.ret == 0
    [path] = re.findall(r"^report in (.+)$", done.stdout.str(), re.MULTILINE)
    page = pytester.path / path
    assert "Are variants harder" in page.read_text()
    assert done.stdout.str().index("in words") < done.stdout.str().index("report in")
    done.stdout.fnmatch_lines(["    gsm   gsm             *", "    gsm   simple_nl       *"])


def test_no_report_is_drawn_where_none_is_wanted(suite, script, pytester):
    done = suite(*script(default=ANSWER), "--no-html-report")
    assert "report in" not in done.stdout.str()
    assert not list(pytester.path.rglob("*.html"))


def test_a_report_that_cannot_be_written_fails_no_run(suite, script, pytester):
    (pytester.path / ".variantbench").mkdir()
    (pytester.path / ".variantbench" / "reports").write_text("in the way")
    done = suite(*script(default=ANSWER), html=True)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["the report could not be made (UserError: *cannot be written*report * tries*"])


def test_progress_says_how_many_are_right_and_what_took_longest():
    said: list[str] = []
    progress = Progress(said.append, models=1)
    progress.hear(Message(event="submitted", ids=[f"case{n}" for n in range(40)]))
    progress.hear(Message(event="loaded", model="m", engine={}))
    for verdict in ("correct", "incorrect", "no_answer", "error", "correct"):
        progress.graded(verdict)
    progress.hear(Message(event="answered", how="generated", ids=[f"case{n}" for n in range(20)]))
    assert said[-1].startswith("20 generated, ")
    assert said[-1].endswith(", 50% right so far")
    assert progress.slowest() == ""
    progress.steps = {"loading m": 3.0, "generating with m": 100.0}
    assert progress.slowest() == "slowest step: generating with m, 2 min of 2 min"


@pytest.mark.parametrize(
    ("store", "place"),
    [
        ("data/runs.db", "data/reports/r.html"),
        ("sqlite:////data/x/runs.db", "/data/x/reports/r.html"),
        ("sqlite:///data/runs.db", "data/reports/r.html"),
        ("postgresql+psycopg://me:secret@host/db", ".variantbench/reports/r.html"),
    ],
)
def test_the_report_lies_beside_the_store_however_it_is_named(store, place):
    assert html_place(store, "r") == Path(place)
