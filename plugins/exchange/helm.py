"""HELM: ``per_instance_stats.json``, with ``scenario_state.json``, ``run_spec.json`` and ``stats.json`` beside it.

Read: of the instances' stats `instance_id`, `train_trial_index`, `perturbation` and the accuracy metrics; of the
scenario state each request's `instance`, `request` (prompt, lengths, stop strings) and first completion; of the run's
spec `name` and model. One metric counts, the first of `METRICS` that is there unless another is named. Perturbed
instances are items of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Decoding, FinishReason
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.fields import count_of, look_up, place_of, seconds_of, target_of, text_of, verdict_of
from variantbench.plugins.exchange.foreign import Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.guarded import as_object, json_file, unreadable
from variantbench.plugins.exchange.streams import items_of

NAME = "helm"
METRICS = ("exact_match", "quasi_exact_match", "final_number_exact_match", "prefix_exact_match", "math_equiv")
Key = tuple[str, int, str]


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is such a log."""
    return path.suffix == ".json" and b'"instance_id"' in head and b'"stats"' in head


def read(source: Source) -> Iterator[Entry]:
    """Every instance that has stats, in the order of the requests."""
    scores = _scores(source)
    spec = _spec(source.path)
    beside = source.path.with_name("scenario_state.json")
    if not beside.is_file():
        raise UserError(f"{source.path}: no scenario_state.json beside it, where HELM keeps questions and answers")
    for number, value in enumerate(items_of(beside, "request_states.item"), 1):
        where = f"{beside}:request {number}"
        state = as_object(value, where)
        if isinstance(state.get("reference_index"), int):
            yield LeftOut(where, "a request for one choice of several, which HELM grades together")
            continue
        key = _key(as_object(state.get("instance"), where), state.get("train_trial_index"), "id")
        if key not in scores:
            yield LeftOut(where, "no stats of its instance")
            continue
        yield _answer(state, where, scores.pop(key), spec, source)
    for key in scores:
        yield LeftOut(f"{source.path}:{key[0]}", "stats without a request")


def stated(source: Source) -> list[Stated]:
    """The accuracies in ``stats.json``: unperturbed, of every split."""
    path = source.path.with_name("stats.json")
    task = text_of(_spec(source.path).get("name")).partition(":")[0]
    if not path.is_file():
        return []
    found = []
    for stat in items_of(path, "item"):
        name = look_up(stat, "name") or {}
        if name.get("name") in METRICS and "perturbation" not in name and isinstance(stat.get("mean"), int | float):
            found.append(Stated(task, name["name"], float(stat["mean"])))
    return found


def version(source: Source) -> str:
    """Nothing: the files do not say."""
    del source
    return ""


def _spec(path: Path) -> Mapping[str, Any]:
    beside = path.with_name("run_spec.json")
    try:
        return json_file(beside) if beside.is_file() else {"name": path.absolute().parent.name}
    except OSError as error:
        raise unreadable(beside, error) from None


def _scores(source: Source) -> dict[Key, tuple[str, Any, int, int]]:
    """The metric, its mean, and token counts of every instance."""
    found: dict[Key, tuple[str, Any, int, int]] = {}
    wanted = source.reading
    for number, value in enumerate(items_of(source.path, "item"), 1):
        where = f"{source.path}:instance {number}"
        row = as_object(value, where)
        stats = {
            text_of(look_up(stat, "name.name")): stat.get("mean")
            for stat in row.get("stats", ())
            if isinstance(stat, dict)
        }
        wanted = wanted or next((name for name in METRICS if name in stats), "")
        if not wanted:
            raise UserError(
                f"{where}: none of {', '.join(METRICS)}: name the metric with --reading; {', '.join(stats)[:200]}"
            )
        key = _key(row, row.get("train_trial_index"), "instance_id")
        if key in found:
            raise UserError(f"{where}: instance {key[0]!r} stands twice: the file is damaged")
        found[key] = (
            wanted,
            stats.get(wanted),
            count_of(stats.get("num_prompt_tokens")),
            count_of(stats.get("num_output_tokens")),
        )
    return found


def _key(row: Mapping[str, Any], trial: Any, name: str) -> Key:
    return text_of(row.get(name)), count_of(trial), repr(row.get("perturbation") or "")


def _answer(
    state: Mapping[str, Any], where: str, score: tuple[str, Any, int, int], spec: Mapping[str, Any], source: Source
) -> Entry:
    metric, mean, prompt_tokens, new_tokens = score
    verdict = verdict_of(mean)
    if verdict is None:
        return LeftOut(where, f"a score that is neither 0 nor 1 ({metric})")
    instance, request = state["instance"], as_object(state.get("request"), where)
    text, finish = _said(state, where)
    given = {ours: found for theirs, ours in source.columns.items() if (found := look_up(state, theirs)) is not None}
    group, variant = place_of({**(instance.get("extra_data") or {}), **given}, where)
    perturbed = text_of(look_up(instance, "perturbation.name"))
    item = text_of(instance.get("id")) + (f"-{perturbed}" if perturbed else "")
    return ForeignAnswer(
        where=where,
        benchmark=text_of(given.get("benchmark", text_of(spec.get("name")).partition(":")[0])),
        item=text_of(given.get("item", item)),
        question=text_of(given.get("question", look_up(instance, "input.text"))),
        target=target_of(given.get("target", _target(instance))),
        model=text_of(given.get("model", request.get("model") or look_up(spec, "adapter_spec.model"))),
        verdict=verdict,
        reading=metric,
        text=text,
        prompt=text_of(request.get("prompt")),
        seed=count_of(state.get("train_trial_index")),
        group=group,
        variant=variant,
        finish_reason=finish,
        prompt_tokens=prompt_tokens,
        new_tokens=new_tokens,
        seconds=seconds_of(look_up(state, "result.request_time")),
        decoding=Decoding(
            count_of(request.get("max_tokens")),
            seconds_of(request.get("temperature")),
            seconds_of(request.get("top_p", 1)),
            tuple(map(str, request.get("stop_sequences") or ())),
        ),
    )


def _target(instance: Mapping[str, Any]) -> str:
    right = [ref for ref in instance.get("references") or () if "correct" in (ref.get("tags") or ())]
    return text_of(look_up(right[0], "output.text")) if right else ""


def _said(state: Mapping[str, Any], where: str) -> tuple[str, FinishReason]:
    completions = look_up(state, "result.completions")
    if not isinstance(completions, list) or not completions or not isinstance(completions[0], dict):
        raise UserError(f"{where}: no completion: the run was not finished")
    cut = look_up(completions[0], "finish_reason.reason") == "length"
    return text_of(completions[0].get("text")), FinishReason.LENGTH if cut else FinishReason.END
