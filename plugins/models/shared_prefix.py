"""Decoding with the shared prefix read once and attended to by all rows without a copy of it (cascade attention).

Keys and values of the prefix are kept once, (kv heads x prefix x head size). Every row has a slot for its own tokens;
attention runs over prefix and own part separately and is merged through the common maximum, which is exact. Slots of
ended rows are filled again at once (continuous batching).

A row's result does not depend on its neighbours: sums over a row's own tokens run over blocks of fixed size, where the
empty ones add nothing (INFERENCE-NOTES.md, section 3, "Numerics").

The model's code stays as it is: the cache is handed in, and attention is replaced through transformers' registry.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from variantbench.plugins.datatypes import Decoding
from variantbench.plugins.models.decoding import Ending, Row, choose, give_back_memory

# Own tokens are summed in blocks of this many, and slots grow by it.
BLOCK = 128
# torch's CPU kernels give one, two or three rows other last bits than four or more, so never fewer are computed.
FEWEST_ROWS = 4
# Attention works on so many scores at once (a long prompt times many rows would not fit the processor's caches).
_SCORES_AT_ONCE, _SCORES_AT_ONCE_ON_GPU = 1 << 20, 1 << 28
# Scores are logarithms to base 2: torch's exp2 is three times as fast on a CPU as its exp.
_LOG2_E = math.log2(math.e)


class Pass:
    """One pass through the model: which slots it computes and where each row's new tokens go.

    `places` are the own places of the new tokens (rows x tokens), counted from 0 behind the prefix.
    """

    def __init__(self, slots: slice, first: Sequence[int], tokens: int, device: torch.device) -> None:
        self.slots = slots
        self.places = torch.tensor(first, device=device)[:, None] + torch.arange(tokens, device=device)
        self.rows = torch.arange(len(first), device=device)[:, None]
        self.last = max(first) + tokens - 1
        self.used = (self.last // BLOCK + 1) * BLOCK
        self._hidden: dict[int | None, torch.Tensor] = {}

    def hidden(self, window: int | None) -> torch.Tensor:
        """Which own places each new token must not see: rows x 1 x 1 x tokens x places."""
        if window not in self._hidden:
            columns = torch.arange(self.used, device=self.places.device)
            hidden = columns > self.places[..., None]
            if window:
                hidden |= columns <= self.places[..., None] - window
            self._hidden[window] = hidden[:, None, None]
        return self._hidden[window]

    def hidden_prefix(self, window: int | None, length: int) -> torch.Tensor | None:
        """Which of the prefix's tokens have left a sliding window, in the same shape; None where all are seen."""
        if not window or self.last + length < window:
            return None
        columns = torch.arange(length, device=self.places.device)
        return (columns <= self.places[..., None] + length - window)[:, None, None]


class SlotCache:
    """Keys and values of all layers: the prefix once, and a slot per row. Stands in for transformers' own cache."""

    is_compileable = False

    def __init__(self, layers: int, *, slots: int) -> None:
        self.slots = slots
        self.prefix: list[tuple[torch.Tensor, torch.Tensor] | None] = [None] * layers
        self.own: list[tuple[torch.Tensor, torch.Tensor] | None] = [None] * layers
        self.now: Pass

    def prefix_length(self) -> int:
        """How many tokens the prefix has."""
        return 0 if self.prefix[0] is None else self.prefix[0][0].shape[1]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new keys and values (rows x kv heads x tokens x size) behind each row's own; returns its slots."""
        now = self.now
        own = self._room(layer, keys, now.used)
        for buffer, new in zip(own, (keys, values), strict=True):
            buffer[now.slots][now.rows, :, now.places] = new.transpose(1, 2)
        return own[0][now.slots, :, : now.used], own[1][now.slots, :, : now.used]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Asked by models that are given no positions; ours always are."""
        del layer_idx
        return 0

    def take_as_prefix(self, length: int) -> None:
        """Make the first tokens of the first slot the prefix of everything that follows."""
        for layer, own in enumerate(self.own):
            assert own is not None  # noqa: S101 - the pass over the prefix has filled every layer
            keys, values = (buffer[0, :, :length].clone() for buffer in own)
            self.prefix[layer] = (keys, values)
        self.own = [None] * len(self.own)

    def move(self, source: int, target: int) -> None:
        """Put the row of one slot into another."""
        for own in self.own:
            if own is not None:
                for buffer in own:
                    buffer[target] = buffer[source]

    def _room(self, layer: int, like: torch.Tensor, capacity: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The layer's buffers, grown to hold that many own tokens."""
        own = self.own[layer]
        if own is None:
            shape = (self.slots, like.shape[1], capacity, like.shape[3])
            own = (like.new_zeros(shape), like.new_zeros(shape))
        elif own[0].shape[2] < capacity:
            more = (*own[0].shape[:2], capacity - own[0].shape[2], own[0].shape[3])
            own = (torch.cat([own[0], like.new_zeros(more)], dim=2), torch.cat([own[1], like.new_zeros(more)], dim=2))
        self.own[layer] = own
        return own


