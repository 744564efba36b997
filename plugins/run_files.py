"""A run as one file: JSON lines, gzip where the name ends so. A baseline can be kept beside the code, or sent on.

The first line holds the run with its manifest, the last how many answers stand between: a file that was cut is known.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from variantbench.plugins.errors import UserError
from variantbench.plugins.store import Store
from variantbench.plugins.whole import whole_file

FORMAT = 1


def export_run(store: Store, run_id: str, path: Path) -> int:
    """Write a run to a file, in one go or not at all; returns the number of answers."""
    run = store.find_run(run_id)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UserError(f"no folder {folder}: make it, or give another --output")
    with whole_file(path) as beside, _open(beside, "wt", packed=path.suffix == ".gz") as file:
        return _write(file, run, store.records(run["id"]))


def _write(file: IO[str], run: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int:
    file.write(json.dumps({"variantbench_run": FORMAT, **run}) + "\n")
    count = 0
    for row in rows:
        file.write(json.dumps(row) + "\n")
        count += 1
    file.write(json.dumps({"answers": count}) + "\n")
    return count


def read_run(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run of a file and its rows, as `Store.records` gives them; UserError if it is no such file or not whole."""
    try:
        with _open(path, "rt", packed=path.suffix == ".gz") as file:
            lines = [*_lines(file)]
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"{path} is no exported run ({error}): `variantbench runs export RUN` writes one") from None
    if len(lines) < 2 or lines[0].get("variantbench_run") != FORMAT:
        raise UserError(f"{path} is no exported run of this version: `variantbench runs export RUN` writes one")
    if lines[-1] != {"answers": len(lines) - 2}:
        raise UserError(f"{path} was cut off after {len(lines) - 1:,} answers: export the run again")
    return lines[0], lines[1:-1]


def _lines(file: IO[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError(f"line {number} is no object")
        yield value


def _open(path: Path, mode: str, *, packed: bool) -> IO[str]:
    opened = gzip.open(path, mode, encoding="utf-8") if packed else open(path, mode, encoding="utf-8")  # noqa: SIM115
    return cast(IO[str], opened)
