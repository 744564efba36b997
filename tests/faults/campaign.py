"""The fault campaign: strike a run at a random moment, look at what is left, and let the same command finish.

``python -m tests.faults.campaign --times 8 docs/reliability.md`` (or ``tox -e faults``) deals every fault so many times
and writes the table of that page. The ordinary tests deal each once (test_campaign.py). What can strike is in blows.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import StoreError
from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.terminal import accuracy_lines
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check
from variantbench.plugins.store.frame import answers_and_questions

ITEMS = 120
GO_ON = "run the same command again"
_PATIENCE = 120.0  # seconds for anything to end

_BENCHMARK = """
import pytest
from variantbench.plugins.datatypes import Item


def items(run):
    return [Item(f"{{n:04}}-base", "gsm", f"{{n % 30:04}}", f"Question {{n}}?", str(n % 3)) for n in range({items})]


@pytest.mark.questions(items=items, formats=("{form}",))
def test_many(answer):
    assert answer.is_correct
"""
_TEXT = {"default": "The final answer is 1.", "seconds": 0.06}
_CODE = {"default": "\n    return 1\n", "seconds": 0.06}


@dataclass
class Run:
    """A run that is under way in `folder`; `process` is its controller."""

    folder: Path
    url: str
    command: Sequence[str]
    environment: Mapping[str, str]
    draw: random.Random
    process: subprocess.Popen[str] = field(init=False)

    def start(self) -> None:
        """Begin; in a session of its own, as a terminal would give it one."""
        self.process = self.another()

    def another(self, *options: str) -> subprocess.Popen[str]:
        """The same command once more, beside it."""
        return subprocess.Popen(
            [*self.command, *options], cwd=self.folder, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def stored(self) -> dict[str, str]:
        """The texts in the store, by key."""
        try:
            with open_store(self.url, create=False) as store, store.engine.connect() as connection:
                return {row.key: row.text for row in connection.exec_driver_sql("select key, text from completions")}
        except (StoreError, SQLAlchemyError):  # it is being made
            return {}

    def wait_for_answers(self) -> None:
        """Let a random part of the answers come."""
        wanted = self.draw.randint(1, ITEMS * 2 // 3)
        wait(lambda: len(self.stored()) >= wanted or self.process.poll() is not None)
        assert self.process.poll() is None, f"it ended before the blow: {self.process.communicate()[0]}"


@dataclass(frozen=True)
class Place:
    """Where a run keeps its store, and in which environment it runs. `mend` ends a fault that lasts."""

    url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    mend: Callable[[], None] = lambda: None
    model: tuple[str, ...] = ()  # the options that name it, where it is not the scripted one


@contextmanager
def ordinary(folder: Path) -> Iterator[Place]:
    """A SQLite file in the run's folder."""
    yield Place(str(folder / "runs.db"))


@dataclass(frozen=True)
class Fault:
    """What strikes, how, how the run that was hit may end, and what it must then say."""

    name: str
    strike: Callable[[Run], None]
    endings: tuple[int, ...] = (0,)
    says: str = ""  # a regular expression; only asked of runs that do not end with 0
    always_says: str = ""
    options: tuple[str, ...] = ()
    form: str = "gsm"
    calm_status: int = 0  # exit status of a run that nothing strikes
    script: Mapping[str, object] | None = None  # the model, where it is the fault
    only_long: bool = False  # left out of the short form
    place: Callable[[Path], AbstractContextManager[Place]] = ordinary
    lacks: Callable[[], str] = lambda: ""  # what this machine lacks for it
    runs: int = 2  # in the store at the end


@dataclass
class Count:
    """What the trials of a fault came to."""

    tried: int = 0
    survived: int = 0
    answers: int = 0  # in the store when it struck
    lost: int = 0
    misgraded: int = 0
    twice: int = 0


def trial(fault: Fault, folder: Path, *, seed: int, count: Count) -> None:
    """One blow and its consequences; AssertionError says which promise was broken."""
    count.tried += 1
    with fault.place(folder) as place:
        run = prepare(fault, folder, place, seed=seed)
        run.start()
        run.wait_for_answers()
        before = run.stored()
        count.answers += len(before)
        fault.strike(run)
        output, _ = run.process.communicate(timeout=_PATIENCE)
        wait_until_alone(folder)
        place.mend()
        kept = run.stored()
        lost = [key for key, text in before.items() if kept.get(key) != text]
        count.lost += len(lost)
        assert not lost, f"{len(lost)} answers were lost\n{output}"
        check_words(fault, run.process.returncode, output)
        again = run.another()
        output, _ = again.communicate(timeout=_PATIENCE)
        assert again.returncode == fault.calm_status, f"the same command did not finish ({again.returncode})\n{output}"
        found = re.search(r"([\d,]+) of them are in the store already", output)
        reused = int(found[1].replace(",", "")) if found else 0
        assert reused == min(len(kept), ITEMS), f"not all {len(kept)} were used\n{output}"
        check_books(fault, run, count)
        assert f"run {newest_run(run)} in" in output, "the newest run is not the one that was made last"
    count.survived += 1


def prepare(fault: Fault, folder: Path, place: Place, *, seed: int) -> Run:
    """The benchmark, the model and the command that asks it."""
    (folder / "test_many.py").write_text(_BENCHMARK.format(items=ITEMS, form=fault.form))
    (folder / "model.json").write_text(json.dumps(fault.script or (_CODE if fault.form == "simple_code" else _TEXT)))
    model = place.model or ("--engine=scripted", f"--model={folder / 'model.json'}")
    options = ("-p", "no:cacheprovider", "--no-html-report", "--batch-size=4", f"--store={place.url}")
    command = [sys.executable, "-m", "pytest", *options, *model, *fault.options]
    return Run(folder, place.url, command, {**os.environ, **place.environment}, random.Random(seed))


