"""Everything that is reported for one fit of a table: the model, its cross-checks, and what could have been seen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan

import numpy as np
from numpy.typing import ArrayLike

from variantbench.stats.bootstrap import Bootstrap, cluster_bootstrap
from variantbench.stats.conditional import ConditionalEffect, ConditionalTest, conditional_logit, conditional_test
from variantbench.stats.glmm import OWN, Effect, GlmmFit, fit_table
from variantbench.stats.glmm_map import MapFit, fit_map_table
from variantbench.stats.glmm_status import Remark, Status
from variantbench.stats.lme4 import BACKEND as LME4
from variantbench.stats.lme4 import fit_lme4_table
from variantbench.stats.power import detectable
from variantbench.stats.table import Table, read_table

BACKENDS = (OWN, LME4)

_LEVEL = 0.05
_DIFFER_EFFECT, _DIFFER_SIGMA = 0.1, 0.1  # in standard errors, and as a share of sigma
_DISAGREE_EFFECT = 0.2  # in standard errors; on the golden data it is 0.06 at most
_DIFFER_SE = (
    0.1  # as a share; lme4's regular standard errors are off by 0.03 at most, its false ones by a factor of 700
)

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class FullFit:
    """The fit by the method asked for, another one for comparison, the conditional results and the bootstrap.

    ``other`` is ours by the other method; where lme4 fitted ``glmm``, ours by the same method. ``exact_test`` is there
    where a covariate is 0/1 and ignores the others; ``conditional`` holds every effect adjusted for the others, where
    there is more than one. ``remarks`` are the fit's and those of the comparisons.
    """

    glmm: GlmmFit
    other: GlmmFit
    exact_test: ConditionalTest | None
    exact_effect: str
    conditional: tuple[ConditionalEffect, ...]
    bootstrap: Bootstrap | None
    remarks: tuple[Remark, ...]
    seconds: float
    posterior: MapFit | None = None

    def minimum_detectable(self, name: str) -> float:
        """The log odds ratio found with 80 % power at 5 %; nan without a standard error. lme4's are not used."""
        se = (self.glmm if self.glmm.backend == OWN else self.other)[name].se
        return detectable(se) if isfinite(se) else float("nan")

    def as_json(self) -> Json:
        """The results under fixed keys, each effect by name; what cannot be given is None, an infinity is a string."""
        names = [effect.name for effect in self.glmm.effects]
        tested = names[1:]
        return {
            "backend": self.glmm.backend,
            "method": self.glmm.method,
            "messages": list(self.glmm.messages),
            "beta": {name: _plain(self.glmm[name].beta) for name in names},
            "se": {name: _plain(self.glmm[name].se) for name in names},
            "se_cluster": {name: _plain(self.glmm[name].se_cluster) for name in names},
            "odds_ratio": {name: _plain(self.glmm[name].odds_ratio) for name in tested},
            "wald_p": {name: _plain(self.glmm[name].wald_p) for name in names},
            "sigma": _plain(self.glmm.sigma),
            "loglik": _plain(self.glmm.loglik),
            "lrt_p": {name: _plain(self.glmm[name].lrt_p) for name in tested},
            "profile_ci": {name: [_plain(self.glmm[name].low), _plain(self.glmm[name].high)] for name in tested},
            "minimum_detectable": {name: _plain(self.minimum_detectable(name)) for name in tested},
            "status": [str(remark) for remark in self.remarks],
            "map": self._posterior(),
            "conditional": self._conditional(),
            "bootstrap": self._bootstrap(tested),
            "n_rows": self.glmm.n_rows,
            "n_dropped": self.glmm.n_dropped,
            "n_groups": self.glmm.n_groups,
            "n_informative": self.glmm.n_informative,
            "seconds": self.seconds,
        }

    def _posterior(self) -> Json | None:
        if self.posterior is None:
            return None
        effects = self.posterior.effects
        return {
            "prior_sd": self.posterior.prior_sd,
            "beta": {effect.name: effect.beta for effect in effects},
            "sd": {effect.name: _plain(effect.sd) for effect in effects},
            "sigma": self.posterior.sigma,
        }

    def _conditional(self) -> Json:
        found: Json = {e.name: {"beta": _plain(e.beta), "se": _plain(e.se)} for e in self.conditional}
        test = self.exact_test
        if test is not None:
            found[self.exact_effect if not self.conditional else f"{self.exact_effect} (alone)"] = {
                "beta": _plain(test.beta),
                "se": _plain(test.se),
                "ci": [_plain(test.low), _plain(test.high)],
                "p_exact": test.p_exact,
                "p_mid": test.p_mid,
            }
        return found

    def _bootstrap(self, tested: Sequence[str]) -> Json | None:
        if self.bootstrap is None:
            return None
        boot = self.bootstrap
        return {
            "replicates": len(boot.estimates),
            "seed": boot.seed,
            "infinite": boot.infinite,
            "unfinished": boot.unfinished,
            **{
                kind: {name: [_plain(end) for end in boot.interval(name, kind=kind)] for name in tested}
                for kind in ("percentile", "bca")
            },
        }


