"""The pytest plugin: hooks of a few lines that delegate. Inert unless ``--model`` is given."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from variantbench.plugins.options import RunConfig, add_options, read_options

if TYPE_CHECKING:
    from variantbench.plugins.answers import Answer, Answers
    from variantbench.plugins.cases import Case
    from variantbench.plugins.controller import Controller
    from variantbench.plugins.datatypes import Record

RUN: pytest.StashKey[RunConfig] = pytest.StashKey()
CHAT_MODELS: pytest.StashKey[Mapping[str, bool]] = pytest.StashKey()
CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
ANSWERS: pytest.StashKey[Answers] = pytest.StashKey()
RECORD: pytest.StashKey[Record] = pytest.StashKey()
SENT: pytest.StashKey[bool] = pytest.StashKey()  # whether the record has gone to the controller
NAMES: pytest.StashKey[dict[str, str]] = pytest.StashKey()  # of the test functions in the store, with their node ids
# How a test says that an answer is wrong.
_REFUSALS = (AssertionError, pytest.fail.Exception)

NO_MODEL = "no model: pass --model NAME (`variantbench models` lists them; smollm2-135m needs no hub)"

# Without workers all cases run here in order, so answers are fetched by the handful.
_ANSWERS_AHEAD = 31

_MARKS = (
    "questions(items, formats, shots, repeats): the test is asked once per item and prompt format",
    "gsm: grade-school word problems",
    "easy: word problems of one or two steps, for small models",
    "logic: questions of shallow logic",
    "base: known questions",
    "variants: fresh variants of known questions",
    "text: answers in prose",
    "code: answers that are a Python function",
    "yesno: answers that are yes or no",
    *(f"q{n}: logic batch Q{n}" for n in (1, 2, 3, 4)),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Check everything the user gave before anything heavy loads, then start the run."""
    from variantbench.plugins.errors import VariantbenchError

    try:
        _configure(config)
    except VariantbenchError as error:
        raise pytest.UsageError(str(error)) from None


def _configure(config: pytest.Config) -> None:
    run = read_options(config.option)
    config.stash[RUN], config.stash[CHAT_MODELS] = run, {}
    _add_marks(config, run)
    if run.preflight:
        config.option.dist = "no"  # workers would only collect the same
    if not run.models or run.preflight:
        return
    if hasattr(config, "workerinput"):
        _configure_worker(config, config.workerinput["variantbench"])
        return
    from variantbench.plugins.run import check, prepare

    run, specs = check(run)
    config.stash[RUN] = run
    if config.option.collectonly or config.option.help:
        return
    from variantbench.plugins.answers import Answers
    from variantbench.plugins.baseline import load_run
    from variantbench.plugins.controller import Controller
    from variantbench.plugins.controller_hooks import ControllerHooks
    from variantbench.plugins.gate import policy_of
    from variantbench.plugins.signals import interrupt_on_termination
    from variantbench.plugins.speaker import Speaker
    from variantbench.plugins.store import open_store

    speaker = Speaker(silent=config.get_verbosity() < 0)
    store = open_store(run.store)
    policy, baseline = policy_of(run), load_run(store, run.baseline) if run.baseline else None
    models = prepare(run, specs, say=speaker.say)
    config.add_cleanup(interrupt_on_termination())
    controller = Controller(run, models, store, policy=policy, baseline=baseline, say=speaker.say)
    config.stash[CONTROLLER], config.stash[CHAT_MODELS] = controller, controller.chat_models
    config.stash[ANSWERS] = Answers(controller.stream(ahead=_ANSWERS_AHEAD))
    config.pluginmanager.register(ControllerHooks(controller, speaker), "variantbench-controller")
    _add_protocol(config)
    config.add_cleanup(controller.supervisor.close)


def _add_protocol(config: pytest.Config) -> None:
    """Let cases take the short way through pytest, in the processes that run them."""
    from variantbench.plugins.protocol import ShortProtocol

    config.pluginmanager.register(ShortProtocol(config, _obtain), "variantbench-protocol")


def _configure_worker(config: pytest.Config, text: str) -> None:
    from variantbench.plugins.answers import Answers
    from variantbench.plugins.generation.stream import Stream

    given = json.loads(text)
    config.stash[RUN] = RunConfig.from_dict(given["run"])
    config.stash[CHAT_MODELS] = given["chat_models"]
    config.stash[ANSWERS] = Answers(Stream(given["address"], given["key"]))
    _add_protocol(config)


