"""Two runs of the same items, joined by what was asked, and the verdict on the second.

Nothing is joined by position or dropped in silence: what only one run holds, what was asked with other words or another
decoding, and what was graded by other rules makes the comparison invalid, with a name to look at.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from variantbench.plugins.datatypes import Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.policy import Outcome, Policy, Row
from variantbench.plugins.validity import faults
from variantbench.stats.multiplicity import holm
from variantbench.stats.regression import Change, Decision, decide, default_margin, paired_change

Key = tuple[str, str, str, int]  # benchmark, format, hash of the item's content, seed

OVERALL = "all slices"


@dataclass(frozen=True, slots=True)
class Slice:
    """One format of a benchmark (or of one logic batch), or all together. `p` is adjusted for all of them (Holm)."""

    name: str
    change: Change
    margin: float
    p: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model of a run against its baseline. `faults` not empty means that nothing is decided."""

    baseline: str
    new: str
    policy: Policy
    slices: tuple[Slice, ...]
    overall: Slice | None
    pairs: int
    only_before: int
    only_after: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """A regression in any slice is one; a pass is a pass of all slices together."""
        if self.faults or self.overall is None:
            return Outcome.INVALID
        if any(one.decision is Decision.REGRESSION for one in (*self.slices, self.overall)):
            return Outcome.REGRESSION
        return Outcome(self.overall.decision.value)


def compare_runs(before: Sequence[Row], after: Sequence[Row], policy: Policy) -> list[Comparison]:
    """Each model of the run `after` against its own answers in `before`, or against the only model there."""
    old, new = _by_model(before), _by_model(after)
    if len(old) == len(new) == 1:
        return [compare(next(iter(old.items())), next(iter(new.items())), policy)]
    strangers = sorted(set(new) - set(old))
    if strangers:
        raise UserError(
            f"the baseline has no answers of {', '.join(strangers)}, only of {', '.join(sorted(old))}: "
            "compare runs of one model each, or of models of the same names"
        )
    return [compare((name, old[name]), (name, rows), policy) for name, rows in sorted(new.items())]


def compare(before: tuple[str, Sequence[Row]], after: tuple[str, Sequence[Row]], policy: Policy) -> Comparison:
    """The verdict on one model's rows (as `Store.records` gives them), each with the model's name."""
    old, new = _by_key(before[1]), _by_key(after[1])
    pairs = [(old[key], new[key]) for key in old if key in new]
    found = [*faults(new.values(), policy.limits), *_differences(old, new, pairs, policy)]
    judged = [pair for pair in pairs if all(is_right(row) is not None for row in pair)]
    slices, overall = _decide(judged, policy) if judged else ((), None)
    if not judged:
        found.append("the two runs have no judged answer in common")
    return Comparison(
        baseline=before[0],
        new=after[0],
        policy=policy,
        slices=slices,
        overall=overall,
        pairs=len(judged),
        only_before=len(old) - len(pairs),
        only_after=len(new) - len(pairs),
        faults=tuple(dict.fromkeys([*found, *_fallen_to_zero(slices)])),
        notes=tuple(_notes(pairs)),
    )


def is_right(row: Row) -> bool | None:
    """Whether an answer is right; None where it could not be judged, through no fault of the model."""
    verdict = Verdict(row["robust_verdict"])
    return None if verdict is Verdict.ERROR else verdict is Verdict.CORRECT


def key_of(row: Row) -> Key:
    """What makes two answers of two runs a pair."""
    return row["benchmark"], row["format"], row["item_hash"], row["seed"]


def slice_of(row: Row) -> str:
    """The slice an answer belongs to: benchmark, format and, in logic, batch."""
    return " ".join(filter(None, (row["benchmark"], row["format"], row["batch"])))


def _by_model(rows: Iterable[Row]) -> dict[str, list[Row]]:
    models: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        models[row["model"]].append(row)
    if not models:
        raise UserError("one of the two runs has no graded answers: there is nothing to compare")
    return models


def _by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for row in rows:
        if key_of(row) in found:
            raise UserError(f"{row['case_id']} occurs twice in one run: it cannot be paired")
        found[key_of(row)] = row
    return found


