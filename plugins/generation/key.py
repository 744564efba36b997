"""The key under which a completion is stored: everything its text depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from variantbench.plugins.datatypes import Decoding, Prompt, text_hash


def completion_key(prompt: Prompt, *, model_identity: str, settings: Mapping[str, Any]) -> str:
    """The sha256 over model identity, engine settings, prompt text, decoding and, for a sampled answer, its seed.

    `settings` holds engine and library versions, device kind and dtype; not the batch size, which changes no answer.
    """
    sampled = prompt.decoding.temperature > 0
    return text_hash(
        json.dumps(
            [
                model_identity,
                dict(settings),
                prompt.hash,
                prompt.chat,
                _plain(prompt.decoding),
                prompt.seed if sampled else None,
            ],
            sort_keys=True,
        )
    )


@lru_cache
def _plain(decoding: Decoding) -> dict[str, Any]:
    return asdict(decoding)
