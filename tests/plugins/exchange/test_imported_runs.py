"""`report` and `compare` say of imported runs what they say of ours."""

from __future__ import annotations

import json

import pytest
import scipy.stats  # noqa: F401 - pytester forgets what a test imports, and numpy cannot be imported twice
from click.testing import CliRunner

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.cli import variantbench


@pytest.fixture
def invoke(tmp_path):
    """Runs a command on a store of its own."""

    def run(*arguments, status=0):
        done = CliRunner().invoke(variantbench, [*map(str, arguments), "--store", str(tmp_path / "runs.db")])
        assert done.exit_code == status, done.output
        return done.output

    return run


@pytest.fixture
def log(jsonl):
    """Answers of a model to items of ours, as a table without ids of groups."""

    def write(name, is_right, *, variants=4, templates=30):
        items = load_items(variants_per_template=variants, seed=3, sample=templates)
        rows = [
            {"qid": n, "q": item.question, "gold": item.target, "ok": is_right(n, item), "m": "their-model"}
            for n, item in enumerate(items)
        ]
        return jsonl(name, rows)

    return write


MAP = ("--map", "qid=item", "--map", "q=question", "--map", "gold=target", "--map", "ok=correct", "--map", "m=model")
TEMPLATES = ("--match-templates", "benchmarks/gsm/templates")


def imported(output):
    return output.split()[1].removesuffix(":")


def test_the_report_fits_the_variant_effect_of_an_imported_run(invoke, log):
    path = log("drop.jsonl", lambda n, item: item.is_base or n % 3 == 0)
    output = invoke("import", path, *MAP, *TEMPLATES, "--as-format", "gsm")
    assert "150 questions matched to a template" in output
    report = invoke("report")
    assert "their-model" in report
    assert "30/30" in report
    assert "40/120" in report
    assert "mixed model of each model and format" in report
    assert "Ex1, gsm" in report


def test_compare_finds_a_regression_between_imported_runs(invoke, log):
    before = imported(invoke("import", log("a.jsonl", lambda n, _: n % 10 > 0), *MAP, *TEMPLATES))
    after = imported(invoke("import", log("b.jsonl", lambda n, _: n % 10 > 4), *MAP, *TEMPLATES))
    verdict = json.loads(invoke("compare", before, after, "--json", status=11))
    (one,) = verdict["comparisons"]
    assert (one["outcome"], one["pairs"]) == ("regression", 150)
    assert one["overall"]["change"]["clusters"] == 30
    same = imported(invoke("import", log("c.jsonl", lambda n, _: n % 10 > 0), *MAP, *TEMPLATES))
    assert "pass" in invoke("compare", before, same)


def test_runs_that_different_rules_graded_are_not_compared(invoke, data):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    one = imported(invoke("import", path))
    two = imported(invoke("import", path, "--reading", "flexible-extract"))
    assert "graded by different rules" in invoke("compare", one, two, status=10)


def test_a_run_and_its_export_are_the_same_run(invoke, data, tmp_path):
    (path,) = data.glob("lm_eval/samples_*.jsonl")
    one = imported(invoke("import", path))
    invoke("export", one, "--to", "parquet", "-o", tmp_path / "out.parquet")
    two = imported(invoke("import", tmp_path / "out.parquet"))
    verdict = json.loads(invoke("compare", one, two, "--json"))
    (comparison,) = verdict["comparisons"]
    assert comparison["faults"] == []
    assert (comparison["pairs"], comparison["only_before"], comparison["only_after"]) == (18, 0, 0)


def test_runs_lists_and_shows_imported_runs(invoke, data):
    (path,) = data.glob("inspect/*.eval")
    one = imported(invoke("import", path))
    assert "36 answers  mockllm/model" in invoke("runs")
    assert f"imported  36 answers of {path.name} (inspect 0.3.285), sha256 " in invoke("runs", "show", one)
    assert invoke("store", "check").rstrip().endswith("0 faults")


def test_an_imported_run_is_not_graded_again(invoke, data, tmp_path):
    (path,) = data.glob("inspect/*.eval")
    one = imported(invoke("import", path))
    done = CliRunner().invoke(variantbench, ["regrade", one, "--store", str(tmp_path / "runs.db")])
    assert (
        str(done.exception) == f"run {one} was imported (inspect): its verdicts are that tool's, and stay as they are"
    )


def test_a_wrong_map_is_one_line(invoke, data, tmp_path):
    (path,) = data.glob("inspect/*.eval")
    done = CliRunner().invoke(variantbench, ["import", str(path), "--map", "x", "--store", str(tmp_path / "runs.db")])
    assert "write THEIRS=OURS" in str(done.exception)
