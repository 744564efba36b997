"""The size of numbers: γ beside the variant effect (GLMM 2), accuracy along γ, and how numbers are distributed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from variantbench.plugins.integers import integers
from variantbench.plugins.report.analysis.answers import Choice, Floats, Integers, Part, Protocol, split
from variantbench.plugins.report.analysis.effects import GAMMA, VARIANT, NumberEffect
from variantbench.plugins.report.sections.variants import drawn_effects, fit_words, log_interval, odds, state_of
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Interval, Kind, Section, Table, table
from variantbench.stats.ks import KolmogorovSmirnov, ks_templates
from variantbench.stats.proportions import wilson

BINS = ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 999), (1000, None))
_BINS_OF_GAMMA, _ENOUGH = 10, 20  # groups at most, answers to a group at least
_PERMUTATIONS = 199
_SEED = 0
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


def section(found: Source) -> Section | None:
    """GLMM 2, its figures, and the numbers in questions."""
    effects = [row for protocol in Protocol for row in _rows(found, protocol)]
    if not effects:
        return None
    numbers = {name: found_numbers for name in found.benchmarks if (found_numbers := _numbers(found, name)) is not None}
    figures = [*_three(found), *_gamma(found), *_bins(numbers), *_curves(numbers)]
    return Section(
        "numbers",
        "Is it the size of the numbers?",
        "γ is the sum of log10 of the integers that a question writes in digits. If variants are harder because their "
        "numbers are larger, γ takes the effect and the variant effect given γ is near 0.",
        figures=tuple(figures),
        tables=(
            table("number_effect", "γ, and the variant effect given γ", _COLUMNS, effects, note=_NOTE),
            *([_ks_table(numbers)] if numbers else []),
        ),
    )


_NOTE = (
    "Holm is over the models of a format; the study's tables correct over the formats within a model, which the "
    "columns 'within model' hold. γ within templates leaves out that templates of large numbers may be harder."
)
_COLUMNS = (
    *(Column(name, name) for name in ("benchmark", "experiment", "format", "model", "grades")),
    Column("gamma_odds_ratio", "γ: odds ratio, 95%", Kind.RATIO),
    Column("gamma_p", "γ: p", Kind.P),
    Column("gamma_holm", "γ: Holm", Kind.P),
    Column("gamma_holm_within_model", "γ: Holm within model", Kind.P),
    Column("gamma_within_templates", "γ within templates: odds ratio", Kind.RATIO),
    Column("variant_odds_ratio", "variant given γ: odds ratio, 95%", Kind.RATIO),
    Column("variant_p", "variant: p", Kind.P),
    Column("variant_holm", "variant: Holm", Kind.P),
    Column("variant_holm_within_model", "variant: Holm within model", Kind.P),
    Column("dropped", "rows without γ", Kind.COUNT),
    Column("fit", "fit"),
)


def _rows(found: Source, protocol: Protocol) -> Iterator[list[Cell]]:
    for benchmark in found.benchmarks:
        result = found.studies[benchmark, protocol]
        within = {one.model: one for one in result.holm_within_models}
        for experiment in result.ex3:
            for place, effect in enumerate(experiment.effects):
                own = within[effect.model]
                here = own.formats.index(effect.format)
                yield [
                    benchmark,
                    experiment.name,
                    effect.format,
                    effect.model,
                    protocol.value,
                    odds(log_interval(effect.gamma)),
                    effect.gamma.lrt_p if effect.gamma else nan,
                    float(experiment.holm_gamma.adjusted[place]),
                    float(own.gamma.adjusted[here]),
                    odds(log_interval(effect.within)).estimate,
                    odds(log_interval(effect.variant)),
                    effect.variant.lrt_p if effect.variant else nan,
                    float(experiment.holm_variant.adjusted[place]),
                    float(own.variant.adjusted[here]),
                    effect.dropped,
                    fit_words(effect.fit, effect.reason),
                ]


def _three(found: Source) -> Iterator[Figure]:
    """The variant effect, γ, and the variant effect given γ: three panels on one axis."""
    rows: list[list[Cell]] = [
        [benchmark, form, model, "variant", interval, state]
        for benchmark, form, model, interval, state in drawn_effects(found)
    ]
    for benchmark in found.benchmarks:
        for numbers in found.studies[benchmark, Protocol.ROBUST].ex3:
            for place, effect in enumerate(numbers.effects):
                if effect.fit is None or effect.gamma is None or effect.variant is None:
                    continue
                for name, own, holm in (
                    ("γ", effect.gamma, numbers.holm_gamma),
                    ("variant given γ", effect.variant, numbers.holm_variant),
                ):
                    state = state_of(own, effect.fit, own.lrt_p, float(holm.adjusted[place]))
                    rows.append([benchmark, effect.format, effect.model, name, log_interval(own), state])
    if any(row[3] == "γ" for row in rows):
        data = table(
            "three_effects",
            "Variant effect, γ, and the variant effect given γ",
            (
                *(Column(name, name) for name in ("benchmark", "format", "model", "effect")),
                Column("log_odds_ratio", "log odds ratio, 95%", Kind.LOGIT),
                Column("state", "shown?"),
            ),
            rows,
        )
        shown = sum(row[3] == "variant given γ" and str(row[5]).startswith("shown") for row in rows)
        yield Figure(
            Chart.THREE_EFFECTS,
            data,
            "Where number size explains the variant effect, the third panel is near 0 and the second is not. Marks as "
            "in the figure of variant effects. γ is per power of ten.",
            f"The variant effect given γ is shown after Holm's correction for {shown} of "
            f"{sum(row[3] == 'variant given γ' for row in rows)} combinations of model and format.",
        )


def _gamma(found: Source) -> Iterator[Figure]:
    """Accuracy along γ, with the fitted curve."""
    rows: list[list[Cell]] = []
    for benchmark in found.benchmarks:
        parts = split(found.answers, Choice(Protocol.ROBUST), benchmark=benchmark)
        values = [part.covariates["gamma"] for part in parts if "gamma" in part.covariates]
        if not values:
            continue
        centre = float(np.nanmean(np.concatenate(values)))
        for experiment in found.studies[benchmark, Protocol.ROBUST].ex3:
            for effect in experiment.effects:
                rows += _along_gamma(benchmark, parts.of[effect.model, effect.format], effect, centre)
    if rows:
        data = table(
            "gamma",
            "Accuracy against the size of numbers",
            (
                *(Column(name, name) for name in ("benchmark", "format", "model", "kind")),
                Column("gamma", "γ", Kind.NUMBER),
                Column("accuracy", "accuracy, 95% Wilson", Kind.SHARE),
                Column("answers", "answers", Kind.COUNT),
            ),
            rows,
        )
        yield Figure(
            Chart.GAMMA,
            data,
            "Points: variants in groups of like γ, with Wilson's interval. Line: the fitted model, averaged.",
            f"{sum(row[3] == 'observed' for row in rows)} groups of variants by the size of their numbers.",
        )


def _along_gamma(benchmark: str, part: Part, effect: NumberEffect, centre: float) -> Iterator[list[Cell]]:
    rows = (part.is_variant == 1) & np.isfinite(part.covariates["gamma"])
    values, right = part.covariates["gamma"][rows], part.right[rows]
    if not len(values):
        return
    groups = max(1, min(_BINS_OF_GAMMA, len(values) // _ENOUGH))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, groups + 1)))
    which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    names = (benchmark, part.format, part.model)
    for place in np.unique(which):
        own = which == place
        share = wilson(float(right[own].sum()), float(own.sum()))
        yield [*names, "observed", float(values[own].mean()), Interval.of(share), int(own.sum())]
    if effect.fit is None or not all(isfinite(one.beta) for one in effect.fit.effects):
        return
    for value in np.linspace(edges[0], edges[-1], 21):
        yield [*names, "fitted", float(value), _fitted(effect, float(value) - centre), None]


def _fitted(effect: NumberEffect, number: float) -> float:
    """The share of variants right at that γ less its mean, the random intercept averaged over."""
    fit = effect.fit
    assert fit is not None  # noqa: S101 - the caller has looked
    level = fit.effects[0].beta + fit[VARIANT].beta + fit[GAMMA].beta * number
    spread = fit.sigma if isfinite(fit.sigma) else 0.0
    return float((expit(level + spread * _NODES) * _WEIGHTS).sum() / _WEIGHTS.sum())


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The integers in a benchmark's questions (integers,), whether each stands in a variant, and the test of both."""

    value: Floats
    variant: NDArray[np.bool_]
    test: KolmogorovSmirnov


