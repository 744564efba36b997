"""Case files for the sandbox: programs with agreed endings, and whether our boxes agree.

One JSON object a line: `id`, `code`, `expected_class`, and where they matter `also_ok` (other classes),
`expected_value`, `forbidden` (whether the study's filter of strings matches). Each program is followed by a sentinel
in the same box.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from variantbench.plugins.case_files import read_cases
from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.sandbox.pool import Pool
from variantbench.prompts.extraction import is_forbidden

_SENTINEL = "def solution():\n    return {}\n"


@dataclass(frozen=True, slots=True)
class SandboxCase:
    """A program and how it should end."""

    id: str
    code: str
    classes: tuple[str, ...]
    value: int | float | None
    forbidden: bool | None


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """How a case ended, and whether the sentinel behind it gave its right value."""

    case: SandboxCase
    execution: Execution
    sentinel_kept: bool

    @property
    def wrong(self) -> str:
        """What is not as expected; empty if all is."""
        got = self.execution
        if got.ending.value not in self.case.classes:
            return f"expected {' or '.join(self.case.classes)}, got {got.ending.value} ({got.message[:80]})"
        if self.case.value is not None and got.ending is ExecutionClass.OK and not _is_value(got, self.case.value):
            return f"expected the value {_short(self.case.value)}, got {got.kind} {_short(got.value)}"
        if self.case.forbidden is not None and self.case.forbidden != is_forbidden(self.case.code):
            return f"the study's filter of strings should{'' if self.case.forbidden else ' not'} match"
        return ""

    def as_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        got = self.execution
        return {
            "id": self.case.id,
            "expected": list(self.case.classes),
            "got": got.ending.value,
            "kind": got.kind,
            "value": got.value,
            "message": got.message,
            "cpu_seconds": got.cpu_seconds,
            "sentinel_kept": self.sentinel_kept,
            "agrees": not self.wrong,
        }


def _short(value: object) -> str:
    return str(value)[:40]


def _is_value(got: Execution, expected: int | float) -> bool:
    if got.value is None:
        return False
    if isinstance(expected, bool):
        return got.kind == "bool" and got.value == str(expected)
    if got.kind == "float":
        return float(got.value) == expected
    return got.value == str(expected)


def load_sandbox_cases(path: Path) -> list[SandboxCase]:
    """The cases of a file; UserError names the first line that is none."""
    return read_cases(path, _case, shape=f"id, code and expected_class (one of {', '.join(ExecutionClass)})")


def _case(given: dict[str, Any]) -> SandboxCase:
    classes = tuple(ExecutionClass(name).value for name in (given["expected_class"], *(given.get("also_ok") or ())))
    if not isinstance(given["code"], str):
        raise ValueError(f"code {given['code']!r}")
    return SandboxCase(str(given["id"]), given["code"], classes, given.get("expected_value"), given.get("forbidden"))


def run_sandbox_cases(cases: Sequence[SandboxCase], open_pool: Callable[[], Pool]) -> list[SandboxOutcome]:
    """Every case and its sentinel; `open_pool` gives pools of one box each, one for every core."""
    pools = [open_pool() for _ in range(os.cpu_count() or 1)]
    free: SimpleQueue[Pool] = SimpleQueue()
    for pool in pools:
        free.put(pool)

    def run(number: int, case: SandboxCase) -> SandboxOutcome:
        pool = free.get()
        try:
            execution = pool.submit(case.code, profile="stdlib")
            sentinel = pool.submit(_SENTINEL.format(7_000_000 + number)).result()
            return SandboxOutcome(case, execution.result(), sentinel.value == str(7_000_000 + number))
        finally:
            free.put(pool)

    try:
        with ThreadPoolExecutor(len(pools)) as executor:
            return list(executor.map(run, range(len(cases)), cases))
    finally:
        for pool in pools:
            pool.close()


def summary_lines(outcomes: Sequence[SandboxOutcome]) -> Iterator[str]:
    """Each disagreement, agreed of total, sentinels lost, what an answer costs."""
    for outcome in outcomes:
        if outcome.wrong:
            yield f"{outcome.case.id}: {outcome.wrong}"
        if not outcome.sentinel_kept:
            yield f"{outcome.case.id}: the harmless answer behind it did not get its value"
    yield f"{sum(not outcome.wrong for outcome in outcomes)}/{len(outcomes)} agreed"
    yield f"{sum(not outcome.sentinel_kept for outcome in outcomes)} sentinels lost"
    ordinary = [outcome.execution.cpu_seconds for outcome in outcomes if outcome.execution.cpu_seconds < 0.5]
    if ordinary:
        yield f"{1000 * statistics.median(ordinary):.2f} ms CPU per answer (median of those below 0.5 s)"