def check_words(fault: Fault, status: int, output: str) -> None:
    """The run that was hit ended as it may, and said what to do; no traceback of ours."""
    assert status in fault.endings, f"exit status {status}, not one of {fault.endings}\n{output}"
    for words in (fault.always_says, fault.says if status > 0 else ""):
        assert re.search(words, output), f"it does not say {words!r}\n{output}"
    assert "Traceback" not in output, output
    assert "INTERNALERROR" not in output, output


def check_books(fault: Fault, run: Run, count: Count) -> None:
    """Every answer is there once, every grade is right, and the newest run has all of them."""
    with open_store(run.url) as store:
        assert not (faults := check(store).faults), faults
        runs = store.runs()
        assert len(runs) == fault.runs, [(each["id"], each["status"]) for each in runs]
        for each in runs:
            rows = list(store.records(each["id"]))
            count.misgraded += (wrong := sum(not rightly_graded(row, fault) for row in rows))
            count.twice += (twice := len(rows) - len({row["item_hash"] for row in rows}))
            assert not wrong, f"{wrong} misgraded"
            assert not twice, f"{twice} graded twice"
        newest = runs[0]
        books = newest["status"], newest["records"]
        assert books == ("complete", ITEMS), f"the newest run is {books}"
        shown = "\n".join(accuracy_lines(accuracy(*answers_and_questions(store, newest["id"]))))
        assert fault.script is not None or f" {ITEMS // 3}/{ITEMS} " in shown, shown
    models = {each["manifest"]["options"]["models"][0] for each in runs}
    stored = len(run.stored())
    assert stored == ITEMS * len(models), f"{stored} answers of {len(models)} models are stored"


def newest_run(run: Run) -> str:
    """The id of the run that a report is made of if none is named."""
    with open_store(run.url) as store:
        return str(store.find_run()["id"])


def rightly_graded(row: Mapping[str, object], fault: Fault) -> bool:
    """Whether the verdict is what question and text ask for. An ERROR is ours: it says nothing wrong of the model."""
    if fault.script is not None:  # their grades are checked one by one in test_strange_answers.py
        return row["robust_verdict"] != Verdict.ERROR
    right = row["target"] == "1" and "1" in str(row["text"])
    return row["robust_verdict"] == Verdict.ERROR or (row["robust_verdict"] == Verdict.CORRECT) == right


def wait(condition: Callable[[], bool], seconds: float = _PATIENCE) -> None:
    """Until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def wait_until_alone(folder: Path) -> None:
    """Supervisor and engine end by themselves once the controller is gone."""
    wait(lambda: not any(_is_in(process, folder) for process in Path("/proc").glob("[0-9]*")), 30)


def _is_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").resolve() == folder.resolve() and (process / "cmdline").read_text() != ""
    except OSError:
        return False


def shortened(text: str, most: int = 30) -> str:
    """The first line and the last ones."""
    first, *rest = text.splitlines() or [""]
    return "\n    ".join([first, *rest[-most:]])


def table(counts: Mapping[str, Count]) -> list[str]:
    """The page's table."""
    lines = [
        "| fault | tried | survived | answers stored when it struck | lost | misgraded | graded twice |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name, one in counts.items():
        cells = (one.tried, one.survived, one.answers, one.lost, one.misgraded, one.twice)
        lines.append(f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    every = [sum(getattr(one, name) for one in counts.values()) for name in Count.__dataclass_fields__]
    return [*lines, f"| **all** | {' | '.join(f'**{cell:,}**' for cell in every)} |"]


def written(page: Path) -> dict[str, Count]:
    """The counts in a page's table."""
    rows = re.findall(r"^\| ([^*|]+) \| ([\d,| ]+) \|$", page.read_text(), re.MULTILINE)
    return {name: Count(*(int(cell.replace(",", "")) for cell in cells.split("|"))) for name, cells in rows}


def write_table(page: Path, counts: Mapping[str, Count], *, minutes: float) -> None:
    """Put the table between the page's marks."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    made = f"Made by `tox -e faults` on {datetime.now(UTC):%Y-%m-%d} ({machine}; {minutes:.0f} minutes)."
    start, end = "<!-- campaign -->", "<!-- end of campaign -->"
    head, rest = page.read_text().split(start)
    tail = rest.split(end)[1]
    page.write_text("\n".join([head + start, "", *table(counts), "", made, "", end + tail]))


def main() -> int:
    """Deal every fault `--times` times; 1 if a promise was broken."""
    from tests.faults.blows import FAULTS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="write the table into this page")
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--only", default="", help="faults whose name holds this")
    chosen = parser.parse_args()
    counts: dict[str, Count] = {}
    started = time.monotonic()
    for fault in FAULTS:
        if chosen.only not in fault.name:
            continue
        if lacks := fault.lacks():
            print(f"{fault.name}: not tried, {lacks}")
            continue
        counts[fault.name] = Count()
        for number in range(chosen.times):
            with tempfile.TemporaryDirectory(prefix="vb-faults-") as folder:
                try:
                    trial(fault, Path(folder), seed=number, count=counts[fault.name])
                except (AssertionError, subprocess.TimeoutExpired) as broken:
                    print(f"{fault.name}, trial {number}: {shortened(str(broken))}", flush=True)
        print(f"{time.monotonic() - started:5.0f} s  {fault.name}: {counts[fault.name]}", flush=True)
    print("\n".join(table(counts)))
    if chosen.page:
        kept = written(chosen.page) if chosen.only else {}  # what was not tried now stays
        write_table(chosen.page, {**kept, **counts}, minutes=(time.monotonic() - started) / 60)
    return any(one.survived < one.tried for one in counts.values())


if __name__ == "__main__":
    sys.exit(main())
