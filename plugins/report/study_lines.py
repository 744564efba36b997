"""The word problems' experiments as lines of at most 100 characters."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan

from variantbench.plugins.report.analysis.effects import VariantEffect
from variantbench.plugins.report.analysis.study import CANONICAL, Experiment, Study
from variantbench.stats.glmm import OWN
from variantbench.stats.proportions import Proportion

_NAME = 37


def study_lines(result: Study) -> Iterator[str]:
    """One line an effect, with what it takes to read it; nothing where no question was asked as base and variant."""
    experiments = [one for one in (result.ex1, *result.ex2) if one and any(map(_has_both, one.effects))]
    if not experiments:
        return
    method = result.backend.glmm1 if result.backend.name == OWN else "laplace"
    by = "variantbench" if result.backend.name == OWN else "lme4 (pymer4)"
    yield f"variants against base questions: mixed model of each model and format, {method}, by {by}"
    for experiment in experiments:
        yield from _experiment_lines(experiment)
    if result.ex1 and result.selection.selected:
        yield f"selected by {result.selection.rule}: {len(result.selection.selected)} models"


def _has_both(effect: VariantEffect) -> bool:
    return effect.base.judged > 0 and effect.variants.judged > 0


def _experiment_lines(experiment: Experiment) -> Iterator[str]:
    yield (
        f"{experiment.name}, {experiment.format}"[:_NAME].ljust(_NAME)
        + f"{'change, 95% new templates':>27}{'odds ratio':>11}{'p':>8}{'Holm':>8}{'MDE':>6}"
    )
    for effect, adjusted in zip(experiment.effects, experiment.holm.adjusted, strict=True):
        change = _change(effect.delta)
        ratio = effect.effect.odds_ratio if effect.effect else float("nan")
        seen = f"{_number(effect.detectable)}" if not effect.significant else ""
        yield (
            f"  {_short(effect.model)}".ljust(_NAME)
            + f"{change:>27}{_number(ratio):>11}{_p(effect.p):>8}{_p(float(adjusted)):>8}{seen:>6}"
        ).rstrip()
        yield from _notes(effect)
    for effect, contrast in zip(experiment.effects, experiment.interactions, strict=False):
        if isfinite(contrast.p):
            yield (
                f"  {_short(effect.model)}: against {CANONICAL} {contrast.estimate:+.2f} log odds "
                f"[{contrast.low:+.2f}, {contrast.high:+.2f}], p {_p(contrast.p)}"
            )
    pooled = experiment.pooled
    if pooled.models > 1 and pooled.test:
        yield (
            f"  all {pooled.models} models: {pooled.drops} drop, mean {_change(pooled.delta)}, "
            f"exact mid-p {_p(pooled.test.p_mid)}"
        )


def _change(delta: Proportion) -> str:
    """The change in points; in words where templates leave nothing to estimate an interval from."""
    if isnan(delta.low):
        return f"{_points(delta.estimate)} pp, no interval"
    return f"{_points(delta.estimate)} [{_points(delta.low)}, {_points(delta.high)}] pp"


def _notes(effect: VariantEffect) -> Iterator[str]:
    if isfinite(effect.delta.estimate) and isnan(effect.delta.low):
        yield "    no interval: templates are too few, or all changed alike; nothing says how others would"
    if effect.reason:
        yield f"    no fit: {effect.reason}"[:100]
    if effect.fit:
        for remark in effect.fit.remarks:
            yield f"    note: {remark.sentence}"[:100]
        for message in effect.fit.messages:
            yield f"    lme4: {message}"[:100]


def _short(name: str) -> str:
    """The name, its middle left out where it is too long: families are told apart by their ends."""
    room = _NAME - 4
    return name if len(name) <= room else f"{name[: room // 2 - 1]}…{name[room // 2 - room :]}"


def _points(share: float) -> str:
    return "-" if isnan(share) else f"{100 * share:+.1f}"


def _number(value: float) -> str:
    return "-" if isnan(value) else f"{value:.2f}"


def _p(value: float) -> str:
    return "-" if isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"
