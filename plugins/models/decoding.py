"""What every decoding loop shares: the row being generated, how its next token is chosen, and when it ends."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from variantbench.plugins.datatypes import Decoding, FinishReason, Prompt, text_hash
from variantbench.plugins.generation.plan import Job

if TYPE_CHECKING:
    import torch

# So many tokens at the end of an answer are decoded after each step to look for a stop string.
_TAIL = 16


@dataclass(slots=True, eq=False)
class Row:
    """One answer being generated. `own_ids` are the prompt's tokens behind those that the whole stream shares.

    `finish` is None while it runs; rows that only fill a batch are born finished.
    """

    job: Job
    batch: str
    prompt_tokens: int
    own_ids: list[int]
    finish: FinishReason | None = None
    new_ids: list[int] = field(default_factory=list)
    random: Random | None = None
    started: float = field(default_factory=time.perf_counter)

    def restart(self) -> None:
        """Forget what was generated."""
        self.finish = None
        self.new_ids.clear()
        self.random = None

    def draw(self) -> float:
        """The next of the row's own random numbers, from 0 to 1."""
        if self.random is None:
            self.random = Random(_sampling_seed(self.job.prompt))  # noqa: S311 - chooses words
        return self.random.random()


def give_back_memory() -> None:
    """Have torch return the device memory that it holds for later use."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class Ending:
    """Decides when an answer ends: at an end token, behind a stop string at a line start, or at its length limit."""

    def __init__(self, tokenizer: Any, end_ids: frozenset[int], decoding: Decoding) -> None:
        self.tokenizer, self.end_ids, self.decoding = tokenizer, end_ids, decoding
        self.tail = _TAIL + max(map(len, decoding.stops), default=0)
        self.stops = [re.compile(rf"(?:^|\n){re.escape(stop)}") for stop in decoding.stops]

    def take(self, row: Row, token: int) -> None:
        """Give the row its next token, and end it if that was the last."""
        if token in self.end_ids:
            row.finish = FinishReason.END
            return
        row.new_ids.append(token)
        # the tail may begin inside a line, so the whole text is asked before the tail is believed
        if self.stops and self._stops(self.text(row, last=self.tail)) and self._stops(self.text(row)):
            row.finish = FinishReason.STOP
        elif len(row.new_ids) == self.decoding.max_new_tokens:
            row.finish = FinishReason.LENGTH

    def text(self, row: Row, *, last: int | None = None) -> str:
        """The text of the row's answer, untouched; `last` limits it to that many tokens.

        Decoded behind the tokens before it, since some tokenizers drop the blank before a text's first word.
        """
        split = max(0, len(row.new_ids) - last) if last else 0
        known = (row.own_ids + row.new_ids[:split])[-4:]
        before, whole = (
            self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            for ids in (known, known + row.new_ids[split:])
        )
        return str(whole[len(before) :])

    def _stops(self, text: str) -> bool:
        return any(stop.search(text) for stop in self.stops)


def choose(logits: torch.Tensor, rows: Sequence[Row], decoding: Decoding) -> list[int]:
    """The next token of every row: the likeliest, or drawn with the row's own random numbers.

    `logits` are rows x vocabulary in float32. A sampled answer depends on its own prompt and seed alone, not on the
    other rows. Only the chosen tokens leave the device.
    """
    chosen = logits.argmax(dim=-1) if decoding.temperature == 0 else _draw(logits, rows, decoding)
    tokens: list[int] = chosen.tolist()
    return tokens


def _draw(logits: torch.Tensor, rows: Sequence[Row], decoding: Decoding) -> torch.Tensor:
    """Where a random share of the probability is reached, token by token; of the likeliest tokens that make `top_p`."""
    import torch

    probabilities = (logits / decoding.temperature).softmax(dim=-1)
    index = None
    if decoding.top_p < 1:
        probabilities, index = probabilities.sort(descending=True, stable=True)
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities.masked_fill(before >= decoding.top_p, 0.0)
    reached = probabilities.double().cumsum(dim=-1)
    share = torch.tensor([[row.draw()] for row in rows], dtype=torch.float64, device=logits.device)
    place = torch.searchsorted(reached, share * reached[:, -1:], right=True).clamp_(max=logits.shape[-1] - 1)
    return (place if index is None else index.gather(-1, place))[:, 0]


def _sampling_seed(prompt: Prompt) -> int:
    return int(text_hash(f"{prompt.seed}\n{prompt.text}")[:15], 16)
