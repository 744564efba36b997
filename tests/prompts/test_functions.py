"""Finding the program in an answer. These programs and the safe shared ones are run in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import pytest

from variantbench.plugins.datatypes import ExtractionStatus
from variantbench.prompts.extraction import robust_function

HEAD = "def solution():"
BODY = "\n    cars = 3\n    return cars + 9\n"
WHOLE = HEAD + BODY


def run(source: str) -> str:
    """What the program's solution returns, as text; the name of the error that ends it otherwise."""
    script = f"{source}\nimport fractions\nvalue = solution()\nprint('=>', fractions.Fraction(str(value)))\n"
    ended = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60)
    lines = [line for line in ended.stdout.split("\n") if line.startswith("=> ")]
    return lines[-1][3:] if lines else ended.stderr.strip().split("\n")[-1].split(":")[0]


TWELVE = {
    "the body that the prompt asks for": BODY,
    "the body on the head's line": " return 12",
    "a fenced function": f"```python\n{WHOLE}```",
    "a fence without language": f"Sure!\n\n```\n{WHOLE}```\nThis adds 3 and 9.",
    "a fence that is never closed": f"```python\n{WHOLE}",
    "the body and a stray fence": f"{BODY}```\n\nThe function returns the number of cars.",
    "the body in a fence": f"\n```python{BODY}```",
    "a fence after prose with a number": f"There are 3 cars.\n```py\n{WHOLE}```\nThe final answer is 13.",
    "the last of two fenced functions": f"```python\n{HEAD}\n    return 13\n```\nNo, this:\n```python\n{WHOLE}```",
    "the head again": f"\n{WHOLE}",
    "the head again, indented": "\n    def solution():\n        cars = 3\n        return cars + 9\n",
    "prose around": f"Here is the function:\n\n{WHOLE}\nIt adds the cars, for example 3 + 9.",
    "prose that looks like code behind": f"{BODY}\nif you call it, you get 12.\n",
    "an annotation": "def solution() -> int:\n    return 12\n",
    "defaults": "def solution(cars: int = 3, *, more: int = 9) -> int:\n    return cars + more\n",
    "any arguments": "def solution(*args, **kwargs):\n    return 12\n",
    "one line": "def solution(): return 12",
    "a lambda": "solution = lambda: 12",
    "an annotated lambda": "solution: object = lambda: 12",
    "a helper above": "def add(a, b):\n    return a + b\n\ndef solution():\n    return add(3, 9)\n",
    "a helper below": f"{HEAD}\n    return add(3, 9)\n\ndef add(a, b):\n    return a + b\n",
    "a helper below the body": "\n    return add(3, 9)\n\ndef add(a, b):\n    return a + b\n",
    "a constant above": "CARS = 3\n\ndef solution():\n    return CARS + 9\n",
    "imports above": "import math\nfrom math import ceil as up\n\ndef solution():\n    return up(math.sqrt(130))\n",
    "imports under prose": f"We need math:\nimport math\n\n{HEAD}\n    return math.ceil(11.2)\n",
    "imports inside": "\n    import math\n    return math.ceil(11.2)\n",
    "a class above": "class Car:\n    wheels = 4\n\ndef solution():\n    return 3 * Car.wheels\n",
    "a decorator": "import functools as f\n\n@f.cache\ndef a():\n    return 12\n\ndef solution():\n    return a()\n",
    "another name": "def count_cars():\n    return 12\n",
    "another name that calls a helper": "def cars():\n    return 3\n\ndef total():\n    return cars() + 9\n",
    "the call behind": f"{WHOLE}\nprint(solution())\n",
    "the call behind the body": f"{BODY}\nprint(solution())",
    "a main guard": f"{BODY}\nif __name__ == '__main__':\n    print(solution())\n",
    "the next question": f"{BODY}\n\nQ: How many?\n\nA:\ndef solution():\n    return 13\n",
    "the next item's function": f"{BODY}\n\n\ndef solution():\n    return 13\n",
    "the first line lost its indentation": "cars = 3\n    more = 9\n    return cars + more\n",
    "every line lost its indentation": "cars = 3\nmore = 9\nreturn cars + more\n",
    "a docstring with a fence": f'{HEAD}\n    """Adds.\n\n    >>> solution()\n    12\n    """\n    return 12\n',
    "brackets over lines": "\n    return sum([\n        3,\n        9,\n    ])\n",
    "a closing bracket at the line's beginning": "\n    return sum([\n        3,\n        9,\n])\n",
    "a comment at the line's beginning": "\n    cars = 3\n# and more\n    return cars + 9\n",
    "tabs": "\n\tcars = 3\n\treturn cars + 9\n",
    "two blanks": "\n  cars = 3\n  return cars + 9\n",
    "Windows lines": "\r\n    cars = 3\r\n    return cars + 9\r\n",
    "a reasoning trace": f"<think>def solution():\n    return 13\n</think>\n{WHOLE}",
    "an end token": f"{BODY}</s><pad>",
    "a harmless use of a forbidden name": "\n    # the shop is open(9 to 5)\n    return eval('3 + 9')\n",
    "a string with a question": "\n    text = 'Q: how many'\n    return 12\n",
    "an invalid escape": "\n    text = '\\d'\n    return 12\n",
    "type hints inside": "\n    cars: int = 3\n    return cars + 9\n",
}


