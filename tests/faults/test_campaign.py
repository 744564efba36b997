"""Each fault of the campaign once, its table, and the signals that end a run as Ctrl-C does."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.blows import FAULTS
from tests.faults.campaign import Count, Fault, table, trial, write_table
from variantbench.plugins.signals import interrupt_on_termination

SLOW = os.environ.get("VARIANTBENCH_SLOW") == "1"
CHOSEN = [fault for fault in FAULTS if SLOW or not fault.only_long]


@pytest.mark.parametrize("fault", CHOSEN, ids=lambda fault: fault.name)
def test_nothing_is_lost_and_the_same_command_finishes(fault: Fault, tmp_path, needs):
    lacks = fault.lacks()
    needs(not lacks, lacks)
    trial(fault, tmp_path, seed=13, count=Count())


def test_the_table_stands_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- campaign -->\nold\n<!-- end of campaign -->\nafter\n")
    counts = {"one": Count(2, 2, 1_000), "two": Count(3, 2, 10, lost=1)}
    write_table(page, counts, minutes=1)
    write_table(page, counts, minutes=1)  # making it anew changes nothing else
    text = page.read_text()
    assert text.startswith("before\n<!-- campaign -->\n\n| fault |")
    assert text.endswith("<!-- end of campaign -->\nafter\n")
    assert "old" not in text
    assert table(counts)[-1] == "| **all** | **5** | **4** | **1,010** | **1** | **0** | **0** |"


@pytest.fixture
def plain_signals():
    """The signals as a shell starts a program with them; nohup, for one, ignores SIGHUP."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("plain_signals")
def test_a_signal_interrupts_once_and_a_second_one_ends():
    undo = interrupt_on_termination()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    undo()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        interrupt_on_termination()()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