def _decide(pairs: Sequence[tuple[Row, Row]], policy: Policy) -> tuple[tuple[Slice, ...], Slice]:
    """Every slice, and all together; one family, so any false regression has the level's probability."""
    groups: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for pair in pairs:
        groups[slice_of(pair[1])].append(pair)
    several = len(groups) > 1
    names = [*sorted(groups), *([OVERALL] if several else [])]
    changes = [_change(groups.get(name, pairs), policy) for name in names]
    adjusted = holm([change.p for change in changes], family=", ".join(names)).adjusted
    slices = [_slice(name, change, float(p), policy) for name, change, p in zip(names, changes, adjusted, strict=True)]
    return tuple(slices[: len(groups)]), slices[-1]


def _change(pairs: Sequence[tuple[Row, Row]], policy: Policy) -> Change:
    return paired_change(
        [bool(is_right(before)) for before, _ in pairs],
        [bool(is_right(after)) for _, after in pairs],
        [f"{after['benchmark']} {after['group_id']}" for _, after in pairs],
        tolerance=policy.tolerance,
        level=policy.level,
        noise=policy.noise,
    )


def _slice(name: str, change: Change, p: float, policy: Policy) -> Slice:
    margin = policy.margin
    if margin is None:
        each = change.pairs / change.clusters
        margin = default_margin(change.clusters, each, tolerance=policy.tolerance)
    return Slice(name, change, margin, p, decide(change, p=p, margin=margin, level=policy.level))


def _differences(
    old: Mapping[Key, Row], new: Mapping[Key, Row], pairs: Sequence[tuple[Row, Row]], policy: Policy
) -> Iterable[str]:
    """What the two runs do not have in common and should."""
    if not policy.allow_overlap:
        yield from _missing(old, new, "the baseline")
        yield from _missing(new, old, "the new run")
    yield from _named("asked with another prompt", [b for a, b in pairs if _prompt(a) != _prompt(b)])
    yield from _named("asked with another decoding", [b for a, b in pairs if _decoding(a) != _decoding(b)])
    lost = [b for a, b in pairs if is_right(a) is not None and is_right(b) is None]
    yield from _named("not judged, but was in the baseline", lost)
    graders = {row["grader"] for pair in pairs for row in pair}
    if len(graders) > 1:
        yield f"graded by different rules (versions {', '.join(sorted(graders))}): `variantbench regrade` both runs"


def _missing(here: Mapping[Key, Row], there: Mapping[Key, Row], where: str) -> Iterable[str]:
    names = {(key[0], key[1], row["id"], key[3]) for key, row in there.items()}
    changed: list[Row] = []
    gone: list[Row] = []
    for row in (row for key, row in here.items() if key not in there):
        same_name = (row["benchmark"], row["format"], row["id"], row["seed"]) in names
        (changed if same_name else gone).append(row)
    yield from _named(f"in {where} with another text or label", changed)
    yield from _named(f"in {where} only (--allow-overlap compares the rest)", gone)


def _named(what: str, rows: Sequence[Row]) -> Iterable[str]:
    if rows:
        yield f"{len(rows):,} {'is' if len(rows) == 1 else 'are'} {what}, such as {rows[0]['case_id']}"


def _prompt(row: Row) -> tuple[str, str]:
    return row["prefix_hash"], row["suffix"]


def _decoding(row: Row) -> tuple[Any, ...]:
    settings = _settings(row["settings"])
    return settings.get("decoding"), settings.get("chat")


@lru_cache(maxsize=256)
def _settings(text: str | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(text) if text else {}
    return found


def _fallen_to_zero(slices: Iterable[Slice]) -> Iterable[str]:
    """A slice without a right answer where the baseline had a tenth or more is a broken set-up, not a worse model."""
    for one in slices:
        if one.change.new == 0 and one.change.baseline >= 0.1 and one.change.pairs >= 20:
            yield (
                f"{one.name}: accuracy 0.0000, the baseline's {one.change.baseline:.1%}: "
                "look at some answers before you believe it"
            )


def _notes(pairs: Sequence[tuple[Row, Row]]) -> Iterable[str]:
    """Differences that do not forbid a comparison but may explain it."""
    for name in ("engine", "dtype", "device"):
        values = [{str(_settings(row["settings"]).get(name, "")) for row in rows} for rows in zip(*pairs, strict=True)]
        if values and values[0] != values[1]:
            before, after = (", ".join(sorted(one)) for one in values)
            yield f"{name}: {before} before, {after} now"
