"""lm-evaluation-harness: ``samples_<task>_<date>.jsonl``, and ``results_<date>.json`` beside it.

Read of a row: `doc_id`, `doc`, `target`, `arguments` (prompt, stop strings, length), `resps`, `filtered_resps`,
`filter`, `metrics` and each metric's score. Of the results: `model_name`, `lm_eval_version`, `results`. The question is
the field ``question``, ``query``, ``problem`` or ``input`` of the document. A row a filter is written for each answer:
one reading counts, the first unless another is named. Rows of 0.3 and 0.4 may not be mixed in one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Decoding, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.fields import OWN, look_up, place_of, target_of, text_of, verdict_of, whole
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import json_file, objects_of
from variantbench.plugins.exchange.own import from_own

NAME = "lm-eval"
_FILE = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
_QUESTION = ("question", "query", "problem", "input", "text")
_INVALID = "[invalid]"  # what the harness writes where a filter found nothing
_NEEDED = ("doc_id", "doc", "resps", "filtered_resps")


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a log."""
    return b'"doc_id"' in head and b'"filtered_resps"' in head and path.suffix != ".parquet"


def read(source: Source) -> Iterator[Entry]:
    """Every row, in the order of the file."""
    match = _FILE.fullmatch(source.path.name)
    task = match["task"] if match else source.path.stem
    model = str(_results(source.path).get("model_name") or source.path.absolute().parent.name)
    wanted, shape = source.reading, None
    for where, row in objects_of(source.path):
        if shape is None:
            shape = _shape(row, where)
        elif _shape(row, where) != shape:
            raise UserError(f"{where}: written by another version of lm-eval than the rows before: import them apart")
        readings = list(_readings(row))
        if not readings:
            yield LeftOut(where, "no metric with a score")
            continue
        chosen = next((name for name in readings if not wanted or wanted in _aliases(name)), None)
        if chosen is None:
            yield LeftOut(where, f"another reading of an answer: {', '.join(readings)}")
            continue
        wanted = wanted or chosen
        yield _answer(row, where, chosen, task, model, source.columns)


def stated(source: Source) -> list[Stated]:
    """The accuracies in the results beside the samples."""
    match = _FILE.fullmatch(source.path.name)
    if not match:
        return []
    found = []
    for name, value in _results(source.path).get("results", {}).get(match["task"], {}).items():
        metric, _, filtered = name.partition(",")
        if isinstance(value, int | float) and filtered and not metric.endswith("_stderr"):
            found.append(Stated(match["task"], _name(metric, filtered), float(value)))
    return found


def version(source: Source) -> str:
    """The version that wrote the log, empty where nothing says it."""
    return text_of(_results(source.path).get("lm_eval_version"))


@lru_cache(maxsize=8)
def _results(path: Path) -> Mapping[str, Any]:
    match = _FILE.fullmatch(path.name)
    beside = path.with_name(f"results_{match['date']}.json") if match and match["date"] else None
    return json_file(beside) if beside and beside.is_file() else {}


def _shape(row: Mapping[str, Any], where: str) -> tuple[bool, type]:
    missing = [name for name in _NEEDED if name not in row]
    if missing:
        raise UserError(f"{where}: no {missing[0]!r}: a row of lm-eval has {', '.join(_NEEDED)} and more")
    return "filter" in row, type(row.get("arguments"))


def _name(metric: str, filtered: str) -> str:
    return metric if filtered in ("", "none") else f"{metric},{filtered}"


def _aliases(reading: str) -> tuple[str, ...]:
    return reading, *reading.split(",")


def _readings(row: Mapping[str, Any]) -> Iterator[str]:
    names = row.get("metrics")
    metrics = names if isinstance(names, list) else [n for n in ("exact_match", "acc", "acc_norm") if n in row]
    for metric in metrics:
        if isinstance(metric, str) and metric in row:
            yield _name(metric, text_of(row.get("filter")))


