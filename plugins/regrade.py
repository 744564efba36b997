"""Grading a stored run again by the present rules. Completions are stored untouched, so no model is needed.

The old grades stay; the new ones are added under the present version of the graders, and reports show the newest.
Answers that are code keep their grade where nothing can execute them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.datatypes import Completion, ExtractionStatus, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import GRADER, Execute, Grades, grade
from variantbench.plugins.store import Store
from variantbench.plugins.store.rows import item_of, regraded_row
from variantbench.prompts.format import AnswerKind, load_format

_MOST_EXAMPLES = 10
_AT_ONCE = 8
_UNJUDGED = {ExtractionStatus.NOT_EXECUTED, ExtractionStatus.SANDBOX_FAILED}
_WIDTH = 60  # characters of an answer's end
PROTOCOLS = ("robust", "paper")


@dataclass(frozen=True, slots=True)
class Change:
    """An answer whose verdict is another now. `before` and `after` are what was read, or why nothing was."""

    case: str
    protocol: str
    old: Verdict
    new: Verdict
    target: str
    before: str
    after: str
    text: str


@dataclass(frozen=True, slots=True)
class Regrading:
    """What grading a run again did."""

    run_id: str
    old_graders: tuple[str, ...]
    graded: int
    not_executed: int
    changes: tuple[Change, ...]


def regrade(store: Store, run_id: str, *, execute: Execute | None = None) -> Regrading:
    """Add the present version's grades of every answer of a run that has none; UserError if a format is gone."""
    _refuse_imported(store, run_id)
    rows: list[dict[str, Any]] = []
    changes: list[Change] = []
    graders: set[str] = set()
    not_executed = 0
    old = [row for row in store.records(run_id) if _is_open(row)]
    with ThreadPoolExecutor(_AT_ONCE) as executor:  # programs wait for their sandbox at the same time
        new = list(executor.map(lambda row: _grade_again(row, execute), old))
    for row, grades in zip(old, new, strict=True):
        graders.add(row["grader"])
        if _UNJUDGED & {grades.robust.extraction.status, grades.paper.extraction.status}:
            not_executed += 1
            continue
        rows.append(
            regraded_row(row, grader=GRADER, paper=grades.paper, robust=grades.robust, execution=grades.execution)
        )
        changes += _changes(row, grades)
    store.add_grades(run_id, rows)
    return Regrading(run_id, tuple(sorted(graders)), len(rows), not_executed, tuple(changes))


def has_programs(store: Store, run_id: str) -> bool:
    """Whether a run has answers that are code and have no grade of the present version.

    UserError where there is nothing of ours to grade: the verdicts of an imported run are another tool's.
    """
    _refuse_imported(store, run_id)
    return any(load_format(row["format"]).kind is AnswerKind.CODE for row in store.records(run_id) if _is_open(row))


def _refuse_imported(store: Store, run_id: str) -> None:
    imported = store.find_run(run_id)["manifest"].get("imported")
    if imported:
        tools = ", ".join(dict.fromkeys(file["tool"] for file in imported["files"]))
        raise UserError(f"run {run_id} was imported ({tools}): its verdicts are that tool's, and stay as they are")


def _is_open(row: Mapping[str, Any]) -> bool:
    """Whether an answer has no grade of the present version: none at all, or one that says that it was not executed."""
    return row["grader"] != GRADER or bool(_UNJUDGED & {row["robust_status"], row["paper_status"]})


def _grade_again(row: Mapping[str, Any], execute: Execute | None) -> Grades:
    return grade(item_of(row), load_format(row["format"]), _completion(row), execute)


def _completion(row: Mapping[str, Any]) -> Completion:
    if row["completion_key"] is None:  # the engine failed: there was nothing to keep but the reason
        return Completion(row["robust_reason"], FinishReason.ERROR, 0, 0, "")
    return Completion(row["text"], FinishReason(row["finish_reason"]), row["prompt_tokens"], row["new_tokens"], "")


def _changes(row: Mapping[str, Any], grades: Grades) -> Iterator[Change]:
    for protocol, new in zip(PROTOCOLS, (grades.robust, grades.paper), strict=True):
        old = Verdict(row[f"{protocol}_verdict"])
        if new.verdict is not old:
            yield Change(
                case=row["case_id"],
                protocol=protocol,
                old=old,
                new=new.verdict,
                target=row["target"],
                before=row[f"{protocol}_value"] or row[f"{protocol}_reason"],
                after=new.extraction.value or new.reason,
                text=" ".join((row["text"] or "").split())[-_WIDTH:],
            )


def summary_lines(regrading: Regrading) -> Iterator[str]:
    """How many grades changed, which way, and ten examples."""
    if not regrading.graded and not regrading.not_executed:
        yield f"run {regrading.run_id}: every answer is graded by version {GRADER} already"
        return
    old = " and ".join(regrading.old_graders)
    yield f"run {regrading.run_id}: {regrading.graded:,} answers graded by version {GRADER}, before by version {old}"
    if regrading.not_executed:
        yield f"{regrading.not_executed:,} answers that are code keep their grade: there is no sandbox to execute them"
    for protocol in PROTOCOLS:
        ways = Counter((change.old, change.new) for change in regrading.changes if change.protocol == protocol)
        yield f"{protocol}: {sum(ways.values()):,} verdicts changed"
        for (before, after), count in ways.most_common():
            yield f"  {count:>6,}  {_words(before)} -> {_words(after)}"
    for change in regrading.changes[:_MOST_EXAMPLES]:
        yield (
            f"{change.case} [{change.protocol}] expected {change.target}: {_words(change.old)} ({change.before}) -> "
            f"{_words(change.new)} ({change.after}): …{change.text}"
        )


def _words(verdict: Verdict) -> str:
    return verdict.value.replace("_", " ")