def _numbers(found: Source, benchmark: str) -> _Numbers | None:
    asked = found.questions[found.questions["benchmark"] == benchmark]
    lists = [[float(text) for text in integers(question) if len(text) < 300] for question in asked["question"]]
    counts = [len(values) for values in lists]
    value = np.array([value for values in lists for value in values])
    variant = np.repeat((asked["variant"] > 0).to_numpy(), counts)
    if not len(value) or variant.all() or not variant.any():
        return None
    template = asked["group_id"].astype("category").cat.codes.to_numpy()
    question, of_template = np.repeat(np.arange(len(lists)), counts), np.repeat(template, counts)
    test = ks_templates(value, question, of_template, variant, seed=_SEED, permutations=_PERMUTATIONS)
    return _Numbers(value, variant, test)


def _bins(numbers: dict[str, _Numbers]) -> Iterator[Figure]:
    rows: list[list[Cell]] = []
    for benchmark, found in numbers.items():
        for variants in (False, True):
            own = found.value[found.variant == variants]
            for low, high in BINS:
                inside = (own >= low) & (own <= (np.inf if high is None else high))
                name = f"{low:,}" if low == high else f"{low:,} and more" if high is None else f"{low:,}–{high:,}"
                part = "variants" if variants else "base"
                rows.append([benchmark, part, name, int(inside.sum()), float(inside.mean())])
    if rows:
        data = table(
            "number_bins",
            "How large the integers in questions are",
            (
                *(Column(name, name) for name in ("benchmark", "part", "bin")),
                Column("count", "integers", Kind.COUNT),
                Column("share", "share", Kind.SHARE),
            ),
            rows,
        )
        yield Figure(
            Chart.NUMBER_BINS,
            data,
            "Share of all integers of a part that lie in a bin.",
            f"Shares of integers in {len(BINS)} bins from 0 to 1,000 and more, base questions beside variants.",
        )


