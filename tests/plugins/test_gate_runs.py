"""A run against a baseline, as CI uses it: verdicts in words and exit statuses, in every way to run."""

from __future__ import annotations

import json
import random
import re

import pytest

from variantbench.plugins.store import open_store

TEMPLATES, EACH = 30, 12
BENCHMARK = f"""
import pytest
from variantbench.plugins.datatypes import Item


def items(run):
    return [
        Item(f"{{t:04}}-{{'base' if n == 0 else f'v{{n}}'}}", "gsm", f"{{t:04}}", f"Question {{t}}.{{n}}?", str(n), n)
        for t in range({TEMPLATES})
        for n in range({EACH})
    ]


@pytest.mark.questions(items=items, formats=("gsm",))
def test_many(answer):
    assert answer.is_correct
"""


@pytest.fixture
def run(pytester, tmp_path):
    """Runs a model that is right on a share of the items; `keep` of the first model's right answers stay right."""
    pytester.makepyfile(test_many=BENCHMARK)
    draw = random.Random(4)
    first = {(t, n): draw.random() < 0.7 for t in range(TEMPLATES) for n in range(EACH)}

    def go(name, *options, keep=1.0, answer="The final answer is {}.", **more):
        draw = random.Random(5)
        right = {key: good and draw.random() < keep for key, good in first.items()}
        script = {f"Question {t}.{n}?": answer.format(n if good else 77) for (t, n), good in right.items()}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"answers": script, **more}))
        arguments = ("-p", "no:cacheprovider", "-q", "--engine=scripted", f"--model={path}", *options)
        return pytester.runpytest_subprocess(*arguments)

    return go


@pytest.fixture
def store(pytester):
    def opened():
        return open_store(str(pytester.path / ".variantbench" / "runs.db"))

    return opened


@pytest.fixture
def baseline(run, store):
    assert run("first").ret == 0
    with store() as opened:
        return opened.find_run()["id"]


@pytest.mark.parametrize(
    ("keep", "options", "status", "words"),
    [
        (1.0, (), 0, "verdict: PASS: a drop beyond the margin is excluded (exit status 0)"),
        (0.7, (), 11, "verdict: REGRESSION: a drop beyond the tolerance is shown (exit status 11)"),
        (0.98, ("--margin=1.5pp",), 12, "verdict: INCONCLUSIVE*"),
        (0.7, ("--tolerance=40pp", "--margin=50pp"), 0, "verdict: PASS*"),
    ],
)
def test_verdicts(run, baseline, keep, options, status, words):
    result = run("second", f"--baseline={baseline}", *options, keep=keep)
    result.stdout.fnmatch_lines(["compared with baseline *", "*360 pairs, clustered by template", words])
    assert result.ret == status


def test_what_would_settle_is_said(run, baseline):
    result = run("second", f"--baseline={baseline}", "--margin=1.5pp", keep=0.98)
    result.stdout.re_match_lines([r".*if the change stays at -\d\.\d pp, about [\d,]+ more answers.*"])


def test_the_verdict_is_kept_with_the_run(run, baseline, store):
    run("second", f"--baseline={baseline}", keep=0.7)
    with store() as opened:
        gate = opened.find_run()["manifest"]["gate"]
    assert gate["outcome"] == "regression"
    assert gate["comparisons"][0]["slices"][0]["change"]["pairs"] == 360


def test_stops_early_with_few_of_the_answers(run, baseline, mode, store):
    more = {"keep": 0.5, "seconds": 0.05}
    result = run("second", f"--baseline={baseline}", "--stop-early", "--batch-size=4", *mode, **more)
    result.stdout.fnmatch_lines(["stopped early after * of 360 answers *", "verdict: REGRESSION*"])
    assert result.ret == 11
    with store() as opened:
        found = opened.find_run()
        assert found["status"] == "stopped early"
        assert found["records"] < 250
        assert found["manifest"]["gate"]["early"]["used"] <= found["records"]


def test_the_same_answers_stop_early_in_every_way(run, baseline):
    said = set()
    for options in ([], ["-n2"], ["--batch-size=3"]):
        result = run("second", f"--baseline={baseline}", "--stop-early", "--fresh", *options, keep=0.6)
        said.add(re.search(r"stopped early after \d+ of 360", result.stdout.str())[0])
    assert len(said) == 1


def test_no_change_passes_early(run, baseline):
    result = run("first", f"--baseline={baseline}", "--stop-early", "--fresh", "-n2")
    result.stdout.fnmatch_lines(["stopped early after *the full run would not have*", "verdict: PASS*"])
    assert result.ret == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "0001"], "*348 are in the baseline only (--allow-overlap compares the rest), such as"),
        (["--max-new-tokens=7"], "*360 are asked with another decoding, such as *"),
        (["--prompts=simple_nl"], "*360 are in the baseline only*"),
    ],
)
def test_other_questions_are_invalid(run, baseline, options, words):
    result = run("second", f"--baseline={baseline}", *options)
    result.stdout.fnmatch_lines([words, "verdict: INVALID*"])
    assert result.ret == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--max-new-tokens=7"], "*are asked with another decoding, such as *"),
        (["-k", "not 0001"], "invalid: the run has 348 cases, the baseline 360 answers*"),
    ],
)
def test_an_early_verdict_on_other_questions_is_invalid(run, baseline, options, words):
    result = run("second", f"--baseline={baseline}", "--stop-early", *options, keep=0.5)
    result.stdout.fnmatch_lines([words, "verdict: INVALID*"])
    assert result.ret == 10


def test_overlap_can_be_compared(run, baseline):
    result = run("second", f"--baseline={baseline}", "--allow-overlap", "-k", "0001 or 0002")
    result.stdout.fnmatch_lines(["*24 pairs*", "*left out: 336 only in the baseline, 0 only here"])
    assert result.ret == 0


def test_a_model_that_says_nothing_is_invalid_without_a_baseline(run):
    result = run("mute", answer="")
    result.stdout.fnmatch_lines(["invalid: mute.json: 360 of 360 answers are empty*", "verdict: INVALID*"])
    assert result.ret == 10


def test_accuracy_zero_is_invalid(run):
    result = run("wrong", answer="The final answer is 99.")
    result.stdout.fnmatch_lines(["invalid: wrong.json: accuracy 0.0000 of 360 answers*"])
    assert result.ret == 10


def test_limits_can_be_set(run):
    half = {"answers": {}, "default": ""}
    result = run("mute", "--limit=empty=100%", answer="", **half)
    result.stdout.no_fnmatch_line("*are empty*")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--baseline=tag:main"], "*no baseline 'main' in *variantbench baseline set main RUN*"),
        (["--baseline=none.jsonl"], "*no file none.jsonl: give an exported run*"),
        (["--baseline=20990101"], "*no run 20990101 in *"),
        (["--baseline="], "*--baseline is empty: give tag:NAME*"),
        (["--stop-early"], "*--stop-early needs --baseline RUN*"),
        (["--margin=much"], "*--margin 'much' is no share: write 3pp, 3% or 0.03*"),
        (["--margin=1pp", "--tolerance=2pp"], "*--margin 1pp is not above --tolerance 2pp*"),
        (["--alpha=0.7"], "*--alpha 0.7: an error rate between 0 and 0.5*"),
        (["--limit=silent=3%"], "*--limit 'silent=3%': write NAME=RATE, NAME one of truncated, void, empty, errors*"),
    ],
)
def test_nonsense_is_one_line(run, options, words):
    result = run("second", *options)
    result.stderr.fnmatch_lines([words])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
