"""Statistics for people with a table of their own: reads CSV or Parquet, fits, and says in words what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from variantbench.plugins.errors import UserError

_CELLS = ("right in both", "first only", "second only", "wrong in both")


def fit_table(
    path: Path,
    *,
    response: str,
    fixed: Sequence[str],
    group: str,
    method: str | None,
    bootstrap: int,
    seed: int | None,
    backend: str = "variantbench",
    optimizers: bool = False,
    prior_sd: float | None = None,
) -> dict[str, Any]:
    """Everything that `variantbench.stats.fit` gives for columns of a table, as plain values.

    ``optimizers`` adds a fit by each of lme4's. Without a method it is the backend's: exact, for lme4 laplace.
    """
    from variantbench.stats.fit import fit
    from variantbench.stats.lme4 import BACKEND as LME4
    from variantbench.stats.lme4 import Lme4MissingError, compare_optimizers

    if backend == LME4 and method == "exact":
        raise UserError("--method exact with --glmm-backend pymer4: lme4 has laplace only; leave --method out")
    if optimizers and backend != LME4:
        raise UserError("--optimizers compares lme4's own: add --glmm-backend pymer4")
    table = read_table(path, [response, *fixed, group])
    try:
        covariates = np.column_stack([_numbers(table[name]) for name in fixed])
        columns = table[response].to_numpy(), covariates, table[group].to_numpy()
        full = fit(
            *columns,
            names=list(fixed),
            method=method or ("laplace" if backend == LME4 else "exact"),
            backend=backend,
            bootstrap=bootstrap,
            seed=seed,
            prior_sd=prior_sd,
        )
        compared = compare_optimizers(*columns, names=list(fixed)) if optimizers else ()
    except Lme4MissingError as error:
        raise UserError(f"--glmm-backend pymer4: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    result = full.as_json()
    return {**result, "optimizers": [asdict(one) for one in compared]} if optimizers else result


def _numbers(column: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} holds something that is not a number ({error}): give numbers only, a text as "
            "0/1 columns"
        ) from None


def fit_lines(result: dict[str, Any]) -> Iterator[str]:
    """The result of `fit_table` for people, at most 100 characters a line."""
    yield (
        f"{result['n_rows']:,} rows in {result['n_groups']:,} groups, {result['n_informative']:,} of them informative; "
        f"method {result['method']}{' by lme4' if result['backend'] == 'pymer4' else ''}"
    )
    yield f"log-likelihood {_number(result['loglik'], 6)}, sigma {_number(result['sigma'])}"
    yield f"{'effect':<20} {'log odds':>9} {'SE':>8} {'95% profile':>20} {'LRT p':>9} {'odds ratio':>10} {'MDE':>6}"
    for name, low_high in result["profile_ci"].items():
        interval = f"[{_number(low_high[0])}, {_number(low_high[1])}]"
        yield (
            f"{name:<20} {_number(result['beta'][name]):>9} {_number(result['se'][name]):>8} {interval:>20} "
            f"{_number(result['lrt_p'][name]):>9} {_number(result['odds_ratio'][name]):>10} "
            f"{_number(result['minimum_detectable'][name]):>6}"
        )
    for name, test in result["conditional"].items():
        p_values = f", exact p {_number(test['p_exact'])}, mid-p {_number(test['p_mid'])}" if "p_exact" in test else ""
        yield f"conditional {name}: log odds {_number(test['beta'])}, SE {_number(test['se'])}{p_values}"
    if result["map"]:
        prior = result["map"]
        pairs = (f"{name} {_number(beta)} (sd {_number(prior['sd'][name])})" for name, beta in prior["beta"].items())
        yield f"Bayesian MAP, normal prior of sd {prior['prior_sd']:g} on the effects: {', '.join(pairs)}"
    if result["bootstrap"]:
        for name, interval in result["bootstrap"]["bca"].items():
            ends = ", ".join(map(_number, interval))
            yield f"cluster bootstrap {name}: BCa [{ends}] of {result['bootstrap']['replicates']:,} replicates"
    for remark in result["status"]:
        yield from wrap(f"note: {_sentence(remark)}", 100, subsequent_indent="      ")
    for message in result["messages"]:
        yield f"lme4: {message}"
    yield from _optimizer_lines(result.get("optimizers", ()))


def _sentence(remark: str) -> str:
    """The words of a remark, which JSON has as code or code:effect."""
    from variantbench.stats.glmm_status import Remark, Status

    code, _, effect = remark.partition(":")
    return Remark(Status(code), effect).sentence


def _optimizer_lines(compared: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Estimates and standard errors by optimizer, and how many messages lme4 gave with each."""
    for one in compared:
        pairs = zip(one["names"], one["beta"], one["se"], strict=True)
        figures = ", ".join(f"{name} {beta:.6f} (SE {_number(se)})" for name, beta, se in pairs)
        told = f", {len(one['messages'])} messages" if one["messages"] else ""
        yield f"{one['optimizer']}: {figures}{told}"


