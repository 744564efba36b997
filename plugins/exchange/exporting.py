"""A stored run as another tool's log. What the tool has no field for travels under a key of our own (`own.py`).

A file or folder appears whole or not at all; what is there already is not overwritten.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.own import to_own
from variantbench.plugins.store import Store
from variantbench.plugins.whole import whole_file


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    run_id: str
    answers: int
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer on its way out. `own` is everything but the text, as `own.to_own` gives it."""

    own: dict[str, Any]
    text: str
    verdict: Verdict


class Writer(Protocol):
    """Writes one log of another tool."""

    def add(self, answer: Answer) -> None:
        """Write one more answer."""

    def close(self) -> None:
        """Write what stands at the end."""


def export_run(store: Store, run_id: str, target: str, output: Path) -> Exported:
    """Write a run as the log of `target`; UserError where that cannot be."""
    from variantbench.plugins.exchange import export_inspect, export_lm_eval, export_table

    if output.exists():
        raise UserError(f"--output {output} is there already: give another, or remove it")
    if not output.absolute().parent.is_dir():
        raise UserError(f"no folder {output.absolute().parent}: make it, or give another --output")
    if target in ("lm-eval", "inspect"):
        make = export_lm_eval.writer if target == "lm-eval" else export_inspect.writer
        return _folder(store, run_id, output, make)
    open_table = export_table.csv_writer if target == "csv" else export_table.parquet_writer
    return _file(store, run_id, output, open_table)


def answers_of(store: Store, run_id: str) -> Iterator[Answer]:
    """The answers of a run, in the order of their cases."""
    text = lru_cache(maxsize=512)(store.text)
    for row in store.records(run_id):
        prefix = text(row["prefix_hash"]) if row["prefix_hash"] else ""
        yield Answer(to_own(row, prefix), row["text"] or "", Verdict(row["robust_verdict"]))


def safe(name: str) -> str:
    """A name that can be a file's."""
    return re.sub(r"[^\w.+-]+", "__", name).strip(".")[:120] or "_"


def _folder(store: Store, run_id: str, output: Path, make: Callable[[Path, dict[str, Any]], Writer]) -> Exported:
    """One log for each model, benchmark and format."""
    made = Path(tempfile.mkdtemp(dir=output.absolute().parent, prefix=".export-"))
    try:
        writers: dict[tuple[str, str, str], Writer] = {}
        count = 0
        for answer in answers_of(store, run_id):
            key = (answer.own["model"], answer.own["benchmark"], answer.own["format"])
            if key not in writers:
                writers[key] = make(made, answer.own)
            writers[key].add(answer)
            count += 1
        for writer in writers.values():
            writer.close()
        made.chmod(0o755)
        made.rename(output)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Exported(run_id, count, tuple(sorted(path for path in output.rglob("*") if path.is_file())))


def _file(store: Store, run_id: str, output: Path, make: Callable[[Path], Writer]) -> Exported:
    with whole_file(output) as beside:
        writer = make(beside)
        count = 0
        for answer in answers_of(store, run_id):
            writer.add(answer)
            count += 1
        writer.close()
    return Exported(run_id, count, (output,))
