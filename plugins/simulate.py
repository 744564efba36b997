"""Runs that no model made: answers drawn to look like published rows, or like a whole study, written into a store.

For demonstrations, and for testing reports at full scale. Every model is called ``simulated-…`` and the manifest says
``simulated``, so that nobody takes such a run for a measurement. Questions are real, answers are made up, and graded by
the graders: grading them again changes nothing.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from variantbench.plugins.datatypes import (
    Completion,
    Execution,
    ExecutionClass,
    FinishReason,
    Item,
    Prompt,
    text_hash,
)
from variantbench.plugins.drawing import draw
from variantbench.plugins.errors import UserError
from variantbench.plugins.grading import GRADER, Grades, grade
from variantbench.plugins.published import LogicRow, VariantRow
from variantbench.plugins.store import Store
from variantbench.plugins.store.rows import grade_columns, item_row
from variantbench.prompts.format import AnswerKind, Format, load_format

ENGINE = "simulated"
LOGIC_REPEATS = 3
PROSE, CODE = ("gsm", "simple_nl", "structured_nl"), ("simple_code", "structured_code")
Say = Callable[[str], None]

# How wrong answers fail, and how often; made up, after the study's figures in order of size.
_TEXT_FAILURES = {"wrong": 0.86, "last_number": 0.06, "empty": 0.05, "no_number": 0.03}
_CODE_FAILURES = {
    "wrong": 0.80,
    "name_error": 0.09,
    "type_value_error": 0.04,
    "syntax_error": 0.04,
    "none_returned": 0.03,
}
_YESNO_FAILURES = {"wrong": 0.95, "void": 0.05}


def synthetic_rows(models: int = 20, *, seed: int = 0, formats: Sequence[str] = (*PROSE, *CODE)) -> list[VariantRow]:
    """Rows of a whole study: so many models in every format, of accuracies and effects such as the study found."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in range(models):
        ability, effect = rng.normal(-0.3, 1.3), min(0.4, rng.normal(-0.35, 0.35))
        for form in formats:
            variants = float(np.clip(expit(ability + rng.normal(0, 0.4)), 0.03, 0.97))
            here = float(effect + rng.normal(0, 0.15))
            base = float(np.clip(expit(logit(variants) - here / 2), 0.01, 0.99))  # an effect of 2 moves the mean by 1
            rows.append(VariantRow(f"model-{model + 1:02d}", form, base, variants, here))
    return rows


def simulate(
    store: Store,
    rows: Sequence[VariantRow | LogicRow],
    *,
    gsm: Sequence[Item],
    logic: Sequence[Item] = (),
    seed: int = 0,
    say: Say = lambda _: None,
) -> str:
    """Write one run of these rows and give back its id. ``gsm`` and ``logic`` are the items to be answered.

    UserError where rows and items do not fit together.
    """
    _check(rows, gsm, logic)
    names = list(dict.fromkeys(_name(row) for row in rows))
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    manifest = {
        "simulated": True,
        "seed": seed,
        "grader": GRADER,
        "models": [{"name": name, "identity": _identity(name), "simulated": True} for name in names],
    }
    store.start_run(run_id, manifest)
    for name in names:
        store.add_model(_identity(name), name, {"simulated": True})
    questions = _Questions(gsm, logic, seed)
    item_rows = {item.id: item_row(item) for item in (*gsm, *logic)}
    for (name, form), some in groupby(rows, key=lambda row: (_name(row), row.format)):
        answers = list(questions.answers(list(some)))
        _write(store, run_id, name, load_format(form), answers, item_rows, seed=seed)
        say(f"{name}, {form}: {len(answers):,} answers")
    store.finish_run(run_id, "complete", manifest)
    return run_id


def _check(rows: Sequence[VariantRow | LogicRow], gsm: Sequence[Item], logic: Sequence[Item]) -> None:
    keys = [(row.model, row.format, getattr(row, "batch", "")) for row in rows]
    if not rows or len(set(keys)) < len(keys):
        doubled = next((key for key in keys if keys.count(key) > 1), "")
        raise UserError(f"rows to simulate: {f'{doubled} stands twice' if rows else 'none'}; give each once")
    sizes = {len(list(group)) for _, group in groupby(gsm, key=lambda item: item.group)}
    if any(isinstance(row, VariantRow) for row in rows) and (len(sizes) != 1 or sizes == {1}):
        raise UserError("items to simulate: every template needs its base question and equally many variants")
    lacking = {row.batch for row in rows if isinstance(row, LogicRow)} - {item.batch for item in logic}
    if lacking:
        raise UserError(f"no logic items of batch {', '.join(sorted(lacking))}")


def _name(row: VariantRow | LogicRow) -> str:
    return f"simulated-{row.model}"


def _identity(name: str) -> str:
    return text_hash(f"simulated: no model {name}")


@dataclass(frozen=True, slots=True)
class _Asked:
    item: Item
    seed: int
    right: bool


