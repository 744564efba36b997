"""Other tools' logs whose values are not what they should be: imported whole, or refused with nothing stored."""

from __future__ import annotations

import itertools
import json
import shutil
from importlib.util import find_spec

import pytest
from hypothesis import given
from sqlalchemy import func, select

from tests.conftest import ROOT
from tests.fuzz.conftest import EXAMPLES, refused_in_one_line
from tests.fuzz.mutations import changed_tree, to_json_lines
from variantbench.plugins.exchange.importing import Choices, import_logs
from variantbench.plugins.store import open_store, schema

DATA = ROOT / "tests" / "data"
# What is changed, and what is then imported.
LOGS = {
    "lm-eval": ("lm_eval/samples*.jsonl", "samples*.jsonl"),
    "results of lm-eval": ("lm_eval/results*.json", "samples*.jsonl"),
    "inspect": ("inspect/*.json", "*.json"),
    "helm": ("helm/per_instance_stats.json", "per_instance_stats.json"),
    "answers of helm": ("helm/scenario_state.json", "per_instance_stats.json"),
    "figures of helm": ("helm/stats.json", "per_instance_stats.json"),
    "spec of helm": ("helm/run_spec.json", "per_instance_stats.json"),
}
_numbers = itertools.count()


@pytest.mark.parametrize("name", LOGS)
def test_changed_values(name, tmp_path, needs):
    for library in ("pyarrow", "zstandard", "ijson"):
        needs(find_spec(library) is not None, f"{library} is not installed")
    changes, imports = LOGS[name]
    (log,) = DATA.glob(changes)
    lines = log.suffix == ".jsonl"
    tree = [json.loads(line) for line in log.read_text().splitlines()] if lines else json.loads(log.read_text())

    @EXAMPLES
    @given(changed_tree(tree))
    def check_one(changed):
        folder = tmp_path / str(next(_numbers))
        shutil.copytree(log.parent, folder)
        path = folder / log.name
        path.write_text(to_json_lines(changed) if lines else json.dumps(changed))
        (asked,) = folder.glob(imports)
        with open_store(str(folder / "runs.db")) as store:
            with refused_in_one_line(folder) as said:
                import_logs(store, [asked], Choices(tool=name.rpartition(" ")[2]))
            with store.engine.connect() as connection:
                kept = connection.execute(select(func.count()).select_from(schema.runs)).scalar_one()
            assert kept == (0 if said else 1)
        shutil.rmtree(folder)

    check_one()
