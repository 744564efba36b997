"""The word problems' experiments: Ex1 (variant effect, canonical prompt), Ex2.A-D (other prompts), Ex3.A-D (γ).

What the study left implicit is a result here: which models its selection keeps, over which family p values are
corrected, whether an effect that "vanishes" in another format differs from the first, what all models say together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from scipy.stats import binomtest

from variantbench.plugins.report.analysis.answers import Choice, Part, Parts, Protocol, split
from variantbench.plugins.report.analysis.effects import (
    LEVEL,
    Backend,
    NumberEffect,
    VariantEffect,
    mean_with_t,
    number_effect,
    variant_effect,
)
from variantbench.stats.contrasts import Contrast, joint_effects
from variantbench.stats.exchangeable import Exchangeable, exchangeable
from variantbench.stats.multiplicity import Adjusted, benjamini_hochberg, holm
from variantbench.stats.proportions import Proportion

CANONICAL = "gsm"
FOLLOW_UP = {"A": "simple_nl", "B": "structured_nl", "C": "simple_code", "D": "structured_code"}
CODE_FORMATS = ("simple_code", "structured_code")
# γ as the study's code has it, for its own grades; as its text defines it, for ours.
GAMMA_OF = {Protocol.PAPER: "gamma_code", Protocol.ROBUST: "gamma"}


@dataclass(frozen=True, slots=True)
class Selection:
    """The models that the study goes on with: a drop with p below ``level`` in the canonical format.

    A model selected because it dropped will drop less elsewhere by chance alone: read the interaction, not the p.
    """

    rule: str
    level: float
    selected: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pooled:
    """All models of one format together.

    ``delta`` is their mean change with an interval over templates; ``mean`` the mean log odds ratio; ``test`` the exact
    test that base questions could be any of their templates' questions, None where models answered different ones.
    ``sign_p`` is the sign test over models: it takes them for independent, which answers to the same questions are not.
    """

    models: int
    drops: int
    delta: Proportion
    mean: Contrast
    test: Exchangeable | None
    sign_p: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment on the variant effect: Ex1 or one of Ex2.A-D.

    ``effects`` are those of all models; ``holm`` and ``bh`` are over all of them, ``holm_selected`` over the study's
    selection, in the order of ``selection.selected``. ``interactions`` (Ex2) is each model's effect here minus its
    effect in the canonical format, in the order of ``effects``.
    """

    name: str
    format: str
    effects: tuple[VariantEffect, ...]
    holm: Adjusted
    bh: Adjusted
    holm_selected: Adjusted
    pooled: Pooled
    interactions: tuple[Contrast, ...] = ()


@dataclass(frozen=True, slots=True)
class NumberExperiment:
    """Ex3 in one format: γ and the residual variant effect of every model.

    Holm is over the models of this format, separately for both effects, as the study's text says; its tables correct
    over the formats within a model, which `Study.holm_within_models` gives.
    """

    name: str
    format: str
    effects: tuple[NumberEffect, ...]
    holm_gamma: Adjusted
    holm_variant: Adjusted


@dataclass(frozen=True, slots=True)
class WithinModel:
    """The correction that the study's Tables 14 and 15 print: over the formats of one model."""

    model: str
    formats: tuple[str, ...]
    gamma: Adjusted
    variant: Adjusted


@dataclass(frozen=True, slots=True)
class Refit:
    """GLMM 1 with all answers and with some left out, and whether the verdict at 5 % is the same."""

    all_answers: VariantEffect
    refitted: VariantEffect

    @property
    def agrees(self) -> bool:
        """Whether both are significant or neither is."""
        return self.all_answers.significant == self.refitted.significant

    @property
    def change(self) -> float:
        """Refitted minus all: log odds."""
        one, other = self.all_answers.effect, self.refitted.effect
        return other.beta - one.beta if one and other else nan


@dataclass(frozen=True, slots=True)
class Study:
    """Every experiment by one protocol's grades. ``ex2`` and ``ex3`` hold the formats that there are."""

    protocol: Protocol
    backend: Backend
    selection: Selection
    ex1: Experiment | None
    ex2: tuple[Experiment, ...]
    ex3: tuple[NumberExperiment, ...]
    holm_within_models: tuple[WithinModel, ...]
    executable_only: tuple[Refit, ...]
    without_doubtful_labels: tuple[Refit, ...]


