"""Store files that were damaged: what can be read is read, everything else is one line; no store is made or mended."""

from __future__ import annotations

import itertools
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.conftest import EXAMPLES, refused_in_one_line
from tests.fuzz.mutations import ODD_VALUES, spoiled_bytes
from variantbench.plugins.report.accuracy import accuracy
from variantbench.plugins.report.terminal import accuracy_lines
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check
from variantbench.plugins.store.frame import answers_and_questions

_numbers = itertools.count()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A store with a run, in one file."""
    from variantbench.benchmarks.gsm import load_items
    from variantbench.plugins.simulate import simulate, synthetic_rows

    path = tmp_path_factory.mktemp("store") / "runs.db"
    with open_store(str(path)) as store:
        items = load_items(variants_per_template=1, seed=0, sample=4)
        simulate(store, synthetic_rows(2, seed=1), gsm=items, logic=(), seed=1, say=lambda _: None)
        with store.engine.connect() as connection:
            connection.exec_driver_sql("pragma wal_checkpoint(truncate)")
    return path.read_bytes()


def read_all(path) -> None:
    with open_store(str(path), create=False) as store:
        for run in store.runs():
            list(store.records(run["id"]))
            list(accuracy_lines(accuracy(*answers_and_questions(store, run["id"]))))
        check(store)


def test_the_whole_store_is_read(whole, tmp_path):
    (tmp_path / "runs.db").write_bytes(whole)
    read_all(tmp_path / "runs.db")


def test_changed_bytes(whole, tmp_path):
    @EXAMPLES
    @given(spoiled_bytes(whole) | st.binary(max_size=200), st.integers(0, 99))
    def check_one(content, place):
        path = tmp_path / f"{next(_numbers)}.db"
        data = bytearray(content)
        if len(data) > 100:  # the header decides much
            data[place] ^= 1 << (place % 8)
        path.write_bytes(bytes(data))
        with refused_in_one_line(path):
            read_all(path)
        for left in tmp_path.glob(f"{path.name}*"):
            os.unlink(left)

    check_one()


COLUMNS = (
    ("runs", "manifest"),
    ("runs", "status"),
    ("runs", "started"),
    ("completions", "finish_reason"),
    ("completions", "settings"),
    ("records", "robust_verdict"),
    ("records", "execution"),
    ("items", "covariates"),
    ("items", "notes"),
    ("schema_version", "version"),
    ("models", "details"),
    ("records", "grader"),
    ("items", "variant"),
)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda name: name)
def test_changed_cells(whole, tmp_path, table, column):
    import sqlite3

    @EXAMPLES
    @given(st.sampled_from([value for value in ODD_VALUES if value is not None]))
    def check_one(value):
        path = tmp_path / f"{next(_numbers)}.db"
        path.write_bytes(whole)
        cell = value if isinstance(value, str) else json.dumps(value)
        with sqlite3.connect(path) as connection:
            try:
                connection.execute(f"update {table} set {column} = ?", (cell.encode("utf-8", "surrogatepass"),))
            except sqlite3.Error:
                return
        connection.close()
        with refused_in_one_line():
            read_all(path)
        for left in tmp_path.glob(f"{path.name}*"):
            os.unlink(left)

    check_one()


def test_no_store_is_made_by_looking(tmp_path):
    with refused_in_one_line(tmp_path / "none.db") as said:
        read_all(tmp_path / "none.db")
    assert said
    assert list(tmp_path.iterdir()) == []
