"""The pytest plugin from outside: what a user sees, plain, with workers and without xdist."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

# Right for 1.0 (10), 1.1 (11) and 2.2 (22); wrong for 1.2, no answer for 2.0 and 2.1.
ANSWERS = {
    "1.0?": "The final answer is 10.",
    "1.1?": "So it is 5 + 6 = 11.",
    "1.2?": "The final answer is 13.",
    "2.0?": "I do not know.",
    "2.1?": "",
    "2.2?": "The final answer is $22.",
}


def query(folder: Path, sql: str) -> list[tuple]:
    with sqlite3.connect(folder / ".variantbench" / "runs.db") as connection:
        return connection.execute(sql).fetchall()


def test_verdicts_are_the_same_in_every_mode(suite, script, pytester, mode):
    result = suite(*script(answers=ANSWERS), *mode)
    assert result.ret == 0
    rows = query(pytester.path, "select case_id, robust_verdict from records order by case_id")
    verdicts = {case: verdict for case, verdict in rows if "simple_nl" not in case}
    assert verdicts == {
        "test_few.py::test_few[gsm-0001-base]": "correct",
        "test_few.py::test_few[gsm-0001-v1]": "correct",
        "test_few.py::test_few[gsm-0001-v2]": "incorrect",
        "test_few.py::test_few[gsm-0002-base]": "no_answer",
        "test_few.py::test_few[gsm-0002-v1]": "no_answer",
        "test_few.py::test_few[gsm-0002-v2]": "correct",
    }
    assert len(rows) == 12


def test_a_run_says_nothing_on_standard_error(suite, script, mode):
    result = suite(*script(answers=ANSWERS), *mode)
    assert [line for line in result.errlines if line.strip()] == []


def test_wrong_answers_are_measurements(suite, script, mode):
    result = suite(*script(default="The final answer is 1."), *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*12 wrong*"])


def test_fail_on_wrong_gives_pytests_status(suite, script, mode):
    result = suite(*script(default="The final answer is 1."), "--fail-on=wrong", *mode)
    assert result.ret == 1
    result.assert_outcomes(failed=12)


def test_a_wrong_answer_is_told_in_three_lines(suite, script, mode):
    result = suite(*script(answers=ANSWERS), "-k", "gsm-0001-v2", *mode)
    result.stdout.fnmatch_lines(
        [
            "asked     test_few[[]gsm-0001-v2[]]: Question 1.2?",
            "expected  12",
            "got       13 (answer sentence): The final answer is 13.",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_an_answer_cannot_command_the_terminal(suite, script, pytester):
    hostile = "\x1b]0;owned\x07\x1b[2J 13 \u202e\x00 The final answer is 13."
    result = suite(*script(default=hostile), "-k", "gsm-0001-v2")
    assert "·]0;owned··[2J 13 ·· The final answer is 13." in result.stdout.str()
    assert "\x1b" not in result.stdout.str()
    assert query(pytester.path, "select instr(text, char(27)) > 0 from completions") == [(1,)]  # stored as it was


def test_selection_generates_only_what_is_selected(suite, script, pytester, mode):
    result = suite(*script(answers=ANSWERS), "-m", "gsm and base", "-k", "simple_nl", *mode)
    assert result.ret == 0
    assert len(query(pytester.path, "select key from completions")) == 2


def test_stored_completions_are_not_generated_again(suite, script, pytester, mode):
    options = script(answers=ANSWERS)
    suite(*options)
    before = query(pytester.path, "select key, created from completions order by key")
    result = suite(*options, *mode)
    result.stdout.fnmatch_lines(["*12 of them are in the store already, 0 to generate*"])
    assert query(pytester.path, "select key, created from completions order by key") == before
    assert query(pytester.path, "select count(*) from records") == [(24,)]


def test_fresh_generates_again_but_keeps_what_is_stored(suite, script, pytester):
    options = script(answers=ANSWERS)
    suite(*options)
    result = suite(*options, "--fresh")
    assert "in the store already" not in result.stdout.str()
    assert result.ret == 0


def test_an_edited_model_is_another_model(suite, script, pytester):
    suite(*script(answers=ANSWERS))
    suite(*script(default="The final answer is 10."))
    assert query(pytester.path, "select count(*) from models") == [(2,)]
    assert query(pytester.path, "select count(*) from completions") == [(24,)]


def test_stops_after_the_first_wrong_answer(suite, script, mode):
    result = suite(*script(default="no number"), "-x", *mode)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_last_failed_runs_only_what_was_wrong(pytester, benchmark_text, script, mode):
    pytester.makepyfile(test_few=benchmark_text)
    options = ["--variants-per-template=2", *script(answers=ANSWERS)]
    pytester.runpytest_subprocess(*options)
    result = pytester.runpytest_subprocess(*options, "--lf", *mode)
    # with workers either may be graded first, and so be named first
    assert "2 wrong" in result.outlines[-1]
    assert "4 no answer" in result.outlines[-1]
    assert result.parseoutcomes().keys().isdisjoint({"passed", "failed"})


def test_an_engine_that_dies_once_is_started_again(suite, script, pytester, mode):
    result = suite(*script(answers=ANSWERS, die_after=4), "--batch-size=1", *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*the engine process died*started again*"])
    assert query(pytester.path, "select count(*) from completions") == [(12,)]


def test_an_engine_that_keeps_dying_is_an_error_and_never_a_wrong_answer(suite, script, pytester, mode):
    result = suite(*script(answers=ANSWERS, die_always_after=2), "--batch-size=1", *mode)
    assert result.ret == 10
    result.assert_outcomes(errors=6, passed=3)  # three lives with two answers each
    verdicts = dict(query(pytester.path, "select robust_verdict, count(*) from records group by 1"))
    assert verdicts == {"correct": 3, "incorrect": 1, "no_answer": 2, "error": 6}


def test_a_model_that_does_not_load_stops_the_run_with_its_reason(suite, tmp_path, mode):
    broken = tmp_path / "broken.json"
    broken.write_text("not json")
    result = suite("--engine=scripted", f"--model={broken}", *mode)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*is no script that --engine scripted can read*"])


def test_no_model_skips_with_one_line_that_says_what_to_pass(suite, mode):
    result = suite(*mode)
    result.assert_outcomes(skipped=12)
    assert result.stdout.str().count("pass --model NAME") == 1


def test_collect_only_starts_nothing(suite, script, pytester):
    result = suite(*script(answers=ANSWERS), "--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_few.py::test_few[[]gsm-0001-base[]]", "*12 tests collected*"])
    assert not (pytester.path / ".variantbench").exists()


def test_other_peoples_tests_are_left_alone(pytester):
    pytester.makepyfile("def test_one():\n    assert 1 == 1\n")
    result = pytester.runpytest_subprocess("-n2")
    result.assert_outcomes(passed=1)
    assert "variantbench:" not in result.stdout.str()


def test_other_tests_run_beside_questions(suite, script, pytester, mode):
    pytester.makepyfile(test_other="def test_right():\n    pass\n\ndef test_broken():\n    assert 1 == 2\n")
    result = suite(*script(answers=ANSWERS), *mode)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed, 7 passed*"])


def test_junit_counts_wrong_answers_as_failures(suite, script, pytester, mode):
    suite(*script(answers=ANSWERS), "--junitxml=report.xml", *mode)
    text = (pytester.path / "report.xml").read_text()
    assert 'failures="6"' in text
    assert 'errors="0"' in text


def test_several_models_run_one_after_the_other(suite, tmp_path, pytester):
    options = []
    for name, answer in (("first", "The final answer is 10."), ("second", "The final answer is 11.")):
        (tmp_path / f"{name}.json").write_text(f'{{"default": "{answer}"}}')
        options.append(f"--model={tmp_path / name}.json")
    result = suite("--engine=scripted", *options, "-n2")
    assert result.ret == 0
    rows = query(pytester.path, "select model, sum(robust_verdict = 'correct') from records group by 1 order by 1")
    assert rows == [("first.json", 2), ("second.json", 2)]


def test_an_interrupted_run_keeps_what_was_generated(pytester, benchmark_text, script, mode):
    pytester.makepyfile(test_few=benchmark_text)
    options = ["--variants-per-template=20", "--batch-size=2", *script(answers=ANSWERS, seconds=0.3)]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *mode]
    process = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: stored(pytester.path) >= 6)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    kept = stored(pytester.path)
    assert process.returncode == 2
    assert 6 <= kept < 84
    assert "run the same command again" in output
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, *mode)
    result.stdout.fnmatch_lines([f"*{kept} of them are in the store already, {84 - kept} to generate*"])
    assert stored(pytester.path) == 84


def stored(folder: Path) -> int:
    try:
        return query(folder, "select count(*) from completions")[0][0]
    except sqlite3.OperationalError:
        return 0


def wait_for(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_a_worker_that_crashes_loses_no_answer(pytester, benchmark_text, script):
    crash = benchmark_text + "\n    if 'gsm-0001-v1' in answer.record.case:\n        import os; os._exit(1)\n"
    pytester.makepyfile(test_few=crash)
    result = pytester.runpytest_subprocess("--variants-per-template=2", *script(answers=ANSWERS), "-n2")
    result.stdout.fnmatch_lines(["*replacing crashed worker*", "*1 failed*"])
    assert len(query(pytester.path, "select * from completions")) == 12


def test_a_killed_run_leaves_no_process_and_goes_on_where_it_was(pytester, benchmark_text, script, mode):
    pytester.makepyfile(test_few=benchmark_text)
    options = ["--variants-per-template=20", "--batch-size=2", *script(answers=ANSWERS, seconds=0.3)]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *mode]
    process = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL)
    wait_for(lambda: stored(pytester.path) >= 6)
    assert len(processes_in(pytester.path)) >= 3  # controller, supervisor, engine
    process.kill()
    process.wait()
    wait_for(lambda: not processes_in(pytester.path))
    kept = stored(pytester.path)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, *mode)
    result.stdout.fnmatch_lines([f"*{kept} of them are in the store already, {84 - kept} to generate*"])
    assert query(pytester.path, "select count(*), count(distinct key) from completions") == [(84, 84)]


def processes_in(folder: Path) -> list[str]:
    """The command lines of the other processes whose working folder is that one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        try:
            if (process / "cwd").resolve() == folder.resolve():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return [command for command in found if command]


