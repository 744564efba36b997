"""The worker's side of a run: waits for a case's completion, grades it, and says in three lines what was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from variantbench.plugins.cases import Case, case_id
from variantbench.plugins.datatypes import ExtractionStatus, FinishReason, Grade, Record, Verdict
from variantbench.plugins.errors import EngineError, SandboxError
from variantbench.plugins.generation.plan import Job
from variantbench.plugins.generation.stream import Stream
from variantbench.plugins.grading import GRADER, grade
from variantbench.plugins.preflight import Program, shot_programs
from variantbench.prompts.format import AnswerKind

_WIDTH = 100  # columns


@dataclass(frozen=True, slots=True)
class Answer:
    """What a benchmark's test function sees of the model's answer."""

    record: Record

    @property
    def is_correct(self) -> bool:
        """Whether the answer is right by the robust protocol."""
        return self.record.robust.verdict is Verdict.CORRECT


class Answers:
    """The cases that this process collected, and the stream their completions come from."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def submit(self, items: list[pytest.Item]) -> None:
        """Hand over the selected cases, if no other process has."""
        cases = _cases_of(items)
        self.stream.submit(
            lambda: [Job(node, case.model, case.prompt()) for node, case in cases],
            lambda: programs_of([case for _, case in cases]),
        )

    def record(self, node_id: str, case: Case) -> Record:
        """The graded answer of one case, as soon as the model has written it."""
        completion, key = self.stream.answer(node_id)
        grades = grade(case.item, case.format, completion, self.stream.execute)
        return Record(
            case=case_id(node_id),
            model=case.model,
            item=case.item,
            prompt=case.prompt(),
            completion=completion,
            paper=grades.paper,
            robust=grades.robust,
            grader=GRADER,
            completion_key=key,
            execution=grades.execution,
        )


def programs_of(cases: Sequence[Case]) -> list[Program] | None:
    """What the sandbox must get right before these cases are run; None if none of their answers is code."""
    formats = {case.format.name: case.format for case in cases if case.format.kind is AnswerKind.CODE}
    return shot_programs(list(formats.values())) if formats else None


def require_answer(record: Record) -> Answer:
    """The answer for the test function; EngineError (a pytest error) or a skip where there is none to judge."""
    grade = record.robust
    if record.completion.finish_reason is FinishReason.ERROR:
        raise EngineError(grade.reason)
    if grade.extraction.status is ExtractionStatus.SANDBOX_FAILED:
        raise SandboxError(grade.reason)
    if grade.extraction.status is ExtractionStatus.NOT_EXECUTED:
        pytest.skip(grade.reason)
    return Answer(record)


def explain(record: Record) -> str:
    """Three lines: what was asked, what was expected, what came and how it was read."""
    return "\n".join(
        [
            _line(f"asked     {record.case.partition('::')[2]}: ", record.item.question),
            f"expected  {record.item.target}",
            _line(f"got       {_reading(record.robust)}: ", record.completion.text, keep_end=True),
        ]
    )


def _reading(grade: Grade) -> str:
    if grade.extraction.value is None:
        return f"no answer ({grade.reason})"
    return f"{grade.extraction.value} ({grade.extraction.method})"


def _line(start: str, text: str, *, keep_end: bool = False) -> str:
    """`start` and as much of the text (of its end) as fits on the line; what a terminal would obey becomes a dot."""
    text = "".join(letter if letter.isprintable() else "·" for letter in " ".join(text.split()))
    room = _WIDTH - len(start)
    if len(text) <= room:
        return start + text
    return start + ("…" + text[1 - room :] if keep_end else text[: room - 1] + "…")


def _cases_of(items: list[pytest.Item]) -> list[tuple[str, Case]]:
    found = []
    for item in items:
        case = case_of(item)
        if case is not None:
            found.append((item.nodeid, case))
    return found


def case_of(item: pytest.Item) -> Case | None:
    """The case behind a pytest item, if it is one of ours."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec else None
    return case if isinstance(case, Case) else None
