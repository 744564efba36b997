"""How answers fail, counted in the study's classes, and what happens template by template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.datatypes import Extraction, ExtractionStatus, FinishReason, Grade, Verdict
from variantbench.plugins.failures import Failure, failure_of


@dataclass(frozen=True, slots=True)
class FailureCounts:
    """The answers of one model in one format to base questions or variants, by the paper protocol.

    ``failures`` counts by class; ``answers`` all that were judged; ``truncated`` those cut off by the length limit.
    """

    model: str
    format: str
    variants: bool
    answers: int
    not_judged: int
    truncated: int
    failures: Mapping[Failure, int]

    @property
    def total(self) -> int:
        """Answers that are not right."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """One template of one model in one format: right base answers of all, right variant answers of all."""

    model: str
    format: str
    template: str
    base_right: int
    base: int
    variants_right: int
    variants: int


def failures(answers: Any, *, benchmark: str = "gsm") -> tuple[FailureCounts, ...]:
    """The counts by model, format, base questions before variants."""
    rows = answers[answers["benchmark"] == benchmark]
    keys = ["model", "format", "variant", "paper_verdict", "paper_status", "paper_method", "finish_reason"]
    plain = rows[keys].astype({key: object for key in keys if key != "variant"})
    plain["variant"] = plain["variant"] > 0
    found: dict[tuple[str, str, bool], tuple[Counter[Failure], list[int]]] = {}
    for key, count in plain.value_counts(dropna=False, sort=False).items():
        model, form, variant, verdict, status, method, finish = key
        classes, totals = found.setdefault((model, form, variant), (Counter(), [0, 0, 0]))
        totals[1 if verdict == Verdict.ERROR else 0] += int(count)
        totals[2] += int(count) if finish == FinishReason.LENGTH else 0
        failure = failure_of(Grade(Verdict(verdict), Extraction(ExtractionStatus(status), method=method)))
        if failure is not None:
            classes[failure] += int(count)
    return tuple(
        FailureCounts(*key, totals[0], totals[1], totals[2], dict(sorted(classes.items())))
        for key, (classes, totals) in sorted(found.items())
    )


def templates(answers: Any, *, protocol: str = "robust", benchmark: str = "gsm") -> tuple[TemplateRow, ...]:
    """The judged answers template by template."""
    verdict = answers[f"{protocol}_verdict"].astype(str)
    rows = answers[(answers["benchmark"] == benchmark) & (verdict != Verdict.ERROR)]
    table = rows.assign(right=(verdict == Verdict.CORRECT).astype(int), is_variant=rows["variant"] > 0)
    counts = table.groupby(["model", "format", "group_id", "is_variant"], observed=True)["right"].agg(["sum", "count"])
    wide = counts.unstack("is_variant", fill_value=0)
    found = []
    for (model, form, template), row in zip(wide.index, wide.to_dict("records"), strict=True):
        counts = (_cell(row, name, variant) for variant in (False, True) for name in ("sum", "count"))
        found.append(TemplateRow(str(model), str(form), str(template), *counts))
    return tuple(found)


def _cell(row: Mapping[tuple[str, bool], float], name: str, variant: bool) -> int:
    return int(row.get((name, variant), 0))
