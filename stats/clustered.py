"""Paired answers in clusters: two checkpoints on the same items, several items to a template.

Items of a template are not independent, so McNemar's test rejects up to a third of true nothings. The estimate's
interval is the t interval over templates' mean differences; p is that of flipping the sign of whole templates' sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2, t

from variantbench.stats.cells import Floats, Integers, codes
from variantbench.stats.mcnemar import binary

_ALIKE = 1e-12  # a standard error below is the rounding of clusters that do not differ


@dataclass(frozen=True, slots=True)
class ClusteredPairs:
    """``estimate`` is the mean over clusters of (first only - second only) / pairs, with its t interval; ``p`` that of
    the sign flips. Statistics of Obuchowski and Durkalski are chi-squared on 1 degree of freedom.
    """

    estimate: float
    low: float
    high: float
    se: float
    p: float
    t: float
    t_p: float
    obuchowski: float
    obuchowski_p: float
    durkalski: float
    durkalski_p: float
    clusters: int
    pairs: int


def clustered_pairs(
    first: ArrayLike, second: ArrayLike, cluster: ArrayLike, *, confidence: float = 0.95
) -> ClusteredPairs:
    """The tests of rows: 0/1 answers ``first`` and ``second`` (pairs,) and the ``cluster`` of each pair."""
    x, y, labels = binary(first, "first"), binary(second, "second"), np.asarray(cluster)
    if not x.shape == y.shape == labels.shape:
        raise ValueError(f"first {x.shape}, second {y.shape}, cluster {labels.shape}: (pairs,) each")
    code, clusters = codes(labels)
    b = np.bincount(code, weights=x * (1 - y), minlength=clusters)
    c = np.bincount(code, weights=(1 - x) * y, minlength=clusters)
    return clustered_counts(b, c, np.bincount(code, minlength=clusters), confidence=confidence)


def clustered_counts(b: ArrayLike, c: ArrayLike, pairs: ArrayLike, *, confidence: float = 0.95) -> ClusteredPairs:
    """The tests of counts by cluster, (clusters,) each: right first only, right second only, all pairs.

    Sources: Obuchowski 1998, Stat Med 17, in the form of Yang, Sun & Hardin 2010; Durkalski et al. 2003, Stat Med 22.
    R: ``clust.bin.pair::clust.bin.pair(a, b, c, d, method = "obuchowski")``, ``t.test(d / n)``. No difference anywhere
    gives p = 1. Where all n clusters have one difference d, t knows nothing of others: of those a share q of up to
    1 - ((1 - confidence) / 2)^(1/n), Clopper and Pearson's end of 0 of n, may have any, so the interval is
    (1 - q) d -+ q. Raises ValueError with fewer than two clusters.

    >>> found = clustered_counts([3, 1, 0], [1, 1, 2], [5, 5, 5])
    >>> found.p, round(found.durkalski, 3)
    (1.0, 0.0)
    >>> clustered_counts([0, 0, 0], [0, 0, 0], [5, 5, 5]).high
    0.70759...
    """
    right, left, n = (np.asarray(a, dtype=np.float64) for a in (b, c, pairs))
    if not right.shape == left.shape == n.shape or right.ndim != 1 or len(n) < 2:
        raise ValueError(f"b {right.shape}, c {left.shape}, pairs {n.shape}: (clusters,) each, two at least")
    if (right < 0).any() or (left < 0).any() or (right + left > n).any() or (n == 0).any():
        raise ValueError("b + c exceeds the pairs of a cluster, or a cluster is empty: counts of each cluster's pairs")
    clusters = len(n)
    d = right - left
    share = d / n
    mean, se = float(share.mean()), float(share.std(ddof=1) / np.sqrt(clusters))
    centre, half, statistic = mean, float(t.ppf(0.5 + confidence / 2, clusters - 1)) * se, mean / se if se else nan
    if se < _ALIKE:
        others = 1 - ((1 - confidence) / 2) ** (1 / clusters)
        centre, half, se, statistic = (1 - others) * mean, others, 0.0, nan
    obuchowski = (clusters - 1) / clusters * _ratio(d)
    durkalski = _ratio(share)
    return ClusteredPairs(
        estimate=mean,
        low=max(-1.0, centre - half),
        high=min(1.0, centre + half),
        se=se,
        p=sign_flip(np.rint(d).astype(np.int64)),
        t=statistic,
        t_p=float(2 * t.sf(abs(statistic), clusters - 1)),
        obuchowski=obuchowski,
        obuchowski_p=float(chi2.sf(obuchowski, 1)),
        durkalski=durkalski,
        durkalski_p=float(chi2.sf(durkalski, 1)),
        clusters=clusters,
        pairs=int(n.sum()),
    )


def sign_flip(sums: Integers) -> float:
    """The exact two-sided p of the total of ``sums`` (clusters,) when each sign is as likely as its opposite.

    All 2^clusters sign patterns count, by convolution; no draws and no seed.
    """
    law = law_of_signs(np.abs(sums))
    totals = 2 * np.arange(len(law)) - len(law) + 1
    return min(1.0, float(law[np.abs(totals) >= abs(int(sums.sum()))].sum()))


def law_of_signs(sizes: Integers) -> Floats:
    """Probabilities of the totals of ``sizes`` (clusters,) when each sign is as likely as its opposite: of -reach,
    -reach + 2, ..., reach, with reach their sum.
    """
    law = np.ones(1)
    for size in np.sort(sizes[sizes > 0]).tolist():
        wider = np.zeros(len(law) + size)
        wider[: len(law)] += 0.5 * law
        wider[size:] += 0.5 * law
        law = wider
    return law


def _ratio(values: Floats) -> float:
    square = float((values**2).sum())
    return float(values.sum()) ** 2 / square if square > 0 else 0.0
