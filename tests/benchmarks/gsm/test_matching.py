"""Questions back to their templates, exactly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.gsm.matching import Matcher, read_matcher
from variantbench.benchmarks.gsm.template import read_template

ROOT = Path(__file__).parent.parent.parent.parent
FOLDER = ROOT / "benchmarks" / "gsm" / "templates"


@pytest.fixture(scope="module")
def matcher():
    return read_matcher(FOLDER)


@pytest.fixture(scope="module")
def items():
    return load_items(variants_per_template=5, seed=11)


def test_every_question_goes_back_to_its_template(matcher, items):
    assert len(items) == 600
    found = [matcher(item.question) for item in items]
    assert [match and match.group for match in found] == [item.group for item in items]
    assert [match.variant == 0 for match in found] == [item.is_base for item in items]


def test_ids_depend_on_the_text_alone(matcher, items):
    ids = [matcher(item.question).item for item in items]
    assert len(set(ids)) == len(ids)
    assert ids[0] == items[0].id
    assert matcher(f"  {items[1].question}\n") == matcher(items[1].question)


def test_a_changed_letter_or_number_out_of_range_does_not_match(matcher):
    base = read_template(FOLDER / "0003.toml").base.question
    assert matcher(base).group == "0003"
    assert matcher(base.replace("36", "38")) is None  # a third of 38 is no whole number
    assert matcher(base.replace("36", "39")) is None  # range(24, 240, 2)
    assert matcher(base.replace("36", "48")).group == "0003"
    assert matcher(base.replace("home", "hom")) is None
    assert matcher(base.replace("marbles does", "stickers does").replace("36", "48")) is None  # one toy, two names


def test_values_at_which_a_condition_has_no_number_match_none(tmp_path):
    (tmp_path / "t.toml").write_text(
        'topic = "x"\nquestion = "Is it now the number {n}?"\nanswer = "n"\nsolution = "x"\n'
        'conditions = ["2 ** (n / 2) > 1", "n / (n - 6) < 9"]\n[init]\nn = "range(1, 11)"\n[base]\nn = 4\n'
    )
    one = Matcher([read_template(tmp_path / "t.toml")])
    assert [n for n in range(1, 11) if one(f"Is it now the number {n}?")] == [2, 4, 8, 10]


def test_a_question_of_two_templates_matches_none(tmp_path):
    text = (FOLDER / "0003.toml").read_text()
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(text)
    both = Matcher([read_template(tmp_path / f"{name}.toml") for name in ("a", "b")])
    assert both(read_template(FOLDER / "0003.toml").base.question.replace("36", "48")) is None


@given(st.integers(0, 599), st.integers(0, 200), st.sampled_from("xq#@"))
def test_a_letter_too_many_never_matches(matcher, items, which, where, letter):
    question = items[which].question
    where = min(where, len(question))
    changed = question[:where] + letter + question[where:]
    match = matcher(changed)
    assert match is None


def test_a_question_shorter_than_the_key_is_found(tmp_path):
    (tmp_path / "t.toml").write_text(
        'topic = "x"\nquestion = "{n} + 2?"\nanswer = "n + 2"\nsolution = "x"\n'
        '[init]\nn = "range(1, 9)"\n[base]\nn = 4\n'
    )
    one = Matcher([read_template(tmp_path / "t.toml")])
    assert one("5 + 2?").group == one("4 + 2?").group == "t"
