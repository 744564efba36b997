"""The logic study's tables: accuracy per batch with honest intervals, and whether answers depend on the wording.

Row i of the four batches is the same question, asked several times with different seeds. Questions are what is drawn;
repeats are no further evidence, so intervals and tests go by question. Answers of Q4 are compared as right or wrong,
which is how its negated questions are turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from variantbench.plugins.datatypes import ExtractionStatus, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.report.analysis.answers import Floats, Protocol, asked_twice
from variantbench.stats.clustered import ClusteredPairs, clustered_pairs
from variantbench.stats.cochran import CochranQ, cochran_q
from variantbench.stats.equivalence import Equivalence, equivalence
from variantbench.stats.mcnemar import McNemar, mcnemar_pairs
from variantbench.stats.multiplicity import Adjusted, holm
from variantbench.stats.power import detectable, mcnemar_detectable
from variantbench.stats.proportions import Proportion, clustered
from variantbench.stats.tango import tango

ALL = "ALL"
MARGIN = 0.10  # what 108 questions can just show: STATISTICS-NOTES.md section 5
_COLUMNS = ("model", "format", "benchmark", "item", "batch", "seed", "target")


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Accuracy of one model in one style on one batch, or on ``ALL``.

    ``interval`` is that of the questions (clustered by question), None with fewer than two; ``paper_half_width`` the
    study's, which takes every answer for independent; ``sd`` the standard deviation over repeats (ddof 1).
    ``always_no`` and ``always_yes`` are what a constant answer scores here.
    """

    model: str
    format: str
    batch: str
    right: int
    judged: int
    questions: int
    void: int
    not_judged: int
    interval: Proportion | None
    paper_half_width: float
    sd: float
    always_no: float
    always_yes: float

    @property
    def accuracy(self) -> float:
        """The share right, 0 to 1; nan if none was judged."""
        return self.right / self.judged if self.judged else nan


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two batches of a model, or two models, on the same questions.

    ``test`` is McNemar's of the questions' majority answers, ``clustered`` the sign-flip test and interval of all
    answers (first minus second), which takes repeats and wordings of a question as one. For two batches ``p`` is
    McNemar's mid-p and ``difference`` Tango's; for two models, which answer each question in four wordings, both are
    the clustered ones. ``detectable`` is the difference seen with 80 % power: inf where none is, nan where no question
    is answered differently. ``shown`` says whether the interval of ``difference`` lies within +-`MARGIN`.
    """

    first: str
    second: str
    test: McNemar
    p: float
    difference: Proportion
    clustered: ClusteredPairs
    detectable: float
    shown: Equivalence


@dataclass(frozen=True, slots=True)
class Wording:
    """Whether one model in one style answers alike in all batches: Cochran's Q first, then the pairs with Holm."""

    model: str
    format: str
    cochran: CochranQ | None
    pairs: tuple[PairTest, ...]
    holm: Adjusted


@dataclass(frozen=True, slots=True)
class Between:
    """All pairs of models in one style over all batches, Holm over the pairs."""

    format: str
    pairs: tuple[PairTest, ...]
    holm: Adjusted


@dataclass(frozen=True, slots=True)
class Logic:
    """The logic study by one protocol's grades."""

    protocol: Protocol
    shares: tuple[BatchShare, ...]
    wordings: tuple[Wording, ...]
    between: tuple[Between, ...]


def logic(answers: Any, *, protocol: Protocol = Protocol.ROBUST) -> Logic:
    """Every table that the answers allow. UserError for a frame without the columns or with an answer twice."""
    rows = _checked(answers, protocol)
    shares: list[BatchShare] = []
    tables: dict[tuple[str, str], dict[str, _Grid]] = {}
    for (model, form), some in rows.groupby(["model", "format"], observed=True, sort=True):
        batches = sorted(some["batch"].astype(str).unique())
        for batch in [*batches, ALL]:
            own = some if batch == ALL else some[some["batch"] == batch]
            shares.append(_share(str(model), str(form), batch, own))
        tables[str(model), str(form)] = {batch: _grid(some[some["batch"] == batch]) for batch in batches}
    forms = sorted({form for _, form in tables})
    return Logic(
        protocol,
        tuple(shares),
        tuple(_wording(model, form, grids) for (model, form), grids in tables.items()),
        tuple(_between(form, {model: grids for (model, f), grids in tables.items() if f == form}) for form in forms),
    )


def _checked(answers: Any, protocol: Protocol) -> Any:
    verdict, status = f"{protocol}_verdict", f"{protocol}_status"
    missing = [name for name in (*_COLUMNS, verdict, status) if name not in answers.columns]
    if missing:
        raise UserError(f"the frame has no column {', '.join(missing)}: plugins/store/frame.py says what is needed")
    rows = answers[(answers["benchmark"] == "logic") & answers["batch"].notna()].copy()
    keys = ["model", "format", "item", "seed"]
    if rows.duplicated(keys).any():
        twice = rows[rows.duplicated(keys)].iloc[0]
        raise asked_twice(twice)
    rows["question"] = [item.partition("-")[2] for item in rows["item"].astype(str)]
    rows["judged"] = rows[verdict].astype(str) != Verdict.ERROR
    rows["right"] = (rows[verdict].astype(str) == Verdict.CORRECT).astype(float)
    rows["void"] = rows[status].astype(str) != ExtractionStatus.OK
    return rows


