"""Before a run: would a right answer be graded as right? Cheap, and no model is needed.

Checked for every format: each gold answer, put into the format's own answer sentence, grades as correct; each shot's
own answer is read as its gold answer; no stop string stands inside either. Programs are found here; the sandbox, where
there is one, runs those of the shots before the run (`check_programs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from variantbench.plugins.datatypes import Completion, Extraction, ExtractionStatus, FinishReason, Item, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import Execute, grade, is_right
from variantbench.prompts.extraction import paper_function, robust_function
from variantbench.prompts.format import AnswerKind, Format, Shot


def preflight(formats: Sequence[Format], items: Sequence[Item]) -> None:
    """Nothing, if right answers would be graded as right; else UserError naming the format and the item or shot."""
    by_target = {item.target: item for item in reversed(items)}
    for form in formats:
        for number, shot in enumerate(form.shots, 1):
            _check(form, f"shot {number}", shot.answer, shot.gold)
        for item in by_target.values():
            for text in _right_answers(form, item):
                _check(form, f"item {item.id}", text, item.target)


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a shot's answer, as a protocol runs it, and what it must return."""

    who: str
    source: str
    profile: str
    gold: str


def shot_programs(formats: Sequence[Format]) -> list[Program]:
    """The programs of all shots whose answers are code."""
    programs = []
    for form in formats:
        for number, shot in enumerate(form.shots if form.kind is AnswerKind.CODE else (), 1):
            who = f"format {form.name}, shot {number}"
            sources = {
                "python": robust_function(shot.answer, prefilled=form.prefilled).source,
                "paper": paper_function(shot.answer).source,
            }
            programs += [Program(who, source, profile, shot.gold) for profile, source in sources.items() if source]
    return programs


def check_programs(programs: Sequence[Program], execute: Execute) -> None:
    """Nothing, if the shots' programs return their gold answers in the sandbox; else UserError naming the first."""
    for program in programs:
        got = execute(program.source, profile=program.profile)
        if not is_right(Extraction(ExtractionStatus.OK, got.value, exact=False), program.gold):
            came = got.value or " ".join(filter(None, (got.ending.value, got.message, got.output)))
            raise UserError(
                f"preflight: {program.who}: the program of the right answer gives {came} in the {program.profile} "
                f"profile, but {program.gold} is right: change the shot's answer, or its gold answer"
            )


def _check(form: Format, who: str, text: str, gold: str) -> None:
    for stop in form.decoding.stops:
        if stop in text:
            raise UserError(
                f"preflight: format {form.name}, {who}: the stop string {stop!r} stands inside the right answer "
                f"{_short(text)}: change the format's [decoding].stops"
            )
    wrong = _wrong_program(form, text) if form.kind is AnswerKind.CODE else _wrong_reading(form, who, text, gold)
    if wrong:
        raise UserError(
            f"preflight: format {form.name}, {who}: the right answer {_short(text)} {wrong}, but {gold} is right: "
            "change the format's answer sentence, or the gold answer"
        )


def _wrong_reading(form: Format, who: str, text: str, gold: str) -> str:
    """How a protocol misreads the text; empty if both read it rightly."""
    item = Item(id=who, benchmark="preflight", group="", question="", target=gold)
    if form.kind is AnswerKind.TEXT and not _is_number(gold):
        return f"cannot be compared with the gold answer {gold!r}, which is no exact number"
    grades = grade(item, form, Completion(text, FinishReason.END, 0, 0, "preflight"))
    protocols = {"robust": grades.robust}
    if form.kind is AnswerKind.YESNO or "/" not in _numeral(gold):
        protocols["paper"] = grades.paper  # it cannot read a fraction
    for protocol, given in protocols.items():
        if given.verdict is not Verdict.CORRECT:
            return f"is read as {given.extraction.value or given.reason} by the {protocol} protocol"
    return ""


def _wrong_program(form: Format, text: str) -> str:
    if paper_function(text).source is None:
        return "holds no function for the paper protocol"
    found = robust_function(text, prefilled=form.prefilled)
    if found.status is not ExtractionStatus.OK or found.why:
        return f"holds no function for the robust protocol ({found.why or found.status.value})"
    return ""


def _right_answers(form: Format, item: Item) -> Iterator[str]:
    """The item's gold answer, worded as the format wants answers."""
    match form.kind:
        case AnswerKind.YESNO:
            yield item.target
        case AnswerKind.CODE:
            yield f"\n    return {_numeral(item.target)}\n"
        case AnswerKind.TEXT:
            head, tail = _sentence(form.shots[0]) if form.shots else ("The final answer is ", ".")
            yield head + _numeral(item.target) + tail


def _sentence(shot: Shot) -> tuple[str, str]:
    """What stands before and behind the gold answer in the last line of a shot's answer."""
    line = shot.answer.rstrip().rsplit("\n", 1)[-1]
    head, _, tail = line.rpartition(shot.gold)
    return head, tail


def _numeral(target: str) -> str:
    """The target as a person writes it: a decimal where it ends after a few digits, else a fraction."""
    if not _is_number(target):
        return target
    value = Fraction(target)
    for digits in range(7):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            return _with_point(scaled.numerator, digits)
    return target


def _is_number(target: str) -> bool:
    try:
        Fraction(target)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _with_point(number: int, decimals: int) -> str:
    if decimals == 0:
        return str(number)
    text = str(abs(number)).zfill(decimals + 1)
    return f"{'-' if number < 0 else ''}{text[:-decimals]}.{text[-decimals:]}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else "…" + text[-59:])
