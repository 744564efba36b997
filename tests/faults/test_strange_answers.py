"""A model that writes what no model should: every answer is stored as it is, graded, and no run ends for it."""

from __future__ import annotations

import json
import time

import pytest

from variantbench.plugins.datatypes import Completion, FinishReason, Item, Verdict
from variantbench.plugins.grading import grade
from variantbench.plugins.store import open_store
from variantbench.prompts.format import load_format

KB = 1024
STRANGE = {
    "nothing": "",
    "blanks": " \t ",
    "newlines": "\n" * 500,
    "special tokens": "<|endoftext|><s></s><|im_end|>" * 200,
    "half a letter": "\ud83d the answer is \udc00",
    "null bytes": "\x00\x00 7 \x00",
    "terminal commands": "\x1b]0;owned\x07\x1b[2J\x1b[31m",
    "a long line": "x" * 100 * KB,
    "endless text": "and then again " * 20 * KB,
    "many lines": "7\n" * 50 * KB,
    "one long number": "1" * 100 * KB,
    "commas": "1," * 50 * KB,
    "points": "1." * 50 * KB,
    "brackets": "(" * 50 * KB + ")" * 50 * KB,
    "equals": "1 = " * 25 * KB,
    "slashes": "1/" * 50 * KB,
    "signs": "-" * 100 * KB + "1",
    "anchors": "The final answer is " * 5 * KB,
    "almost anchors": "the answer the answer the final " * 3 * KB,
    "bold": "**" * 50 * KB,
    "dollars": "$" * 100 * KB,
    "boxes": "\\boxed{" * 15 * KB,
    "fences": "```python\n" * 10 * KB,
    "definitions": "def f():\n" * 10 * KB,
    "questions": "Question: " * 10 * KB,
    "number words": "twenty one hundred and " * 4 * KB,
    "yes and no": "yes no " * 15 * KB,
    "quotes": "\"'" * 50 * KB,
}
QUESTIONS = """
import json
from pathlib import Path
import pytest
from variantbench.plugins.datatypes import Item

KINDS = json.loads(Path(__file__).with_name("kinds.json").read_text())


def some(run):
    return [Item(f"{n:04}-base", "gsm", f"{n:04}", f"[{kind}] how many?", "7", 0) for n, kind in enumerate(KINDS)]


@pytest.mark.questions(items=some, formats=("gsm", "simple_nl"))
def test_some(answer):
    assert answer.is_correct
"""


def test_a_run_takes_them_all(pytester, script, mode):
    (pytester.path / "kinds.json").write_text(json.dumps(list(STRANGE)))
    pytester.makepyfile(test_some=QUESTIONS)
    model = script(answers={f"[{kind}]": text for kind, text in STRANGE.items()})
    limits = [f"--limit={name}=100%" for name in ("empty", "void", "truncated")]
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *model, *limits, *mode)
    assert result.ret == 0
    with open_store(str(pytester.path / ".variantbench/runs.db")) as store:
        found = [(row["question"], row["text"], row["robust_verdict"]) for row in store.records(store.find_run()["id"])]
    assert len(found) == 2 * len(STRANGE)
    for question, text, verdict in found:
        assert text == STRANGE[question.partition("]")[0][1:]], question
        assert verdict != Verdict.ERROR, question


@pytest.mark.parametrize("name", ["gsm", "simple_nl", "structured_nl", "zero_shot", "cot_before"])
@pytest.mark.parametrize("kind", STRANGE)
def test_grading_takes_no_longer_than_reading(kind, name):
    text = STRANGE[kind]
    form = load_format(name)
    item = Item("0001-base", "gsm", "0001", "How many?", "yes" if name in ("zero_shot", "cot_before") else "7", 0)
    started = time.process_time()
    grades = grade(item, form, Completion(text, FinishReason.LENGTH, 1, 1, "scripted"), lambda *_a, **_k: None)
    assert grades.robust.verdict is not Verdict.ERROR
    assert time.process_time() - started < 3  # a second at most here; what grows with the square takes minutes
