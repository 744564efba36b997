"""What a report is made from: the answers of its runs, and the analyses of them, each computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.report.accuracy import Accuracy, accuracy
from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.analysis.effects import Backend, VariantEffect
from variantbench.plugins.report.analysis.failures import FailureCounts, TemplateRow, failures, templates
from variantbench.plugins.report.analysis.logic import Logic, logic
from variantbench.plugins.report.analysis.study import Experiment, Study, study
from variantbench.plugins.shards import wholes
from variantbench.plugins.store import Store
from variantbench.plugins.store.frame import answers_and_questions
from variantbench.plugins.store.tallies import Tally, earlier_runs, tallies
from variantbench.stats.lme4 import Lme4MissingError


@dataclass(frozen=True, slots=True)
class Source:
    """Runs in the order in which they were named, their answers, and what was found in them.

    ``earlier`` are runs before a single one in its line, with what they got right of its questions.

    ``studies`` are by benchmark and protocol, for benchmarks with base questions and variants. ``questions`` are those
    of `plugins/store/frame.py: answers_and_questions`.
    """

    runs: tuple[Mapping[str, Any], ...]
    earlier: tuple[tuple[Mapping[str, Any], tuple[Tally, ...]], ...]
    answers: Any
    questions: Any
    accuracy: Accuracy
    studies: Mapping[tuple[str, Protocol], Study]
    logic: Mapping[Protocol, Logic]
    failures: Mapping[str, tuple[FailureCounts, ...]]
    templates: Mapping[str, tuple[TemplateRow, ...]]

    @property
    def wholes(self) -> list[list[Mapping[str, Any]]]:
        """The runs, shards of the same together."""
        return wholes(self.runs)

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks with base questions and variants."""
        return list(self.templates)

    def experiments(self, benchmark: str, protocol: Protocol = Protocol.ROBUST) -> list[Experiment]:
        """The experiments on the variant effect, the canonical format first."""
        found = self.studies.get((benchmark, protocol))
        return [] if found is None else [one for one in (found.ex1, *found.ex2) if one is not None]

    def effects(self, protocol: Protocol = Protocol.ROBUST) -> Iterator[tuple[str, Experiment, int, VariantEffect]]:
        """Every variant effect: its benchmark, experiment, place in that, and itself."""
        for benchmark in self.benchmarks:
            for experiment in self.experiments(benchmark, protocol):
                for place, effect in enumerate(experiment.effects):
                    yield benchmark, experiment, place, effect


def source(
    store: Store,
    runs: Sequence[str] | str | None = None,
    *,
    backend: str = "variantbench",
    with_doubtful_labels: bool = True,
) -> Source:
    """The answers of stored runs (beginnings of ids; the newest if none is named) and their analyses.

    UserError where R is wanted and absent; StoreError for a run that is not there.
    """
    names: list[str | None] = [runs] if runs is None or isinstance(runs, str) else list(runs) or [None]
    found = list({run["id"]: run for run in (store.find_run(name) for name in names)}.values())
    run_ids = [run["id"] for run in found]
    answers, questions = answers_and_questions(store, run_ids, with_doubtful_labels=with_doubtful_labels)
    benchmarks = _with_variants(answers)
    return Source(
        runs=tuple(found),
        earlier=_earlier(store, found[0]) if len(found) == 1 and with_doubtful_labels else (),
        answers=answers,
        questions=questions,
        accuracy=accuracy(answers, questions),
        studies=_studies(answers, benchmarks, backend),
        logic={p: logic(answers, protocol=p) for p in Protocol} if (answers["benchmark"] == "logic").any() else {},
        failures={name: failures(answers, benchmark=name) for name in benchmarks},
        templates={name: templates(answers, benchmark=name) for name in benchmarks},
    )


def _earlier(store: Store, run: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], tuple[Tally, ...]], ...]:
    return tuple((one, tuple(tallies(store, one["id"], asked_in=run["id"]))) for one in earlier_runs(store, run))


def _with_variants(answers: Any) -> list[str]:
    """Benchmarks without batches that have answers to base questions and to variants."""
    rows = answers[answers["batch"].isna()]
    kinds = rows.assign(is_variant=rows["variant"] > 0).groupby("benchmark", observed=True)["is_variant"].nunique()
    return sorted(str(name) for name, count in kinds.items() if count > 1)


def _studies(answers: Any, benchmarks: Sequence[str], backend: str) -> dict[tuple[str, Protocol], Study]:
    """By both grades; the fits of fewer answers by the robust one alone."""
    try:
        return {
            (name, protocol): study(
                answers, protocol=protocol, benchmark=name, backend=Backend(backend), refits=protocol is Protocol.ROBUST
            )
            for name in benchmarks
            for protocol in Protocol
        }
    except Lme4MissingError as error:
        raise UserError(f"--glmm-backend {backend}: {error}") from None
