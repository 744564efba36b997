"""Before a format is generated: some of its prompts are whole, and decoding with and without prefix reuse agrees.

Texts could differ where two tokens are as good as equally likely, which float32 rarely and bfloat16 sometimes shows. So
the tokens that the shared prefix gave are put to the model once more, whole and unbatched: each must be its likeliest
next token there, up to what the number type can tell apart. A lost question or a shifted position is far beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from variantbench.plugins.datatypes import Decoding, Prompt
from variantbench.plugins.errors import EngineError
from variantbench.plugins.models.decoding import Ending, Row

if TYPE_CHECKING:
    from variantbench.plugins.models.engines.transformers import TransformersEngine

ITEMS, NEW_TOKENS = 8, 12
# On a CPU reading whole prompts is what costs, so no more tokens than these are read for it.
_TOKENS_ON_CPU = 4096
_ADVICE = "please report it, and take another --engine meanwhile"
_END = 40  # characters of a prompt that must be among its tokens


def check_format(engine: TransformersEngine, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding) -> None:
    """EngineError, naming the item, unless a few rows of a format come out as without prefix reuse."""
    chosen = _spread(rows, tokens=_TOKENS_ON_CPU if engine.settings.device == "cpu" else None)
    for row in chosen:
        _check_end(engine.tokenizer, row.job.prompt, prefix_ids + row.own_ids)
    if engine.plain_logits is None:
        return
    greedy = replace(decoding, max_new_tokens=NEW_TOKENS, temperature=0.0, top_p=1.0, stops=())
    copies = [Row(row.job, row.batch, row.prompt_tokens, list(row.own_ids)) for row in chosen]
    for _ in engine.decoder.run(prefix_ids, copies, greedy, Ending(engine.tokenizer, engine.end_ids, greedy)):
        pass
    for row in copies:
        logits = engine.plain_logits(prefix_ids + row.own_ids + row.new_ids, keep=len(row.new_ids) + 1)
        allowed = engine.tolerance * float(logits.abs().max())
        _check_first(row, engine.decoder.logits(prefix_ids, row.own_ids)[0] - logits[0], allowed=allowed)
        _check_tokens(row, logits, allowed=allowed)


def _spread(rows: Sequence[Row], *, tokens: int | None) -> list[Row]:
    """A few rows, evenly spread, the first among them, of no more tokens in all."""
    count = min(ITEMS, len(rows))
    if tokens is not None:
        count = max(1, min(count, tokens // max(row.prompt_tokens for row in rows)))
    return [rows[place * len(rows) // count] for place in range(count)]


def _check_end(tokenizer: Any, prompt: Prompt, ids: list[int]) -> None:
    """The prompt's last words are among its tokens: it was not cut."""
    read = "".join(tokenizer.decode(ids[-2 * _END :]).split())
    end = "".join(prompt.text[-_END:].split())
    if end not in read:
        raise EngineError(
            f"the prompt of {prompt.item_id} in format {prompt.format} is not whole: its end {end!r} is not among its "
            "last tokens; the tokenizer or chat template of this model loses text"
        )


def _check_first(row: Row, difference: Any, *, allowed: float) -> None:
    """The logits behind the prompt agree, not only the likeliest of them."""
    largest = float(difference.abs().max())
    if not largest <= allowed:
        raise EngineError(
            f"prefix reuse changes what the model makes of {row.job.prompt.item_id} in format {row.job.prompt.format}: "
            f"its logits differ by {largest:.3g}, {allowed:.3g} is allowed; {_ADVICE}"
        )


def _check_tokens(row: Row, logits: Any, *, allowed: float) -> None:
    """Each new token is the likeliest where the whole text is read at once; `logits` are tokens x vocabulary."""
    for place, token in enumerate(row.new_ids):
        missing = float(logits[place].max() - logits[place, token])
        if missing > allowed:
            raise EngineError(
                f"prefix reuse changes the answer to {row.job.prompt.item_id} in format {row.job.prompt.format}: token "
                f"{place + 1} is {missing:.3g} less likely (log odds) without it; {_ADVICE}"
            )
