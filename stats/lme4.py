"""The mixed model as lme4 fits it, through pymer4: for comparison with the study, not for verdicts.

R: ``lme4::glmer(y ~ x + (1 | group), family = binomial)`` with lme4's defaults, as the study ran it: Laplace's
approximation, bobyqa then Nelder_Mead, standard errors from finite differences. lme4's messages are part of the result:
in about one fit of twenty these standard errors are wrong by a factor of 700 (lme4 issue 998). Needs R with lme4,
lmerTest and emmeans, and the ``r`` extra; nothing of them is imported before a fit is asked for.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from variantbench.stats.cells import codes, collapse
from variantbench.stats.glmm import Effect, GlmmFit
from variantbench.stats.glmm_status import Remark, Status, informative_groups
from variantbench.stats.table import Table, read_table

BACKEND = "pymer4"
# lme4's own optimizers: those of ``lme4::allFit`` that need no further R package, in the order of the study's report.
OPTIMIZERS = {
    "bobyqa": "optimizer='bobyqa'",
    "Nelder_Mead": "optimizer='Nelder_Mead'",
    "nlminbwrap": "optimizer='nlminbwrap'",
    "nloptwrap.NLOPT_LN_NELDERMEAD": "optimizer='nloptwrap', optCtrl=list(algorithm='NLOPT_LN_NELDERMEAD')",
    "nloptwrap.NLOPT_LN_BOBYQA": "optimizer='nloptwrap', optCtrl=list(algorithm='NLOPT_LN_BOBYQA')",
}
# The inner loop's stopping rule made strict, with which lme4's false degenerate fits go away.
TIGHT = "tolPwrss=1e-10"

_FACTS = """function(m) list(loglik = as.numeric(logLik(m)), sigma = sqrt(as.numeric(lme4::VarCorr(m)[[1]])),
    singular = lme4::isSingular(m), evaluations = max(0, m@optinfo$feval[1], na.rm = TRUE),
    messages = as.character(unlist(m@optinfo$conv$lme4$messages)),
    warnings = as.character(unlist(m@optinfo$warnings)))"""


class Lme4MissingError(RuntimeError):
    """R, lme4 or pymer4 is not at hand; the message is one line and says what to install."""


@dataclass(frozen=True, slots=True)
class OptimizerFit:
    """One optimizer's estimates, on the log-odds scale, in the order of ``names``; nan where R gave up.

    ``messages`` are lme4's own.
    """

    optimizer: str
    names: tuple[str, ...]
    beta: tuple[float, ...]
    se: tuple[float, ...]
    sigma: float
    loglik: float
    messages: tuple[str, ...]
    seconds: float


def fit_lme4(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    tests: bool = True,
    missing: str = "raise",
    control: str = "",
) -> GlmmFit:
    """lme4's fit: arguments as in `fit_glmm`; ``control`` goes to ``glmerControl``, such as `TIGHT`.

    ``tests=False`` leaves out the likelihood ratio tests, each a fit of its own. There are no profile intervals, no
    cluster-robust errors and no covariance. Raises `Lme4MissingError` without R, ValueError for data that no model can
    be fitted to; where R itself fails its message is in ``messages`` and every number is nan.
    """
    return fit_lme4_table(
        read_table(response, covariates, group, names=names, missing=missing), tests=tests, control=control
    )


def fit_lme4_table(table: Table, *, tests: bool = True, control: str = "") -> GlmmFit:
    """`fit_lme4` of data that were read already."""
    full = _glmer(table, range(len(table.names)), control)
    effects = [Effect("(Intercept)", full.beta[0], full.se[0])]
    for j, name in enumerate(table.names):
        chisq = nan
        if tests and not np.isnan(full.beta).any():
            without = _glmer(table, [i for i in range(len(table.names)) if i != j], control)
            chisq = max(0.0, 2 * (full.loglik - without.loglik))
        effects.append(Effect(name, full.beta[j + 1], full.se[j + 1], lrt_chisq=chisq, lrt_p=float(chi2.sf(chisq, 1))))
    return GlmmFit(
        method="laplace",
        effects=tuple(effects),
        sigma=full.sigma,
        sigma_se=nan,
        loglik=full.loglik,
        covariance=np.empty((0, 0)),
        remarks=_remarks(full),
        n_rows=len(table.response),
        n_dropped=table.n_dropped,
        n_groups=codes(table.group)[1],
        n_informative=informative_groups(collapse(table.response, table.standardised, table.group)),
        max_gradient=nan,
        iterations=full.evaluations,
        backend=BACKEND,
        messages=full.messages,
    )


def compare_optimizers(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    missing: str = "raise",
) -> tuple[OptimizerFit, ...]:
    """The same model by each of lme4's optimizers, as the study's section 10.3 reports them. R: ``lme4::allFit``.

    Optimizers that agree in the estimates say nothing about the standard errors, which come after the optimizer.
    """
    return compare_optimizers_table(read_table(response, covariates, group, names=names, missing=missing))


def compare_optimizers_table(table: Table) -> tuple[OptimizerFit, ...]:
    """`compare_optimizers` of data that were read already."""
    found = []
    for optimizer, control in OPTIMIZERS.items():
        started = time.perf_counter()
        fit = _glmer(table, range(len(table.names)), control)
        labels = ("(Intercept)", *table.names)
        seconds = time.perf_counter() - started
        found.append(OptimizerFit(optimizer, labels, fit.beta, fit.se, fit.sigma, fit.loglik, fit.messages, seconds))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Glmer:
    beta: tuple[float, ...]
    se: tuple[float, ...]
    sigma: float
    loglik: float
    singular: bool
    evaluations: int
    messages: tuple[str, ...]


def _glmer(table: Table, columns: Sequence[int], control: str) -> _Glmer:
    """One call of glmer with those columns of the table."""
    import pandas

    lmer, r = _pymer4()
    fixed = [f"x{j}" for j in columns]
    rows = pandas.DataFrame({f"x{j}": table.covariates[:, j] for j in columns})
    rows["y"], rows["g"] = table.response, codes(table.group)[0]
    with _quiet():
        model = lmer(f"y ~ {' + '.join(fixed or ['1'])} + (1 | g)", data=rows, family="binomial")
        try:
            model.fit(summarize=False, no_warnings=True, control=control)
        except r.embedded.RRuntimeError as error:
            none = (nan,) * (1 + len(fixed))
            return _Glmer(none, none, nan, nan, False, 0, (" ".join(str(error).split()),))
        facts = r.robjects.r(_FACTS)(model.model_obj)
    labels = ["(Intercept)", *fixed]  # R drops a collinear column: it has no estimate
    coefficients = model.coefs.reindex(labels)
    return _Glmer(
        beta=tuple(map(float, coefficients["Estimate"])),
        se=tuple(map(float, coefficients["SE"])),
        sigma=float(facts.rx2("sigma")[0]),
        loglik=float(facts.rx2("loglik")[0]),
        singular=bool(facts.rx2("singular")[0]),
        evaluations=int(facts.rx2("evaluations")[0]),
        messages=tuple(" ".join(str(m).split()) for part in ("warnings", "messages") for m in facts.rx2(part)),
    )


def _remarks(fit: _Glmer) -> tuple[Remark, ...]:
    if np.isnan(fit.loglik):
        return (Remark(Status.NOT_CONVERGED),)
    found = {Status.SIGMA_ZERO: fit.singular, Status.RANK_DEFICIENT: bool(np.isnan(fit.beta).any())}
    return tuple(Remark(status) for status, holds in found.items() if holds)


@dataclass(frozen=True, slots=True)
class _R:
    robjects: Any
    embedded: Any


def _pymer4() -> tuple[Any, _R]:
    """The class that fits, and rpy2; Lme4MissingError where one of them, or R, does not load."""
    try:
        with _quiet():
            import rpy2.rinterface_lib.embedded as embedded
            import rpy2.robjects as robjects
            from pymer4.models import Lmer
            from rpy2.robjects.packages import importr

            importr("lme4")
    # what rpy2 raises depends on what is missing: R's folder (ValueError), libR (OSError), an R package (RuntimeError)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise Lme4MissingError(
            f"lme4 is not at hand ({type(error).__name__}: {' '.join(str(error).split())[:100]}): install R with lme4, "
            "lmerTest and emmeans, then pip install 'variantbench[r]' (docs/howto/statistics.md), "
            "or use the default backend"
        ) from None
    return Lmer, _R(robjects, embedded)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No chatter of R and pymer4, nor Python's warnings about pymer4's own code: lme4's messages are in the result."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
