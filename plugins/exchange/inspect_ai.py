"""Inspect: ``.eval`` (a zip of JSON, packed with zstandard since 0.3.2xx) and ``.json``.

Read of the header: `eval.task`, `eval.model`, `eval.packages`, `results.scores`, `status`. Of a sample: `id`, `epoch`,
`input`, `target`, `scores` (value, answer), `output` (completion, stop_reason, usage), `metadata`, `error`,
`total_time`. One scorer counts, the first unless another is named. A value of C, I or N, 1 or 0, true or false is a
verdict; partial credit is left out. A sample with an error has no verdict: inspect counts none, and neither do we.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Decoding, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange import archive
from variantbench.plugins.exchange.fields import (
    OWN,
    count_of,
    look_up,
    place_of,
    seconds_of,
    target_of,
    text_of,
    verdict_of,
    whole,
)
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import as_object, decoded, parsed
from variantbench.plugins.exchange.own import from_own
from variantbench.plugins.exchange.streams import items_of, value_of

NAME = "inspect"
_STOPS = {
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "stop": FinishReason.END,
}


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a log."""
    if path.suffix == ".eval":
        return True
    start = head[:2000]
    return path.suffix == ".json" and b'"version"' in start and b'"status"' in start and b'"eval"' in start


def read(source: Source) -> Iterator[Entry]:
    """Every sample, in the order of the log; at the end it is an error if there are fewer than the log says."""
    header = _header(source.path)
    count = 0
    for where, sample in _samples(source.path):
        count += 1
        yield _answer(sample, where, header, source)
    expected = look_up(header, "results.total_samples")
    if isinstance(expected, int) and count < expected:
        raise UserError(f"{source.path}: {count:,} samples, the log says {expected:,}: it was cut off")


def stated(source: Source) -> list[Stated]:
    """The accuracy of every scorer."""
    header = _header(source.path)
    task = text_of(look_up(header, "eval.task"))
    found = []
    for score in look_up(header, "results.scores") or ():
        value = look_up(score, "metrics.accuracy.value") if isinstance(score, dict) else None
        if isinstance(value, int | float):
            found.append(Stated(task, text_of(score.get("name")), float(value)))
    return found


def version(source: Source) -> str:
    """The version that wrote the log."""
    return text_of((look_up(_header(source.path), "eval.packages") or {}).get("inspect_ai"))


def _header(path: Path) -> Mapping[str, Any]:
    if path.suffix != ".eval":
        return {name: value_of(path, name) for name in ("status", "eval", "results")}
    with archive.opened(path) as log:
        if "header.json" not in log.names:
            raise UserError(f"{path}: no header.json: the evaluation was not finished, or this is no log of inspect")
        return _object(log, "header.json")


def _samples(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix != ".eval":
        for number, sample in enumerate(items_of(path, "samples.item"), 1):
            where = f"{path}:sample {number}"
            yield where, as_object(sample, where)
        return
    with archive.opened(path) as log:
        for name in log.names:
            if name.startswith("samples/") and name.endswith(".json"):
                yield f"{path}:{name}", _object(log, name)


def _object(log: archive.Archive, name: str) -> dict[str, Any]:
    where = f"{log.path}:{name}"
    return as_object(parsed(decoded(log.read(name), where), where), where)


def _answer(sample: Mapping[str, Any], where: str, header: Mapping[str, Any], source: Source) -> Entry:
    if "id" not in sample or "input" not in sample:
        raise UserError(f"{where}: no 'id' or 'input': a sample of inspect has both")
    scores = sample.get("scores") or {}
    reading, score = _chosen(scores, source.reading)
    broken = bool(sample.get("error"))
    if score is None and not broken:
        return LeftOut(where, f"no score by {source.reading or 'any scorer'}")
    verdict = Verdict.ERROR if broken else verdict_of(score.get("value") if score else None)
    if verdict is None:
        return LeftOut(where, f"a score that is neither right nor wrong ({reading})")
    text, value = _text(sample), text_of(score.get("answer")) or None if score else None
    metadata = sample.get("metadata") if isinstance(sample.get("metadata"), dict) else {}
    assert isinstance(metadata, dict)  # noqa: S101 - for the type checker
    if isinstance(own := metadata.get(OWN), dict):
        return from_own(own, where, reading=reading, verdict=verdict, text=text, value=value)
    given = {ours: found for theirs, ours in source.columns.items() if (found := look_up(sample, theirs)) is not None}
    group, variant = place_of({**metadata, **given}, where)
    question = _input(sample["input"])
    usage = look_up(sample, "output.usage") or {}
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", look_up(header, "eval.task"))),
        item=text_of(given.get("item", sample["id"])),
        question=text_of(given.get("question", question)),
        target=target_of(given.get("target", sample.get("target"))),
        model=text_of(given.get("model", look_up(header, "eval.model"))),
        verdict=verdict,
        reading=reading,
        value=value,
        text=text,
        prompt=question,
        seed=whole(given.get("seed", whole(sample.get("epoch", 1), where, "epoch") - 1), where, "seed"),
        group=group,
        variant=variant,
        finish_reason=_STOPS.get(_stop(sample), FinishReason.END),
        prompt_tokens=count_of(usage.get("input_tokens")) if isinstance(usage, dict) else 0,
        new_tokens=count_of(usage.get("output_tokens")) if isinstance(usage, dict) else 0,
        seconds=seconds_of(sample.get("total_time")),
        decoding=_decoding(look_up(header, "eval.model_generate_config") or {}),
        chat=True,
        reason=text_of(look_up(sample, "error.message"))[:500],
    )


def _chosen(scores: Any, wanted: str) -> tuple[str, dict[str, Any] | None]:
    if not isinstance(scores, dict):
        return "", None
    for name, score in scores.items():
        if isinstance(score, dict) and wanted in ("", name):
            return str(name), score
    return wanted, None


def _input(value: Any) -> str:
    """The text of the last thing the user said, or the input itself."""
    if not isinstance(value, list):
        return text_of(value)
    said = [message for message in value if isinstance(message, dict) and message.get("role") == "user"]
    return _content(said[-1].get("content")) if said else ""


def _content(value: Any) -> str:
    if isinstance(value, list):
        return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
    return text_of(value)


def _choice(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = look_up(sample, "output.choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _text(sample: Mapping[str, Any]) -> str:
    completion = look_up(sample, "output.completion")
    return completion if isinstance(completion, str) else _content(look_up(_choice(sample), "message.content"))


def _stop(sample: Mapping[str, Any]) -> str:
    return text_of(_choice(sample).get("stop_reason"))


def _decoding(config: Any) -> Decoding:
    if not isinstance(config, dict):
        return Decoding(0)
    stops = config.get("stop_seqs") or ()
    top_p = config.get("top_p")
    return Decoding(
        count_of(config.get("max_tokens")),
        seconds_of(config.get("temperature")),
        float(top_p) if isinstance(top_p, int | float) else 1.0,
        tuple(map(str, stops)) if isinstance(stops, list) else (),
    )
