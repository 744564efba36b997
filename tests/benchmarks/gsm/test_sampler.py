from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pytest

from variantbench.benchmarks.gsm.drawing import Component
from variantbench.benchmarks.gsm.expressions import compile_expression
from variantbench.benchmarks.gsm.planning import Solve, plan
from variantbench.benchmarks.gsm.sampler import Sampler, stream
from variantbench.benchmarks.gsm.template import Template, kinds_of, read_template
from variantbench.plugins.errors import UserError

Write = Callable[..., Template]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a template about the numbers a, b, c, ... and reads it back."""

    def write(conditions: str, answer: str = "1", base: str = "a = 1", **init: str) -> Template:
        names = [name for key in init for name in key.split("_")]
        lines = "\n".join(f"'{key.replace('_', ', ')}' = '''{domain}'''" for key, domain in init.items())
        question = " ".join(f"{{{name}}}" for name in names)
        path = tmp_path / "t.toml"
        path.write_text(
            f"topic = 'x'\nquestion = 'Is {question} right?'\nanswer = '{answer}'\nsolution = 'x'\n"
            f"conditions = {conditions}\n[init]\n{lines}\n[base]\n{base}\n",
            encoding="utf-8",
        )
        return read_template(path)

    return write


# conditions, init, and the valid assignments found by brute force over plain Python numbers
def _triples(test: Callable[[int, int, int], bool], *ranges: range) -> set[tuple[int, ...]]:
    return {values for values in itertools.product(*ranges) if test(*values)}


UNIFORM = {
    "inequality": (
        "['a < b']",
        {"a": "range(0, 6)", "b": "range(0, 6)", "c": "range(0, 2)"},
        _triples(lambda a, b, c: a < b, range(6), range(6), range(2)),
    ),
    "equation, solved": (
        "['c == 2 * a + b', 'b != 3']",
        {"a": "range(0, 5)", "b": "range(0, 5)", "c": "range(2, 9)"},
        _triples(lambda a, b, c: c == 2 * a + b and b != 3, range(5), range(5), range(2, 9)),
    ),
    "equation whose coefficient may be zero, not solved": (
        "['a * b == c']",
        {"a": "range(0, 4)", "b": "range(0, 4)", "c": "range(0, 5)"},
        _triples(lambda a, b, c: a * b == c, range(4), range(4), range(5)),
    ),
    "remainder, a test": (
        "['(a + b) % 4 == 0', 'a > c']",
        {"a": "range(0, 9)", "b": "range(0, 6)", "c": "range(0, 5)"},
        _triples(lambda a, b, c: (a + b) % 4 == 0 and a > c, range(9), range(6), range(5)),
    ),
    "two equations in a chain": (
        "['b == a + 2', 'c == 3 * b - a']",
        {"a": "range(0, 9)", "b": "range(3, 10)", "c": "range(6, 20)"},
        _triples(lambda a, b, c: b == a + 2 and c == 3 * b - a, range(9), range(3, 10), range(6, 20)),
    ),
    "hard: one valid assignment in some thousand": (
        "['is_int(a * b / 143)', 'c == a - b']",
        {"a": "range(11, 150)", "b": "range(2, 90)", "c": "range(0, 60)"},
        _triples(lambda a, b, c: a * b % 143 == 0 and c == a - b, range(11, 150), range(2, 90), range(60)),
    ),
    "fractional coefficients": (
        "['a / 2 + b / 3 == c']",
        {"a": "range(0, 7)", "b": "range(0, 7)", "c": "range(0, 6)"},
        _triples(lambda a, b, c: 3 * a + 2 * b == 6 * c, range(7), range(7), range(6)),
    ),
    "different elements": (
        "['a + b > c']",
        {"a_b": "sample(list(range(1, 6)), 2)", "c": "range(2, 9)"},
        _triples(lambda a, b, c: a != b and a + b > c, range(1, 6), range(1, 6), range(2, 9)),
    ),
}  # fmt: skip


def _chi_square_limit(freedom: int) -> float:
    """A bound that a uniform draw exceeds less than once in a million (Wilson and Hilferty)."""
    return freedom * (1 - 2 / (9 * freedom) + 4.8 * math.sqrt(2 / (9 * freedom))) ** 3


@pytest.mark.parametrize("case", UNIFORM)
def test_draws_are_uniform_over_the_valid_assignments(case: str, write: Write) -> None:
    conditions, init, valid = UNIFORM[case]
    base = "\n".join(f"{name} = {value}" for name, value in zip("abc", min(valid), strict=True))
    sampler, below = Sampler(write(conditions, base=base, **init)), stream(1, case)
    draws = 60 * len(valid)
    values = itemgetter(*"abc")
    counts = Counter(values(sampler.draw(below).env) for _ in range(draws))
    assert set(counts) <= valid
    statistic = sum((counts[triple] - 60) ** 2 / 60 for triple in valid)
    assert statistic < _chi_square_limit(len(valid) - 1)


def test_the_uniformity_test_sees_a_skewed_draw(write: Write) -> None:
    # The same statistic on draws that solve `a * b == c` for b although a may be 0: it must not pass.
    below = stream(1, "skewed")
    valid = _triples(lambda a, b, c: a * b == c, range(4), range(4), range(5))
    counts: Counter[tuple[int, ...]] = Counter()
    while counts.total() < 60 * len(valid):
        a, c = below(4), below(5)
        if a == 0 and c == 0:
            counts[a, below(4), c] += 1
        elif a and c % a == 0 and c // a < 4:
            counts[a, c // a, c] += 1
    statistic = sum((counts[values] - 60) ** 2 / 60 for values in valid)
    assert statistic > _chi_square_limit(len(valid) - 1)


def test_equations_are_solved_and_remainders_are_not(write: Write) -> None:
    solved = write("['c == 2 * a + b']", base="a = 1\nb = 1\nc = 3", a="range(0, 9)", b="range(0, 9)", c="range(0, 90)")
    tested = write("['c % a == 0']", base="a = 1\nc = 3", a="range(1, 9)", c="range(0, 90)")
    twice = write("['c == a']", base="a = 1\nc = '1'", a="range(0, 9)", c="[('1', 1), ('one', 1)]")
    assert [step.name for steps in plan(solved) for step in steps if isinstance(step, Solve)] == ["c"]
    assert not [step for steps in plan(tested) for step in steps if isinstance(step, Solve)]
    assert [step.name for steps in plan(twice) for step in steps if isinstance(step, Solve)] == ["a"]


def test_tabulated_components_keep_every_valid_assignment(write: Write) -> None:
    template = write("['a * b == 12']", base="a = 3\nb = 4", a="range(1, 13)", b="range(1, 13)")
    component = Component(plan(template)[0]).tabulated()
    below, found = stream(0, "table"), set()
    for _ in range(500):
        env: dict[str, int] = {}
        assert component.draw(env, {}, below, 1)
        found.add((env["a"], env["b"]))
    assert found == {(a, 12 // a) for a in range(1, 13) if 12 % a == 0}


def test_consecutive_elements_wrap_round(write: Write) -> None:
    template = write("[]", base="a = 'Sunday'\nb = 'Monday'", a_b="sample_sequential(weekdays, 2)")
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    pairs = {tuple(i.env.values()) for i in itertools.islice(Sampler(template).instances(0, "x"), 6)}
    assert pairs | {("Sunday", "Monday")} == {(days[i], days[(i + 1) % 7]) for i in range(7)}


def test_the_stream_never_changes() -> None:
    # Golden values: whoever breaks them breaks the reproducibility of every published run.
    below = stream(7, "golden")
    assert [below(1000) for _ in range(8)] == [603, 470, 406, 683, 311, 935, 551, 183]


def test_the_draws_of_a_template_never_change(write: Write) -> None:
    # Golden as well. A change of the order of draws is a new GENERATOR_VERSION.
    init = {"a_b": "sample(list(range(1, 90)), 2)", "c": "range(2, 90)", "d": "sample(fraction_alnum)"}
    template = write("['a + b > c', 'is_int(c * d)']", base="a = 1\nb = 9\nc = 8\nd = '1/2'", **init)
    questions = [instance.question for instance in itertools.islice(Sampler(template).instances(11, "golden"), 3)]
    assert questions == ["Is 84 21 72 1/9 right?", "Is 55 56 28 one-half right?", "Is 13 59 55 one-fifth right?"]


def test_the_order_of_hashing_does_not_matter(tmp_path: Path) -> None:
    script = tmp_path / "items.py"
    script.write_text(
        "import hashlib\nfrom variantbench.benchmarks.gsm import load_items\n"
        "text = repr(load_items(variants_per_template=4))\nprint(hashlib.sha256(text.encode()).hexdigest())\n",
        encoding="utf-8",
    )
    outputs = {
        subprocess.run(
            [sys.executable, str(script)], env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_the_first_instances_do_not_depend_on_how_many_are_drawn(write: Write) -> None:
    sampler = Sampler(write("['a < b']", base="a = 1\nb = 2", a="range(0, 99)", b="range(0, 99)"))
    few = [i.question for i in itertools.islice(sampler.instances(3, "x"), 5)]
    many = [i.question for i in itertools.islice(sampler.instances(3, "x"), 50)]
    other = [i.question for i in itertools.islice(sampler.instances(4, "x"), 50)]
    assert many[:5] == few
    assert many != other
    assert len(set(many)) == 50
    assert "Is 1 2 right?" not in many


def test_an_unsatisfiable_template_says_so_in_bounded_time(write: Write) -> None:
    template = write("['a < b']", base="a = 1\nb = 2", a="range(0, 99)", b="range(0, 99)")
    never = compile_expression("a > b", kinds_of(template.draws))
    impossible = replace(template, conditions=(*template.conditions, never))
    start = time.perf_counter()
    with pytest.raises(UserError, match=r"t\.toml: no values found in 200000 tries that meet all conditions"):
        next(Sampler(impossible).instances(0, "x"))
    assert time.perf_counter() - start < 5


def test_an_answer_that_is_never_exact_says_so_in_bounded_time(write: Write) -> None:
    template = write("['a * b == 7100']", base="a = 71\nb = 100", a="range(1, 9999)", b="range(1, 9999)")
    never = replace(template, answer=compile_expression("int(a / 10007)", kinds_of(template.draws), strict=True))
    start = time.perf_counter()
    with pytest.raises(UserError, match="no values found in 200000 tries that meet all conditions and give an exact"):
        next(Sampler(never).instances(0, "x"))
    assert time.perf_counter() - start < 5


def test_too_few_questions_are_told(write: Write) -> None:
    sampler = Sampler(write("[]", base="a = 1", a="range(0, 9)"))
    with pytest.raises(UserError, match="no new question in 2000 draws after 8 different ones"):
        list(itertools.islice(sampler.instances(0, "x"), 9))


def test_an_answer_that_would_be_truncated_is_never_drawn(write: Write) -> None:
    sampler = Sampler(write("[]", answer="int(a / 3)", base="a = 3", a="range(1, 90)"))
    instances = list(itertools.islice(sampler.instances(0, "x"), 25))
    assert all(i.env["a"] % 3 == 0 and i.answer * 3 == i.env["a"] for i in instances)


def test_a_division_by_zero_in_a_condition_is_a_rejection(write: Write) -> None:
    sampler = Sampler(write("['6 / (a - 4) > 1']", base="a = 5", a="range(0, 9)"))
    assert {i.env["a"] for i in itertools.islice(sampler.instances(0, "x"), 3)} == {6, 7, 8}
