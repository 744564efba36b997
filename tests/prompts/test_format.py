"""Prompt formats: the study's texts byte for byte, and files that say what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.plugins.datatypes import Decoding, Item
from variantbench.plugins.errors import UserError
from variantbench.prompts.format import (
    AnswerKind,
    available_formats,
    load_format,
    parse_format,
    shots_from_items,
)

GSM = ("gsm", "simple_nl", "structured_nl", "simple_code", "structured_code")
STYLES = ("zero_shot", "few_shot", "cot_before", "cot_after")


def item(question: str, target: str = "1") -> Item:
    return Item("0001-base", "gsm", "0001", question, target)


@pytest.mark.parametrize("name", GSM)
def test_the_study_prompts_are_byte_identical(shared, name):
    reference = (shared / "reference" / "prompts" / f"{name}.txt").read_bytes().decode()
    question = "How many?  Blanks, {braces} and \\ stay."
    assert load_format(name).render(item(question)).text == reference.replace("<Question here>", question)


@pytest.mark.parametrize("name", GSM)
def test_prefix_is_shared_and_the_suffix_is_the_items_own(name):
    one, two = (load_format(name).render(item(question)) for question in ("One?", "Two?"))
    assert one.prefix == two.prefix
    assert one.prefix.count("Q: ") == 8
    assert one.suffix.startswith("Q: One?")
    assert one.text == one.prefix + one.suffix


@pytest.mark.parametrize("name", GSM)
def test_every_shot_states_its_gold(name):
    shots = load_format(name).shots
    assert [shot.gold for shot in shots] == ["6", "5", "39", "8", "9", "29", "33", "8"]
    if load_format(name).kind is AnswerKind.TEXT:
        assert all(shot.answer.endswith(f"The final answer is {shot.gold}.") for shot in shots)


def test_the_study_decodes_greedily_1024_tokens_without_chat_template():
    for name in GSM:
        form = load_format(name)
        assert form.decoding == Decoding(1024, 0.0, 1.0, ("Q:",))
        assert not form.chat


def test_yes_and_no_are_short_and_chain_of_thought_lies_between():
    limits = {name: load_format(name).decoding.max_new_tokens for name in STYLES}
    assert limits == {"zero_shot": 16, "few_shot": 16, "cot_before": 256, "cot_after": 256}
    assert all(load_format(name).chat for name in STYLES)


def test_few_shot_shows_the_items_it_is_given():
    form = load_format("few_shot")
    shots = shots_from_items([item("Solved one.", "yes"), item("Solved two.", "no")])
    text = form.render(item("Asked."), shots=shots).text
    frame = "Consider the following knowledge of a class of geometric figures: {} Answer with yes or no only.\n"
    assert text == frame.format("Solved one.") + "yes\n\n" + frame.format("Solved two.") + "no\n\n" + frame.format(
        "Asked."
    )


def test_nospace_drops_the_blanks_at_the_end_and_shows_in_the_name():
    plain, bare = (load_format(name).render(item("How many?")) for name in ("gsm", "gsm-nospace"))
    assert bare.format == "gsm-nospace"
    assert plain.suffix == bare.suffix + " "
    assert plain.prefix.replace("step. There", "step.There") != plain.prefix
    assert load_format("gsm-nospace").shots == load_format("gsm").shots


@given(st.text())
def test_any_question_stands_in_the_prompt_as_it_is(question):
    assert load_format("gsm").render(item(question)).suffix == f"Q: {question}\nA: Let's think step by step. "


def test_every_file_names_its_source_and_licence():
    for name in available_formats():
        assert load_format(name).source
        assert load_format(name).licence


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match="no prompt format 'gms': choose from cot_after, cot_before"):
        load_format("gms")


GOOD = Path(load_format.__wrapped__.__globals__["FOLDER"] / "gsm.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[decoding]", "[decoding", "mine.toml: not valid TOML"),
        ("stops =", "stop =", r"mine.toml: unknown key \[decoding\].stop: allowed are max_new_tokens"),
        ("[text]\n", '[text]\noutro = ""\n', r"unknown key \[text\].outro: allowed are intro, separator, question"),
        ("title =", "titel =", "mine.toml: title is missing: add it"),
        ('kind = "text"', 'kind = "prose"', "kind is 'prose': allowed are text, code, yesno"),
        ("max_new_tokens = 1024", 'max_new_tokens = "many"', "max_new_tokens is 'many': a value of type int"),
        ("max_new_tokens = 1024", "max_new_tokens = true", "max_new_tokens is True: a value of type int"),
        ("{question}", "question", r"\[text\].question does not hold {question}"),
        (
            'gold = "6"',
            'gold = "6"\nhint = "x"',
            r"unknown key \[\[shots\]\] 1: hint: allowed are question, answer, gold",
        ),
    ],
)
def test_a_faulty_file_says_what_is_wrong(old, new, message):
    assert old in GOOD
    with pytest.raises(UserError, match=message) as caught:
        parse_format("mine", GOOD.replace(old, new), place="mine.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_new_tokens = 1024", "max_new_tokens = 0", "max_new_tokens is 0: between 1 and 1,000,000 is allowed"),
        ("temperature = 0.0", "temperature = -0.5", "temperature is -0.5: between 0 and 10 is allowed"),
        ("temperature = 0.0", "temperature = 0.0\ntop_p = 1.5", "top_p is 1.5: between 0.01 and 1 is allowed"),
        ('stops = ["Q:"]', "stops = [3]", "stops is .3.: a list of texts belongs there"),
        ('stops = ["Q:"]', 'stops = [""]', "stops is ..*.: a list of texts belongs there"),
    ],
)
def test_a_value_out_of_bounds_says_what_is_allowed(old, new, message):
    assert old in GOOD
    with pytest.raises(UserError, match=message):
        parse_format("mine", GOOD.replace(old, new), place="mine.toml")
