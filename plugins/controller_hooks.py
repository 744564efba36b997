"""The pytest hooks of the process that writes the report; registered only where a run was started."""

from __future__ import annotations

import json
from typing import Any

import pytest

from variantbench.plugins.controller import Controller
from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import StoreError
from variantbench.plugins.gate import exit_status
from variantbench.plugins.speaker import Speaker
from variantbench.plugins.store.store import shown_url

# How a wrong answer shows in pytest's progress and summary: category, letter, word.
_STATUS = {
    Verdict.INCORRECT: ("wrong", "w", ("WRONG", {"yellow": True})),
    Verdict.NO_ANSWER: ("no answer", "n", ("NO ANSWER", {"yellow": True})),
}
_WRONG_SHOWN = 3


class ControllerHooks:
    """Collects records, counts whose fault failures are, decides the exit status and shows the summary."""

    def __init__(self, controller: Controller, speaker: Speaker) -> None:
        self.controller, self.speaker = controller, speaker
        self.wrong: list[str] = []
        self.interrupted = False

    def pytest_runtest_logstart(self) -> None:
        """Pytest is about to write without ending the line."""
        self.speaker.mid_line = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record that came with a report, and note a failure's cause."""
        self.speaker.mid_line = True
        # taken off the report, which pytest keeps to the end
        if record := vars(report).pop("variantbench_record", None):
            self.controller.add_record(json.loads(record) if isinstance(record, str) else record)
        if not report.failed:
            return
        tally = self.controller.tally
        match getattr(report, "variantbench_verdict", None):
            case None:
                tally.others += 1
            case Verdict.ERROR:
                tally.infrastructure += 1
            case _:
                tally.wrong_answers += 1
                if len(self.wrong) < _WRONG_SHOWN:
                    self.wrong.append(str(report.longrepr))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what could not be collected: with workers, pytest goes on without it."""
        if report.failed:
            self.controller.tally.others += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Any:
        """Show wrong answers as measurements, unless the user wants them to fail the run."""
        verdict = getattr(report, "variantbench_verdict", None)
        if verdict not in _STATUS or self.controller.run.fail_on == "wrong":
            return None
        return _STATUS[verdict]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the books and decide the exit status."""
        controller = self.controller
        self.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED or bool(session.shouldfail)
        controller.finish(interrupted=self.interrupted)
        if controller.stopped:
            controller.tally.infrastructure += 1
            exitstatus = pytest.ExitCode.TESTS_FAILED
        session.exitstatus = exit_status(
            exitstatus,
            controller.tally,
            fail_on=controller.run.fail_on,
            interrupted=self.interrupted,
            outcome=controller.gate.outcome,
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what the store now says of this run."""
        from variantbench.plugins.report.after_run import result_lines

        write = terminalreporter
        if self.wrong and self.controller.run.fail_on != "wrong":
            write.section(f"wrong answers: {len(self.wrong)} of {self.controller.tally.wrong_answers}", sep="=")
            write.write_line("\n\n".join(self.wrong))
        write.section("variantbench", sep="=")
        try:
            run = self.controller.run
            for line in result_lines(self.controller.store, self.controller.run_id, run.store, html=run.html_report):
                write.write_line(line)
        except StoreError as error:
            write.write_line(str(error), red=True)
        if self.controller.gate.has_news:
            from variantbench.plugins.report.verdict import gate_lines

            for line in gate_lines(self.controller.gate):
                write.write_line(line)
        if self.controller.stopped:
            write.write_line(f"stopped: {self.controller.stopped}", red=True)
        elif self.interrupted:
            write.write_line(f"interrupted: {self.controller.progress.so_far()}; run the same command again to go on")
        if slowest := self.controller.progress.slowest():
            write.write_line(slowest)
        write.write_line(f"run {self.controller.run_id} in {shown_url(self.controller.run.store)}")
