"""The experiments at the end of `variantbench report`."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace

import pytest
from click.testing import CliRunner

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.cli import variantbench
from variantbench.plugins.errors import UserError
from variantbench.plugins.published import VariantRow
from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.source import source
from variantbench.plugins.report.study_lines import study_lines
from variantbench.plugins.simulate import simulate
from variantbench.plugins.store import open_store

ROWS = [
    VariantRow("a-model-of-a-name-that-is-far-too-long-for-a-line", "gsm", 0.6, 0.4, -2.0),
    VariantRow("m", "gsm", 0.5, 0.5, -0.05),
    VariantRow("m", "simple_nl", 0.5, 0.45, -0.5),
]
HERE = importlib.util.find_spec("pymer4") is not None


def study_of(store, run, *, backend):
    return source(store, run, backend=backend).studies["gsm", Protocol.ROBUST]


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "runs.db")
    with open_store(path) as opened:
        simulate(opened, ROWS, gsm=load_items(sample=40, variants_per_template=10), seed=2)
    return path


def test_report_shows_change_odds_ratio_p_and_what_could_have_been_seen(store):
    done = CliRunner().invoke(variantbench, ["report", "--store", store])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("variants against base questions"))
    assert lines[start].endswith("mixed model of each model and format, exact, by variantbench")
    text = "\n".join(lines[start:])
    assert "-20.0 [" in text
    assert "all 2 models: 1 drop" in text
    assert "simulated-m: against gsm" in text
    assert "  simulated-a-mod…o-long-for-a-line " in text
    assert "selected by p < 0.05 and variants below base, format gsm: 1 models" in text
    [weak] = [line for line in lines[start:] if line.startswith("  simulated-m ") and "pp" in line][:1]
    assert float(weak.split()[-1]) > 0.5  # the detectable log odds ratio beside what is not significant
    assert max(map(len, lines[start:])) <= 100


def test_base_questions_alone_have_no_section(tmp_path):
    with open_store(str(tmp_path / "runs.db")) as opened:
        run = simulate(opened, ROWS[:1], gsm=load_items(sample=10, variants_per_template=2))
        result = study_of(opened, run, backend="variantbench")
        assert list(study_lines(result))
        with opened.engine.begin() as connection:
            connection.exec_driver_sql("delete from records where case_id not like '%-base'")
        assert source(opened, run).studies == {}


def test_messages_of_a_fit_are_printed(store):
    with open_store(store) as opened:
        result = study_of(opened, opened.find_run()["id"], backend="variantbench")
    first, *rest = result.ex1.effects
    told = replace(first, fit=replace(first.fit, messages=("Model failed to converge with max|grad| = 0.160477",)))
    lines = list(study_lines(replace(result, ex1=replace(result.ex1, effects=(told, *rest)))))
    assert lines.count("    lme4: Model failed to converge with max|grad| = 0.160477") == 1


@pytest.mark.skipif(HERE, reason="pymer4 is installed")
def test_lme4_that_is_absent_is_one_line(store):
    with open_store(store) as opened, pytest.raises(UserError, match="--glmm-backend pymer4: lme4 is not at hand"):
        study_of(opened, opened.find_run()["id"], backend="pymer4")


def test_report_says_that_lme4_fitted_and_what_it_said(store):
    if not HERE:
        report = pytest.fail if os.environ.get("VARIANTBENCH_REQUIRE_PYMER4") == "1" else pytest.skip
        report("pymer4 is not installed: tox -e r has it")
    with open_store(store) as opened:
        run = opened.find_run()["id"]
        ours, theirs = (study_of(opened, run, backend=name) for name in ("variantbench", "pymer4"))
        lines = list(study_lines(theirs))
    assert lines[0].endswith("laplace, by lme4 (pymer4)")
    for one, other in zip(ours.ex1.effects, theirs.ex1.effects, strict=True):
        assert other.fit.backend == "pymer4"
        assert other.effect.beta == pytest.approx(one.effect.beta, abs=0.1 * one.effect.se)
        assert other.detectable == pytest.approx(one.detectable, rel=0.05)
    messages = [message for effect in theirs.ex1.effects for message in effect.fit.messages]
    assert sum(line.startswith("    lme4: ") for line in lines) >= len(messages)
