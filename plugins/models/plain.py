"""Decoding as transformers does it: batches with the prompts padded on the left, and the model's own cache.

For models whose attention cannot be replaced, and the reference that the shared-prefix decoder is tested against.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from variantbench.plugins.datatypes import Decoding
from variantbench.plugins.models.decoding import Ending, Row, choose, give_back_memory


@dataclass(slots=True)
class _State:
    """What the model has read: its cache, the attention mask (rows x tokens) and the positions of the next tokens."""

    cache: Any
    mask: torch.Tensor
    positions: torch.Tensor

    def advance(self) -> None:
        """Make room for one more token in every row."""
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=1)
        self.positions = self.positions[:, -1:] + 1


class PlainDecoder:
    """Generates batch after batch, each until its last row has ended."""

    fewest = 1

    def __init__(self, model: Any, *, cache_argument: str, size: int) -> None:
        self.model, self.cache_argument, self.size = model, cache_argument, size

    def run(
        self, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding, ending: Ending
    ) -> Iterator[list[Row]]:
        """The rows, as each batch's rows end."""
        for start in range(0, len(rows), self.size):
            batch = rows[start : start + self.size]
            for row in batch:
                row.started = time.perf_counter()
            logits, state = self._read([prefix_ids + row.own_ids for row in batch])
            while True:
                running = [row for row in batch if row.finish is None]
                tokens = choose(logits, batch, decoding)
                for row, token in zip(batch, tokens, strict=True):
                    if row.finish is None:
                        ending.take(row, token)
                if ended := [row for row in running if row.finish is not None]:
                    yield ended
                if len(ended) == len(running):
                    break
                state.advance()
                logits = self._forward([[token] for token in tokens], state)

    def logits(self, prefix_ids: list[int], own_ids: list[int]) -> torch.Tensor:
        """Logits behind one text, without batching; what any other decoder must agree with."""
        return self._read([prefix_ids + own_ids])[0]

    def all_logits(self, ids: list[int], *, keep: int) -> torch.Tensor:
        """Logits (keep x vocabulary, float32) behind each of the last `keep` tokens of one text."""
        output = self.model(
            input_ids=torch.tensor([ids], device=self.model.device), use_cache=False, logits_to_keep=keep
        )
        logits: torch.Tensor = output.logits[0, -keep:].float()
        return logits

    def forget(self) -> None:
        """Nothing is kept between runs; what torch keeps for itself is given back."""
        give_back_memory()

    def _read(self, prompts: Sequence[list[int]]) -> tuple[torch.Tensor, _State]:
        from transformers import DynamicCache

        width = max(map(len, prompts))
        pad = [width - len(ids) for ids in prompts]
        mask = torch.tensor([[0] * gap + [1] * (width - gap) for gap in pad], device=self.model.device)
        state = _State(DynamicCache(config=self.model.config), mask, (mask.cumsum(dim=1) - 1).clamp(min=0))
        return self._forward([[ids[0]] * gap + ids for gap, ids in zip(pad, prompts, strict=True)], state), state

    def _forward(self, ids: list[list[int]], state: _State) -> torch.Tensor:
        """Logits (rows x vocabulary, float32) behind the last tokens."""
        output = self.model(
            input_ids=torch.tensor(ids, device=self.model.device),
            attention_mask=state.mask,
            position_ids=state.positions,
            **{self.cache_argument: state.cache},
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits
