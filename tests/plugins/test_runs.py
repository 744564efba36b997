"""`variantbench runs`, `store`, `baseline`, `compare`, `noise`: upkeep of what is stored."""

from __future__ import annotations

import gzip
import json

import pytest
import scipy.stats  # noqa: F401 - pytester forgets what a test imports, and numpy cannot be imported twice
from click.testing import CliRunner
from sqlalchemy import text

from variantbench.plugins.baseline import load_run, set_baseline
from variantbench.plugins.cli import variantbench
from variantbench.plugins.errors import StoreError, UserError
from variantbench.plugins.gate import with_noise
from variantbench.plugins.policy import Policy
from variantbench.plugins.run_files import export_run, read_run
from variantbench.plugins.store import open_store, schema
from variantbench.plugins.store.check import check


@pytest.fixture
def folder(suite, script, pytester, monkeypatch):
    """A folder with two stored runs."""
    options = script(answers={"1.0": "The final answer is 10.", "2.1": "The final answer is 21."})
    suite(*options)
    suite(*options, "--fresh")
    monkeypatch.chdir(pytester.path)
    return pytester.path


@pytest.fixture
def store(folder):
    with open_store(str(folder / ".variantbench" / "runs.db")) as opened:
        yield opened


def invoke(*arguments):
    return CliRunner().invoke(variantbench, arguments)


def test_runs_are_listed(folder):
    lines = invoke("runs").output.splitlines()
    assert len(lines) == 2
    assert all("complete" in line and "12 answers" in line for line in lines)


def test_a_run_is_shown(store):
    output = invoke("runs", "show").output
    assert f"run {store.find_run()['id']}: complete, 12 answers" in output
    assert "scripted" in output
    assert json.loads(invoke("runs", "show", "--json").output)["records"] == 12


def test_a_run_is_shown_without_lines_that_say_nothing(store):
    store.start_run("99990101-imported", {"models": [{"name": "some-model"}]})
    lines = invoke("runs", "show", "9999").output.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "started", "model"]