def _curves(numbers: dict[str, _Numbers]) -> Iterator[Figure]:
    rows: list[list[Cell]] = []
    words = []
    for benchmark, found in numbers.items():
        test = found.test
        words.append(f"{benchmark}: K-S distance {test.distance:.3f}, permutation p {test.p_permutation:.3f}")
        for variants in (False, True):
            values, counts = np.unique(found.value[found.variant == variants], return_counts=True)
            share = np.cumsum(counts) / counts.sum()
            kept = _thinned(share)
            part = "variants" if variants else "base"
            rows += [[benchmark, part, float(values[i]), float(share[i])] for i in kept]
    if rows:
        data = table(
            "number_curve",
            "Integers in questions: share up to each size",
            (
                *(Column(name, name) for name in ("benchmark", "part")),
                Column("value", "integer", Kind.COUNT),
                Column("share", "share of integers up to it", Kind.SHARE),
            ),
            rows,
        )
        yield Figure(
            Chart.NUMBER_CURVE, data, "The whole range, on a log scale; 0 stands at 0.5.", "; ".join(words) + "."
        )


def _thinned(share: Floats, most: int = 150) -> Integers:
    """Places of at most so many steps of a curve, none of which leaps past more than 1/most."""
    return np.unique(np.searchsorted(share, np.linspace(share[0], 1.0, most)).clip(0, len(share) - 1))


def _ks_table(numbers: dict[str, _Numbers]) -> Table:
    rows: list[list[Cell]] = []
    for benchmark, found in numbers.items():
        test = found.test
        base, variants = int((~found.variant).sum()), int(found.variant.sum())
        rows.append([benchmark, base, variants, test.distance, test.p_permutation, test.p])
    return table(
        "number_ks",
        "Are the numbers of variants distributed as those of base questions? (Kolmogorov-Smirnov)",
        (
            Column("benchmark", "benchmark"),
            Column("base", "integers in base questions", Kind.COUNT),
            Column("variants", "in variants", Kind.COUNT),
            Column("distance", "distance", Kind.NUMBER),
            Column("p_permutation", "p, questions of a template exchangeable", Kind.P),
            Column("p", "p, as if independent", Kind.P),
        ),
        rows,
        note=f"The second p repeats the study's, which takes numbers of one template for independent; the first has "
        f"{_PERMUTATIONS} permutations.",
    )
