"""Case files: answers with agreed verdicts, and whether our graders agree. What ``variantbench cases`` runs.

One JSON object a line: `id`, `kind` (number, yesno or code), `text`, `gold`, and `expected.verdict`: correct,
incorrect, or void for an answer that cannot be read. An incorrect answer whose `expected.value` is null must not be
read as a number. For the paper protocol `expected.paper_verdict` is compared, where a case gives one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from variantbench.plugins.case_files import read_cases
from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Grade, Item, Verdict
from variantbench.plugins.grading import Execute, grade
from variantbench.prompts.format import PLACEHOLDER, AnswerKind, Format

_AT_ONCE = 8
KINDS = {"number": AnswerKind.TEXT, "yesno": AnswerKind.YESNO, "code": AnswerKind.CODE}


@dataclass(frozen=True, slots=True)
class Case:
    """An answer and the verdict it should get: correct, incorrect or void."""

    id: str
    kind: str
    item: Item
    form: Format
    completion: Completion
    expected: str
    has_value: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case should give and what it gave. `executed` is False where a sandbox would be needed."""

    case: Case
    grade: Grade

    @property
    def executed(self) -> bool:
        """Whether there is a verdict at all."""
        return self.grade.verdict is not Verdict.ERROR

    @property
    def agrees(self) -> bool:
        """Whether the verdict is the expected one."""
        match self.grade.verdict:
            case Verdict.CORRECT:
                return self.case.expected == "correct"
            case Verdict.INCORRECT:
                return self.case.expected == "incorrect" and self.case.has_value
            case Verdict.NO_ANSWER:
                return self.case.expected == "void" or (self.case.expected == "incorrect" and not self.case.has_value)
            case Verdict.ERROR:
                return False

    def as_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        return {
            "id": self.case.id,
            "kind": self.case.kind,
            "expected": self.case.expected,
            "got": self.grade.verdict.value,
            "value": self.grade.extraction.value,
            "status": self.grade.extraction.status.value,
            "reason": self.grade.reason or self.grade.extraction.method,
            "executed": self.executed,
            "agrees": self.agrees,
        }


def run_cases(cases: Sequence[Case], *, protocol: str, execute: Execute | None = None) -> list[Outcome]:
    """Every case, graded by a protocol."""

    def outcome(case: Case) -> Outcome:
        grades = grade(case.item, case.form, case.completion, execute)
        return Outcome(case, grades.paper if protocol == "paper" else grades.robust)

    with ThreadPoolExecutor(_AT_ONCE) as executor:  # programs wait for their sandbox at the same time
        return list(executor.map(outcome, cases))


def load_cases(path: Path, *, protocol: str, kinds: Sequence[str] = ()) -> list[Case]:
    """The cases of a file, of some kinds only if given; UserError names the first line that is none."""
    shape = f"id, kind ({', '.join(KINDS)}), text, gold and expected.verdict (correct, incorrect, void)"
    cases = read_cases(path, partial(_case, protocol=protocol), shape=shape)
    return [case for case in cases if not kinds or case.kind in kinds]


def _case(given: Mapping[str, Any], *, protocol: str) -> Case:
    kind, text, expected = given["kind"], given["text"], given["expected"]
    verdict = expected["paper_verdict"] if protocol == "paper" and "paper_verdict" in expected else expected["verdict"]
    if kind not in KINDS or verdict not in ("correct", "incorrect", "void") or not isinstance(text, str):
        raise ValueError(f"kind {kind!r} with verdict {verdict!r}")
    if kind == "code" and str(given.get("prefill", "")).endswith("\n"):
        text = "\n" + text  # our code prompts end before the line break
    reason = FinishReason.LENGTH if given.get("finish_reason") == "length" else FinishReason.STOP
    return Case(
        id=str(given["id"]),
        kind=kind,
        item=Item(str(given["id"]), "cases", "", "", _target(kind, given["gold"])),
        form=_form(KINDS[kind], answer_at=str(given.get("position", "start"))),
        completion=Completion(text, reason, 0, 0, "cases"),
        expected=verdict,
        has_value=expected.get("value", "unknown") is not None,
    )


def _target(kind: str, gold: object) -> str:
    return str(gold) if kind == "yesno" else str(Fraction(str(gold)))


def _form(kind: AnswerKind, *, answer_at: str) -> Format:
    return Format(
        name="cases",
        title="",
        source="",
        licence="",
        kind=kind,
        decoding=Decoding(1),
        intro="",
        separator="",
        question=PLACEHOLDER,
        answer_at=answer_at,
    )


def summary_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Agreed of total, each disagreement, and what could not be run."""
    judged = [outcome for outcome in outcomes if outcome.executed]
    for outcome in judged:
        if not outcome.agrees:
            got = outcome.as_dict()
            value = f" {got['value']}" if got["value"] is not None else ""
            yield f"{got['id']}: expected {got['expected']}, got {got['got']}{value} ({got['reason']})"
    yield f"{sum(outcome.agrees for outcome in judged)}/{len(judged)} agreed"
    if len(judged) < len(outcomes):
        yield (
            f"{len(outcomes) - len(judged)} code cases not executed: they need a sandbox; "
            "--kind number or --kind yesno selects the others"
        )
