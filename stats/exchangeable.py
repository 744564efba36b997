"""Whether base questions could be any of their templates' questions: one exact test over all models at once.

Under no variant effect in any model, each question of a template is as likely as another to be the base one. All
answers to a question move together, so nothing is assumed about how models, or formats, depend on one another. The sum
of right answers to base questions then has a known law: a convolution over templates, no draws and no seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from variantbench.stats.cells import codes


@dataclass(frozen=True, slots=True)
class Exchangeable:
    """Right answers to base questions, ``base_right``, against ``expected``; ``p`` is two-sided (twice the smaller
    tail), ``p_mid`` counts half of the outcome seen. ``templates`` have base questions and variants.
    """

    p: float
    p_mid: float
    base_right: int
    expected: float
    templates: int


def exchangeable(right: ArrayLike, is_base: ArrayLike, template: ArrayLike) -> Exchangeable:
    """The test of ``right`` (questions,), how many of its answers are right, whether each ``is_base``, its
    ``template``.

    Every question has as many answers as the others of its template, from the same models: the caller sees to it. A
    template has any number of base questions. Raises ValueError for other input.

    >>> found = exchangeable([3, 1, 0, 2, 1, 1], [1, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1])
    >>> round(found.p, 4), found.base_right, round(found.expected, 3)
    (0.2222, 5, 2.667)
    """
    counts, base, label = np.asarray(right), np.asarray(is_base).astype(bool), np.asarray(template)
    if counts.ndim != 1 or not counts.shape == base.shape == label.shape:
        raise ValueError(f"right {counts.shape}, is_base {base.shape}, template {label.shape}: (questions,) each")
    if (counts != np.round(counts)).any() or (counts < 0).any():
        raise ValueError("right: whole numbers of right answers, none below 0")
    code, templates = codes(label)
    law, seen, expected, used = np.ones(1), 0, 0.0, 0
    for one in range(templates):
        values, chosen = counts[code == one].astype(np.int64), base[code == one]
        if not 0 < chosen.sum() < len(values):
            continue
        law = np.convolve(law, _law(values, int(chosen.sum())))
        seen += int(values[chosen].sum())
        expected += float(values.mean() * chosen.sum())
        used += 1
    if not used:
        raise ValueError("no template has both base questions and variants")
    at, below, above = float(law[seen]), float(law[:seen].sum()), float(law[seen + 1 :].sum())
    tail = min(below, above)
    return Exchangeable(min(1.0, 2 * (tail + at)), min(1.0, 2 * tail + at), seen, expected, used)


def _law(
    values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], take: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The law of the sum of ``take`` values drawn without replacement, as probabilities of 0, 1, …."""
    top = int(np.sort(values)[-take:].sum())
    ways = np.zeros((take + 1, top + 1))
    ways[0, 0] = 1.0
    for drawn, value in enumerate(values):
        for k in range(min(take, drawn + 1), 0, -1):  # chance that this one is among those taken, by counting subsets
            ways[k, value:] += ways[k - 1, : top + 1 - value]
        if take > 1:
            ways /= ways.max()  # only ratios matter: keeps large counts finite
    return np.asarray(ways[take] / ways[take].sum())
