"""The batch plan: which prompts are generated together.

The plan depends on the selected cases alone: not on ``-n``, on the order in which workers report, or on what a resume
finds done. So the same selection gives the same batches, and the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from variantbench.plugins.datatypes import Decoding, Prompt, text_hash

# Prompts are sorted by length inside windows of this many batches: sorting the whole selection would save little more
# and would bring the first case's answer late.
WINDOW = 4


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt to be answered by one model. `id` is the pytest node id of the case that waits for it."""

    id: str
    model: str
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts that are generated together; all share prefix and decoding."""

    id: str
    jobs: tuple[Job, ...]


def plan_batches(jobs: Sequence[Job], *, size: int) -> list[Batch]:
    """Cut the jobs of one model into batches of at most `size`, window by window in the order of the cases.

    Inside a window, what shares its prefix is together and sorted by length.
    """
    batches = []
    window = size * WINDOW
    for start in range(0, len(jobs), window):
        for group in _groups(jobs[start : start + window]):
            near = sorted(group, key=lambda job: len(job.prompt.suffix))
            batches += [_batch(near[i : i + size]) for i in range(0, len(near), size)]
    return batches


def _groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    groups: dict[tuple[str, bool, Decoding], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.prompt.prefix, job.prompt.chat, job.prompt.decoding), []).append(job)
    yield from groups.values()


def _batch(jobs: Sequence[Job]) -> Batch:
    return Batch(text_hash("\n".join(job.id for job in jobs))[:16], tuple(jobs))


def to_wire(jobs: Sequence[Job]) -> dict[str, Any]:
    """The jobs as plain values. What many share (prefix, decoding) is written once and referred to by its place."""
    prefixes: dict[str, int] = {}
    decodings: dict[Decoding, int] = {}
    rows = [
        [
            job.id,
            job.model,
            job.prompt.item_id,
            job.prompt.format,
            prefixes.setdefault(job.prompt.prefix, len(prefixes)),
            job.prompt.suffix,
            decodings.setdefault(job.prompt.decoding, len(decodings)),
            job.prompt.seed,
            job.prompt.chat,
        ]
        for job in jobs
    ]
    return {"prefixes": list(prefixes), "decodings": [asdict(decoding) for decoding in decodings], "rows": rows}


def from_wire(value: Mapping[str, Any]) -> list[Job]:
    """The jobs that `to_wire` wrote."""
    prefixes = value["prefixes"]
    decodings = [Decoding(**{**each, "stops": tuple(each["stops"])}) for each in value["decodings"]]
    return [
        Job(job_id, model, Prompt(item, format_name, prefixes[prefix], suffix, decodings[decoding], seed, chat))
        for job_id, model, item, format_name, prefix, suffix, decoding, seed, chat in value["rows"]
    ]
