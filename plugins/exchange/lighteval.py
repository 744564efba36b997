"""lighteval: ``details_<task>_<date>.parquet``, and ``results_<date>.json`` of the run.

Read of a row: `doc` (`id`, `query`, `choices`, `gold_index`, `specific`, `task_name`), `model_response` (`text`,
`input`, token counts), `metric`; of the results the model's name, the version and the accuracies. One metric counts,
the first unless another is named. The question is `specific.question` where the task keeps it, else the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.columns import batches, names_of
from variantbench.plugins.exchange.fields import look_up, place_of, target_of, text_of, verdict_of
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import json_file

NAME = "lighteval"
_NEEDED = {"doc", "model_response", "metric"}
_FILE = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.parquet")


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a log."""
    return path.suffix == ".parquet" and head.startswith(b"PAR1") and set(names_of(path)) >= _NEEDED


def read(source: Source) -> Iterator[Entry]:
    """Every row, in the order of the file."""
    if not set(names_of(source.path)) >= _NEEDED:
        raise UserError(f"{source.path}: no columns {', '.join(sorted(_NEEDED))}: this is no details file of lighteval")
    model = _model(source.path)
    for where, row in batches(source.path):
        metrics = {name: value for name, value in (row["metric"] or {}).items() if value is not None}
        reading = source.reading or next(iter(metrics), "")
        if reading not in metrics:
            yield LeftOut(where, f"no score by {reading or 'any metric'}")
            continue
        verdict = verdict_of(metrics[reading])
        if verdict is None:
            yield LeftOut(where, f"a score that is neither 0 nor 1 ({reading})")
            continue
        yield _answer(row, where, reading, verdict, model, source.columns)


def stated(source: Source) -> list[Stated]:
    """The accuracies in the results of the run."""
    match = _FILE.fullmatch(source.path.name)
    if not match:
        return []
    found = _results(source.path).get("results", {}).get(match["task"], {})
    return [
        Stated(match["task"], name, float(value))
        for name, value in found.items()
        if isinstance(value, int | float) and not name.endswith("_stderr")
    ]


def version(source: Source) -> str:
    """The version that wrote the log, empty where the results are not there."""
    return text_of(look_up(_results(source.path), "config_general.lighteval_sha")).strip("?")  # of an installed release


@lru_cache(maxsize=8)
def _results(path: Path) -> Mapping[str, Any]:
    """The results of the run: three folders up and across, as lighteval lays them out, or beside the details."""
    match = _FILE.fullmatch(path.name)
    if not match:
        return {}
    name = f"results_{match['date']}.json"
    for folder in (path.parent, *path.absolute().parents[:4]):
        found = next((one for one in (folder / name, *folder.glob(f"results/**/{name}")) if one.is_file()), None)
        if found:
            return json_file(found)
    return {}


def _model(path: Path) -> str:
    general = _results(path).get("config_general", {})
    return text_of(
        general.get("model_name") or look_up(general, "model_config.model_name") or path.absolute().parents[1].name
    )


def _answer(
    row: Mapping[str, Any], where: str, reading: str, verdict: Any, model: str, columns: Mapping[str, str]
) -> ForeignAnswer:
    doc, response = row["doc"] or {}, row["model_response"] or {}
    specific = doc.get("specific") or {}
    given = {ours: found for theirs, ours in columns.items() if (found := look_up(row, theirs)) is not None}
    group, variant = place_of({**specific, **given}, where)
    texts = response.get("text") or []
    prompt = response.get("input") if isinstance(response.get("input"), str) else doc.get("query")
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", doc.get("task_name"))),
        item=text_of(given.get("item", specific.get("id") or doc.get("id"))),
        question=text_of(given.get("question", specific.get("question") or doc.get("query"))),
        target=target_of(given.get("target", _target(doc))),
        model=text_of(given.get("model", model)),
        verdict=verdict,
        reading=reading,
        text=text_of(texts[0]) if isinstance(texts, list) and texts else text_of(texts),
        prompt=text_of(prompt),
        group=group,
        variant=variant,
        prompt_tokens=_length(response.get("input_tokens")),
        new_tokens=_length(response.get("output_tokens")),
    )


def _target(doc: Mapping[str, Any]) -> str:
    gold, choices = doc.get("gold_index"), doc.get("choices") or []
    place = gold[0] if isinstance(gold, list) and gold else gold
    return text_of(choices[place]) if isinstance(place, int) and 0 <= place < len(choices) else ""


def _length(tokens: Any) -> int:
    inner = tokens[0] if isinstance(tokens, list) and tokens and isinstance(tokens[0], list) else tokens
    return len(inner) if isinstance(inner, list) else 0
