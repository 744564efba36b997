"""Files that people write: templates, formats, registry, items, cases, published tables, exported runs, scripts.

Each real file is mutated as a tree of values, as text and as bytes. It is read, or refused in one line that names it.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT, SHARED
from tests.fuzz.conftest import EXAMPLES, refused_in_one_line
from tests.fuzz.mutations import changed_tree, spoiled_bytes, spoiled_text, to_json_lines, to_toml
from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.gsm.items import read_any, template_items
from variantbench.benchmarks.gsm.rows import published_items, read_jsonl
from variantbench.benchmarks.logic.raganato import read_rows
from variantbench.plugins.conformance import load_cases, run_cases
from variantbench.plugins.models.engines import EngineSettings, scripted
from variantbench.plugins.models.registry import read_registry
from variantbench.plugins.published import read_published
from variantbench.plugins.run_files import read_run
from variantbench.plugins.sandbox.cases import load_sandbox_cases
from variantbench.plugins.tables import fit_table
from variantbench.prompts.format import load_format

CASE = {"id": "a", "kind": "number", "text": "The final answer is 7.", "gold": "7", "expected": {"verdict": "correct"}}
YESNO = {**CASE, "kind": "yesno", "gold": "yes", "text": "Yes.", "position": "end"}
PROGRAM = {
    "id": "a",
    "code": "def solution():\n    return 1\n",
    "expected_class": "ok",
    "also_ok": ["other"],
    "expected_value": 1,
}
PUBLISHED = {
    "id": 3,
    "instance": 4,
    "question": "How many?",
    "answer": "2+2\n#### 4",
    "original_id": 9,
    "original_question": "How?",
    "original_answer": "#### 5",
}
RUN = [{"variantbench_run": 1, "id": "r", "manifest": {}}, {"case_id": "a"}, {"case_id": "b"}, {"answers": 2}]
TABLE = "right,gamma,template\n" + "".join(f"{n % 3 % 2},{n % 5},{n % 7}\n" for n in range(60))


def draw_some(path: Path) -> None:
    template, notes = read_any(path)
    list(template_items(template, notes, count=3, seed=1, scope="fuzz", benchmark="gsm"))


def grade_all(path: Path) -> None:
    run_cases(load_cases(path, protocol="robust", kinds=("number", "yesno")), protocol="robust")


def fit(path: Path) -> None:
    fit_table(
        path,
        response="right",
        fixed=["gamma"],
        group="template",
        method=None,
        backend="variantbench",
        optimizers=False,
        prior_sd=None,
        bootstrap=0,
        seed=0,
    )


@dataclass(frozen=True)
class Kind:
    """A kind of file: what a right one is called and holds, how it is written and read."""

    file: str
    content: Callable[[], str]
    read: Callable[[Path], Any]
    parse: Callable[[str], Any] | None = None  # into a tree
    write: Callable[[Any], str] | None = None


def text_of(*parts: str) -> Callable[[], str]:
    return lambda: ROOT.joinpath(*parts).read_text()


def lines_of(*rows: Any) -> Callable[[], str]:
    return lambda: to_json_lines(list(rows))


def parse_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


TOML = {"parse": tomllib.loads, "write": to_toml}
LINES = {"parse": parse_lines, "write": to_json_lines}
ITEMS = {"group": "1", "variant": 0, "question": "How many?", "target": "7", "notes": ["n"], "id": "1-base"}
KINDS = {
    "template": Kind("0001.toml", text_of("benchmarks", "gsm", "templates", "0001.toml"), draw_some, **TOML),
    "prompt format": Kind("mine.toml", text_of("prompts", "gsm.toml"), lambda path: load_format(str(path)), **TOML),
    "registry": Kind("models.toml", text_of("plugins", "models", "models.toml"), read_registry, **TOML),
    "items": Kind(
        "i.jsonl",
        lines_of(ITEMS, {**ITEMS, "variant": 1, "id": "1-v1"}),
        lambda path: load_items(f"jsonl:{path}"),
        **LINES,
    ),
    "published items": Kind(
        "p.jsonl", lines_of(PUBLISHED), lambda path: published_items(read_jsonl(path), "symbolic", "x"), **LINES
    ),
    "grading cases": Kind("c.jsonl", lines_of(CASE, YESNO), grade_all, **LINES),
    "sandbox cases": Kind("s.jsonl", lines_of(PROGRAM), load_sandbox_cases, **LINES),
    "exported run": Kind("r.jsonl", lines_of(*RUN), read_run, **LINES),
    "packed run": Kind("r.jsonl.gz", lines_of(*RUN), read_run),
    "script": Kind(
        "m.json",
        lambda: json.dumps({"default": "7", "answers": {"Q": "8"}}),
        lambda path: scripted.load(EngineSettings("scripted", "m", str(path), "cpu", "float32", 1)),
        json.loads,
        json.dumps,
    ),
    "table": Kind("t.csv", lambda: TABLE, fit),
    "published figures": Kind("figures.csv", lambda: "model,prompt,variants_accuracy\na,gsm,50\n", read_published),
    "logic rows": Kind("Q1.txt", lambda: "1\tAll dogs are cats.\tAre cats dogs?\tno\n", read_rows),
    "annotated template": Kind(
        "0003.json",
        lambda: next((SHARED / "data" / "apple-gsm-symbolic").glob("**/templates/symbolic/0003.json")).read_text(),
        draw_some,
        json.loads,
        json.dumps,
    ),
}
_numbers = itertools.count()


@pytest.fixture(params=KINDS)
def kind(request) -> Kind:
    found = KINDS[request.param]
    try:
        found.content()
    except StopIteration:
        pytest.skip("no shared reference data")
    return found


@pytest.fixture
def place(tmp_path) -> Callable[[Kind], Path]:
    def fresh(kind: Kind) -> Path:
        """A path that no reader has seen: some remember what they read."""
        folder = tmp_path / str(next(_numbers))
        folder.mkdir()
        return folder / kind.file

    return fresh


def test_the_real_files_are_read(kind, place):
    path = place(kind)
    path.write_text(kind.content())
    if kind.file.endswith(".gz") or kind.read in (read_published, read_rows):
        pytest.skip("only its broken forms are at hand")
    kind.read(path)


def test_changed_values(kind, place):
    if kind.parse is None or kind.write is None:
        pytest.skip("no tree")
    tree, write = kind.parse(kind.content()), kind.write

    @EXAMPLES
    @given(changed_tree(tree))
    def check(changed):
        path = place(kind)
        try:
            path.write_text(write(changed), errors="surrogatepass")
        except (AttributeError, TypeError):  # not even a table any more
            return
        with refused_in_one_line(path):
            kind.read(path)

    check()


def test_changed_text(kind, place):
    @EXAMPLES
    @given(spoiled_text(kind.content()))
    def check(text):
        path = place(kind)
        path.write_text(text, errors="surrogatepass")
        with refused_in_one_line(path):
            kind.read(path)

    check()


def test_changed_bytes(kind, place):
    @EXAMPLES
    @given(spoiled_bytes(kind.content().encode()) | st.binary(max_size=64))
    def check(content):
        path = place(kind)
        path.write_bytes(content)
        with refused_in_one_line(path):
            kind.read(path)

    check()