def study(
    answers: Any,
    *,
    protocol: Protocol = Protocol.ROBUST,
    backend: Backend = Backend(),  # noqa: B008 - frozen
    benchmark: str = "gsm",
    refits: bool = True,
) -> Study:
    """Every experiment that the answers allow. UserError for a frame that lacks columns or holds an answer twice.

    ``refits=False`` leaves out the fits of fewer answers, which take more than half of the time.

    An effect that no model can be fitted to has None and a reason; it is not counted in any family.
    """
    parts = split(answers, Choice(protocol), benchmark=benchmark)
    effects = {(part.model, part.format): variant_effect(part, backend) for part in parts}
    chosen = select([effects[key] for key in effects if key[1] == CANONICAL])
    others = {form: f"Ex2.{letter}" for letter, form in FOLLOW_UP.items()}
    others |= {form: f"Ex2 ({form})" for form in parts.formats if form not in others and form != CANONICAL}
    ex2 = [
        _experiment(name, form, parts, effects, chosen, interactions=True)
        for form, name in others.items()
        if form in parts.formats
    ]
    ex3 = _number_experiments(parts, backend)
    return Study(
        protocol=protocol,
        backend=backend,
        selection=chosen,
        ex1=_experiment("Ex1", CANONICAL, parts, effects, chosen) if CANONICAL in parts.formats else None,
        ex2=tuple(ex2),
        ex3=ex3,
        holm_within_models=_within_models(ex3),
        executable_only=_executable_only(answers, parts, effects, backend, benchmark) if refits else (),
        without_doubtful_labels=_without_doubtful(answers, effects, protocol, backend, benchmark) if refits else (),
    )


def select(effects: Sequence[VariantEffect], level: float = LEVEL) -> Selection:
    """The study's selection for its follow-up experiments (its notebook: p < 0.05 and a drop, GSM prompt)."""
    kept = [effect.model for effect in effects if effect.p < level and effect.drops]
    left_out = [effect.model for effect in effects if effect.model not in kept]
    return Selection(f"p < {level:g} and variants below base, format {CANONICAL}", level, tuple(kept), tuple(left_out))


def pooled(parts: Sequence[Part], templates: int) -> Pooled:
    """What the models of one format say together; UserError is not raised: what cannot be had is nan or None."""
    counts = [part.counts(templates) for part in parts]
    n0, y0, n1, y1 = (np.array([count[k] for count in counts]) for k in range(4))
    both = ((n0 > 0) & (n1 > 0)).all(axis=0)
    changes = y1[:, both] / n1[:, both] - y0[:, both] / n0[:, both]
    of_model = changes.mean(axis=1) if both.any() else np.full(len(parts), nan)
    moved = int((of_model != 0).sum())
    drops = int((of_model < 0).sum())
    return Pooled(
        models=len(parts),
        drops=drops,
        delta=mean_with_t(changes.mean(axis=0)),
        mean=joint_effects(n0, y0, n1, y1).mean(),
        test=_exchangeable(parts),
        sign_p=float(binomtest(drops, moved).pvalue) if moved else nan,
    )


def _exchangeable(parts: Sequence[Part]) -> Exchangeable | None:
    """The exact test over the questions that every model answered; None if they differ too much to tell."""
    size = 1 + max(int(part.question.max(initial=-1)) for part in parts)
    answered = np.zeros(size, dtype=np.int64)
    right, template, base = np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    for part in parts:
        answered += np.bincount(part.question, minlength=size)
        right += np.bincount(part.question, weights=part.right, minlength=size)
        template[part.question], base[part.question] = part.template, part.is_variant == 0
    common = answered == answered.max(initial=0)
    try:
        return exchangeable(right[common], base[common], template[common])
    except ValueError:  # no template with both kinds of question is left
        return None