def test_a_file_that_does_not_import_is_an_error_and_not_a_hang(suite, script, pytester, mode):
    pytester.makepyfile(test_broken="import there_is_no_such_module\n")
    result = suite(*script(answers=ANSWERS), *mode)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*there_is_no_such_module*"])


def test_a_supervisor_that_is_killed_ends_the_run_as_invalid(pytester, benchmark_text, script, mode):
    pytester.makepyfile(test_few=benchmark_text)
    options = ["--variants-per-template=20", "--batch-size=2", *script(answers=ANSWERS, seconds=0.3)]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *mode]
    process = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: stored(pytester.path) >= 6)
    subprocess.run(["pkill", "-9", "-P", str(process.pid), "-f", "generation.supervisor"], check=True)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 10
    assert "stopped: the supervisor process is gone: run the same command again" in output


def test_equally_named_tests_of_two_files_are_two_cases(suite, script, pytester, benchmark_text):
    pytester.makepyfile(test_more=benchmark_text)
    suite(*script(answers=ANSWERS))
    assert query(pytester.path, "select count(*) from records") == [(24,)]


def test_an_assertion_of_the_benchmarks_own_is_a_failure_and_not_a_wrong_answer(
    suite, script, pytester, benchmark_text
):
    own = benchmark_text.replace("assert answer.is_correct", "assert answer.record.completion.new_tokens > 99")
    pytester.makepyfile(test_few=own)
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(default="The final answer is 10."))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 failed, 2 wrong*"])


def test_fresh_answers_are_kept_beside_the_old_ones(suite, script, pytester):
    options = script(answers=ANSWERS)
    suite(*options)
    suite(*options, "--fresh")
    assert query(pytester.path, "select count(*) from completions") == [(24,)]
    keys = query(pytester.path, "select count(distinct completion_key) from records group by run_id")
    assert keys == [(12,), (12,)]


def test_a_greedy_question_asked_several_times_is_generated_once(pytester, script, benchmark_text):
    repeated = benchmark_text.replace('"simple_nl")', '"simple_nl"), repeats=lambda run: 3')
    pytester.makepyfile(test_few=repeated)
    result = pytester.runpytest_subprocess("--variants-per-template=0", *script(answers=ANSWERS))
    assert result.ret == 0
    assert query(pytester.path, "select count(*) from records") == [(12,)]
    assert query(pytester.path, "select count(*) from completions") == [(4,)]