def mcnemar_tables(first: Path, second: Path, *, key: str, response: str, cluster: str | None) -> dict[str, Any]:
    """Paired tests of two tables that answer the same items, joined by `key`, never by position."""
    from variantbench.stats.clustered import clustered_pairs
    from variantbench.stats.mcnemar import mcnemar_pairs
    from variantbench.stats.tango import tango

    columns = [key, response, *([cluster] if cluster else [])]
    if len(set(columns)) < len(columns):
        raise UserError(f"--key, --response and --cluster are {', '.join(columns)}: name a column of its own for each")
    one, two = (read_table(path, columns) for path in (first, second))
    for path, table in ((first, one), (second, two)):
        doubled = table[key][table[key].duplicated()]
        if len(doubled):
            raise UserError(f"{path}: {key} {doubled.iloc[0]!r} stands twice: each item belongs in one row")
    alone = set(one[key]) ^ set(two[key])
    if alone:
        raise UserError(
            f"{len(alone):,} items are in one table only, such as {sorted(map(str, alone))[0]!r}: both tables must "
            f"hold the same {key}s"
        )
    pairs = one.merge(two, on=key, suffixes=("_first", "_second"))
    if cluster:
        _same_clusters(pairs, key, f"{cluster}_first", f"{cluster}_second")
    answers = pairs[f"{response}_first"].to_numpy(), pairs[f"{response}_second"].to_numpy()
    try:
        test = mcnemar_pairs(*answers)
        interval = tango(test.a, test.b, test.c, test.d)
        clustered = clustered_pairs(*answers, pairs[f"{cluster}_first"].to_numpy()) if cluster else None
    except ValueError as error:
        raise UserError(f"{first}, {second}: {error}") from None
    return {
        "mcnemar": asdict(test),
        "difference": asdict(interval),
        "clustered": {name: _plain(value) for name, value in asdict(clustered).items()} if clustered else None,
    }


def _same_clusters(pairs: Any, key: str, first: str, second: str) -> None:
    one, two = pairs[first], pairs[second]
    other = pairs[(one != two) & (one.notna() | two.notna())]
    if len(other):
        item, *labels = (other.iloc[0][column] for column in (key, first, second))
        raise UserError(
            f"{key} {item!s}: cluster {labels[0]!s} in the first table, {labels[1]!s} in the second: both tables must "
            f"give an item the same cluster ({len(other):,} items differ)"
        )


def mcnemar_lines(result: dict[str, Any]) -> Iterator[str]:
    """The result of `mcnemar_tables` for people."""
    test, interval, clustered = result["mcnemar"], result["difference"], result["clustered"]
    pairs = test["a"] + test["b"] + test["c"] + test["d"]
    cells = (f"{word} {test[cell]:,}" for cell, word in zip("abcd", _CELLS, strict=True))
    yield f"{pairs:,} pairs: {', '.join(cells)}"
    yield f"McNemar mid-p {_number(test['p'])} (exact p {_number(test['p_exact'])})"
    ends = f"{_points(interval['low'])} to {_points(interval['high'])}"
    yield f"first minus second {_points(interval['estimate'])}, 95% Tango {ends}"
    if clustered:
        yield (
            f"clustered in {clustered['clusters']:,}: {_points(clustered['estimate'])}, 95% "
            f"{_points(clustered['low'])} to {_points(clustered['high'])}, sign-flip p {_number(clustered['p'])}"
        )


def read_table(path: Path, columns: Sequence[str]) -> Any:
    """The table at `path` (.csv, .csv.gz or .parquet) with at least those columns; UserError says what is missing."""
    import pandas

    try:
        table = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    except (OSError, ValueError, ImportError, UnicodeDecodeError) as error:
        cause = str(error).splitlines()[0]
        raise UserError(f"{path}: cannot be read ({cause}): give a .csv, .csv.gz or .parquet file") from None
    for column in columns:
        if column not in table.columns:
            raise UserError(f"{path}: no column {column!r}: there are {', '.join(map(str, table.columns))}")
    return table


def _plain(value: float) -> float | None:
    """What JSON can hold: there is no nan in it."""
    return None if isnan(value) else value


def _number(value: Any, digits: int = 3) -> str:
    """A figure in a few digits; what cannot be given is a dash, an infinity a word."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.{digits}g}"


def _points(share: float) -> str:
    return f"{100 * share:+.1f} pp"
