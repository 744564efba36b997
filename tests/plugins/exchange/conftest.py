"""Logs of other tools, and a store to import them into."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from variantbench.plugins.exchange.importing import Choices, import_logs
from variantbench.plugins.store import open_store

DATA = Path(__file__).parent.parent.parent / "data"


@pytest.fixture(autouse=True, scope="session")
def _extra(needs):
    """Skips where the extra is not installed, or inspect's own reader."""
    for name in ("pyarrow", "zstandard", "ijson", "inspect_ai"):
        needs(find_spec(name) is not None, f"{name} is not installed (pip install 'variantbench[exchange,test]')")


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


@pytest.fixture
def take(store):
    """Imports logs and returns what was done with the stored rows."""

    def run(*paths, **choices):
        done = import_logs(store, [Path(path) for path in paths], Choices(**choices))
        return done, list(store.records(done.run_id))

    return run


@pytest.fixture
def jsonl(tmp_path):
    """Writes rows as a JSONL file."""

    def write(name, rows):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def sample_row():
    """A row as lm-eval writes it."""

    def make(number, **changed):
        return {
            "doc_id": number,
            "doc": {"question": f"What is {number} + 1?", "group": f"{number // 3:04}", "variant": number % 3},
            "target": str(number + 1),
            "arguments": {"gen_args_0": {"arg_0": f"Q: What is {number} + 1?\nA:", "arg_1": {"until": ["\n"]}}},
            "resps": [[f" {number + 1}"]],
            "filtered_resps": [str(number + 1)],
            "filter": "none",
            "metrics": ["exact_match"],
            "exact_match": float(number % 2),
            **changed,
        }

    return make
