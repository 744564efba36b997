"""The viewer: what its pages answer, whom it answers, and that no page of a large store is slow."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.store import open_store
from variantbench.plugins.store.pages import PAGE, Pages
from variantbench.plugins.viewer.filters import Filters, read_comparison, read_filters
from variantbench.plugins.viewer.serve import listen


@pytest.fixture
def get(address):
    def ask(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(address + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    return ask


def test_runs_are_listed(get, stored):
    status, page = get("")
    assert status == 200
    for run in (stored.study, stored.before, stored.after, stored.hostile):
        assert run in page
    assert "simulated-step-1000" in page


def test_filters_select_what_the_store_holds(get, stored):
    with open_store(stored.path) as store:
        records = list(store.records(stored.study))
    cases = [
        ("outcome=incorrect", lambda r: r["robust_verdict"] == "incorrect"),
        ("model=simulated-model-02&format=gsm", lambda r: (r["model"], r["format"]) == ("simulated-model-02", "gsm")),
        (f"template={records[0]['group_id']}", lambda r: r["group_id"] == records[0]["group_id"]),
        ("batch=Q3&outcome=correct", lambda r: r["batch"] == "Q3" and r["robust_verdict"] == "correct"),
        ("outcome=grades_differ", lambda r: r["robust_verdict"] != r["paper_verdict"]),
        ("outcome=cut_off", lambda r: r["finish_reason"] == "length"),
    ]
    for query, belongs in cases:
        status, page = get(f"answers?run={stored.study}&{query}")
        assert status == 200
        assert f'<p role="status">{sum(map(belongs, records)):,} answers.</p>' in page, query


def test_pages_lead_through_all_answers_once_and_back(stored):
    with open_store(stored.path) as store:
        expected = sorted(record["case_id"] for record in store.records(stored.study))
        pages, seen, after = Pages(store), [], ""
        while True:
            page = pages.answers(stored.study, [], after=after, before="")
            seen += [row["case_id"] for row in page[:PAGE]]
            if len(page) <= PAGE:
                break
            after = page[PAGE - 1]["case_id"]
        assert seen == expected
        back = pages.answers(stored.study, [], after="", before=expected[200])
        assert [row["case_id"] for row in back] == expected[200 - PAGE - 1 : 200]


def test_an_answer_is_shown_with_all_that_is_known_of_it(get, stored):
    case = quote("case[script&1]", safe="")
    status, page = get(f"answer?run={stored.hostile}&case={case}")
    assert status == 200
    for words in ("&lt;script&gt;", "&lt;em&gt;method", "&lt;i&gt;shots", "printed", "length"):
        assert words in page
    assert "<script" not in page
    assert 'onerror="' not in page


def test_a_long_answer_is_cut_until_all_of_it_is_asked_for(get, stored):
    case = quote("case[long&0]", safe="")
    _, short = get(f"answer?run={stored.hostile}&case={case}")
    _, full = get(f"answer?run={stored.hostile}&case={case}&full=1")
    _, plain = get(f"text?run={stored.hostile}&case={case}")
    assert len(short) < 60_000 < 1_000_000 < len(full)
    assert "Show all 1,000,000 characters" in short
    assert plain == "x" * 1_000_000


def test_two_runs_are_compared_question_by_question(get, stored):
    with open_store(stored.path) as store:
        right = [
            {r["id"] for r in store.records(run) if r["robust_verdict"] == "correct"}
            for run in (stored.before, stored.after)
        ]
    for flip, count in (("lost", len(right[0] - right[1])), ("won", len(right[1] - right[0])), ("any", 216)):
        status, page = get(f"compare?first={stored.before}&second={stored.after}&flip={flip}")
        assert status == 200
        assert f"{count:,} pairs of answers" in page
    link = page[page.index('href="pair?') + 6 :].split('"')[0].replace("&amp;", "&")
    status, pair = get(link)
    assert status == 200
    assert "simulated-step-1000" in pair
    assert "simulated-step-2000" in pair


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("answers?run=nowhere", "no run nowhere in "),
        ("answers?run={study}&outcome=maybe", "outcome 'maybe' is not known: choose from correct"),
        ("answers?run={study}&colour=red", "no filter 'colour': there are run, model"),
        ("answers?run={study}&model=' or 1=1 --", 'has no model "\' or 1=1 --": there are simulated-model-01'),
        ("answers?run={study}&after=%00", "filter after: at most 300 characters, none of them null"),
        ("answers?run={study}&batch=" + "x" * 5000, "filter batch: at most 300 characters"),
        ("answer?run={study}&case=../../etc/passwd", "no answer to '../../etc/passwd' in run"),
        ("answer?run={study}&case=%00", "no answer to "),
        ("answers?run={study}&after=nowhere", "no answer to 'nowhere' in run"),
        ("compare?first={study}&second=nowhere", "no run nowhere in "),
        ("compare?flip=sideways", "flip 'sideways' is not known: choose from lost"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(get, stored, path, line):
    status, answer = get(quote(path.replace("{study}", stored.study), safe="/?&=%"))
    assert status == 400
    assert answer.startswith("variantbench: ")
    assert answer.count("\n") == 1
    assert line in answer


def test_only_who_has_the_address_gets_an_answer(address):
    where = urlsplit(address)

    def ask(path: str, host: str | None = None) -> int:
        connection = HTTPConnection(where.hostname, where.port)
        connection.request("GET", path, headers={"Host": host} if host else {})
        status = connection.getresponse().status
        connection.close()
        return status

    assert ask(where.path) == 200
    assert ask("/") == 404
    assert ask("/wrong-token/answers") == 404
    assert ask(where.path, host="evil.example") == 400  # a page that has its name resolve to this machine
    assert where.hostname == "127.0.0.1"
    assert len(where.path) >= 22


def test_every_page_forbids_scripts_and_strangers(address):
    for path in ("", "compare", "style.css"):
        with urllib.request.urlopen(address + path, timeout=30) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "script-src" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match=r"--port \d+ cannot be had"):
        listen(taken.getsockname()[1])


def test_a_store_that_is_not_there_is_one_line(tmp_path):
    command = [sys.executable, "-m", "variantbench.plugins.cli", "view", "--store", str(tmp_path / "none.db")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("variantbench: no store at ")
    assert done.stderr.count("\n") == 1


def test_a_view_is_its_query():
    filters = read_filters({"run": "r", "model": "a&b", "outcome": "", "template": "0001"})
    assert filters == Filters(run="r", model="a&b", template="0001")
    assert filters.query(after="x y") == "run=r&model=a%26b&template=0001&after=x+y"
    assert read_comparison({"first": "a"}).flip == "lost"


@pytest.mark.skipif(os.environ.get("VARIANTBENCH_SLOW") != "1", reason="VARIANTBENCH_SLOW=1 writes 510,000 answers")
def test_no_page_of_runs_of_a_quarter_of_a_million_answers_takes_a_fifth_of_a_second():
    script = Path(__file__).parents[2] / "perf" / "viewer_speed.py"
    done = subprocess.run([sys.executable, str(script), "--most", "200"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "two runs of 255,000 answers" in done.stdout