@pytest.mark.parametrize("text", TWELVE.values(), ids=TWELVE.keys())
def test_the_program_is_found_and_gives_twelve(text):
    found = robust_function(text, prefilled=HEAD)
    assert found.status is ExtractionStatus.OK
    assert found.source is not None
    assert run(found.source) == "12"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        (" \n\n", "empty_after_trim"),
        ("\n\nQ: another question", "empty_after_trim"),
        ("I think there are 12 cars.", "no_function"),
        ("The final answer is 12.", "no_function"),
        ("trees = 15\nprint(trees - 3)\n", "no_function"),
        ("class Solution:\n    def solution(self):\n        return 12\n", "no_function"),
        ("def solution(n):\n    return n\n", "needs_arguments"),
        ("def solution(*, n):\n    return n\n", "needs_arguments"),
        ("def one():\n    return 1\n\ndef two():\n    return 2\n", "no_function"),
        ("<think>def solution(): return 12", "truncated"),
    ],
)
def test_where_there_is_no_program(text, status):
    found = robust_function(text, prefilled=HEAD)
    assert (found.status.value, found.source) == (status, None)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("\n    cars = 3\n    return cars + 9\n\n\nThis fun", "ok"),
        ("\n    cars = 3\n    return cars + 9\n\nQ: ", "ok"),
        (f"```python\n{WHOLE}```\nThis fun", "ok"),
        ("\n    cars = 3\n    more = (9 +", "truncated"),
        ("\n    cars = 3\n    mo", "truncated"),
        (f"```python\n{HEAD}\n    cars = 3\n    mo", "truncated"),
    ],
)
def test_at_the_length_limit(text, status):
    assert robust_function(text, prefilled=HEAD, at_limit=True).status.value == status


@pytest.mark.parametrize("body", ["\n    return (3 + 9\n", "\n    x = 012\n    return x\n", "\n    return 3 × 4\n"])
def test_a_program_that_does_not_parse_is_left_to_the_sandbox_to_name(body):
    found = robust_function(body, prefilled=HEAD)
    assert found.status is ExtractionStatus.OK
    assert found.source is not None
    assert run(found.source) == "SyntaxError"


def test_shared_programs_that_may_run_here_give_their_value(shared):
    lines = (shared / "cases" / "grading-cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["kind"] == "code" and case["safe_to_run_unsandboxed"]]
    assert cases
    wrong = {}
    for case in cases:
        expected = case["expected"]
        if case["text"].lstrip().startswith(("import sympy", "import numpy")):
            continue  # packages of the sandbox's image
        found = robust_function(case["text"], prefilled=case["prefill"])
        if found.source is None or expected["value"] is None:
            if found.source is None and found.status.value != expected["status"]:
                wrong[case["id"]] = found
        elif run(found.source) != str(Fraction(str(expected["value"]))):
            wrong[case["id"]] = found
    assert wrong == {}
