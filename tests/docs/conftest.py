"""The folder in which a page's examples run: two stored runs, scripted models, tables and logs."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from variantbench.benchmarks.gsm import load_easy_items, load_items
from variantbench.benchmarks.logic import load_items as load_logic_items
from variantbench.plugins.datatypes import Item

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests" / "data"

# Seeds that the pages name.
SEEDS = (0, 20261130)

# A scripted model is the share of known questions that it answers rightly, and that of fresh variants.
MODELS = {
    "models/some-right.json": (0.7, 0.6),
    "checkpoints/candidate": (0.9, 0.4),
    "checkpoints/step-1000": (0.8, 0.8),
    "checkpoints/step-2000": (0.55, 0.55),
}


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, made once."""
    folder = tmp_path_factory.mktemp("workshop")
    items = _items()
    for name, (base, variants) in MODELS.items():
        _write_json(folder / name, {"default": "The final answer is 7777.", "answers": _answers(items, base, variants)})
    _write_tables(folder)
    _copy_logs(folder)
    _write_cases(folder)
    shutil.copytree(ROOT / "docs" / "ci", folder / "docs" / "ci")
    for model in ("checkpoints/step-1000", "checkpoints/step-2000"):
        _run(folder, model)
    return folder


def _items() -> list[Item]:
    word = [
        item
        for load in (load_items, load_easy_items)
        for seed in SEEDS
        for count in (1, 2, 10)  # which variants are drawn depends on how many
        for item in load(variants_per_template=count, seed=seed)
    ]
    return [*word, *load_logic_items()]


def _answers(items: Iterable[Item], base: float, variants: float) -> Mapping[str, str]:
    """An answer to each question; which are right depends on the question alone."""
    return {item.question: _answer(item, base if item.variant == 0 else variants) for item in items}


def _answer(item: Item, share: float) -> str:
    right = zlib.crc32(item.question.encode()) % 1000 < 1000 * share
    if item.batch:
        return item.target if right else {"yes": "no", "no": "yes"}[item.target]
    return f"The final answer is {item.target if right else 7777}."


# Several names for the same, as the pages' commands have them.
COLUMNS = ("item", "question_id", "template", "id", "is_variant", "gamma_c", "correct", "is_correct", "score")


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def _write_tables(folder: Path) -> None:
    """Tables of graded answers: 30 templates, a base question and four variants each."""
    rows = [(template, variant) for template in range(30) for variant in range(5)]
    for number, name in enumerate(("answers.csv", "before.csv", "after.csv")):
        with (folder / name).open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(COLUMNS)
            for template, variant in rows:
                right = zlib.crc32(f"{number}.{template}.{variant}".encode()) % 10 < 4 + template % 5
                item = [f"{template:04}-v{variant}"] * 2
                verdict = [int(right)] * 3
                table.writerow([*item, template, template, int(variant > 0), template % 7 - 3, *verdict])


def _copy_logs(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "logs").mkdir()
    for path in DATA.glob("lm_eval/**/samples_*.jsonl"):
        shutil.copy(path, folder / "out" / f"samples_gsm8k_{path.name.removeprefix('samples_')}")
        break
    for path in DATA.glob("inspect/**/*.eval"):
        shutil.copy(path, folder / "logs")
        break


def _write_cases(folder: Path) -> None:
    """A case for the graders, a program for the sandbox, and the latter as a case."""
    expected = {"verdict": "correct", "value": 42, "status": "ok", "strict_verdict": "correct"}
    case = {"id": "n1", "kind": "number", "text": "The final answer is 42.", "gold": 42, "finish_reason": "stop"}
    _write_json(folder / "graded.jsonl", case | {"expected": expected})
    program = "def solution():\n    return 6 * 7\n"
    (folder / "program.py").write_text(program)
    _write_json(folder / "programs.jsonl", {"id": "p1", "code": program, "expected_class": "ok", "expected_value": 42})


def _run(folder: Path, model: str) -> None:
    options = ["--engine=scripted", f"--model={model}", "--prompts=gsm", "--sample=20", "--variants-per-template=10"]
    options += ["--no-html-report", "-p", "no:cacheprovider"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "--pyargs", "variantbench.benchmarks", "-q", "-m", "gsm", *options],
        cwd=folder,
        capture_output=True,
        check=True,
    )