class CascadeAttention:
    """The attention function: what transformers calls in the place of its own. `cache` is the stream's."""

    def __init__(self) -> None:
        self.cache: SlotCache | None = None

    def __call__(
        self,
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        _mask: torch.Tensor | None,
        *,
        scaling: float | None = None,
        softcap: float | None = None,
        sliding_window: int | None = None,
        **_: Any,
    ) -> tuple[torch.Tensor, None]:
        """Attention of queries (rows x heads x tokens x size) to the prefix and to each row's own tokens."""
        assert self.cache is not None  # noqa: S101 - the decoder puts it here before every pass
        now, prefix = self.cache.now, self.cache.prefix[module.layer_idx]
        rows, heads, tokens, size = query.shape
        length = prefix[0].shape[1] if prefix is not None else 0
        hidden, hidden_prefix = now.hidden(sliding_window), now.hidden_prefix(sliding_window, length)
        at_once = max(FEWEST_ROWS, _scores_at_once(query) // (heads * tokens * (now.used + length)))
        at_once = -(-rows // -(-rows // at_once))  # evenly, so that no part is left with a row or two
        parts = []
        for start in range(0, rows, at_once):
            part = slice(start, start + at_once)
            scorer = _Scorer(query[part], key.shape[1], scaling or size**-0.5, softcap)
            own = scorer.own(key[part], hidden[part])
            shared = None
            if prefix is not None:
                shared = scorer.shared(prefix[0], hidden_prefix[part] if hidden_prefix is not None else None)
            parts.append(_merge(own, value[part], shared, prefix[1] if prefix is not None else None))
        return torch.cat(parts).to(query.dtype), None


def _scores_at_once(query: torch.Tensor) -> int:
    return _SCORES_AT_ONCE if query.device.type == "cpu" else _SCORES_AT_ONCE_ON_GPU


class _Scorer:
    """Scores of some rows' queries, to base 2, as rows x kv heads x share x tokens x places.

    `share` heads use one kv head.
    """

    def __init__(self, query: torch.Tensor, kv_heads: int, scaling: float, softcap: float | None) -> None:
        rows, heads, self.tokens, self.size = query.shape
        self.shape = (rows, kv_heads, heads // kv_heads, self.tokens)
        self.grouped = query.reshape(rows, kv_heads, -1, self.size)
        self.scaling, self.softcap = scaling, softcap

    def own(self, key: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Scores of the rows' own places."""
        scores = self._capped(self.grouped @ key.transpose(-1, -2)).view(*self.shape, -1)
        return scores.masked_fill_(hidden, -torch.inf)

    def shared(self, key: torch.Tensor, hidden: torch.Tensor | None) -> torch.Tensor:
        """Scores of the prefix: one matrix product for all rows together."""
        rows, kv_heads, share, tokens = self.shape
        product = self.grouped.transpose(0, 1).reshape(kv_heads, -1, self.size) @ key.transpose(-1, -2)
        scores = self._capped(product).view(kv_heads, rows, share, tokens, -1).transpose(0, 1)
        return scores if hidden is None else scores.masked_fill(hidden, -torch.inf)

    def _capped(self, product: torch.Tensor) -> torch.Tensor:
        if not self.softcap:
            return product.float().mul_(self.scaling * _LOG2_E)
        return product.float().mul_(self.scaling / self.softcap).tanh_().mul_(self.softcap * _LOG2_E)


def _merge(
    own: torch.Tensor, values: torch.Tensor, shared: torch.Tensor | None, shared_values: torch.Tensor | None
) -> torch.Tensor:
    """One softmax over own places and prefix, and the values it weighs: rows x tokens x heads x size."""
    rows, kv_heads, share, tokens, _ = own.shape
    highest = own.amax(dim=-1, keepdim=True)
    if shared is not None:
        highest = torch.maximum(highest, shared.amax(dim=-1, keepdim=True))
    own = own.sub_(highest).exp2_()
    total = _block_sum(own)
    if shared is not None:
        shared = shared.sub_(highest).exp2_()
        total = total + shared.sum(dim=-1, keepdim=True)
        shared /= total
    own /= total  # before the product: float16 would overflow in it
    result = own.to(values.dtype).view(rows, kv_heads, share * tokens, -1) @ values
    if shared is not None and shared_values is not None:
        weights = shared.to(values.dtype).transpose(0, 1).reshape(kv_heads, rows * share * tokens, -1)
        result = result + (weights @ shared_values).view(kv_heads, rows, share * tokens, -1).transpose(0, 1)
    return result.view(rows, kv_heads * share, tokens, -1).transpose(1, 2)


def _block_sum(weights: torch.Tensor) -> torch.Tensor:
    """Sum over the last dimension block by block, so that empty blocks at the end change not even the last bits."""
    blocks = weights.view(*weights.shape[:-1], -1, BLOCK).sum(dim=-1)
    total = blocks[..., :1]
    for block in range(1, blocks.shape[-1]):
        total = total + blocks[..., block : block + 1]
    return total


class SharedPrefixDecoder:
    """Generates a stream of rows that share a prefix, at most `size` at a time."""

    fewest = FEWEST_ROWS

    def __init__(self, model: Any, attention: CascadeAttention, *, cache_argument: str, size: int) -> None:
        self.model, self.attention, self.cache_argument = model, attention, cache_argument
        self.size = max(size, FEWEST_ROWS)
        self.layers = model.config.get_text_config().num_hidden_layers
        self.prefix_ids: list[int] = []

    def run(
        self, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding, ending: Ending
    ) -> Iterator[list[Row]]:
        """The rows as they end, several at a time where several end together."""
        cache = self._cache(prefix_ids)
        waiting, active = deque(rows), list[Row]()
        lengths: list[int] = []  # own tokens in the cache, by slot
        while waiting or active:
            free = self.size - len(active)
            if waiting and (not active or free >= max(1, self.size // 4)):
                new = [waiting.popleft() for _ in range(min(free, len(waiting)))]
                for row in new:
                    row.started = time.perf_counter()
                self._read(cache, new, at=len(active))
                active += new
                lengths += [len(row.own_ids) - 1 for row in new]
            tokens = [row.new_ids[-1] if row.new_ids else row.own_ids[-1] for row in active]
            filling = max(0, FEWEST_ROWS - len(active))
            logits = self._forward(
                cache,
                [[token] for token in tokens] + [[tokens[0]]] * filling,
                lengths + [0] * filling,
                slots=slice(0, len(active) + filling),
            )[: len(active)]
            for row, token in zip(active, choose(logits, active, decoding), strict=True):
                ending.take(row, token)
            lengths = [length + 1 for length in lengths]
            ended = [row for row in active if row.finish is not None]
            self._drop_ended(cache, active, lengths)
            if ended:
                yield ended

    def forget(self) -> None:
        """Drop the cache, prefix included: the next run reads it again."""
        self.attention.cache, self.prefix_ids = None, []
        give_back_memory()

    def logits(self, prefix_ids: list[int], own_ids: list[int]) -> torch.Tensor:
        """Logits behind one text, split into prefix and own part; to be compared with the plain decoder's."""
        cache = self._cache(prefix_ids)
        self._forward(cache, [own_ids[:-1]], [0], slots=slice(0, 1))
        return self._forward(cache, [own_ids[-1:]], [len(own_ids) - 1], slots=slice(0, 1))

    def _cache(self, prefix_ids: list[int]) -> SlotCache:
        """A cache that has read the prefix; the last one is kept, since the streams of a format share it."""
        cache = self.attention.cache
        if cache is None or self.prefix_ids != prefix_ids:
            cache = self.attention.cache = SlotCache(self.layers, slots=1)
            if prefix_ids:
                self._forward(cache, [prefix_ids], [0], slots=slice(0, 1))
                cache.take_as_prefix(len(prefix_ids))
            self.prefix_ids, cache.slots = prefix_ids, max(self.size, FEWEST_ROWS)
        return cache

    def _read(self, cache: SlotCache, rows: Sequence[Row], *, at: int) -> None:
        """Read the rows' own tokens but the last, which the next step feeds. Padded on the right."""
        width = max(len(row.own_ids) - 1 for row in rows)
        if width == 0:
            return
        width = max(width, FEWEST_ROWS)  # matrix products see rows x width
        ids = [row.own_ids[:-1] + [row.own_ids[-1]] * (width - len(row.own_ids) + 1) for row in rows]
        self._forward(cache, ids, [0] * len(rows), slots=slice(at, at + len(rows)))

    def _forward(self, cache: SlotCache, ids: list[list[int]], first: list[int], *, slots: slice) -> torch.Tensor:
        """Logits (rows x vocabulary, float32) behind the last of `ids`, whose keys and values go to the slots."""
        device = self.model.device
        cache.now = Pass(slots, first, len(ids[0]), device)
        output = self.model(
            input_ids=torch.tensor(ids, device=device),
            position_ids=cache.prefix_length() + cache.now.places,
            **{self.cache_argument: cache},
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def _drop_ended(self, cache: SlotCache, active: list[Row], lengths: list[int]) -> None:
        """Close the gaps that ended rows leave: the last row moves in."""
        for slot in range(len(active) - 1, -1, -1):
            if active[slot].finish is not None:
                last = len(active) - 1
                if slot != last:
                    cache.move(last, slot)
                    active[slot], lengths[slot] = active[last], lengths[last]
                active.pop()
                lengths.pop()
