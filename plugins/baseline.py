"""Where a baseline comes from: a run of the store, a file, or a name that stands for a run."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import StoreError, UserError
from variantbench.plugins.run_files import read_run
from variantbench.plugins.store import Store, open_store

_TAG = "tag:"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run and its rows, as `Store.records` gives them. `name` is what the user called it."""

    name: str
    run: dict[str, Any]
    rows: list[dict[str, Any]]

    @property
    def identities(self) -> dict[str, str]:
        """The identity of each of its models, by name."""
        return {model["name"]: model.get("identity", "") for model in self.run["manifest"]["models"]}


def store_for(text: str, runs: Sequence[str]) -> Store:
    """The store at a path or URL; an empty one, kept nowhere, where it is absent and all runs are files."""
    try:
        return open_store(text, create=False)
    except StoreError:
        if not all(Path(run).is_file() for run in runs):
            raise
        return open_store("sqlite://")


def load_run(store: Store, text: str) -> StoredRun:
    """The run that `text` names: ``tag:NAME``, the path of an exported run, or the beginning of a run's id."""
    if text.startswith(_TAG):
        found = store.find_run(run_of_tag(store, text.removeprefix(_TAG)))
    elif Path(text).is_file():
        run, rows = read_run(Path(text))
        return StoredRun(text, run, rows)
    elif "/" in text or text.endswith((".jsonl", ".gz")):
        raise UserError(f"no file {text}: give an exported run, the id of a stored one, or tag:NAME")
    else:
        found = store.find_run(text)
    return StoredRun(
        text if text.startswith(_TAG) else found["id"], found, [dict(row) for row in store.records(found["id"])]
    )


def run_of_tag(store: Store, name: str) -> str:
    """The id of the run that a baseline's name stands for now."""
    history = store.baselines(name)
    if not history:
        known = sorted({row["name"] for row in store.baselines()})
        raise StoreError(
            f"no baseline {name!r} in {store.url}: {'there are ' + ', '.join(known) if known else 'there is none'}; "
            f'`variantbench baseline set {name} RUN --why "…"` names one'
        )
    return str(history[0]["run_id"])


def set_baseline(store: Store, name: str, text: str, *, why: str) -> str:
    """Let a name stand for a complete run from now on; returns the run's id."""
    if not name or any(letter.isspace() for letter in name):
        raise UserError(f"baseline name {name!r}: give a word without blanks, such as main")
    if not why.strip():
        raise UserError('--why is empty: say why this run is the baseline, such as "release 1.2"')
    run = store.find_run(text)
    if run["status"] != "complete":
        raise UserError(f"run {run['id']} is {run['status']}: only a complete run can be a baseline")
    store.set_baseline(name, run["id"], why=why.strip(), set_by=_user())
    return str(run["id"])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
