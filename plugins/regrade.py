"""Grading a stored run again by the present rules. Completions are stored untouched, so no model is needed.

The old grades stay; the new ones are added under the present version of the graders, and reports show the newest.
Answers that are code keep their grade where nothing can execute them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.datatypes import Completion, ExtractionStatus, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import GRADER, Execute, Grades, grade
from variantbench.plugins.store import Store
from variantbench.plugins.store.rows import item_of, regraded_row
from variantbench.prompts.format import AnswerKind, Format, load_format

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


def _formats_of(rows: Iterable[Mapping[str, Any]], own: Sequence[Format]) -> dict[str, Format]:
    """The formats that answers were asked in, by name; `own` are the user's. UserError for one neither has."""
    given = {form.name: form for form in own}
    return {name: given.get(name) or _shipped(name) for name in {row["format"] for row in rows}}


def _shipped(name: str) -> Format:
    try:
        return load_format(name)
    except UserError:
        raise UserError(
            f"the run was asked in the format {name!r}, which is none of variantbench's: give its file with "
            f"--prompts {name}.toml"
        ) from None


def regrade(store: Store, run_id: str, *, own: Sequence[Format] = (), execute: Execute | None = None) -> Regrading:
    """Add the present version's grades of every answer of a run that has none; `own` are formats of the user's.

    UserError where there is nothing of ours to grade (the verdicts of an imported run are another tool's), and where a
    format is neither shipped nor given.
    """
    rows: list[dict[str, Any]] = []
    changes: list[Change] = []
    graders: set[str] = set()
    not_executed = 0
    old = list(_open_rows(store, run_id))
    formats = _formats_of(old, own)
    with ThreadPoolExecutor(_AT_ONCE) as executor:  # programs wait for their sandbox at the same time
        new = list(
            executor.map(lambda row: grade(item_of(row), formats[row["format"]], _completion(row), execute), old)
        )
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


def has_programs(store: Store, run_id: str, *, own: Sequence[Format] = ()) -> bool:
    """Whether answers that are to be graded are code. Errors as in `regrade`."""
    return any(form.kind is AnswerKind.CODE for form in _formats_of(_open_rows(store, run_id), own).values())


def _refuse_imported(store: Store, run_id: str) -> None:
    imported = store.find_run(run_id)["manifest"].get("imported")
    if imported:
        tools = ", ".join(dict.fromkeys(file["tool"] for file in imported["files"]))
        raise UserError(f"run {run_id} was imported ({tools}): its verdicts are that tool's, and stay as they are")


def _open_rows(store: Store, run_id: str) -> Iterator[Mapping[str, Any]]:
    """The answers without a grade of the present version: with none at all, or one that says it was not executed."""
    _refuse_imported(store, run_id)
    for row in store.records(run_id):
        if row["grader"] != GRADER or _UNJUDGED & {row["robust_status"], row["paper_status"]}:
            yield row


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