@pytest.mark.parametrize(
    "command", [("compare", "a", "b"), ("report",), ("view",), ("runs",), ("runs", "show"), ("baseline", "list")]
)
def test_looking_at_a_store_that_is_not_there_makes_none(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = invoke(*command)
    assert isinstance(done.exception, StoreError)
    assert "run a benchmark first" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_two_exported_runs_are_compared_without_a_store(store, tmp_path, monkeypatch):
    for number, run in enumerate(store.runs()):
        export_run(store, run["id"], tmp_path / f"{number}.jsonl")
    monkeypatch.chdir(tmp_path)
    done = invoke("compare", "0.jsonl", "1.jsonl", "--json")
    assert json.loads(done.output)["outcome"], done.output
    assert not (tmp_path / ".variantbench").exists()


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_an_exported_run_is_a_baseline(store, tmp_path, name):
    run_id = store.find_run()["id"]
    assert export_run(store, run_id, tmp_path / name) == 12
    (tmp_path / "any").touch()
    assert (tmp_path / name).stat().st_mode == (tmp_path / "any").stat().st_mode  # others may read a baseline, too
    run, rows = read_run(tmp_path / name)
    assert run["id"] == run_id
    assert rows == list(store.records(run_id))
    assert invoke("compare", str(tmp_path / name), run_id, "--limit", "empty=100%").exit_code == 0


def test_an_exported_run_that_was_cut_is_refused(store, tmp_path):
    export_run(store, store.find_run()["id"], tmp_path / "run.jsonl")
    whole = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_text("".join(whole[:-2]))
    with pytest.raises(UserError, match="was cut off after 11 answers"):
        read_run(tmp_path / "run.jsonl")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]\n[2]", b"\xff\xfe", b"{'a'", gzip.compress(b"{}", mtime=0)[:9]])
@pytest.mark.parametrize("name", ["run.jsonl", "run.gz"])
def test_other_files_are_refused(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match="is no exported run"):
        read_run(tmp_path / name)


def test_a_failed_export_leaves_nothing(store, tmp_path, monkeypatch):
    monkeypatch.setattr(type(store), "records", lambda *_: iter([{"not": {"json"}}]))
    with pytest.raises(TypeError):
        export_run(store, store.find_run()["id"], tmp_path / "run.jsonl")
    assert not list(tmp_path.glob("*export*"))
    assert not (tmp_path / "run.jsonl").exists()


def test_a_name_stands_for_its_newest_run_and_keeps_its_history(store):
    newer, older = (run["id"] for run in store.runs())
    set_baseline(store, "main", older, why="the release")
    set_baseline(store, "main", newer, why="the next release")
    assert load_run(store, "tag:main").run["id"] == newer
    lines = invoke("baseline", "list").output.splitlines()
    assert [line[0] for line in lines] == ["*", " "]
    assert "the next release" in lines[0]
    assert older in lines[1]


@pytest.mark.parametrize(("name", "why"), [("two words", "x"), ("", "x"), ("main", "  ")])
def test_a_baseline_needs_a_name_and_a_reason(store, name, why):
    with pytest.raises(UserError, match="baseline name|--why"):
        set_baseline(store, name, store.find_run()["id"], why=why)


def test_an_interrupted_run_is_no_baseline(store):
    store.start_run("20990101-broken", {"models": []})
    with pytest.raises(UserError, match="is running: only a complete run"):
        set_baseline(store, "main", "20990101", why="x")


def test_pruned_runs_are_gone_with_what_only_they_needed(store):
    newest = store.find_run()["id"]
    assert "would forget 1 runs" in invoke("runs", "prune", "--keep=1").output
    assert len(store.runs()) == 2
    output = invoke("runs", "prune", "--keep=1", "--completions", "--yes").output
    assert "12 records, 1 runs, 12 completions are gone" in output
    assert [run["id"] for run in store.runs()] == [newest]
    assert not check(store).faults


def test_completions_stay_while_a_run_is_under_way(store):
    store.start_run("20990101-running", {"models": []})
    done = invoke("runs", "prune", "--keep=1", "--completions", "--yes")
    assert "run 20990101-running is under way" in str(done.exception)
    assert len(store.runs()) == 3
    assert invoke("runs", "prune", "20990101-running", "--completions", "--yes").exit_code == 0  # it was killed
    assert len(store.runs()) == 2


def test_a_baseline_is_not_pruned(store):
    newest, oldest = (run["id"] for run in store.runs())
    set_baseline(store, "main", oldest, why="x")
    assert "would forget 1 runs" in invoke("runs", "prune", "--keep=0").output
    with pytest.raises(StoreError, match="is needed by baseline 'main'"):
        store.prune([newest, oldest], completions=False)
    assert len(store.runs()) == 2


def test_a_whole_store_has_no_fault_and_a_broken_one_is_told(store):
    result = invoke("store", "check")
    assert result.exit_code == 0
    assert "2 runs, 24 records, 24 completions: 0 faults" in result.output
    with store.engine.begin() as connection:
        connection.execute(text("pragma foreign_keys=off"))
        connection.execute(text("update texts set text = text || '!'"))
        connection.execute(text("update items set question = 'other' where id = '0001-base'"))
    result = invoke("store", "check")
    assert result.exit_code == 1
    assert "texts that do not have their hash" in result.output
    assert "1 items that do not have their hash: 0001-base" in result.output


def test_an_older_schema_is_brought_up_to_date(store, folder):
    with store.engine.begin() as connection:
        for table in ("noise", "baselines", "run_totals"):
            connection.execute(text(f"drop table {table}"))
        connection.execute(text("delete from schema_version where version > 1"))
    before = [run["id"] for run in open_store(str(folder / ".variantbench" / "runs.db")).runs()]
    assert len(before) == 2
    assert invoke("store", "migrate").output.strip().endswith(f"has schema {schema.CURRENT}")
    assert [run["records"] for run in store.runs()] == [12, 12]


def test_comparing_needs_no_model_and_says_the_same_in_json(store):
    ids = [run["id"] for run in store.runs()]
    words = invoke("compare", *ids)
    found = json.loads(invoke("compare", *ids, "--json").output)
    assert f"verdict: {found['outcome'].upper()}" in words.output
    assert found["comparisons"][0]["pairs"] == 12


def test_the_noise_of_a_model_is_measured_and_kept_with_it(store, tmp_path):
    options = [
        "--engine=scripted",
        "--limit=empty=100%",
        "--prompts=gsm",
        "--variants-per-template=1",
        "-k",
        "gsm and 0001",
    ]
    result = invoke("noise", f"--model={tmp_path / 'answers.json'}", "--batch-sizes", "4", "3", *options)
    assert result.exit_code == 0, result.output
    assert "0 of 2 verdicts flip between two runs of the same" in result.output
    identity = store.find_run()["manifest"]["models"][0]["identity"]
    assert (store.noise(identity)["items"], store.noise(identity)["flips"]) == (2, 0)
    with pytest.raises(StoreError, match="is needed by a noise measurement"):
        store.prune([store.find_run()["id"]], completions=False)


def test_the_gate_is_widened_by_the_noise(store):
    run = store.find_run()
    identity = run["manifest"]["models"][0]["identity"]
    store.add_noise(identity, runs=(run["id"], run["id"]), items=100, flips=7, other_texts=20)
    assert with_noise(Policy(), store, [identity, "other"]).noise == 0.07
    assert "7.00% of verdicts flip" in invoke("compare", run["id"], run["id"]).output


def test_the_plan_says_how_many_templates(folder):
    output = invoke("plan", "--margin=3pp", "--power=0.8").output
    assert "98" in next(line for line in output.splitlines() if line.split()[:1] == ["51"])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--alpha=0", "--alpha 0: an error rate"),
        ("--alpha=2", "--alpha 2: an error rate"),
        ("--power=0", "--power 0: a share above --alpha 0.05"),
        ("--power=1", "--power 1: a share above --alpha 0.05"),
        ("--margin=0", "--margin 0pp is not above --tolerance 1pp"),
        ("--margin=1", "--margin 1: a drop below 1"),
    ],
)
def test_a_plan_of_nonsense_is_refused(option, words):
    error = invoke("plan", option).exception
    assert isinstance(error, UserError)
    assert str(error).startswith(words)