class _Questions:
    """The items, how hard each is for all models alike, and answers to them."""

    def __init__(self, gsm: Sequence[Item], logic: Sequence[Item], seed: int) -> None:
        self.gsm, self.logic, self.seed = gsm, logic, seed
        rng = np.random.default_rng([seed, 1])
        self.templates = len({item.group for item in gsm})
        self.difficulty = rng.standard_normal(self.templates)
        self.of_row: dict[str, float] = {_row_of(item): rng.normal(0, 1.5) for item in logic}

    def answers(self, rows: Sequence[VariantRow | LogicRow]) -> Iterator[_Asked]:
        """Answers of one model in one format, to all items that the rows speak of."""
        for row in rows:
            seed = zlib.crc32(repr((self.seed, row.model, row.format, getattr(row, "batch", ""))).encode())
            yield from self._words(row, seed) if isinstance(row, VariantRow) else self._yesno(row, seed)

    def _words(self, row: VariantRow, seed: int) -> Iterator[_Asked]:
        per_template = len(self.gsm) // self.templates - 1
        right = draw(
            row, templates=self.templates, per_template=per_template, difficulty=self.difficulty, seed=seed
        ).reshape(-1)
        for item, answer in zip(self.gsm, right, strict=True):
            yield _Asked(item, 0, bool(answer))

    def _yesno(self, row: LogicRow, seed: int) -> Iterator[_Asked]:
        items = [item for item in self.logic if item.batch == row.batch]
        rng = np.random.default_rng(seed)
        hard = np.array([self.of_row[_row_of(item)] for item in items])[:, None]
        latent: NDArray[np.float64] = (
            hard + rng.normal(0, 1.5, hard.shape) + 0.5 * rng.logistic(size=(len(items), LOGIC_REPEATS))
        )
        count = round(row.accuracy * latent.size)
        threshold = np.sort(latent, axis=None)[::-1][count - 1] if count else np.inf
        for item, own in zip(items, latent >= threshold, strict=True):
            for repeat in range(LOGIC_REPEATS):
                yield _Asked(item, repeat + 1, bool(own[repeat]))


def _row_of(item: Item) -> str:
    """What the four wordings of a logic question have in common: Q3-017 -> 017."""
    return item.id.partition("-")[2]


# Answers as a model would have written them.


def _write(
    store: Store,
    run_id: str,
    name: str,
    form: Format,
    asked: Sequence[_Asked],
    rows: Mapping[str, Mapping[str, Any]],
    *,
    seed: int,
) -> None:
    kinds = {AnswerKind.TEXT: _TEXT_FAILURES, AnswerKind.CODE: _CODE_FAILURES, AnswerKind.YESNO: _YESNO_FAILURES}[
        form.kind
    ]
    rng = np.random.default_rng(zlib.crc32(repr((seed, name, form.name)).encode()))
    failure = rng.choice(list(kinds), p=list(kinds.values()), size=len(asked))
    completions, records = [], []
    for answer, how in zip(asked, failure, strict=True):
        item, kind = answer.item, "right" if answer.right else str(how)
        text = _text(form.kind, form.answer_at, item.target, kind)
        case = f"simulated::{name}-{form.name}-{item.id}" + (f"-s{answer.seed}" if answer.seed else "")
        key = text_hash(f"{run_id} {case}")
        tokens = len(text) // 4 + 1
        prompt = Prompt(item.id, form.name, form.prefix(), form.ask(item.question), form.decoding, answer.seed)
        done = Completion(
            text, FinishReason.END, len(prompt.prefix + prompt.suffix) // 4, tokens, ENGINE, "", 0.01 * tokens
        )
        completions.append((key, prompt, done))
        record = {
            "case_id": case,
            "grader": GRADER,
            "model": name,
            "format": form.name,
            "seed": answer.seed,
            "item_hash": rows[item.id]["hash"],
            "completion_key": key,
            **_grade_row(form.name, item.target, kind, text),
            "execution": None,
        }
        records.append({"record": record, "item": rows[item.id]})
    store.add_texts([form.prefix()])
    store.add_completions(completions, model_identity=_identity(name), settings={"engine": ENGINE})
    store.add_records(run_id, records)


def _text(kind: AnswerKind, answer_at: str, target: str, how: str) -> str:
    if kind is AnswerKind.YESNO:
        said = {"right": target, "wrong": "no" if target == "yes" else "yes", "void": "perhaps"}[how]
        return f"{said}." if answer_at == "start" else f"Let us see. The answer is {said}."
    value = target if how == "right" else _other(target)
    if kind is AnswerKind.CODE:
        return {
            "none_returned": f"    x = {value}\n",
            "name_error": f"    return total + {value}\n",
            "type_value_error": f"    return len({value})\n",
            "syntax_error": f"    x = {value} +\n    return x\n",
        }.get(how, f"    x = {value}\n    return x\n")
    return {
        "empty": "",
        "no_number": "I do not know.",
        "last_number": f"First there are some, and then some more: {value}",
    }.get(how, f"We add it up. The final answer is {value}.")


def _other(target: str) -> str:
    """A wrong number."""
    return f"{int(target) + 1}" if "/" not in target else f"{int(target.partition('/')[0]) + 1}"


@cache
def _grade_row(form: str, target: str, how: str, text: str) -> Mapping[str, Any]:
    """The grades of a made-up answer, by the graders themselves; programs end as they were made to end."""
    asked = Item("", "", "", "", target)
    done = Completion(text, FinishReason.END, 1, 1, ENGINE)
    grades: Grades = grade(asked, load_format(form), done, _Ending(target, how))
    return {**grade_columns("paper", grades.paper), **grade_columns("robust", grades.robust)}


@dataclass(frozen=True, slots=True)
class _Ending:
    """Stands for the sandbox: no program runs."""

    target: str
    how: str

    def __call__(self, source: str, *, profile: str = "python") -> Execution:
        del source, profile
        if self.how in ("right", "wrong"):
            value = self.target if self.how == "right" else _other(self.target)
            return Execution(ExecutionClass.OK, value, backend=ENGINE)
        return Execution(ExecutionClass(self.how), backend=ENGINE)
