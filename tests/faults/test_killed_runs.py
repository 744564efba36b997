"""kill -9 of a run at random moments: what was finished stays, each answer is there once, the report is the same."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.terminal import accuracy_lines
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check
from variantbench.plugins.store.frame import answers_and_questions

ITEMS = 500
BENCHMARK = f"""
import pytest
from variantbench.plugins.datatypes import Item


def items(run):
    return [Item(f"{{n:04}}-base", "gsm", f"{{n % 50:04}}", f"Question {{n}}?", str(n % 3)) for n in range({ITEMS})]


@pytest.mark.questions(items=items, formats=("gsm",))
def test_many(answer):
    assert answer.is_correct
"""
KILLS = 50 if os.environ.get("VARIANTBENCH_SLOW") == "1" else 3
WAYS = {"plain": [], "two workers": ["-n2"]}


@pytest.fixture
def postgres(needs: Callable[[bool, str], None]) -> str:
    url = os.environ.get("VARIANTBENCH_POSTGRES", "")
    needs(bool(url), "no PostgreSQL: VARIANTBENCH_POSTGRES is not set")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    engine.dispose()
    return url


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "test_many.py").write_text(BENCHMARK)
    (tmp_path / "model.json").write_text('{"default": "The final answer is 1.", "seconds": 0.05}')
    options = ["--engine=scripted", f"--model={tmp_path / 'model.json'}", "--batch-size=8"]
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]


def report(url: str) -> list[str]:
    with open_store(url) as store:
        return list(accuracy_lines(accuracy(*answers_and_questions(store, store.find_run()["id"]))))


def stored(url: str) -> int:
    with open_store(url) as store, store.engine.connect() as connection:
        return connection.execute(text("select count(*) from completions")).scalar_one()


def killed_and_resumed(command: list[str], folder: Path, url: str, kills: int) -> None:
    """Kill the run `kills` times, beginning anew whenever it got to its end, and let the last one finish."""
    draw = random.Random(kills)
    for _ in range(kills):
        process = subprocess.Popen([*command, f"--store={url}"], cwd=folder, stdout=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0.3, 6))
        process.kill()
        process.communicate()
        wait_until_alone(folder)
        kept = stored(url)
        if kept == ITEMS:
            with open_store(url) as store:
                store.prune([run["id"] for run in store.runs()], completions=True)
    kept = stored(url)
    result = subprocess.run([*command, f"--store={url}"], cwd=folder, capture_output=True, text=True, check=True)
    found = re.search(r"([\d,]+) of them are in the store already", result.stdout)
    assert (int(found[1]) if found else 0) == kept  # nothing finished was generated again
    assert stored(url) == ITEMS
    with open_store(url) as store:
        checked = check(store)
        records = list(store.records(store.find_run()["id"]))
    assert not checked.faults
    assert len({row["item_hash"] for row in records}) == len(records) == ITEMS


def wait_until_alone(folder: Path, seconds: float = 30) -> None:
    """Supervisor and engine end by themselves once the controller is gone."""
    end = time.monotonic() + seconds
    while any(is_in(process, folder) for process in Path("/proc").glob("[0-9]*")):
        assert time.monotonic() < end, "a process of a killed run is still there"
        time.sleep(0.05)


def is_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").resolve() == folder.resolve() and (process / "cmdline").read_text() != ""
    except OSError:
        return False


@pytest.mark.parametrize("way", WAYS)
def test_on_sqlite(command, tmp_path, way):
    subprocess.run([*command, "--store=calm.db"], cwd=tmp_path, check=True, capture_output=True)
    killed_and_resumed([*command, *WAYS[way]], tmp_path, str(tmp_path / "killed.db"), KILLS)
    assert report(str(tmp_path / "killed.db")) == report(str(tmp_path / "calm.db"))


def test_on_postgresql(command, tmp_path, postgres):
    subprocess.run([*command, "--store=calm.db"], cwd=tmp_path, check=True, capture_output=True)
    killed_and_resumed([*command, "-n2"], tmp_path, postgres, KILLS)
    assert report(postgres) == report(str(tmp_path / "calm.db"))