def _add_marks(config: pytest.Config, run: RunConfig) -> None:
    from variantbench.plugins.cases import format_mark
    from variantbench.prompts.format import available_formats

    formats = [format_mark(name) for name in (*available_formats(), *run.prompts)]
    for line in (*_MARKS, *(f"{name}: asked in that prompt format" for name in dict.fromkeys(formats))):
        config.addinivalue_line("markers", line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make cases of the test functions that carry our mark."""
    if metafunc.definition.get_closest_marker("questions") is None:
        return
    from variantbench.plugins.cases import claim_name, parametrize
    from variantbench.plugins.errors import VariantbenchError

    try:
        claim_name(metafunc.definition.nodeid, metafunc.config.stash.setdefault(NAMES, {}))
        parametrize(metafunc, metafunc.config.stash[RUN], metafunc.config.stash[CHAT_MODELS])
    except VariantbenchError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--stop-early``, bring the cases into the order that the run commits itself to."""
    run = config.stash.get(RUN, None)
    if run is not None and run.stop_early:
        from variantbench.plugins.early_stop import shuffle

        shuffle(items, seed=run.seed)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Hand the selected cases to the supervisor."""
    from variantbench.plugins.errors import EngineError

    config = session.config
    if ANSWERS not in config.stash:
        return
    if CONTROLLER in config.stash:
        config.stash[CONTROLLER].start_listening()
    with contextlib.suppress(EngineError):  # the supervisor is gone: the first case that asks for its answer says so
        config.stash[ANSWERS].submit(session.items)
    gc.freeze()  # tens of thousands of cases live to the end: the collector need not visit them again and again


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """With ``--preflight``, stop once everything is collected: it was checked on the way."""
    if not session.config.stash[RUN].preflight or session.testsfailed:
        return None
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    _preflight_programs(session, reporter)
    if reporter is not None:
        reporter.write_line(f"variantbench: preflight passed, {len(session.items):,} cases")
    return True


def _preflight_programs(session: pytest.Session, reporter: Any) -> None:
    """Run the programs of shots whose answers are code, where there is a sandbox."""
    from variantbench.plugins.answers import case_of, programs_of
    from variantbench.plugins.errors import VariantbenchError
    from variantbench.plugins.generation.execution import Executor

    programs = programs_of([case for item in session.items if (case := case_of(item))])
    if programs is None:
        return
    run = session.config.stash[RUN]

    def tell(message: Mapping[str, Any]) -> None:
        if reporter is not None and "line" in message:
            reporter.write_line(f"variantbench: {message['line']}")

    executor = Executor(run.sandbox_task, tell)
    try:
        executor.open(programs)
    except VariantbenchError as error:
        raise pytest.UsageError(str(error)) from None
    finally:
        executor.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the supervisor listens."""
    controller = node.config.stash.get(CONTROLLER, None)
    if controller is not None:
        node.workerinput["variantbench"] = json.dumps(
            {
                "run": controller.run.as_dict(),
                "chat_models": controller.chat_models,
                "address": controller.supervisor.address,
                "key": controller.supervisor.key,
            }
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under xdist, a case goes to a worker when its answer exists."""
    controller = config.stash.get(CONTROLLER, None)
    if controller is None:
        return None
    if config.getvalue("dist") == "load":
        from variantbench.plugins.generation.scheduler import ReadyScheduling

        controller.scheduler = ReadyScheduling(config, log)
    controller.start_listening()
    return controller.scheduler


@pytest.fixture
def answer(request: pytest.FixtureRequest, case: Case) -> Answer:
    """The model's graded answer to this case; waits until it is there."""
    del case
    return _obtain(request.node)


def _obtain(item: pytest.Item) -> Answer:
    """The graded answer of a case; a skip or an error where there is none."""
    if ANSWERS not in item.config.stash:
        pytest.skip(NO_MODEL)
    from variantbench.plugins.answers import case_of, require_answer
    from variantbench.plugins.errors import EngineError, EnoughError

    case = case_of(item)
    assert case is not None  # noqa: S101 - the fixture `case` comes from our parametrisation alone
    try:
        record = item.config.stash[ANSWERS].record(item.nodeid, case)
    except EnoughError as reached:
        pytest.skip(str(reached))
    except EngineError as error:
        item.session.shouldstop = str(error)  # no more answers come: one error is enough
        raise
    item.stash[RECORD] = record
    return require_answer(record)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record to the report of the set-up, and put three lines in the place of a traceback."""
    report = yield
    record = item.stash.get(RECORD, None)
    if record is None:
        return report
    from variantbench.plugins.answers import explain
    from variantbench.plugins.datatypes import Verdict
    from variantbench.plugins.store.rows import record_rows

    if SENT not in item.stash:
        item.stash[SENT] = True
        rows = record_rows(record)
        # a worker's report travels by a codec that knows no lone surrogates, and models write them
        vars(report)["variantbench_record"] = json.dumps(rows) if hasattr(item.config, "workerinput") else rows
    verdict = record.robust.verdict
    if not report.failed or call.excinfo is None:
        return report
    if call.when == "setup" and verdict is Verdict.ERROR:
        report.longrepr = f"{record.case}: {record.robust.reason}"
        vars(report)["variantbench_verdict"] = verdict.value
    # any other exception is a mistake of the test's own
    elif verdict in (Verdict.INCORRECT, Verdict.NO_ANSWER) and call.excinfo.errisinstance(_REFUSALS):
        report.longrepr = explain(record)
        vars(report)["variantbench_verdict"] = verdict.value
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once why questions were skipped for want of a model."""
    skipped = terminalreporter.stats.get("skipped", [])
    ours = sum(NO_MODEL in str(report.longrepr) for report in skipped)
    if ours:
        terminalreporter.write_line(f"variantbench: {ours:,} questions skipped: {NO_MODEL}")
