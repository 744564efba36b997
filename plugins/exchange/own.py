"""What our exports carry under a key of their own, so that nothing is lost on the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from variantbench.plugins.datatypes import Decoding, FinishReason, Verdict
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.fields import whole
from variantbench.plugins.exchange.foreign import ForeignAnswer

TEXTS = ("benchmark", "item", "question", "target", "model", "format", "group", "prompt", "reason", "grader")
COUNTS = ("seed", "prefix", "prompt_tokens", "new_tokens")


def to_own(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """What a row of `Store.records` holds beside answer and verdict. `prefix` is the shared part of its prompt."""
    settings = json.loads(row["settings"]) if row["settings"] else {}
    return {
        "benchmark": row["benchmark"],
        "item": row["id"],
        "question": row["question"],
        "target": row["target"],
        "model": row["model"],
        "format": row["format"],
        "group": row["group_id"],
        "variant": row["variant"],
        "batch": row["batch"],
        "seed": row["seed"],
        "prompt": prefix + (row["suffix"] or ""),
        "prefix": len(prefix),
        "finish_reason": row["finish_reason"] or FinishReason.ERROR.value,
        "prompt_tokens": row["prompt_tokens"] or 0,
        "new_tokens": row["new_tokens"] or 0,
        "decoding": settings.get("decoding"),
        "chat": bool(settings.get("chat")),
        "covariates": json.loads(row["covariates"]),
        "notes": json.loads(row["notes"]),
        "verdict": row["robust_verdict"],
        "value": row["robust_value"],
        "reason": row["robust_reason"],
        "grader": row["grader"],
    }


def from_own(
    own: Mapping[str, Any], where: str, *, reading: str, verdict: Verdict, text: str, value: str | None
) -> ForeignAnswer:
    """The answer that `to_own` described; the tool's own verdict counts, but it has no word for two of ours."""
    try:
        told = Verdict(own["verdict"])
        decoding = own.get("decoding")
        plain: dict[str, Any] = {name: str(own[name]) for name in TEXTS}
        plain |= {name: whole(own[name], where, name) for name in COUNTS}
        answer = ForeignAnswer(
            where=where,
            verdict=told if (told is Verdict.CORRECT) == (verdict is Verdict.CORRECT) else verdict,
            reading=reading,
            text=text,
            value=_text_or_none(own.get("value", value)),
            variant=whole(own["variant"], where, "variant"),
            batch=_text_or_none(own.get("batch")),
            finish_reason=FinishReason(own["finish_reason"]),
            chat=bool(own.get("chat")),
            covariates={str(name): float(number) for name, number in own.get("covariates", {}).items()},
            notes=tuple(map(str, own.get("notes", ()))),
            **plain,
        )
        if decoding:
            kept = Decoding(**{**decoding, "stops": tuple(decoding.get("stops", ()))})
            hash(kept)  # lists and tables where numbers belong
            answer = replace(answer, decoding=kept)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{where}: not what variantbench exports ({error!r:.80}): export the run again") from None
    return answer


def _text_or_none(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
