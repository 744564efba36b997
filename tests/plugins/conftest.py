"""Fixtures for tests of the plugin: a scripted model, a small benchmark, and the ways to run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Every test of the plugin runs in each of these ways.
MODES = {"plain": [], "two workers": ["-n2"], "without xdist": ["-p", "no:xdist"]}

BENCHMARK = '''
import pytest
from variantbench.plugins.datatypes import Item


def few_items(run):
    """Two templates with a base question and variants; the answer to item n of template t is 10 t + n."""
    return [
        Item(f"{t:04}-{'base' if n == 0 else f'v{n}'}", "gsm", f"{t:04}", f"Question {t}.{n}?", str(10 * t + n), n)
        for t in (1, 2)
        for n in range(1 + run.variants_per_template)
    ]


@pytest.mark.questions(items=few_items, formats=("gsm", "simple_nl"))
def test_few(answer):
    assert answer.is_correct
'''


@pytest.fixture(params=MODES.values(), ids=MODES.keys())
def mode(request: pytest.FixtureRequest) -> list[str]:
    """The options of one way to run."""
    return request.param


@pytest.fixture
def benchmark_text() -> str:
    """The text of the small benchmark."""
    return BENCHMARK


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes a scripted model and returns the options that use it."""

    def write(**content: Any) -> list[str]:
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(content))
        return ["--engine=scripted", f"--model={path}"]

    return write


@pytest.fixture
def suite(pytester: pytest.Pytester, benchmark_text: str) -> Callable[..., pytest.RunResult]:
    """Runs the small benchmark in a pytest of its own, with a store in that folder."""
    pytester.makepyfile(test_few=benchmark_text)

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "--variants-per-template=2", *arguments)

    return run
