"""Rows for a model of right and wrong answers, checked once and with messages that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from variantbench.stats.cells import Floats


@dataclass(frozen=True)
class Table:
    """Checked rows: ``response`` (rows,), ``covariates`` (rows, k), ``group`` (rows,), names of the k covariates."""

    response: Floats
    covariates: Floats
    group: NDArray[np.generic]
    names: tuple[str, ...]
    n_dropped: int
    mean: Floats
    scale: Floats

    @property
    def standardised(self) -> Floats:
        """Covariates with mean 0 and standard deviation 1, so that units do not matter to the search."""
        return (self.covariates - self.mean) / self.scale

    @property
    def back(self) -> Floats:
        """The matrix from the parameters of the standardised covariates to those of the given ones."""
        k = len(self.names)
        matrix = np.eye(k + 2)
        matrix[np.arange(1, k + 1), np.arange(1, k + 1)] = 1 / self.scale
        matrix[0, 1 : k + 1] = -self.mean / self.scale
        return matrix


def read_table(
    response: ArrayLike,
    covariates: ArrayLike,
    group: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    missing: str = "raise",
) -> Table:
    """The rows as arrays. Raises ValueError with the first fault; with ``missing="drop"`` rows with NaN covariates are
    left out instead, and counted.
    """
    y, x, g = _as_float(response, "response"), _as_float(covariates, "covariates"), np.asarray(group)
    x = x.reshape(-1, 1) if x.ndim == 1 else x
    if y.ndim != 1 or x.ndim != 2 or g.ndim != 1 or not len(y) == len(x) == len(g):
        raise ValueError(f"response {y.shape}, covariates {x.shape}, group {g.shape}: (rows,), (rows, k), (rows,)")
    if x.shape[1] == 0:
        raise ValueError("no covariate: give at least one fixed effect")
    labels = tuple(names) if names is not None else tuple(f"x{j + 1}" for j in range(x.shape[1]))
    if len(labels) != x.shape[1] or len(set(labels)) != len(labels):
        raise ValueError(f"names {', '.join(labels)}: {x.shape[1]} different names, one a covariate")
    y, x, g, dropped = _without_missing(y, x, g, labels, missing)
    _check_values(y, x, g, labels)
    mean = x.mean(axis=0)
    with np.errstate(over="ignore"):
        scale = (x - mean).std(axis=0)
    return Table(y, x, g, labels, dropped, mean, np.where(scale > 1e-12 * np.abs(x).max(axis=0), scale, 1.0))


def _as_float(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is not a number ({error}): give numbers only") from None


def _without_missing(
    y: Floats, x: Floats, g: NDArray[np.generic], names: tuple[str, ...], missing: str
) -> tuple[Floats, Floats, NDArray[np.generic], int]:
    if missing not in ("raise", "drop"):
        raise ValueError(f"missing {missing!r}: 'raise' or 'drop'")
    lacking = np.isnan(x)
    rows = lacking.any(axis=1)
    if not rows.any():
        return y, x, g, 0
    if missing == "raise":
        name = names[int(np.argmax(lacking.any(axis=0)))]
        raise ValueError(f"{int(rows.sum())} rows have no {name} (NaN): fill them, or leave those rows out")
    return y[~rows], x[~rows], g[~rows], int(rows.sum())


def _check_values(y: Floats, x: Floats, g: NDArray[np.generic], names: tuple[str, ...]) -> None:
    if len(y) == 0:
        raise ValueError("no rows: give at least two groups of answers")
    odd = y[~((y == 0) | (y == 1))]
    if len(odd):
        raise ValueError(f"response {odd[0]:g} in {len(odd)} rows: 0 (wrong) or 1 (right)")
    infinite = ~np.isfinite(x).all(axis=0)
    if infinite.any():
        raise ValueError(f"{names[int(np.argmax(infinite))]} is infinite in some rows: give finite numbers")
    if (g == g[0]).all():
        raise ValueError(f"one group only ({g[0]}): a random intercept needs at least two")
