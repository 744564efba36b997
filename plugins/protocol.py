"""Running a case in one step instead of pytest's three, where nobody can tell the difference.

Set-up and teardown of a case do nothing but ask for its answer, yet three reports a case are what a large run costs in
pytest. A case takes this way if its only fixtures are ours, it carries no mark that changes how it runs, and neither an
option nor another plugin looks into the phases. Node ids, hooks around the whole case, capture, JUnit and ``--lf`` are
as ever; an infrastructure fault is still an error of the set-up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from variantbench.plugins.answers import case_of

_OUR_FIXTURES = frozenset({"answer", "case", "request"})
_PHASES = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_fixture_setup",
)
_OPTIONS = ("usepdb", "trace", "setupshow", "setuponly", "setupplan", "log_cli_level", "log_file")
# Plugins that look into phases, but only of their own tests.
_HARMLESS = ("_pytest.", "xdist.", "variantbench.", "_hypothesis_pytestplugin", "anyio.")
_LET_THROUGH: tuple[type[BaseException], ...] = (pytest.exit.Exception, KeyboardInterrupt)
_MARKS = frozenset({"skip", "skipif", "xfail", "usefixtures"})


class ShortProtocol:
    """Decides once a session whether cases may take the short way, and takes it."""

    def __init__(self, config: pytest.Config, obtain: Callable[[pytest.Item], Any]) -> None:
        self.obtain = obtain
        self.allowed = not any(config.getoption(name, None) for name in _OPTIONS) and not config.getini("log_cli")
        # by test function: whether its definition allows it, and where it stands
        self._seen: dict[Any, bool] = {}
        self._places: dict[Any, tuple[str, int | None, str]] = {}

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run one of our cases; None leaves the item to pytest."""
        if not self.allowed or case_of(item) is None or not self._is_plain(item):
            return None
        hook, location = item.ihook, self._locate(item)
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=location)
        self._run(item)
        # what earlier tests with fixtures of a module or class have set up ends when pytest would end it
        session: Any = item.session
        stops = session.shouldfail or session.shouldstop
        end = pytest.CallInfo.from_call(
            lambda: session._setupstate.teardown_exact(None if stops else nextitem),
            when="teardown",
            reraise=_LET_THROUGH,
        )
        if end.excinfo is not None:
            _report(item, end)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=location)
        return True

    def _locate(self, item: Any) -> tuple[str, int | None, str]:
        """The item's file, line and name, asked of pytest once a function: it looks at the disk for each case."""
        function = _function_of(item)
        if function not in self._places:
            file, line, name = item.location
            self._places[function] = file, line, name.removesuffix(item.name)
        file, line, before = self._places[function]
        place = item.location = file, line, before + item.name
        return place

    def _is_plain(self, item: Any) -> bool:
        """Whether function, marks and other plugins let the case take the short way."""
        function = _function_of(item)
        if function not in self._seen:
            self._seen[function] = set(item.fixturenames) <= _OUR_FIXTURES and not any(
                _others(item, hook) for hook in _PHASES
            )
        return self._seen[function] and not any(mark.name in _MARKS for mark in item.iter_markers())

    def _run(self, item: Any) -> None:
        found = pytest.CallInfo.from_call(lambda: self.obtain(item), when="setup", reraise=_LET_THROUGH)
        if found.excinfo is None:
            values = {"answer": found.result, "case": case_of(item), "request": item._request}
            wanted = {name: values[name] for name in item._fixtureinfo.argnames}
            found = pytest.CallInfo.from_call(lambda: _call(item, wanted), when="call", reraise=_LET_THROUGH)
        _report(item, found)
        item._request = item.funcargs = None


def _function_of(item: Any) -> tuple[str | None, Any]:
    return getattr(item, "originalname", None), item.parent


def _report(item: Any, call: Any) -> None:
    hook = item.ihook
    hook.pytest_runtest_logreport(report=hook.pytest_runtest_makereport(item=item, call=call))


def _call(item: Any, arguments: dict[str, Any]) -> None:
    """The test function itself, what it prints kept for its report as ever."""
    capture = item.config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        item.obj(**arguments)
        return
    with capture.item_capture("call", item):
        item.obj(**arguments)


def _others(item: Any, hook: str) -> bool:
    """Whether a plugin looks into a phase that might mean our cases."""
    return any(
        not implementation.function.__module__.startswith(_HARMLESS)
        for implementation in getattr(item.ihook, hook).get_hookimpls()
    )
