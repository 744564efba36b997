"""Prints what fits and bootstraps cost, and the ratio to lme4 inside R, start-up left out.

Run it with ``OMP_NUM_THREADS=1 python tests/perf/glmm_speed.py``. Times are CPU seconds of this process and of R's; the
load of a shared machine moves both, so read the ratios. lme4's bootstrap is timed on a few replicates and scaled up.
Targets, as ratios: one fit 80 (GLMM 1) and 40 (GLMM 2), 1,000 bootstrap replicates 500 and 150, with numba 5,000
and 500; 510,000 rows of GLMM 1 in 0.1 s; 100 fits with tests and intervals in 2 s, with bootstraps in 180 s. Without R
the ratios are left out; without the golden data it stops.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from variantbench.stats.bootstrap import cluster_bootstrap
from variantbench.stats.glmm import fit_glmm

DATA = Path(__file__).resolve().parents[3] / "shared" / "reference" / "glmm" / "data"
COLUMNS = {"GLMM 1": ["is_variant"], "GLMM 2": ["is_variant", "gamma_c"]}
REPLICATES = 4
R_SCRIPT = """
suppressMessages({library(lme4); library(jsonlite)})
rows <- read.csv(gzfile("%s"))
cpu <- function(code) { t <- system.time(code); unname(t[1] + t[2]) }
draw <- function() {
  ids <- sample(unique(rows$id), replace = TRUE)
  do.call(rbind, lapply(seq_along(ids), function(k) { d <- rows[rows$id == ids[k], ]; d$id <- k; d }))
}
fit <- function(formula, data) suppressMessages(suppressWarnings(glmer(formula, data, binomial)))
formulas <- list(is_correct ~ is_variant + (1 | id), is_correct ~ is_variant + gamma_c + (1 | id))
set.seed(1)
invisible(fit(formulas[[1]], rows))
out <- lapply(formulas, function(f) c(
  min(replicate(3, cpu(fit(f, rows)))),
  mean(sapply(seq_len(%d), function(k) { data <- draw(); cpu(fit(f, data)) })) * 1000))
cat(toJSON(out, digits = NA))
"""

Rows = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def read(name: str, columns: list[str]) -> Rows:
    table = pd.read_csv(DATA / f"{name}.csv.gz").dropna(subset=columns)
    return table["is_correct"].to_numpy(float), table[columns].to_numpy(float), table["id"].to_numpy(np.int64)


def seconds(call: Callable[[], object], repeat: int) -> float:
    """The least CPU time of several calls."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def lme4(name: str) -> list[list[float]] | None:
    """CPU seconds in R, by formula: one fit, and 1,000 bootstrap fits; None without R and lme4."""
    if shutil.which("Rscript") is None:
        return None
    script = R_SCRIPT % (DATA / f"{name}.csv.gz", REPLICATES)
    done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True)
    if done.returncode:
        print(f"R said: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    found: list[list[float]] = json.loads(done.stdout[done.stdout.index("[[") :])
    return found


def line(what: str, own: float, other: float | None = None) -> None:
    ratio = "" if other is None else f"   lme4 {other:8.2f} s   {other / own:7.0f} x"
    print(f"{what:<58} {own:9.4f} s{ratio}", flush=True)


def simulated(groups: int, rows: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rows)
    variant = np.tile(np.arange(rows) > 0, groups).astype(float)
    eta = 0.5 + 2.5 * rng.normal(size=groups)[group] - 0.5 * variant
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), variant[:, None], group


def study(with_bootstrap: bool) -> None:
    """20 models x 5 formats, GLMM 1 by Laplace, with likelihood ratio tests and profile intervals."""
    for seed in range(100):
        y, x, group = simulated(100, 51, seed)
        fit_glmm(y, x, group, method="laplace")
        if with_bootstrap:
            cluster_bootstrap(y, x, group, seed=seed)


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is absent: the golden data lie outside the repository")
    name = "d01_lme4_false_degenerate"
    r = lme4(name)
    if r is None:
        print("R with lme4 is absent: no ratios")
    for k, (model, columns) in enumerate(COLUMNS.items()):
        y, x, group = read(name, columns)
        one = seconds(lambda y=y, x=x, g=group: fit_glmm(y, x, g, method="laplace", tests=False), 15)  # type: ignore[misc]
        line(f"{model}, one fit by Laplace, 5,100 rows", one, r[k][0] if r else None)
        exact = seconds(lambda y=y, x=x, g=group: fit_glmm(y, x, g, tests=False), 3)  # type: ignore[misc]
        line(f"{model}, one exact fit", exact)
        full = seconds(lambda y=y, x=x, g=group: fit_glmm(y, x, g, method="laplace"), 3)  # type: ignore[misc]
        line(f"{model}, with tests and profile intervals", full)
        boot = seconds(lambda y=y, x=x, g=group: cluster_bootstrap(y, x, g, seed=1), 2)  # type: ignore[misc]
        line(f"{model}, 1,000 cluster bootstrap replicates", boot, r[k][1] if r else None)
        if importlib.util.find_spec("numba"):
            cluster_bootstrap(y, x, group, seed=1, replicates=2, kernel="numba")  # compiles
            fast = seconds(lambda y=y, x=x, g=group: cluster_bootstrap(y, x, g, seed=1, kernel="numba"), 2)  # type: ignore[misc]
            line(f"{model}, the same with numba", fast, r[k][1] if r else None)
    for large in ("l03_10000_templates", "l04_5100_variants"):
        for model, columns in COLUMNS.items():
            y, x, group = read(large, columns)
            cost = seconds(lambda y=y, x=x, g=group: fit_glmm(y, x, g, method="laplace", tests=False), 3)  # type: ignore[misc]
            line(f"{model}, 510,000 rows, {large}", cost)
    line("20 models x 5 formats, tests and intervals", seconds(lambda: study(with_bootstrap=False), 1))
    line("20 models x 5 formats, with 1,000 replicates each", seconds(lambda: study(with_bootstrap=True), 1))
    for groups, rows in ((100, 51), (400, 51), (1600, 51), (6400, 51), (100, 204), (100, 816), (100, 3264)):
        y, x, group = simulated(groups, rows)
        cost = seconds(lambda y=y, x=x, g=group: fit_glmm(y, x, g, method="laplace", tests=False), 3)  # type: ignore[misc]
        line(f"GLMM 1, {groups} groups x {rows} rows", cost)


if __name__ == "__main__":
    main()
