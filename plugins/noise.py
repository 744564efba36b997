"""The noise floor: the same items asked of the same model twice, with different batch plans.

In exact arithmetic nothing would flip; what does is no change of the model, so the gate widens its intervals by it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.comparison import is_right, key_of
from variantbench.plugins.errors import UserError
from variantbench.plugins.store import Store, open_store
from variantbench.stats.proportions import Proportion, wilson


@dataclass(frozen=True, slots=True)
class Noise:
    """Two runs of the same: how many verdicts and how many texts differ."""

    model: str
    runs: tuple[str, str]
    items: int
    flips: int
    other_texts: int

    @property
    def rate(self) -> Proportion:
        """The share of verdicts that flip, with its 95 % interval."""
        return wilson(self.flips, self.items)


def measure_noise(
    model: str,
    *,
    store: str,
    batch_sizes: tuple[int, int],
    options: Sequence[str],
    say: Callable[[str], None],
) -> Noise:
    """Run twice, anew each time, compare, and keep the result with the model; UserError if a run fails."""
    opened = open_store(store)
    runs = []
    for size in batch_sizes:
        say(f"run with batches of {size}")
        runs.append(_run(model, opened, ["--store", store, "--batch-size", str(size), *options]))
    measured = compare_texts(opened, runs[0], runs[1])
    opened.add_noise(
        runs[0]["manifest"]["models"][0]["identity"],
        runs=measured.runs,
        items=measured.items,
        flips=measured.flips,
        other_texts=measured.other_texts,
    )
    return measured


def _run(model: str, store: Store, options: Sequence[str]) -> dict[str, Any]:
    before = {run["id"] for run in store.runs()}
    command = [sys.executable, "-m", "pytest", "--pyargs", "variantbench.benchmarks", "--fresh", "-q"]
    status = subprocess.run([*command, f"--model={model}", *options], check=False).returncode  # noqa: S603 - our own
    new = [run for run in store.runs() if run["id"] not in before]
    if status or not new:
        raise UserError(f"a run ended with exit status {status}: mend what it says, then measure the noise again")
    return new[0]


def compare_texts(store: Store, first: dict[str, Any], second: dict[str, Any]) -> Noise:
    """What differs between two stored runs of the same items."""
    ids = (str(first["id"]), str(second["id"]))
    before, after = ({key_of(row): row for row in store.records(run_id)} for run_id in ids)
    pairs = [(before[key], after[key]) for key in before if key in after]
    judged = [pair for pair in pairs if None not in (is_right(pair[0]), is_right(pair[1]))]
    if not judged:
        raise UserError(f"runs {ids[0]} and {ids[1]} have no judged answer in common: there is no noise to measure")
    return Noise(
        model=judged[0][0]["model"],
        runs=ids,
        items=len(judged),
        flips=sum(is_right(a) != is_right(b) for a, b in judged),
        other_texts=sum(a["text"] != b["text"] for a, b in judged),
    )


def noise_lines(noise: Noise) -> Iterator[str]:
    """What was found, in words."""
    rate = noise.rate
    yield (
        f"{noise.model}: {noise.flips:,} of {noise.items:,} verdicts flip between two runs of the same "
        f"({rate.estimate:.2%}, 95% {rate.low:.2%} to {rate.high:.2%})"
    )
    yield f"{noise.other_texts:,} texts differ at all; kept with the model, the gate widens its intervals by it"
