"""A store that cannot be written: one clear line, nothing lost, and the same command goes on once it is mended."""

from __future__ import annotations

import os
import subprocess

import pytest

from variantbench.plugins.store import open_store

LONG = "There are twelve apples. " * 400 + "The final answer is 10."


@pytest.fixture
def small_disk(tmp_path, needs):
    """A file system of its own with little room; `grow` gives it more."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_stops_the_run_and_loses_nothing(suite, script, small_disk, mode):
    options = [*script(default=LONG), f"--store={small_disk / 'runs.db'}", "--variants-per-template=40", *mode]
    result = suite(*options, "--batch-size=2")
    assert result.ret in (4, 10)  # 4: it was full before the run was noted
    (result.stdout if result.ret == 10 else result.stderr).fnmatch_lines(["*free the disk*"])
    subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
    with open_store(str(small_disk / "runs.db")) as store, store.engine.connect() as connection:
        kept = connection.exec_driver_sql("select count(*) from completions").scalar_one()
    assert kept > 0
    again = suite(*options, "--batch-size=2")
    again.stdout.fnmatch_lines([f"*{kept} of them are in the store already*"])
    assert again.ret == 0


def test_a_store_that_may_not_be_written_is_said_before_anything_runs(suite, script, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    (tmp_path / "closed").mkdir(mode=0o500)
    result = suite(*script(default="1"), f"--store={tmp_path / 'closed' / 'runs.db'}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*cannot be opened*"])


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://root@localhost/x", "*--store*is no path or URL that can be opened*"),
        ("postgresql+psycopg://nobody:wrong@127.0.0.1:1/none", "*cannot be opened*"),
        ("/proc/none/runs.db", "*is no path or URL that can be opened*"),
    ],
)
def test_a_wrong_url_is_one_line(suite, script, url, words):
    result = suite(*script(default="1"), f"--store={url}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([words])
    assert "Traceback" not in result.stderr.str()


def test_a_file_that_is_no_store_is_left_alone(suite, script, tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but dear to somebody" * 100)
    before = (tmp_path / "notes.txt").read_bytes()
    result = suite(*script(default="1"), f"--store={tmp_path / 'notes.txt'}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*cannot be opened*"])
    assert (tmp_path / "notes.txt").read_bytes() == before
