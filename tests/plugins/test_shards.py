"""Shards: parts of one selection that several machines ask at the same time, and one report over them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.logic import load_items as load_logic
from variantbench.plugins.errors import UserError
from variantbench.plugins.report.build import build_report
from variantbench.plugins.shards import items_of_shard, missing, parse_shard, wholes
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check
from variantbench.plugins.store.frame import frame

ITEMS = {"gsm": load_items(variants_per_template=2), "logic": load_logic()}


@given(st.sampled_from(sorted(ITEMS)), st.integers(1, 40))
def test_shards_are_disjoint_whole_groups_and_together_everything(benchmark, count):
    items = ITEMS[benchmark]
    shards = [items_of_shard(items, (place, count)) for place in range(1, count + 1)]
    assert sorted(item.id for shard in shards for item in shard) == sorted(item.id for item in items)
    groups = [{item.group for item in shard} for shard in shards]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
    assert shards == [items_of_shard(items, (place, count)) for place in range(1, count + 1)]


def test_a_logic_question_is_in_one_shard_in_all_its_wordings():
    for place in (1, 2, 3):
        rows = [item.id.split("-")[1] for item in items_of_shard(ITEMS["logic"], (place, 3))]
        assert {rows.count(row) for row in rows} == {4}


@pytest.mark.parametrize("wrong", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1 /2", "\u0661/\u0662"])
def test_what_is_no_shard_is_one_line(wrong):
    with pytest.raises(UserError, match=re.escape(f"--shard {wrong!r} is no shard: write I/N with I from 1 to N")):
        parse_shard(wrong)


def test_nonsense_ends_before_anything_loads(suite, script):
    result = suite(*script(default="1"), "--shard=3/2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --shard '3/2' is no shard: write I/N with I from 1 to N, such as 2/4"])


def run(name, shard, *, identity="i", seed=0):
    options = {"seed": seed, "shard": shard}
    return {"id": name, "manifest": {"options": options, "models": [{"name": "m", "identity": identity}]}}


def test_runs_are_one_only_if_they_are_different_shards_of_the_same():
    def names(*runs):
        return [[one["id"] for one in whole] for whole in wholes(runs)]

    assert names(run("a", "1/2"), run("b", "2/2")) == [["a", "b"]]
    assert names(run("a", "1/2"), run("b", "1/2"), run("c", "2/2")) == [["a", "c"], ["b"]]
    assert names(run("a", "1/2"), run("b", "2/3")) == [["a"], ["b"]]
    assert names(run("a", "1/2"), run("b", "2/2", seed=1)) == [["a"], ["b"]]
    assert names(run("a", "1/2"), run("b", "2/2", identity="other")) == [["a"], ["b"]]
    assert names(run("a", ""), run("b", "")) == [["a"], ["b"]]


def test_what_is_missing_is_said():
    assert list(missing([run("a", "1/3"), run("b", "3/3"), run("c", "")])) == [
        "a, b: shards 2 of 3 are not among the runs named"
    ]
    assert list(missing([run("a", "1/2"), run("b", "2/2")])) == []


@pytest.fixture
def postgres(needs):
    """A schema of its own in the database, so that whoever else uses it is left alone."""
    url = os.environ.get("VARIANTBENCH_POSTGRES", "")
    needs(bool(url), "no PostgreSQL: VARIANTBENCH_POSTGRES is not set")
    name = f"shards_{uuid.uuid4().hex[:12]}"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"create schema {name}"))
    yield f"{url}?options=-csearch_path%3D{name}"
    with engine.begin() as connection:
        connection.execute(text(f"drop schema {name} cascade"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return str(tmp_path / "runs.db") if request.param == "sqlite" else request.getfixturevalue("postgres")


def test_two_shards_at_the_same_time_are_one_report(url, tmp_path):
    script = tmp_path / "model.json"
    script.write_text(json.dumps({"default": "The final answer is 10.", "seconds": 0.02}))
    command = [sys.executable, "-m", "pytest", "--pyargs", "variantbench.benchmarks.test_gsm", "-p", "no:cacheprovider"]
    command += ["--engine=scripted", f"--model={script}", "--prompts=gsm", "-k", "test_gsm and not easy", "-q"]
    command += ["--sample=12", "--variants-per-template=3", "--no-html-report"]
    open_store(url).close()
    both = [
        subprocess.Popen(
            [*command, "-n1", f"--shard={place}/2", f"--store={url}"], cwd=tmp_path, stdout=subprocess.PIPE
        )
        for place in (1, 2)
    ]
    said = [process.communicate(timeout=120)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    whole = str(tmp_path / "whole.db")
    subprocess.run([*command, f"--store={whole}"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    with open_store(url) as store, open_store(whole) as alone:
        runs = [run["id"] for run in store.runs()]
        assert sorted(run["manifest"]["options"]["shard"] for run in store.runs()) == ["1/2", "2/2"]
        assert not check(store).faults
        answers, expected = frame(store, runs), frame(alone)
        assert set(answers["model"]) == {"model.json"}
        assert sorted(answers["item"]) == sorted(expected["item"])
        report, reference = build_report(store, runs), build_report(alone)
    sections = {section.name: section for section in report.sections}
    assert "history" not in sections
    assert sections["accuracy"] == {section.name: section for section in reference.sections}["accuracy"]
    shown = [sys.executable, "-m", "variantbench.plugins.cli", "report", "--store", url]
    merged = subprocess.run([*shown, *runs], capture_output=True, text=True, check=True)
    assert "not among the runs" not in merged.stderr
    one = subprocess.run([*shown, runs[0]], capture_output=True, text=True, check=True)
    assert re.search(r"shards [12] of 2 are not among the runs named", one.stderr)
