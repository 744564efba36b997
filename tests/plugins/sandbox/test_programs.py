"""Every program ends as it must, in every box, and the answer behind it gets its value."""

from __future__ import annotations

import pytest

from tests.plugins.sandbox.programs import HOSTILE, LIMITS, ORDINARY, POSTURE, Program, body, limit
from variantbench.plugins.datatypes import ExecutionClass


@pytest.mark.parametrize("program", ORDINARY + HOSTILE, ids=lambda program: program.name)
def test_the_program_ends_as_it_must_and_so_does_the_one_behind_it(pool, program: Program):
    first, behind = pool.submit(program.source), pool.submit(body("return 6 * 7"))
    got = first.result()
    assert got.ending.value == program.ending, got
    if program.ending in ("ok", "not_a_number") and program.kind:
        assert (got.value, got.kind) == (program.value, program.kind)
    assert behind.result().value == "42"
    assert pool.counts.boxes_died == 0


@pytest.mark.parametrize("what", [name for name, (_, value) in POSTURE.items() if value is not None])
def test_what_a_program_sees_of_its_box(pool, what):
    source, value = POSTURE[what]
    assert pool.execute(source).value == value


@pytest.mark.parametrize("name", LIMITS)
def test_what_a_program_may_use(pool, name):
    assert pool.execute(limit(name)).value == LIMITS[name]


def test_every_answer_in_a_container_has_a_user_of_its_own(pool):
    users = {pool.execute(body("import os", "return os.getuid() * 100_000 + os.getgid()")).value for _ in range(3)}
    if pool.backend.name == "docker":
        assert len(users) == 3
        assert all(int(user) >= 20_000 * 100_000 for user in users)
    else:
        assert users == {"6553465534"}


def test_output_is_kept_up_to_a_limit_and_the_message_is_short(pool):
    got = pool.execute(body("print('x' * 99_999)", "raise ValueError('y' * 99_999)"))
    assert got.output == "x" * 8192
    assert got.ending is ExecutionClass.TYPE_VALUE_ERROR
    assert got.message.startswith("ValueError: yyy")
    assert len(got.message) < 500


def test_text_that_is_no_utf_8_does_no_harm(pool):
    got = pool.execute(body("import sys", "sys.stdout.buffer.write(b'\\xff')", "print('\\ud800')", "return 1"))
    assert got.value == "1"
    assert "�" in got.output


def test_a_longer_program_than_a_pipe_holds(pool):
    assert pool.execute("# " + "é" * 600_000 + "\n" + body("return 5")).value == "5"


def test_numpy_and_sympy_count_where_the_box_has_them(pool):
    pytest.importorskip("numpy")
    assert pool.execute(body("import numpy", "return numpy.int64(12)")).value == "12"
    assert pool.execute(body("import numpy", "return numpy.float32(0.5) / numpy.int8(2)")).value == "0.25"
    assert pool.execute(body("import numpy", "return numpy.array([12])")).value is None
    pytest.importorskip("sympy")
    assert pool.execute(body("import sympy", "return sympy.Rational(25, 2)")).value == "25/2"
    assert pool.execute(body("import sympy", "return sympy.Integer(1)")).value == "1"
    assert pool.execute(body("import sympy", "return sympy.Float(0.5)")).value == "0.5"
    assert pool.execute(body("import sympy", "return sympy.Symbol('x')")).value is None
    assert pool.execute(body("import numpy"), profile="stdlib").message.startswith("ModuleNotFoundError")


# The paper profile: the study's namespace.


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        (body("return math.ceil(2.5)"), "ok"),  # modules are at hand
        (body("return solution()"), "name_error"),  # names of the module are invisible inside functions
        ("price = 3\n" + body("return price"), "name_error"),
        ("def helper():\n    return 1\n" + body("return helper()"), "name_error"),
        (body("return isinstance(1, int)"), "name_error"),  # builtins that are missing
        (body("raise ValueError"), "name_error"),
        (body("class A: pass", "return 1"), "name_error"),
        (body("import math", "return 1"), "other"),  # import lines are gone before; what is left cannot import
        (body("return len('\ud800')"), "type_value_error"),  # the study compiles inside the same try
        (body("return random._os.getpid() > 0"), "ok"),  # its filter is a label, no defence
        (body("return fractions.Fraction(1, 2)"), "not_a_number"),
    ],
)
def test_the_paper_profile_has_the_studys_namespace(pool, source, ending):
    assert pool.execute(source, profile="paper").ending.value == ending


def test_the_paper_profile_is_as_closed_as_the_other(pool):
    assert pool.execute(body("return random._os.fork()"), profile="paper").ending is ExecutionClass.OTHER
    assert pool.execute(body("while True: pass"), profile="paper").ending is ExecutionClass.TIMEOUT