def _answer(
    row: Mapping[str, Any], where: str, reading: str, task: str, model: str, columns: Mapping[str, str]
) -> Entry:
    score = row[reading.partition(",")[0]]
    verdict = verdict_of(score)
    if verdict is None:
        return LeftOut(where, f"a score that is neither 0 nor 1 ({reading})")
    doc = row["doc"] if isinstance(row["doc"], dict) else {}
    prompt, settings, chosen = _asked(row, where)
    text, value = _said(row, chosen, where)
    if value == _INVALID:
        verdict, value = (Verdict.NO_ANSWER if verdict is Verdict.INCORRECT else verdict), None
    own = doc.get(OWN)
    if isinstance(own, dict):
        return from_own(own, where, reading=reading, verdict=verdict, text=text, value=value)
    given = {ours: found for theirs, ours in columns.items() if (found := look_up(row, theirs)) is not None}
    group, variant = place_of({**doc, **given}, where)
    question = next((text_of(doc[name]) for name in _QUESTION if isinstance(doc.get(name), str)), prompt)
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", task)),
        item=text_of(given.get("item", _item(doc, row))),
        question=text_of(given.get("question", question)),
        target=target_of(given.get("target", row.get("target"))),
        model=text_of(given.get("model", model)),
        verdict=verdict,
        reading=reading,
        value=value,
        text=text,
        prompt=prompt,
        seed=whole(given.get("seed", 0), where, "seed"),
        group=group,
        variant=variant,
        finish_reason=FinishReason.END,
        decoding=settings,
    )


def _item(doc: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The document's own id where it is a text, else its number in the task."""
    return doc["id"] if isinstance(doc.get("id"), str) and doc["id"] else text_of(row["doc_id"])


def _asked(row: Mapping[str, Any], where: str) -> tuple[str, Decoding, list[str]]:
    """The prompt, how the answer was decoded, and the continuations among which a multiple-choice answer was chosen."""
    arguments = row.get("arguments")
    calls = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(calls, list) or not calls:
        return "", Decoding(0), []
    pairs = [list(call.values()) if isinstance(call, dict) else call for call in calls]
    if not all(isinstance(pair, list) and pair and isinstance(pair[0], str) for pair in pairs):
        raise UserError(f"{where}: 'arguments' has no prompt: this is no row that lm-eval wrote")
    second = pairs[0][1] if len(pairs[0]) > 1 else None
    if isinstance(second, str):
        return pairs[0][0], Decoding(0), [str(pair[1]) for pair in pairs if len(pair) > 1]
    return pairs[0][0], _decoding(second if isinstance(second, dict) else {}), []


def _decoding(settings: Mapping[str, Any]) -> Decoding:
    stops = settings.get("until", ())
    length = next((settings[n] for n in ("max_gen_toks", "max_new_tokens", "max_tokens") if n in settings), 0)
    temperature = settings.get("temperature", 0.0) if settings.get("do_sample", True) else 0.0
    top_p = settings.get("top_p", 1.0)
    return Decoding(
        int(length) if isinstance(length, int | float) else 0,
        float(temperature) if isinstance(temperature, int | float) else 0.0,
        float(top_p) if isinstance(top_p, int | float) else 1.0,
        tuple(map(str, [stops] if isinstance(stops, str) else stops)) if isinstance(stops, list | tuple | str) else (),
    )


def _said(row: Mapping[str, Any], chosen: list[str], where: str) -> tuple[str, str | None]:
    """What the model wrote, or the continuation it found likeliest, and what the filter read of it."""
    answers, read = row["resps"], row["filtered_resps"]
    if not isinstance(answers, list) or not answers:
        raise UserError(f"{where}: 'resps' holds no answer: this is no row that lm-eval wrote")
    if chosen:
        likelihoods = [_likelihood(one) for one in read] if isinstance(read, list) else []
        if len(likelihoods) != len(chosen):
            raise UserError(f"{where}: {len(likelihoods)} likelihoods for {len(chosen)} choices: the row is damaged")
        best = max(range(len(chosen)), key=likelihoods.__getitem__)
        return chosen[best], chosen[best].strip()
    first = answers[0][0] if isinstance(answers[0], list) and answers[0] else answers[0]
    kept = read[0] if isinstance(read, list) and read else read
    return text_of(first), text_of(kept)


def _likelihood(pair: Any) -> float:
    try:
        return float(pair[0] if isinstance(pair, list) else pair)
    except (TypeError, ValueError, IndexError):
        return float("-inf")
