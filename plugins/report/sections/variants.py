"""The variant effect: GLMM 1 of every model and format, by both grades, with what it takes to read it."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, isfinite, isnan, nan

from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.analysis.effects import LEVEL, VariantEffect
from variantbench.plugins.report.analysis.study import CANONICAL, Experiment
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Cell, Chart, Column, Figure, Interval, Kind, Section, Table, table
from variantbench.stats.glmm import Effect, GlmmFit
from variantbench.stats.glmm_status import Status

# What a fit says that makes its estimate or its interval unusable.
_UNRELIABLE = (
    Status.CONSTANT_RESPONSE,
    Status.RANK_DEFICIENT,
    Status.COMPLETE_SEPARATION,
    Status.QUASI_SEPARATION,
    Status.SIGMA_INFINITE,
    Status.NOT_CONVERGED,
    Status.CONDITIONAL_DISAGREES,
    Status.BACKEND_DIFFERS,
)
_SHOWN, _ONLY_RAW, _NOT_SHOWN, _UNUSABLE = "shown (Holm)", "p < 0.05, not after Holm", "not shown", "fit unreliable"
STATES = (_SHOWN, _ONLY_RAW, _NOT_SHOWN, _UNUSABLE)

_COLUMNS = (
    Column("benchmark", "benchmark"),
    Column("experiment", "experiment"),
    Column("format", "format"),
    Column("model", "model"),
    Column("grades", "grades"),
    Column("base", "base", Kind.SHARE),
    Column("variants", "variants", Kind.SHARE),
    Column("change", "change, 95% new templates", Kind.CHANGE),
    Column("odds_ratio", "odds ratio, 95% profile", Kind.RATIO),
    Column("log_odds_ratio", "log odds ratio", Kind.LOGIT),
    Column("se", "SE", Kind.NUMBER),
    Column("z", "z", Kind.NUMBER),
    Column("p", "p, LRT", Kind.P),
    Column("p_conditional", "p, exact conditional", Kind.P),
    Column("holm", "p, Holm", Kind.P),
    Column("bh", "q, BH", Kind.P),
    Column("holm_selected", "p, Holm over the selected", Kind.P),
    Column("selected", "selected", Kind.YES),
    Column("detectable", "detectable odds ratio", Kind.RATIO),
    Column("sigma", "sd of templates", Kind.NUMBER),
    Column("state", "shown?"),
    Column("fit", "fit"),
)


def section(found: Source) -> Section | None:
    """Forest plot, the table of effects, all models together, and differences between formats."""
    rows = [row for protocol in Protocol for row in _rows(found, protocol)]
    if not rows:
        return None
    experiments = [one for name in found.benchmarks for one in found.experiments(name) if len(one.effects) > 1]
    families = "; ".join(sorted({one.holm.family for one in experiments}))
    holm = f"Holm is over: {families}. " if families else "With one model to a format, Holm's p is p. "
    effects = table(
        "variant_effect",
        "Variant effect by model and format",
        _COLUMNS,
        rows,
        note="Mixed logistic model with a random intercept for each template. "
        f"{holm}The detectable odds ratio is what these data would have shown with 80% power.",
    )
    tables = [_brief(effects), effects, *_pooled(found), *_interactions(found)]
    return Section(
        "variants",
        "Are variants harder than the known questions?",
        "The odds of a right answer on variants against those on base questions, within templates. Below 1, variants "
        "are harder: the known questions may have been learnt by heart.",
        figures=(_forest(found),),
        tables=tuple(tables),
    )


def state_of(effect: Effect | None, fit: GlmmFit | None, p: float, holm: float) -> str:
    """Whether an effect is shown: the state that figures draw."""
    if effect is None or not reliable(fit) or not isfinite(p):
        return _UNUSABLE
    return _SHOWN if holm < LEVEL else _ONLY_RAW if p < LEVEL else _NOT_SHOWN


def reliable(fit: GlmmFit | None) -> bool:
    """Whether estimate and interval of a fit can be read as they stand."""
    return fit is not None and not any(fit.has(status) for status in _UNRELIABLE)


def fit_words(fit: GlmmFit | None, reason: str) -> str:
    """The state of a fit in words."""
    if fit is None:
        return f"no fit: {reason}"
    remarks = "; ".join(remark.sentence for remark in fit.remarks)
    return remarks or "ok"


def log_interval(effect: Effect | None) -> Interval:
    """The log odds ratio with its profile interval; Wald's where there is none."""
    if effect is None:
        return Interval(nan, nan, nan)
    if isfinite(effect.beta) and not (isfinite(effect.low) or isfinite(effect.high)) and isfinite(effect.se):
        return Interval(effect.beta, effect.beta - 1.96 * effect.se, effect.beta + 1.96 * effect.se)
    return Interval(effect.beta, effect.low, effect.high)


def odds(found: Interval) -> Interval:
    """The interval of the odds ratio."""
    if isnan(found.estimate):
        return found
    return Interval(*(exp(min(value, 700.0)) if value != inf else inf for value in _ends(found)))


def _ends(found: Interval) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


