"""Which answers an analysis counts, made explicit: the grade, the labels in doubt, what could not be judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COLUMNS = ("model", "format", "benchmark", "item", "group_id", "variant", "seed", "doubtful_label")


class Protocol(StrEnum):
    """Whose reading of an answer counts."""

    ROBUST = "robust"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Choice:
    """What counts: whose grades, whether items with labels in doubt do, and whether only answers that gave a value.

    ``executable_only`` leaves out what no value could be read from: for code, what did not run.
    """

    protocol: Protocol = Protocol.ROBUST
    doubtful_labels: bool = True
    executable_only: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """Right answers among those that count."""

    right: int
    judged: int

    @property
    def accuracy(self) -> float:
        """The share right, 0 to 1; nan if none was judged."""
        return self.right / self.judged if self.judged else float("nan")


@dataclass(frozen=True, slots=True)
class Part:
    """The answers of one model in one format that count, as arrays (answers,), and how many do not.

    ``excluded`` are those left out by choice; ``not_judged`` those that failed through no fault of the model.
    """

    model: str
    format: str
    right: Floats
    is_variant: Floats
    template: Integers
    question: Integers
    covariates: dict[str, Floats]
    excluded: int
    not_judged: int
    excluded_variants: float

    def counts(self, templates: int) -> tuple[Integers, Integers, Integers, Integers]:
        """Base answers, right ones, variant answers, right ones: (templates,) each."""
        base, variant = self.is_variant == 0, self.is_variant == 1
        total = [np.bincount(self.template[rows], minlength=templates) for rows in (base, variant)]
        right = [
            np.bincount(self.template[rows], weights=self.right[rows], minlength=templates).astype(np.int64)
            for rows in (base, variant)
        ]
        return total[0], right[0], total[1], right[1]

    def share(self, *, variants: bool) -> Share:
        """The share right among base questions or variants."""
        right = self.right[self.is_variant == variants]
        return Share(int(right.sum()), len(right))


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a benchmark's answers by (model, format), all with the same numbers for templates and questions."""

    choice: Choice
    models: tuple[str, ...]
    formats: tuple[str, ...]
    templates: tuple[str, ...]
    of: dict[tuple[str, str], Part]

    def __iter__(self) -> Iterator[Part]:
        return iter(self.of.values())

    def in_format(self, form: str) -> list[Part]:
        """The parts of one format, in the order of models."""
        return [self.of[model, form] for model in self.models if (model, form) in self.of]


def asked_twice(row: Any) -> UserError:
    """The error for an answer that stands beside another to the same question."""
    return UserError(
        f"{row['model']}, {row['format']}, {row['item']} stands twice: two test functions ask it, or a run is given "
        "twice; take one of the two"
    )


def split(answers: Any, choice: Choice, *, benchmark: str = "gsm") -> Parts:
    """The answers of a frame by model and format. UserError for a frame without the columns, or with an answer twice.

    Models and formats come in the order of their first row, templates sorted.
    """
    columns = (*_COLUMNS, f"{choice.protocol}_verdict")
    missing = [name for name in columns if name not in answers.columns]
    if missing:
        raise UserError(f"the frame has no column {', '.join(missing)}: plugins/store/frame.py says what is needed")
    rows = answers[answers["benchmark"] == benchmark]
    keys = ["model", "format", "item", "seed"]
    if rows.duplicated(keys).any():
        twice = rows[rows.duplicated(keys)].iloc[0]
        raise asked_twice(twice)
    coded = {name: _codes(rows[name]) for name in ("model", "format", "group_id", "item")}
    verdict = rows[f"{choice.protocol}_verdict"].astype(str).to_numpy()
    arrays = {
        "right": (verdict == Verdict.CORRECT).astype(np.float64),
        "judged": verdict != Verdict.ERROR,
        "kept": _kept(rows, verdict, choice),
        "variant": (rows["variant"].to_numpy() > 0).astype(np.float64),
        "template": coded["group_id"][0],
        "question": coded["item"][0],
        **{name: rows[name].to_numpy(np.float64) for name in ("gamma", "gamma_code") if name in rows.columns},
    }
    (model, models), (form, formats) = coded["model"], coded["format"]
    order = np.lexsort((form, model))
    pair = (model * len(formats) + form)[order]
    starts = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]]) if len(pair) else np.empty(0, np.int64)
    found = {}
    for chosen in np.split(order, starts[1:]) if len(order) else []:
        name, style = models[model[chosen[0]]], formats[form[chosen[0]]]
        found[name, style] = _part(name, style, {key: values[chosen] for key, values in arrays.items()})
    return Parts(choice, tuple(models), tuple(formats), tuple(coded["group_id"][1]), found)


def _part(model: str, form: str, arrays: dict[str, Any]) -> Part:
    use = arrays["judged"] & arrays["kept"]
    variant = arrays["variant"] == 1
    left_out = arrays["judged"] & ~arrays["kept"]
    return Part(
        model=model,
        format=form,
        right=arrays["right"][use],
        is_variant=arrays["variant"][use],
        template=arrays["template"][use],
        question=arrays["question"][use],
        covariates={name: arrays[name][use] for name in ("gamma", "gamma_code") if name in arrays},
        excluded=int(left_out.sum()),
        not_judged=int((~arrays["judged"]).sum()),
        excluded_variants=float(left_out[variant].mean()) if variant.any() else 0.0,
    )


def _kept(rows: Any, verdict: NDArray[np.str_], choice: Choice) -> NDArray[np.bool_]:
    kept = np.ones(len(rows), dtype=bool)
    if not choice.doubtful_labels:
        kept &= ~rows["doubtful_label"].to_numpy(bool)
    if choice.executable_only:
        kept &= verdict != Verdict.NO_ANSWER
    return kept


def _codes(column: Any) -> tuple[Integers, list[str]]:
    """Codes of a column in sorted order of its values, and these."""
    values = column.astype("category").cat.remove_unused_categories()
    return values.cat.codes.to_numpy(np.int64), [str(value) for value in values.cat.categories]