def _experiment(
    name: str,
    form: str,
    parts: Parts,
    effects: dict[tuple[str, str], VariantEffect],
    chosen: Selection,
    *,
    interactions: bool = False,
) -> Experiment:
    here = [effects[part.model, form] for part in parts.in_format(form)]
    kept = [effect for effect in here if effect.model in chosen.selected]
    p = [effect.p for effect in here]
    family = f"variant effect, {form}, {len(here)} models"
    return Experiment(
        name=name,
        format=form,
        effects=tuple(here),
        holm=holm(p, family=family),
        bh=benjamini_hochberg(p, family=family),
        holm_selected=holm(
            [effect.p for effect in kept], family=f"variant effect, {form}, {len(kept)} models selected in {CANONICAL}"
        ),
        pooled=pooled(parts.in_format(form), len(parts.templates)),
        interactions=tuple(_interaction(parts, effect.model, form) for effect in here) if interactions else (),
    )


def _interaction(parts: Parts, model: str, form: str) -> Contrast:
    """The variant effect in ``form`` minus that in the canonical format."""
    pair = [parts.of.get((model, name)) for name in (form, CANONICAL)]
    if pair[0] is None or pair[1] is None:
        return Contrast(nan, nan, nan, nan, nan, 0)
    counts = [part.counts(len(parts.templates)) for part in pair if part is not None]
    return joint_effects(*(np.array([count[k] for count in counts]) for k in range(4))).difference(0, 1)


def _number_experiments(parts: Parts, backend: Backend) -> tuple[NumberExperiment, ...]:
    gamma = GAMMA_OF[parts.choice.protocol]
    values = [part.covariates[gamma] for part in parts if gamma in part.covariates]
    all_rows = np.concatenate(values) if values else np.empty(0)
    centre = float(np.nanmean(all_rows)) if np.isfinite(all_rows).any() else 0.0
    letters = {form: f"Ex3.{letter}" for letter, form in FOLLOW_UP.items()}
    found = []
    for form in [name for name in (CANONICAL, *FOLLOW_UP.values()) if name in parts.formats] + [
        name for name in parts.formats if name not in (CANONICAL, *FOLLOW_UP.values())
    ]:
        here = tuple(number_effect(part, gamma, centre, backend) for part in parts.in_format(form))
        found.append(
            NumberExperiment(
                name=letters.get(form, f"Ex3 ({form})"),
                format=form,
                effects=here,
                holm_gamma=_holm_of(here, "gamma", f"γ, {form}, {len(here)} models"),
                holm_variant=_holm_of(here, "variant", f"variant effect given γ, {form}, {len(here)} models"),
            )
        )
    return tuple(found)


def _holm_of(effects: Sequence[NumberEffect], which: str, family: str) -> Adjusted:
    found = [getattr(effect, which) for effect in effects]
    return holm([one.lrt_p if one else nan for one in found], family=family)


def _within_models(experiments: Sequence[NumberExperiment]) -> tuple[WithinModel, ...]:
    by_model: dict[str, list[NumberEffect]] = {}
    for experiment in experiments:
        for effect in experiment.effects:
            by_model.setdefault(effect.model, []).append(effect)
    return tuple(
        WithinModel(
            model,
            tuple(effect.format for effect in effects),
            _holm_of(effects, "gamma", f"γ, {model}, {len(effects)} formats"),
            _holm_of(effects, "variant", f"variant effect given γ, {model}, {len(effects)} formats"),
        )
        for model, effects in by_model.items()
    )


def _executable_only(
    answers: Any, parts: Parts, effects: dict[tuple[str, str], VariantEffect], backend: Backend, benchmark: str
) -> tuple[Refit, ...]:
    """Code formats without the answers that gave no value."""
    forms = [form for form in parts.formats if form in CODE_FORMATS]
    if not forms:
        return ()
    chosen = answers[answers["format"].isin(forms)]
    without = split(chosen, Choice(parts.choice.protocol, executable_only=True), benchmark=benchmark)
    return tuple(Refit(effects[part.model, part.format], variant_effect(part, backend)) for part in without)


def _without_doubtful(
    answers: Any,
    effects: dict[tuple[str, str], VariantEffect],
    protocol: Protocol,
    backend: Backend,
    benchmark: str,
) -> tuple[Refit, ...]:
    """All formats without items whose notes say that the label may be wrong; nothing where no item has such a note."""
    here = answers["benchmark"] == benchmark
    if not answers.loc[here, "doubtful_label"].any():
        return ()
    without = split(answers, Choice(protocol, doubtful_labels=False), benchmark=benchmark)
    return tuple(Refit(effects[part.model, part.format], variant_effect(part, backend)) for part in without)