def _rows(found: Source, protocol: Protocol) -> Iterator[list[Cell]]:
    for benchmark, experiment, place, effect in found.effects(protocol):
        selection = found.studies[benchmark, protocol].selection
        log = log_interval(effect.effect)
        holm = float(experiment.holm.adjusted[place])
        selected = effect.model in selection.selected
        yield [
            benchmark,
            experiment.name,
            effect.format,
            effect.model,
            protocol.value,
            effect.base.accuracy,
            effect.variants.accuracy,
            Interval.of(effect.delta),
            odds(log),
            log,
            effect.effect.se if effect.effect else nan,
            effect.effect.z if effect.effect else nan,
            effect.p,
            effect.test.p_exact if effect.test else nan,
            holm,
            float(experiment.bh.adjusted[place]),
            _holm_selected(experiment, effect) if selected else nan,
            selected,
            exp(-effect.detectable) if isfinite(effect.detectable) else nan,
            effect.fit.sigma if effect.fit else nan,
            state_of(effect.effect, effect.fit, effect.p, holm),
            fit_words(effect.fit, effect.reason),
        ]


def _holm_selected(experiment: Experiment, effect: VariantEffect) -> float:
    """Of an effect among the selected models: they stand in the order of the effects."""
    raw = experiment.holm_selected.p
    place = next((i for i, p in enumerate(raw) if p == effect.p), None)
    return nan if place is None else float(experiment.holm_selected.adjusted[place])


def _brief(effects: Table) -> Table:
    """The columns that a pull request needs, of the robust grades."""
    names = ("benchmark", "format", "model", "change", "odds_ratio", "p", "holm", "state")
    places = [[column.name for column in effects.columns].index(name) for name in names]
    grades = [column.name for column in effects.columns].index("grades")
    return table(
        "variant_effect_brief",
        "Variant effect in brief",
        [effects.columns[place] for place in places],
        [[row[place] for place in places] for row in effects.rows if row[grades] == Protocol.ROBUST.value],
        note=effects.note,
        brief=True,
    )


def _pooled(found: Source) -> Iterator[Table]:
    rows: list[list[Cell]] = []
    for protocol in Protocol:
        for benchmark in found.benchmarks:
            for experiment in found.experiments(benchmark, protocol):
                pooled = experiment.pooled
                if pooled.models > 1:
                    test = pooled.test
                    rows.append(
                        [
                            benchmark,
                            experiment.name,
                            experiment.format,
                            protocol.value,
                            pooled.models,
                            pooled.drops,
                            Interval.of(pooled.delta),
                            Interval.of(pooled.mean),
                            test.p_mid if test else nan,
                            pooled.sign_p,
                        ]
                    )
    if rows:
        yield table(
            "all_models",
            "All models together",
            (
                *(Column(name, name) for name in ("benchmark", "experiment", "format", "grades")),
                Column("models", "models", Kind.COUNT),
                Column("drops", "of them drop", Kind.COUNT),
                Column("change", "mean change, 95%", Kind.CHANGE),
                Column("log_odds_ratio", "mean log odds ratio, 95%", Kind.LOGIT),
                Column("p_exact", "mid-p, exact over questions", Kind.P),
                Column("p_sign", "p, sign test over models", Kind.P),
            ),
            rows,
            note="The exact test takes the questions of a template for exchangeable and assumes nothing about how "
            "models hang together. The sign test takes models for independent; answers to the same questions are not.",
        )


def _interactions(found: Source) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [benchmark, experiment.name, experiment.format, effect.model, Interval.of(contrast), contrast.p]
        for benchmark in found.benchmarks
        for experiment in found.experiments(benchmark)
        for effect, contrast in zip(experiment.effects, experiment.interactions, strict=False)
        if isfinite(contrast.p)
    ]
    if rows:
        yield table(
            "format_differences",
            f"Effect in a format minus effect in {CANONICAL}",
            (
                *(Column(name, name) for name in ("benchmark", "experiment", "format", "model")),
                Column("difference", "difference of log odds ratios, 95%", Kind.LOGIT),
                Column("p", "p", Kind.P),
            ),
            rows,
            note="That an effect is shown in one format and not in another does not show that they differ: this does.",
        )


def drawn_effects(found: Source) -> Iterator[tuple[str, str, str, Interval, str]]:
    """Benchmark, format, model, interval and state of every variant effect, as figures show them."""
    for benchmark, experiment, place, effect in found.effects():
        state = state_of(effect.effect, effect.fit, effect.p, float(experiment.holm.adjusted[place]))
        yield benchmark, effect.format, effect.model, log_interval(effect.effect), state


def _forest(found: Source) -> Figure:
    rows: list[list[Cell]] = [list(row) for row in drawn_effects(found)]
    data = table(
        "forest",
        "Variant effect: log odds ratio with its 95% profile interval",
        (
            *(Column(name, name) for name in ("benchmark", "format", "model")),
            Column("log_odds_ratio", "log odds ratio, 95%", Kind.LOGIT),
            Column("state", "shown?"),
        ),
        rows,
    )
    states = [str(state) for state in data.column("state")]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    return Figure(
        Chart.FOREST,
        data,
        "Left of 0, variants are harder. Filled circles: shown after Holm's correction over the models of the format; "
        "diamonds: p < 0.05 before it; open: not shown; crosses and dashes: the fit is not to be relied on.",
        f"{len(rows)} effects: {counts}.",
    )