def _share(model: str, form: str, batch: str, rows: Any) -> BatchShare:
    judged = rows[rows["judged"]]
    by_question = judged.groupby("question")["right"].agg(["sum", "count"])
    right, count = int(judged["right"].sum()), len(judged)
    accuracy = right / count if count else nan
    repeats = judged.groupby("seed")["right"].mean()
    target = judged["target"].astype(str)
    return BatchShare(
        model=model,
        format=form,
        batch=batch,
        right=right,
        judged=count,
        questions=len(by_question),
        void=int(judged["void"].sum()),
        not_judged=len(rows) - count,
        interval=clustered(by_question["sum"], by_question["count"]) if len(by_question) > 1 else None,
        paper_half_width=1.96 * sqrt(accuracy * (1 - accuracy) / count) if count else nan,
        sd=float(repeats.std(ddof=1)) if len(repeats) > 1 else nan,
        always_no=float((target == "no").mean()) if count else nan,
        always_yes=float((target == "yes").mean()) if count else nan,
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    """Right answers (questions, seeds) of one batch, NaN where none was judged, with the names of both."""

    questions: tuple[str, ...]
    seeds: tuple[int, ...]
    right: Floats

    def majority(self) -> Floats:
        """Whether most of a question's answers are right (questions,): NaN without one; a tie is not right."""
        known = np.isfinite(self.right)
        share = np.nansum(self.right, axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.where(known.any(axis=1), (share > 0.5).astype(np.float64), nan)


def _grid(rows: Any) -> _Grid:
    judged = rows.assign(right=rows["right"].where(rows["judged"]))
    table = judged.pivot(index="question", columns="seed", values="right").sort_index()
    return _Grid(tuple(table.index), tuple(table.columns), table.to_numpy(float))


def _wording(model: str, form: str, grids: dict[str, _Grid]) -> Wording:
    batches = list(grids)
    pairs = [
        pair
        for first, second in combinations(batches, 2)
        if (pair := _pair(first, second, [grids[first]], [grids[second]])) is not None
    ]
    family = f"{len(pairs)} pairs of batches, {model}, {form}"
    return Wording(model, form, _cochran(list(grids.values())), tuple(pairs), holm(_p(pairs), family=family))


def _between(form: str, models: dict[str, dict[str, _Grid]]) -> Between:
    pairs = []
    for first, second in combinations(models, 2):
        common = [batch for batch in models[first] if batch in models[second]]
        pair = _pair(
            first, second, [models[first][batch] for batch in common], [models[second][batch] for batch in common]
        )
        pairs += [] if pair is None else [pair]
    return Between(form, tuple(pairs), holm(_p(pairs), family=f"{len(pairs)} pairs of models, {form}"))


def _p(pairs: Sequence[PairTest]) -> list[float]:
    return [pair.p for pair in pairs]


def _cochran(grids: Sequence[_Grid]) -> CochranQ | None:
    """Q over the questions that have an answer in every batch; None with fewer than two batches or no question."""
    if len(grids) < 2 or len({grid.questions for grid in grids}) > 1:
        return None
    table = np.column_stack([grid.majority() for grid in grids])
    table = table[np.isfinite(table).all(axis=1)]
    return cochran_q(table) if len(table) else None


def _pair(first: str, second: str, one: Sequence[_Grid], other: Sequence[_Grid]) -> PairTest | None:
    """The tests of two lists of batches, paired by question; None where no two answers are to the same question."""
    majority: tuple[list[Floats], list[Floats]] = ([], [])
    answers: tuple[list[Floats], list[Floats]] = ([], [])
    clusters: list[NDArray[np.str_]] = []
    for a, b in zip(one, other, strict=True):
        questions = [name for name in a.questions if name in b.questions]
        rows = [[grid.questions.index(name) for name in questions] for grid in (a, b)]
        most = [grid.majority()[row] for grid, row in zip((a, b), rows, strict=True)]
        known = np.isfinite(most[0]) & np.isfinite(most[1])
        for side in (0, 1):
            majority[side].append(most[side][known])
        repeats = min(a.right.shape[1], b.right.shape[1])
        all_answers = [grid.right[row][:, :repeats] for grid, row in zip((a, b), rows, strict=True)]
        known = np.isfinite(all_answers[0]) & np.isfinite(all_answers[1])
        for side in (0, 1):
            answers[side].append(all_answers[side][known])
        clusters.append(np.repeat(np.array(questions), repeats).reshape(-1, repeats)[known])
    left, right = (np.concatenate(parts) if parts else np.empty(0) for parts in majority)
    names = np.concatenate(clusters) if clusters else np.empty(0, dtype=str)
    if not len(left) or len(np.unique(names)) < 2:
        return None
    test = mcnemar_pairs(left, right)
    grouped = clustered_pairs(np.concatenate(answers[0]), np.concatenate(answers[1]), names)
    if len(one) == 1:
        alone = tango(test.a, test.b, test.c, test.d)
        difference, p, seen = Proportion(alone.estimate, alone.low, alone.high), test.p, _detectable(test)
    else:
        difference, p = Proportion(grouped.estimate, grouped.low, grouped.high), grouped.p
        seen = detectable(grouped.se) if grouped.se > 0 else nan
    shown = equivalence(difference.low, difference.high, margin=MARGIN, estimate=difference.estimate)
    return PairTest(first, second, test, p, difference, grouped, seen, shown)


def _detectable(test: McNemar) -> float:
    """By steps of 1 % of discordance, so that equal ones are enumerated once."""
    discordance = (test.b + test.c) / test.pairs
    return mcnemar_detectable(pairs=test.pairs, discordance=max(0.01, round(discordance, 2))) if discordance else nan
