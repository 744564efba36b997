"""Rows of 0/1 answers collapsed to weighted cells: what a mixed logistic model needs to know of its data.

A cell is one covariate row within one group, with its trials and successes. Groups that hold the same cells are folded
into one pattern with a multiplicity, so 5,100 answers of 100 templates become about 80 cells of 40 patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FOLD_CELLS = 8  # groups of more cells are practically never equal
_LARGE, _SAMPLE, _DISTINCT = 50_000, 5_000, 0.8  # rows from which sorting them all must pay: judged by a sample
_DENSE_CODES = 4  # integers spread over at most this many times their number are coded without a sort


@dataclass(frozen=True)
class Cells:
    """Cells sorted by pattern.

    ``x`` (cells, columns), its first column 1; ``trials`` and ``successes`` (cells,); ``pattern`` (cells,) ascending;
    ``multiplicity`` (patterns,): groups a pattern stands for; ``pattern_of_group`` (groups,), in sorted order of
    labels.
    """

    x: Floats
    trials: Floats
    successes: Floats
    pattern: Integers
    multiplicity: Floats
    pattern_of_group: Integers

    @property
    def n_patterns(self) -> int:
        """Distinct groups."""
        return len(self.multiplicity)

    @cached_property
    def starts(self) -> Integers:
        """The first cell of each pattern, and the number of cells at the end: (patterns + 1,)."""
        return np.searchsorted(self.pattern, np.arange(self.n_patterns + 1)).astype(np.int64)

    @cached_property
    def products(self) -> Floats:
        """Products of the columns, upper triangle row by row: (columns * (columns + 1) / 2, cells)."""
        rows, columns = np.triu_indices(self.x.shape[1])
        return np.ascontiguousarray((self.x[:, rows] * self.x[:, columns]).T)

    @cached_property
    def sum_matrix(self) -> sparse.csr_array:
        """(patterns, cells): sums cells within patterns."""
        return weighted_sums(np.ones((1, len(self.pattern))), self.starts)

    @cached_property
    def column_matrix(self) -> sparse.csr_array:
        """(columns * patterns, cells): sums cells times each column of ``x``."""
        return weighted_sums(np.ascontiguousarray(self.x.T), self.starts)

    @cached_property
    def product_matrix(self) -> sparse.csr_array:
        """(products * patterns, cells): sums cells times each product of two columns."""
        return weighted_sums(self.products, self.starts)

    @cached_property
    def pattern_trials(self) -> Floats:
        """(patterns,)."""
        return np.add.reduceat(self.trials, self.starts[:-1])

    @cached_property
    def pattern_successes(self) -> Floats:
        """(patterns,)."""
        return np.add.reduceat(self.successes, self.starts[:-1])

    def fold(self, multiplicities: ArrayLike) -> Floats:
        """Multiplicities of groups (groups, replicates) as multiplicities of patterns (patterns, replicates)."""
        groups = len(self.pattern_of_group)
        onehot = sparse.csr_array(
            (np.ones(groups), (self.pattern_of_group, np.arange(groups))), shape=(self.n_patterns, groups)
        )
        return np.asarray(onehot @ np.asarray(multiplicities, dtype=np.float64))


def weighted_sums(weights: Floats, starts: Integers) -> sparse.csr_array:
    """The matrix that sums runs of neighbouring cells with each row of ``weights`` (k, cells): (k * runs, cells)."""
    kinds, cells = weights.shape
    ends = np.concatenate([[0], *(starts[1:] + kind * cells for kind in range(kinds))])
    return sparse.csr_array((weights.ravel(), np.tile(np.arange(cells), kinds), ends), shape=(len(ends) - 1, cells))


def collapse(response: Floats, columns: Floats, group: NDArray[np.generic], *, fold: bool = True) -> Cells:
    """Cells of checked data: ``response`` (rows,) of 0 and 1, ``columns`` (rows, k) without the intercept.

    With ``fold=False`` every group stays a pattern of its own, in sorted order of labels.
    """
    group_code, n_groups = codes(group)
    row_code, distinct = _row_codes(columns, group_code)
    if row_code is None:
        order = np.argsort(group_code, kind="stable")
        return _unfolded(columns[order], np.ones(len(order)), response[order], group_code[order], n_groups)
    cell_code = group_code * distinct + row_code
    if n_groups * distinct <= _DENSE_CODES * len(response):
        trials = np.bincount(cell_code, minlength=n_groups * distinct)
        present = np.flatnonzero(trials)
        successes = np.bincount(cell_code, weights=response, minlength=n_groups * distinct)[present]
        row_of_cell = np.zeros(n_groups * distinct, dtype=np.int64)
        row_of_cell[cell_code] = np.arange(len(response))
        trials, first = trials[present], row_of_cell[present]
    else:
        present, first, inverse, trials = np.unique(
            cell_code, return_index=True, return_inverse=True, return_counts=True
        )
        successes = np.bincount(inverse, weights=response, minlength=len(present))
    pattern = present // distinct
    cells = _unfolded(
        columns[first], trials.astype(np.float64), np.asarray(successes, dtype=np.float64), pattern, n_groups
    )
    return _folded(cells, present % distinct) if fold else cells


def codes(values: NDArray[np.generic]) -> tuple[Integers, int]:
    """Integers 0..k-1 in the order of the sorted distinct values, and k.

    Raises ValueError for values that are missing (None, NaN, NaT), or of types that have no common order.
    """
    try:
        _refuse_missing(values)
        whole = _as_integers(values)
        if whole is None:
            distinct, inverse = np.unique(values, return_inverse=True)
            return inverse.reshape(-1).astype(np.int64), len(distinct)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"group labels are of the types {', '.join(kinds)}: give all of them one type") from None
    shifted = whole - whole.min()
    present = np.bincount(shifted) > 0
    return (np.cumsum(present) - 1)[shifted], int(present.sum())


def _refuse_missing(values: NDArray[np.generic]) -> None:
    if values.dtype.kind not in "fOmM":
        return
    missing = values != values  # as NaN and NaT are, and nothing else
    if values.dtype.kind == "O":
        missing = missing | np.array([value is None for value in values])
    if missing.any():
        raise ValueError(f"{missing.sum()} rows have no group: give each answer its group, or leave those rows out")


def _as_integers(values: NDArray[np.generic]) -> Integers | None:
    """The values as integers where they are whole and not too spread for a table, else None."""
    if values.dtype.kind not in "iufb":
        return None
    if values.dtype.kind == "f" and not (values[:64] == np.floor(values[:64].astype(np.float64))).all():
        return None
    if float(values.max()) - float(values.min()) > _DENSE_CODES * len(values) + 64 or abs(float(values.max())) > 2**52:
        return None
    whole = values.astype(np.int64)
    return whole if values.dtype.kind != "f" or bool((whole == values).all()) else None


def _row_codes(columns: Floats, group_code: Integers) -> tuple[Integers | None, int]:
    """A code of each covariate row and the number of codes; None where nearly every row is its own cell."""
    rows = len(columns)
    if rows > _LARGE:
        some = group_code < max(1, int(_SAMPLE * (group_code.max() + 1) / rows))
        sample = np.column_stack([group_code[some], columns[some]])
        if len(np.unique(sample, axis=0)) > _DISTINCT * len(sample):
            return None, 0
    code, distinct = np.zeros(rows, dtype=np.int64), 1
    for column in columns.T:
        new, levels = codes(column)
        code, distinct = code * levels + new, distinct * levels
        if distinct > 4 * rows:
            code, distinct = codes(code)
    return code, distinct


def _unfolded(columns: Floats, trials: Floats, successes: Floats, pattern: Integers, n_groups: int) -> Cells:
    x = np.column_stack([np.ones(len(columns)), columns])
    return Cells(x, trials, successes, pattern, np.ones(n_groups), np.arange(n_groups))


def _folded(cells: Cells, row_code: Integers) -> Cells:
    """The same cells with equal groups folded into one pattern."""
    sizes = np.diff(cells.starts)
    width = int(sizes.max())
    if width > _FOLD_CELLS:
        return cells
    signature = np.zeros(cells.n_patterns, dtype=np.int64)
    for place in range(width):
        at = np.minimum(cells.starts[:-1] + place, len(cells.pattern) - 1)
        there = place < sizes
        for value in (row_code, cells.trials, cells.successes):
            code, levels = codes(np.where(there, value[at] + 1, 0).astype(np.int64))
            signature, _ = codes(signature * levels + code)
    distinct, keep, inverse, count = np.unique(signature, return_index=True, return_inverse=True, return_counts=True)
    taken = np.concatenate([np.arange(cells.starts[k], cells.starts[k + 1]) for k in keep])
    return Cells(
        x=cells.x[taken],
        trials=cells.trials[taken],
        successes=cells.successes[taken],
        pattern=np.repeat(np.arange(len(distinct)), sizes[keep]),
        multiplicity=count.astype(np.float64),
        pattern_of_group=inverse.reshape(-1),
    )
