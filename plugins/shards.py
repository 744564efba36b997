"""Shards: one selection of questions asked by several runs, such as one on each machine, and told as one again.

``--shard 2/4`` is the second of four. Whole templates, and whole premise sets of logic in all wordings, go to the
shards in turn: what is paired in an analysis stays together, and shards are as even as can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

Run = Mapping[str, Any]

# The options that say what is asked and how: shards of one whole agree in them.
_SAME = (
    "prompts",
    "seed",
    "sample",
    "gsm_source",
    "variants_per_template",
    "logic_source",
    "logic_seed",
    "logic_repeats",
    "max_new_tokens",
    "temperature",
    "chat_template",
)


def parse_shard(text: str) -> tuple[int, int] | None:
    """Which of how many shards, counted from 1; None for no text. UserError if it is none."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
    place, count = (int(number) for number in found.groups()) if found else (0, 0)
    if not 1 <= place <= count:
        raise UserError(f"--shard {text!r} is no shard: write I/N with I from 1 to N, such as 2/4")
    return place, count


def items_of_shard(items: Sequence[Item], shard: tuple[int, int] | None) -> Sequence[Item]:
    """The items of a shard, in their old order; all of them if it is None."""
    if shard is None:
        return items
    place, count = shard
    groups = {group: number for number, group in enumerate(dict.fromkeys(item.group for item in items))}
    return [item for item in items if groups[item.group] % count == place - 1]


def wholes(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs in their order, those together that are different shards of the same: same questions, same models."""
    found: list[list[Run]] = []
    for run in runs:
        for whole in found:
            if _completes(run, whole):
                whole.append(run)
                break
        else:
            found.append([run])
    return found


def missing(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each whole that lacks shards."""
    for whole in wholes(runs):
        there = [shard for run in whole if (shard := _shard(run))]
        absent = sorted(set(range(1, there[0][1] + 1)) - {place for place, _ in there}) if there else []
        if absent:
            names = ", ".join(run["id"] for run in whole)
            yield f"{names}: shards {', '.join(map(str, absent))} of {there[0][1]} are not among the runs named"


def _completes(run: Run, whole: Sequence[Run]) -> bool:
    shard, there = _shard(run), [_shard(other) for other in whole]
    return shard is not None and shard not in there and _kind(run) == _kind(whole[0])


def _shard(run: Run) -> tuple[int, int] | None:
    return parse_shard(run["manifest"].get("options", {}).get("shard", ""))


def _kind(run: Run) -> Any:
    """What shards of one whole have in common."""
    options, shard = run["manifest"].get("options", {}), _shard(run)
    models = [
        (model["name"], model["identity"], model.get("key_settings")) for model in run["manifest"].get("models", ())
    ]
    return shard and shard[1], models, [options.get(name) for name in _SAME]
