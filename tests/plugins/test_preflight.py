"""Preflight: a format or item whose right answers would be misread stops the run before it starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import MODES
from variantbench.benchmarks import gsm, logic
from variantbench.plugins.datatypes import Decoding, Item
from variantbench.plugins.errors import UserError
from variantbench.plugins.preflight import preflight
from variantbench.prompts.format import Shot, available_formats, load_format

GSM_FORMATS = ("gsm", "simple_nl", "structured_nl", "simple_code", "structured_code")


def item(target: str) -> Item:
    return Item("0042-v17", "gsm", "0042", "How many?", target)


def test_every_built_in_format_and_item_passes():
    items = (*gsm.load_items(variants_per_template=2), *gsm.load_easy_items(variants_per_template=2))
    preflight([load_format(name) for name in GSM_FORMATS], items)
    preflight([load_format(name) for name in available_formats() if name not in GSM_FORMATS], logic.load_items())


@pytest.mark.parametrize(
    "target", ["0", "-3", "7/2", "1/3", "-22/7", "1000000", "123456789012345678901234567890", "1/8"]
)
def test_every_kind_of_gold_answer_passes(target):
    preflight([load_format(name) for name in GSM_FORMATS], [item(target)])


def failure(form, items=()) -> str:
    with pytest.raises(UserError) as caught:
        preflight([form], items)
    return str(caught.value)


def test_a_shot_with_another_gold_answer_is_named():
    form = load_format("gsm")
    shots = (form.shots[0], replace(form.shots[1], gold="6"), *form.shots[2:])
    message = failure(replace(form, shots=shots))
    assert "format gsm" in message
    assert "shot 2" in message
    assert "is read as 5" in message


def test_an_answer_sentence_that_no_reader_finds_is_named_with_the_item():
    form = load_format("gsm")
    shot = Shot("How many?", "Between 1 and 12 it is 12 or so, 3 at least.", "12")
    message = failure(replace(form, shots=(shot,)), [item("12")])
    assert "format gsm" in message
    assert "shot 1" in message


def test_a_misread_gold_answer_is_named():
    message = failure(load_format("gsm"), [item("twelve")])
    assert "item 0042-v17" in message
    assert "'twelve'" in message


@pytest.mark.parametrize("stop", ["The final", "6"])
def test_a_stop_string_inside_a_shot_is_named(stop):
    form = load_format("gsm")
    message = failure(replace(form, decoding=Decoding(16, stops=(stop,))))
    assert "format gsm" in message
    assert "shot 1" in message
    assert repr(stop) in message


def test_a_stop_string_inside_a_gold_answer_is_named():
    form = replace(load_format("zero_shot"), decoding=Decoding(16, stops=("ye",)))
    assert "item 0042-v17" in failure(form, [item("yes")])


def test_a_code_shot_without_a_function_is_named():
    form = load_format("simple_code")
    message = failure(replace(form, shots=(Shot("How many?", "twelve", "12"),)))
    assert "format simple_code" in message
    assert "shot 1" in message


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_the_option_checks_and_stops(suite, mode):
    result = suite("--preflight", *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["variantbench: preflight passed, 12 cases"])
    result.assert_outcomes()


BROKEN = """
title = "Broken"
source = "test"
licence = "MIT"
kind = "text"
chat = false
[decoding]
max_new_tokens = 16
[text]
question = "{question}"
[[shots]]
question = "How many?"
answer = "It is between 4 and 6."
gold = "5"
"""


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
@pytest.mark.parametrize("only_check", [True, False])
def test_a_broken_format_stops_the_run(suite, script, pytester, mode, only_check):
    (pytester.path / "broken.toml").write_text(BROKEN)
    options = ["--preflight"] if only_check else script(default="The final answer is 1.")
    result = suite("--prompts=broken.toml", *options, *mode)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*preflight: format broken, shot 1*"])
    assert not any("1.0" in line and "wrong" in line for line in result.outlines)