def fit(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    method: str = "exact",
    backend: str = OWN,
    bootstrap: int = 0,
    seed: int | None = None,
    prior_sd: float | None = None,
    missing: str = "raise",
) -> FullFit:
    """Everything for one table: arguments as in `fit_glmm`, with ``bootstrap`` cluster replicates from ``seed``.

    ``prior_sd`` adds the posterior mode under a normal prior on the effects (`fit_map`). ``backend="pymer4"`` has lme4
    fit the model (``method="laplace"`` only); all else stays ours. Raises ValueError for data that no model can be
    fitted to, and for a bootstrap without a seed; `Lme4MissingError` without R.

    >>> answers = [1, 1, 0, 1, 0, 0] * 10 + [0, 1, 0, 0, 1, 0] * 10
    >>> full = fit(answers, [[0], [1], [1]] * 40, [row // 6 for row in range(120)], names=["is_variant"])
    >>> full.as_json()["n_groups"], [str(remark) for remark in full.remarks]
    (20, ['sigma_boundary'])
    """
    if method not in ("laplace", "exact"):
        raise ValueError(f"method {method!r}: 'laplace' or 'exact'")
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r}: {' or '.join(map(repr, BACKENDS))}")
    if backend == LME4 and method != "laplace":
        raise ValueError(f"method {method!r} with lme4: it has 'laplace' only")
    if bootstrap and seed is None:
        raise ValueError("a bootstrap without a seed: give one, so that the numbers can be had again")
    started = time.perf_counter()
    table = read_table(response, covariates, group, names=names, missing=missing)
    glmm = fit_table(table, method=method) if backend == OWN else fit_lme4_table(table)
    own_other = "exact" if method == "laplace" and backend == OWN else "laplace"
    other = fit_table(table, method=own_other, tests=False)
    effect, test = _exact_test(table)
    adjusted = _adjusted(table, glmm if backend == OWN else other)
    boot = None
    if bootstrap and _can_be_resampled(glmm if backend == OWN else other):
        boot = cluster_bootstrap(
            table.response, table.covariates, table.group, names=table.names, seed=seed, replicates=bootstrap
        )
    differences = _differences(glmm, other) if backend == OWN else [*other.remarks, *_backend_differs(glmm, other)]
    doubts = _disagreements(glmm if backend == OWN else other, effect, test, adjusted)
    remarks = dict.fromkeys([*glmm.remarks, *differences, *doubts])
    own_method = method if backend == OWN else "laplace"
    posterior = None if prior_sd is None else fit_map_table(table, prior_sd=prior_sd, method=own_method)
    seconds = time.perf_counter() - started
    return FullFit(glmm, other, test, effect, adjusted, boot, tuple(remarks), seconds, posterior)


def _exact_test(table: Table) -> tuple[str, ConditionalTest | None]:
    """The exact conditional test of the first covariate that is 0/1."""
    for name, column in zip(table.names, table.covariates.T, strict=True):
        if ((column == 0) | (column == 1)).all() and np.ptp(column) > 0:
            return name, conditional_test(table.response, column, table.group)
    return "", None


def _adjusted(table: Table, glmm: GlmmFit) -> tuple[ConditionalEffect, ...]:
    """Conditional estimates of several effects, each adjusted for the others; none where the data hold none."""
    separated = glmm.has(Status.QUASI_SEPARATION) or glmm.has(Status.COMPLETE_SEPARATION)
    if len(table.names) == 1 or separated or not _can_be_resampled(glmm):
        return ()
    try:
        return conditional_logit(table.response, table.covariates, table.group, names=table.names)
    except ValueError:  # constant or collinear within groups: the conditional model says nothing of the effects
        return ()


def _can_be_resampled(glmm: GlmmFit) -> bool:
    return not any(map(glmm.has, (Status.CONSTANT_RESPONSE, Status.RANK_DEFICIENT, Status.SIGMA_INFINITE)))


def _differences(glmm: GlmmFit, other: GlmmFit) -> list[Remark]:
    """A remark where Laplace's approximation moves an effect or sigma."""
    moved = any(
        abs(a.beta - b.beta) > _DIFFER_EFFECT * a.se for a, b in zip(glmm.effects[1:], other.effects[1:], strict=True)
    )
    if isfinite(glmm.sigma) and isfinite(other.sigma):
        moved |= abs(glmm.sigma - other.sigma) > _DIFFER_SIGMA * max(glmm.sigma, other.sigma, 0.1)
    return [Remark(Status.LAPLACE_EXACT_DIFFER)] if moved else []


def _backend_differs(glmm: GlmmFit, own: GlmmFit) -> list[Remark]:
    """A remark for each effect where lme4's estimate or standard error is not that of the maximum."""
    pairs = zip(glmm.effects[1:], own.effects[1:], strict=True)
    return [Remark(Status.BACKEND_DIFFERS, ours.name) for theirs, ours in pairs if not _alike(theirs, ours)]


def _alike(theirs: Effect, ours: Effect) -> bool:
    if not isfinite(ours.se):
        return False
    close = abs(theirs.beta - ours.beta) <= _DIFFER_EFFECT * ours.se
    return close and abs(theirs.se / ours.se - 1) <= _DIFFER_SE


def _disagreements(
    glmm: GlmmFit, name: str, test: ConditionalTest | None, adjusted: tuple[ConditionalEffect, ...]
) -> list[Remark]:
    """A remark for each effect whose conditional estimate, or verdict at 5 %, is another."""
    found = [e.name for e in adjusted if abs(e.beta - glmm[e.name].beta) > _DISAGREE_EFFECT * glmm[e.name].se]
    if test is not None and len(glmm.effects) == 2 and _other_verdict(glmm[name], test):
        found.append(name)
    return [Remark(Status.CONDITIONAL_DISAGREES, name) for name in found]


def _other_verdict(effect: Effect, test: ConditionalTest) -> bool:
    if isnan(effect.lrt_p):
        return False
    apart = isfinite(effect.beta) and abs(effect.beta - test.beta) > _DISAGREE_EFFECT * effect.se
    return apart or (effect.lrt_p < _LEVEL) != (test.p_mid < _LEVEL)


def _plain(value: float) -> float | str | None:
    if isnan(value):
        return None
    return value if isfinite(value) else ("inf" if value > 0 else "-inf")
