"""Joining two runs by what was asked: nothing by position, nothing dropped in silence."""

from __future__ import annotations

import json

import pytest

from variantbench.plugins.comparison import Outcome, Policy, compare_runs
from variantbench.plugins.errors import UserError

SETTINGS = json.dumps({"engine": "transformers", "decoding": {"max_new_tokens": 512}, "chat": False, "seed": 0})


def row(n, *, right=True, model="m", form="gsm", **changes):
    return {
        "case_id": f"test_gsm[{form}-{n}]",
        "model": model,
        "benchmark": "gsm",
        "format": form,
        "seed": 0,
        "id": f"{n}",
        "item_hash": f"hash {n}",
        "group_id": f"{n // 10}",
        "batch": None,
        "prefix_hash": "shots",
        "suffix": f"Q: {n}?",
        "settings": SETTINGS,
        "grader": "2",
        "robust_verdict": "correct" if right else "incorrect",
        "robust_status": "ok",
        "finish_reason": "stop",
    } | changes


def run(right, count=300, **changes):
    return [row(n, right=right(n), **changes) for n in range(count)]


HALF = run(lambda n: n % 2 == 0)


def outcome(before, after, **policy):
    (found,) = compare_runs(before, after, Policy(**policy))
    return found


def test_the_same_passes_in_any_order():
    found = outcome(HALF, HALF[::-1])
    assert found.outcome is Outcome.PASS
    assert found.pairs == 300
    assert found.overall.change.estimate == 0


def test_a_drop_in_one_format_is_a_regression_of_the_whole():
    other = run(lambda n: n % 2 == 0, form="simple_nl")
    worse = run(lambda n: n % 2 == 0 and n % 3 > 0, form="simple_nl")
    found = outcome(HALF + other, HALF + worse, margin=0.3)
    assert [one.decision.value for one in found.slices] == ["pass", "regression"]
    assert found.outcome is Outcome.REGRESSION


def test_slices_are_one_family():
    forms = ("gsm", "simple_nl", "zero_shot")
    before = [each for form in forms for each in run(lambda n: n % 2 == 0, form=form)]
    after = [each for form in forms for each in run(lambda n: n % 2 == 0 and n % 31 > 0, form=form)]
    alone = outcome(before[:300], after[:300]).slices[0]
    together = outcome(before, after)
    assert together.slices[0].p >= alone.p
    assert together.overall.name == "all slices"
    assert together.overall.change.pairs == 900


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suffix": "Q: other?"}, "asked with another prompt"),
        ({"prefix_hash": "other shots"}, "asked with another prompt"),
        ({"settings": SETTINGS.replace("512", "7")}, "asked with another decoding"),
        ({"settings": SETTINGS.replace("false", "true")}, "asked with another decoding"),
        ({"grader": "3"}, "graded by different rules (versions 2, 3)"),
        ({"robust_verdict": "error", "robust_status": "not_executed"}, "not judged, but was in the baseline"),
        ({"item_hash": "edited"}, "with another text or label"),
        ({"item_hash": "new", "id": "new"}, "in the new run only (--allow-overlap compares the rest)"),
    ],
)
def test_what_differs_is_named(change, words):
    found = outcome(HALF, [*HALF[:-1], row(299, right=False, **change)])
    assert found.outcome is Outcome.INVALID
    assert any(words in fault for fault in found.faults), found.faults


def test_overlap_is_counted():
    found = outcome(HALF[:200], HALF[100:], allow_overlap=True)
    assert found.outcome is not Outcome.INVALID
    assert (found.pairs, found.only_before, found.only_after) == (100, 100, 100)


def test_another_engine_is_told_but_allowed():
    other = [{**each, "settings": SETTINGS.replace("transformers", "vllm")} for each in HALF]
    found = outcome(HALF, other)
    assert found.outcome is Outcome.PASS
    assert found.notes == ("engine: transformers before, vllm now",)


def test_a_fall_to_zero_is_invalid():
    found = outcome(HALF[:60], run(lambda n: False, count=60))
    assert any("accuracy 0.0000, the baseline's 50.0%" in fault for fault in found.faults)


def test_an_answer_twice_cannot_be_paired():
    with pytest.raises(UserError, match="occurs twice in one run"):
        outcome(HALF, [*HALF, HALF[0]])


def test_models_are_compared_by_name_where_there_are_several():
    both = HALF + run(lambda n: n % 2 == 0, model="other")
    assert [found.new for found in compare_runs(both, both, Policy())] == ["m", "other"]
    with pytest.raises(UserError, match="no answers of stranger, only of m, other"):
        compare_runs(both, run(lambda n: True, model="stranger"), Policy())


def test_one_model_under_two_names_is_a_pair():
    (found,) = compare_runs(HALF, run(lambda n: n % 2 == 0, model="step-2000"), Policy())
    assert (found.baseline, found.new, found.outcome) == ("m", "step-2000", Outcome.PASS)


def test_an_empty_run_is_said():
    with pytest.raises(UserError, match="no graded answers"):
        compare_runs(HALF, [], Policy())
