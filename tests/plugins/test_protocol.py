"""The short way through pytest: nobody can tell, and whoever could gets pytest's own."""

from __future__ import annotations

import sqlite3

import pytest

RIGHT = {"1.0": "The final answer is 10.", "1.1": "The final answer is 11."}
SHORT = "def pytest_runtest_logreport(report):\n    print(f'PHASE {report.when}')\n"
METHOD = """

class TestMore:
    @pytest.mark.questions(items=few_items, formats=("gsm",))
    def test_method(self, answer):
        assert answer.is_correct
"""


def phases(result):
    return [line.split("PHASE ")[1] for line in result.stdout.lines if "PHASE " in line]


@pytest.fixture
def watched(pytester):
    pytester.makeconftest(SHORT)


def test_one_report_a_case(suite, script, watched):
    result = suite(*script(answers=RIGHT), "-s")
    assert phases(result) == ["call"] * 12


@pytest.mark.parametrize(
    ("conftest", "options"),
    [
        (SHORT + "def pytest_runtest_setup(item):\n    pass\n", []),
        (SHORT + "import pytest\n@pytest.fixture(autouse=True)\ndef own():\n    yield\n", []),
        (SHORT, ["--setup-show"]),
    ],
)
def test_whoever_looks_into_the_phases_gets_them(suite, script, pytester, conftest, options):
    pytester.makeconftest(conftest)
    result = suite(*script(answers=RIGHT), "-s", *options)
    assert phases(result).count("setup") == phases(result).count("teardown") == 12
    result.assert_outcomes(passed=4)


@pytest.mark.parametrize("mark", ["skip", "xfail"])
def test_marks_that_change_how_a_case_runs_are_heeded(pytester, script, benchmark_text, mark):
    marked = benchmark_text.replace("@pytest.mark.questions", f"@pytest.mark.{mark}\n@pytest.mark.questions")
    pytester.makepyfile(test_few=marked)
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(answers=RIGHT))
    result.stdout.fnmatch_lines([{"skip": "*4 skipped*", "xfail": "*2 xfailed, 2 xpassed*"}[mark]])


def test_cases_are_where_pytest_says_they_are(pytester, script, benchmark_text):
    where = "def pytest_runtest_logreport(report):\n    if report.when == 'call': print(f'PHASE {report.location}')\n"
    pytester.makepyfile(test_few=benchmark_text, test_more=benchmark_text + METHOD)
    places = []
    for own in ("", "def pytest_runtest_setup(item):\n    pass\n"):
        pytester.makeconftest(where + own)
        places.append(phases(pytester.runpytest_subprocess(*script(answers=RIGHT), "-s")))
    assert len(set(places[0])) > 2
    assert places[0] == places[1]


def test_a_mistake_of_the_test_is_no_wrong_answer(pytester, script, benchmark_text, mode):
    pytester.makepyfile(test_few=benchmark_text.replace("    assert", "    len(None)\n    assert"))
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(answers=RIGHT), *mode)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*TypeError: object of type 'NoneType' has no len()"])
    assert result.ret == 1


def test_a_fixture_of_the_tests_own_keeps_its_traceback(pytester, script, benchmark_text, mode):
    fixture = "@pytest.fixture\ndef own(answer):\n    raise RuntimeError('my own fixture is broken')\n\n\n"
    text = benchmark_text.replace("@pytest.mark", fixture + "@pytest.mark").replace("(answer)", "(answer, own)")
    pytester.makepyfile(test_few=text.replace("def own(answer, own)", "def own(answer)"))
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(answers=RIGHT), *mode)
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(["*RuntimeError: my own fixture is broken"])
    assert result.ret == 1


def test_two_folders_do_not_share_names_in_the_store(pytester, script, benchmark_text, mode):
    for folder in ("one", "two"):
        path = pytester.mkpydir(folder) / "test_few.py"
        path.write_text(benchmark_text)
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(answers=RIGHT), *mode)
    result.stdout.fnmatch_lines(["*two/test_few.py::test_few: its answers would be stored under the names of one/*"])
    assert result.ret != 0


def test_two_functions_that_ask_the_same_get_their_lines_and_no_traceback(pytester, script, benchmark_text):
    twin = "\n\n@pytest.mark.questions(items=few_items, formats=('gsm',))\ndef test_twin(answer):\n    assert answer\n"
    pytester.makepyfile(test_few=benchmark_text + twin)
    result = pytester.runpytest_subprocess("--variants-per-template=2", *script(answers=RIGHT))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["the report could not be made (UserError: *stands twice: two test functions*"])


def test_fixtures_of_the_module_end_when_they_should(pytester, script, benchmark_text, mode):
    other = """
import pytest


@pytest.fixture(scope="module")
def thing():
    print("BEGIN {n}")
    yield
    print("END {n}")


def test_thing(thing):
    pass
"""
    pytester.makepyfile(test_a=other.format(n="a"), test_few=benchmark_text, test_z=other.format(n="z"))
    result = pytester.runpytest_subprocess(
        "--variants-per-template=0", *script(default="The final answer is 10."), "-s"
    )
    assert result.ret == 0
    lines = [line.split(")")[-1] for line in result.stdout.lines]
    order = [word for line in lines for word in ("BEGIN a", "END a", "BEGIN z", "END z") if word in line]
    assert order == ["BEGIN a", "END a", "BEGIN z", "END z"]


def test_what_a_benchmark_prints_stands_in_its_report(pytester, script, benchmark_text, mode):
    loud = benchmark_text.replace(
        "    assert answer", "    print('looked at', answer.record.item.id)\n    assert answer"
    )
    pytester.makepyfile(test_few=loud)
    options = [*script(default="The final answer is 10."), "--fail-on=wrong", *mode]
    result = pytester.runpytest_subprocess("--variants-per-template=0", *options)
    result.stdout.fnmatch_lines(["*Captured stdout call*", "looked at 0002-base"])
    assert "looked at 0001-base" not in result.stdout.str()


def test_junit_and_last_failed_know_the_cases(suite, script, pytester):
    result = suite(*script(answers=RIGHT), "--junitxml=out.xml", "-p", "cacheprovider")
    text = (pytester.path / "out.xml").read_text()
    assert text.count("<testcase") == 12
    assert text.count("<failure") == 8
    assert result.ret == 0


def test_a_case_that_asks_for_a_fixture_of_its_own_has_it(pytester, script, benchmark_text, mode):
    wanting = benchmark_text.replace("(answer):", "(answer, tmp_path):\n    assert tmp_path.is_dir()")
    pytester.makepyfile(test_few=wanting)
    result = pytester.runpytest_subprocess("--variants-per-template=2", *script(answers=RIGHT), *mode)
    result.assert_outcomes(passed=4)


def test_lone_surrogates_travel_from_a_worker(suite, script, pytester):
    suite(*script(default="\ud800 The final answer is 10."), "-n2")
    with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
        assert connection.execute("select count(*) from records").fetchone() == (12,)
