"""The mixed models of one model in one format: GLMM 1 (variant) and GLMM 2 (variant and γ)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from variantbench.plugins.report.analysis.answers import Floats, Integers, Part, Share
from variantbench.stats.conditional import ConditionalTest, conditional_test
from variantbench.stats.design import within_between
from variantbench.stats.glmm import OWN, Effect, GlmmFit, fit_glmm
from variantbench.stats.lme4 import fit_lme4
from variantbench.stats.power import detectable
from variantbench.stats.proportions import Proportion

VARIANT, GAMMA = "is_variant", "gamma_c"
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Backend:
    """What fits: ``name`` ``variantbench`` or ``pymer4`` (lme4), and for ours the method of each model.

    GLMM 2 is fitted by Laplace's approximation: its effects are within 0.1 standard errors of the exact ones, and it
    is twenty times faster.
    """

    name: str = OWN
    glmm1: str = "exact"
    glmm2: str = "laplace"


@dataclass(frozen=True, slots=True)
class VariantEffect:
    """GLMM 1 of one model in one format, and the same change seen otherwise.

    ``delta`` is variants minus base as a share, its interval for new templates; ``effect`` is on the log-odds scale,
    its ``lrt_p`` the verdict; ``test`` is the exact conditional test beside it; ``detectable`` the log odds ratio that
    these data show with 80 % power. ``fit`` and ``effect`` are None where no model can be fitted, with the ``reason``.
    """

    model: str
    format: str
    base: Share
    variants: Share
    delta: Proportion
    fit: GlmmFit | None
    effect: Effect | None
    test: ConditionalTest | None
    detectable: float
    excluded: int
    not_judged: int
    excluded_variants: float
    reason: str = ""

    @property
    def p(self) -> float:
        """The p of the likelihood ratio test; nan where there is none."""
        return self.effect.lrt_p if self.effect else nan

    @property
    def significant(self) -> bool:
        """Whether p is below 5 %, before any correction."""
        return self.p < LEVEL

    @property
    def drops(self) -> bool:
        """Whether variants are answered worse than base questions."""
        return self.delta.estimate < 0


@dataclass(frozen=True, slots=True)
class NumberEffect:
    """GLMM 2 of one model in one format: γ, and what is left of the variant effect.

    ``within`` is γ's effect within templates alone (Mundlak's split): γ of the plain model also holds that templates of
    large numbers may be harder. ``dropped`` rows have no γ.
    """

    model: str
    format: str
    fit: GlmmFit | None
    gamma: Effect | None
    variant: Effect | None
    within: Effect | None
    detectable_gamma: float
    detectable_variant: float
    dropped: int
    reason: str = ""


def variant_effect(part: Part, backend: Backend = Backend()) -> VariantEffect:
    """GLMM 1 of the answers."""
    base, variants = part.share(variants=False), part.share(variants=True)
    try:
        fit = _fit(part, part.is_variant, [VARIANT], backend, backend.glmm1)
        test = conditional_test(part.right, part.is_variant, part.template)
    except ValueError as error:
        fit, test, reason = None, None, str(error)
    else:
        reason = ""
    effect = fit[VARIANT] if fit else None
    return VariantEffect(
        model=part.model,
        format=part.format,
        base=base,
        variants=variants,
        delta=delta(part),
        fit=fit,
        effect=effect,
        test=test,
        detectable=_detectable(part, effect, backend),
        excluded=part.excluded,
        not_judged=part.not_judged,
        excluded_variants=part.excluded_variants,
        reason=reason,
    )


def number_effect(part: Part, gamma: str, centre: float, backend: Backend = Backend()) -> NumberEffect:
    """GLMM 2 of the answers with γ from that covariate, less ``centre``; rows without γ are left out, as in R."""
    values = part.covariates.get(gamma)
    if values is None or np.isnan(values).all():
        return NumberEffect(part.model, part.format, None, None, None, None, nan, nan, 0, f"no item has {gamma}")
    known = ~np.isnan(values)
    rows = _only(part, known)
    number = values[known] - centre
    try:
        fit = _fit(rows, np.column_stack([rows.is_variant, number]), [VARIANT, GAMMA], backend, backend.glmm2)
        split = within_between(number, rows.template)
        columns = np.column_stack([rows.is_variant, split.within, split.between])
        apart = fit_glmm(
            rows.right, columns, rows.template, names=[VARIANT, "within", "between"], method="laplace", tests=False
        )
    except ValueError as error:
        dropped = int((~known).sum())
        return NumberEffect(part.model, part.format, None, None, None, None, nan, nan, dropped, str(error))
    return NumberEffect(
        model=part.model,
        format=part.format,
        fit=fit,
        gamma=fit[GAMMA],
        variant=fit[VARIANT],
        within=apart["within"],
        detectable_gamma=_seen(fit[GAMMA]),
        detectable_variant=_seen(fit[VARIANT]),
        dropped=int((~known).sum()),
    )


def delta(part: Part) -> Proportion:
    """Variants minus base, the mean over templates that have both, with its t interval over templates."""
    templates = int(part.template.max(initial=-1)) + 1
    n0, y0, n1, y1 = part.counts(templates)
    both = (n0 > 0) & (n1 > 0)
    return mean_with_t(y1[both] / n1[both] - y0[both] / n0[both])


def mean_with_t(differences: Floats) -> Proportion:
    """The mean of templates' differences with its t interval, within what shares can differ by.

    Its ends are nan where there is nothing to estimate them from: of one template, or where all differ alike.
    """
    if len(differences) < 2:
        return Proportion(float(differences.mean()) if len(differences) else nan, nan, nan)
    mean, se = float(differences.mean()), float(differences.std(ddof=1) / sqrt(len(differences)))
    half = float(t.ppf(0.975, len(differences) - 1)) * se
    if half == 0:
        return Proportion(mean, nan, nan)
    return Proportion(mean, max(-1.0, mean - half), min(1.0, mean + half))


def _fit(part: Part, covariates: ArrayLike, names: list[str], backend: Backend, method: str) -> GlmmFit:
    if backend.name != OWN:
        return fit_lme4(part.right, covariates, part.template, names=names)
    return fit_glmm(part.right, covariates, part.template, names=names, method=method)


def _detectable(part: Part, effect: Effect | None, backend: Backend) -> float:
    """From our own standard error: lme4's may be 700 times too small."""
    if effect is None:
        return nan
    if backend.name == OWN:
        return _seen(effect)
    own = fit_glmm(part.right, part.is_variant, part.template, names=[VARIANT], method="laplace", tests=False)
    return _seen(own[VARIANT])


def _seen(effect: Effect) -> float:
    return detectable(effect.se) if isfinite(effect.se) and effect.se > 0 else nan


def _only(part: Part, rows: Integers | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Part:
    return Part(
        part.model,
        part.format,
        part.right[rows],
        part.is_variant[rows],
        part.template[rows],
        part.question[rows],
        {name: values[rows] for name, values in part.covariates.items()},
        part.excluded,
        part.not_judged,
        part.excluded_variants,
    )
