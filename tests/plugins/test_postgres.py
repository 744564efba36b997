"""The store on PostgreSQL, where CI has started one (VARIANTBENCH_POSTGRES names it; the tests may empty it)."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt
from variantbench.plugins.errors import StoreError, UserError
from variantbench.plugins.exchange.importing import import_logs
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check

PROMPT = Prompt("0001-base", "gsm", "eight shots\n\n", "Q: How many?", Decoding(16))
DONE = Completion("It is 7.\x00 \ud800 ü", FinishReason.END, 12, 5, "scripted", "b1", 0.5)


@pytest.fixture
def url(needs) -> str:
    url = os.environ.get("VARIANTBENCH_POSTGRES", "")
    needs(bool(url), "no PostgreSQL: VARIANTBENCH_POSTGRES is not set")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    engine.dispose()
    return url


def add(store, *keys):
    rows = [(key, PROMPT, replace(DONE, text=f"{DONE.text} {key}")) for key in keys]
    store.add_completions(rows, model_identity="identity", settings={})


def opened(url):
    store = open_store(url)
    store.add_model("identity", "some-model", {})
    store.add_texts([PROMPT.prefix])
    return store


def test_any_text_comes_back_as_it_was(url):
    with opened(url) as store:
        add(store, "k1")
        assert store.completions(["k1"])["k1"].text == "It is 7.\x00 \ud800 ü k1"


def test_opening_twice_keeps_what_is_there(url):
    with opened(url) as store:
        add(store, "k1")
    with opened(url) as store:
        assert set(store.completions(["k1"])) == {"k1"}


def test_several_writers_at_once_lose_nothing(url):
    opened(url).close()
    keys = [f"k{n}" for n in range(200)]

    def write(some):
        with opened(url) as store:
            for key in some:
                add(store, key)

    # every key is written by two writers
    writers = [threading.Thread(target=write, args=(keys[start::2] + keys[1 - start :: 2][:50],)) for start in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with opened(url) as store:
        assert set(store.completions(keys)) == set(keys)


def test_a_wrong_password_is_one_line(url):
    wrong = url.replace(":variantbench@", ":wrong@")
    with pytest.raises(StoreError, match=r"cannot be opened \(.*password.*\): check that it is a variant") as caught:
        open_store(wrong)
    assert "\n" not in str(caught.value)


def test_a_run_on_postgresql(url, suite, script):
    result = suite(*script(default="The final answer is 10."), "-n2", f"--store={url}")
    assert result.ret == 0
    again = suite(*script(default="The final answer is 10."), f"--store={url}")
    again.stdout.fnmatch_lines(["*12 of them are in the store already, 0 to generate*"])


def test_a_log_is_imported_whole_or_not_at_all(url, tmp_path):
    odd = 'It is "1".\0 \ud800'
    rows = [{"item": f"q{n}", "correct": n % 2, "answer": odd, "prompt": f"Q{n}"} for n in range(3_000)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(url) as store:
        done = import_logs(store, [path])
        stored = list(store.records(done.run_id))
        assert len(stored) == done.answers == 3_000
        assert {row["text"] for row in stored} == {odd}
        assert check(store).faults == ()
        with path.open("a") as file:
            file.write("cut off")
        with pytest.raises(UserError, match="log.jsonl:3001: not JSON"):
            import_logs(store, [path])
        assert [run["id"] for run in store.runs()] == [done.run_id]
