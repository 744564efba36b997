"""What a report comes to, in plain words: one finding a model and format."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, isfinite, isnan

from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.analysis.effects import LEVEL, NumberEffect, VariantEffect
from variantbench.plugins.report.analysis.logic import ALL, BatchShare, Wording
from variantbench.plugins.report.sections.variants import fit_words, reliable
from variantbench.plugins.report.source import Source
from variantbench.plugins.report.tables import Finding


def findings(found: Source) -> Iterator[Finding]:
    """Variant effects of every benchmark, then logic, in the order of models."""
    for benchmark in found.benchmarks:
        numbers = _numbers(found, benchmark)
        several = max((len(one.effects) for one in found.experiments(benchmark)), default=0)
        for name, experiment, place, effect in found.effects():
            if name == benchmark and effect.base.judged and effect.variants.judged:
                holm = float(experiment.holm.adjusted[place])
                text = variant_words(effect, holm, numbers.get((effect.model, effect.format)), models=several)
                yield Finding(effect.model, benchmark, effect.format, text)
    if Protocol.ROBUST in found.logic:
        result = found.logic[Protocol.ROBUST]
        wordings = {(one.model, one.format): one for one in result.wordings}
        for share in result.shares:
            if share.batch == ALL and share.judged:
                wording = wordings.get((share.model, share.format))
                yield Finding(share.model, "logic", share.format, logic_words(share, wording))


def variant_words(effect: VariantEffect, holm: float, numbers: NumberEffect | None, *, models: int) -> str:
    """The change, whether it is shown, and whether number size explains it."""
    change = effect.delta
    moved = "drop" if change.estimate < 0 else "rise" if change.estimate > 0 else "change"
    words = f"{moved} {100 * abs(change.estimate):.1f} pp"
    if isfinite(change.low):
        ends = sorted(100 * value * (-1 if change.estimate < 0 else 1) for value in (change.low, change.high))
        words += f", 95% {ends[0]:.1f} to {ends[1]:.1f}"
    if effect.effect is None or isnan(effect.p):
        return f"{words}; no test: {fit_words(effect.fit, effect.reason)}"
    if not reliable(effect.fit):
        return f"{words}; the fit is not to be relied on"
    if effect.p >= LEVEL:
        return f"{words}; not shown{_could_be_seen(effect)}"
    if holm >= LEVEL:
        words += f"; p {effect.p:.3f}, but not after Holm over {models} models"
    else:
        words += f"; p {'< 0.001' if effect.p < 0.001 else f'{effect.p:.3f}'}"
    return f"{words}; {_explained(numbers)}"


def logic_words(share: BatchShare, wording: Wording | None) -> str:
    """Accuracy over all batches, against a constant answer, and whether the wording matters."""
    words = f"{100 * share.accuracy:.1f}% right"
    if share.interval:
        words += f", 95% {100 * share.interval.low:.1f} to {100 * share.interval.high:.1f}"
    constant = max(share.always_no, share.always_yes)
    words += f"; a constant answer scores {100 * constant:.1f}%"
    if share.void:
        words += f"; {100 * share.void / share.judged:.0f}% neither yes nor no"
    if wording and wording.cochran and isfinite(wording.cochran.p):
        words += f"; wording {'matters' if wording.cochran.p < LEVEL else 'not shown to matter'}"
    return words


def _could_be_seen(effect: VariantEffect) -> str:
    if not isfinite(effect.detectable):
        return ""
    return f" (only odds ratios below {exp(-effect.detectable):.2f} would be)"


def _explained(numbers: NumberEffect | None) -> str:
    if numbers is None or numbers.gamma is None or numbers.variant is None or not reliable(numbers.fit):
        return "shown"
    if numbers.variant.lrt_p < LEVEL:
        return "not explained by number size"
    return (
        "number size may explain it" if numbers.gamma.lrt_p < LEVEL else "number size neither explains nor excludes it"
    )


def _numbers(found: Source, benchmark: str) -> dict[tuple[str, str], NumberEffect]:
    experiments = found.studies[benchmark, Protocol.ROBUST].ex3
    return {(effect.model, effect.format): effect for one in experiments for effect in one.effects}
