"""Hugging Face transformers, on a GPU if there is one, else on the CPU.

The tokens that the prompts of a format share are read once and attended to by all rows (see
plugins/models/shared_prefix.py).
Where a model's code does not go through transformers' attention registry, the plain path takes over, with a
notice.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt
from variantbench.plugins.errors import EngineError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.canary import check_format
from variantbench.plugins.models.decoding import Ending, Row
from variantbench.plugins.models.device import QUANTISED
from variantbench.plugins.models.engines import EngineSettings
from variantbench.plugins.models.tokens import token_ids

REQUIRES = ("torch", "transformers")
EXTRA = "transformers"
REVISION = "2"  # part of the completions' key: raise it when answers may change

# Name under which our attention stands in transformers' registry.
_ATTENTION = "variantbench_cascade"

_ADVICE_MEMORY = "take a smaller --max-new-tokens, --dtype bfloat16 or int8, or a larger device"
_ADVICE = "check the folder (config.json, *.safetensors and the tokenizer's files belong there), --dtype and --device"


class Decoder(Protocol):
    """A decoding loop for `size` rows at once, of which it computes `fewest` even for less."""

    size: int
    fewest: int

    def forget(self) -> None:
        """Give back the memory that it keeps between runs."""

    def logits(self, prefix_ids: list[int], own_ids: list[int]) -> Any:
        """Logits (1 x vocabulary) behind one text."""

    def run(
        self, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding, ending: Ending
    ) -> Iterator[list[Row]]:
        """The rows as they end."""


def load(settings: EngineSettings) -> TransformersEngine:
    """Load weights and tokenizer; EngineError says what is missing and how to get it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_grad_enabled(False)
    options: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
    try:
        tokenizer = AutoTokenizer.from_pretrained(settings.source, **options)
        model = AutoModelForCausalLM.from_pretrained(
            settings.source, use_safetensors=True, **_number_type(settings), **options
        )
        if settings.dtype not in QUANTISED:
            model = model.to(settings.device)
        return TransformersEngine(settings, model.eval(), tokenizer)
    except Exception as error:  # a folder may hold anything, and any code may run while it loads
        raise EngineError(f"model {settings.model} does not load: {_first_line(error)}; {_ADVICE}") from error


def _number_type(settings: EngineSettings) -> dict[str, Any]:
    """The options that say how weights are held: as a number type, or in 8 or 4 bits with bfloat16 arithmetic."""
    import torch

    if settings.dtype not in QUANTISED:
        return {"dtype": getattr(torch, settings.dtype)}
    from transformers import BitsAndBytesConfig

    eight = settings.dtype == "int8"
    bits = BitsAndBytesConfig(load_in_8bit=eight, load_in_4bit=not eight, bnb_4bit_compute_dtype=torch.bfloat16)
    return {"dtype": torch.bfloat16, "quantization_config": bits, "device_map": {"": settings.device}}


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


class PlainLogits(Protocol):
    """Logits (tokens x vocabulary, float32) behind the last `keep` tokens of one text, read whole."""

    def __call__(self, ids: list[int], *, keep: int) -> Any:
        """Read the text."""


class TransformersEngine:
    """A causal language model, its tokenizer and the loop that decodes with it."""

    def __init__(self, settings: EngineSettings, model: Any, tokenizer: Any) -> None:
        self.settings, self.model, self.tokenizer = settings, model, tokenizer
        self.context = settings.context or _context_length(model.config)
        self.end_ids = _end_ids(model, tokenizer)
        self.adds_bos = _adds_bos(tokenizer)
        self.decoder, self.plain_logits = _decoder(model, size=settings.batch_size)
        self.tolerance = _tolerance(model)
        self._checked: set[tuple[str, bool]] = set()  # formats that the canary has looked at

    def describe(self) -> dict[str, Any]:
        """What was loaded, for the run's manifest."""
        template = self.tokenizer.chat_template
        return {
            "architecture": (self.model.config.architectures or ["unknown"])[0],
            "context": self.context,
            "end_tokens": self.tokenizer.convert_ids_to_tokens(sorted(self.end_ids)),
            "bos": self.tokenizer.bos_token if self.adds_bos else None,
            "chat_template": template if isinstance(template, str) else None,
            "decoder": type(self.decoder).__name__,
        }

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """Completions by job id, as they come. Prompts that share prefix and decoding flow through one stream."""
        jobs = ((batch.id, job) for batch in batches for job in batch.jobs)
        for (_, chat, decoding), group in itertools.groupby(jobs, key=lambda pair: _stream_of(pair[1].prompt)):
            del chat
            yield from self._stream(list(group), decoding)

    def encode(self, prompt: Prompt) -> list[int]:
        """The prompt's tokens, with exactly one BOS where the tokenizer uses one."""
        ids = token_ids(self.tokenizer, prompt)
        bos = self.tokenizer.bos_token_id
        if self.adds_bos and (ids[:1] != [bos] or ids[1:2] == [bos]):
            raise EngineError(
                f"the prompt of {prompt.item_id} does not start with exactly one BOS: token ids {ids[:3]}"
            )
        return ids

    def _stream(self, jobs: Sequence[tuple[str, Job]], decoding: Decoding) -> Iterator[dict[str, Completion]]:
        ending = Ending(self.tokenizer, self.end_ids, decoding)
        prefix_ids, rows = self._rows(jobs)
        # a prompt that leaves no room for the longest answer is never cut: it gets no answer, with the reason
        too_long = [row for row in rows if row.prompt_tokens + decoding.max_new_tokens > self.context]
        for row in too_long:
            row.finish = FinishReason.PROMPT_TOO_LONG
        if too_long:
            yield {row.job.id: self._completion(row, ending) for row in too_long}
        fitting = [row for row in rows if row.finish is None]
        if not fitting:
            return
        prompt = jobs[0][1].prompt
        if (prompt.prefix, prompt.chat) not in self._checked:
            self._check(prefix_ids, fitting, decoding)
            self._checked.add((prompt.prefix, prompt.chat))
        for ended in self._decode(prefix_ids, fitting, decoding, ending):
            yield {row.job.id: self._completion(row, ending) for row in ended}

    def _check(self, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding) -> None:
        """The canary; where memory runs out, with half as many rows at once."""
        while True:
            try:
                check_format(self, prefix_ids, rows, decoding)
                return
            except RuntimeError as error:
                self._raise_unless_memory(error)
            self._take_fewer()

    def _decode(
        self, prefix_ids: list[int], rows: Sequence[Row], decoding: Decoding, ending: Ending
    ) -> Iterator[list[Row]]:
        """The rows as they end; where memory runs out, half as many at once, which changes no answer."""
        owed = {row.job.id: row for row in rows}
        while owed:
            try:
                for ended in self.decoder.run(prefix_ids, list(owed.values()), decoding, ending):
                    for row in ended:
                        del owed[row.job.id]
                    yield ended
                return
            except RuntimeError as error:
                self._raise_unless_memory(error)
            self._take_fewer()
            for row in owed.values():
                row.restart()

    def _raise_unless_memory(self, error: RuntimeError) -> None:
        """Raise the error unless it is one of memory and fewer rows at once can be had."""
        if not _is_out_of_memory(error):
            raise error
        if self.decoder.size <= self.decoder.fewest:
            raise EngineError(
                f"model {self.settings.model} runs out of memory with {self.decoder.size} prompts at once, the fewest "
                f"there can be: {_ADVICE_MEMORY}"
            ) from error

    def _take_fewer(self) -> None:
        """Half as many rows at once from now on. Called behind the handler: the error holds its frames' tensors."""
        self.decoder.forget()
        self.decoder.size = max(self.decoder.fewest, self.decoder.size // 2)
        print(f"out of memory: going on with {self.decoder.size} prompts at once", file=sys.stderr)  # noqa: T201

    def _rows(self, jobs: Sequence[tuple[str, Job]]) -> tuple[list[int], list[Row]]:
        """The tokens that all prompts share with the format's prefix, and a row with the rest for each prompt."""
        prefix_ids = self.encode(replace(jobs[0][1].prompt, suffix=""))
        encoded = [self.encode(job.prompt) for _, job in jobs]
        # every row keeps a token of its own, so that there is something to feed
        shared = min(_common_length(prefix_ids, ids[:-1]) for ids in encoded)
        rows = [
            Row(job, batch, len(ids), own_ids=ids[shared:]) for (batch, job), ids in zip(jobs, encoded, strict=True)
        ]
        return prefix_ids[:shared], rows

    def _completion(self, row: Row, ending: Ending) -> Completion:
        assert row.finish is not None  # noqa: S101 - only ended rows get here
        return Completion(
            text=ending.text(row),
            finish_reason=row.finish,
            prompt_tokens=row.prompt_tokens,
            new_tokens=len(row.new_ids),
            engine=self.settings.engine,
            batch=row.batch,
            seconds=time.perf_counter() - row.started,
        )


def _is_out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _decoder(model: Any, *, size: int) -> tuple[Decoder, PlainLogits | None]:
    """The shared-prefix decoder, with the plain way to logits beside it, if the model's attention can be replaced.

    Else the plain decoder, with nothing to be compared.
    """
    from transformers import AttentionInterface

    from variantbench.plugins.models.plain import PlainDecoder
    from variantbench.plugins.models.shared_prefix import CascadeAttention, SharedPrefixDecoder

    # transformers 5.24 renamed the argument
    arguments = inspect.signature(model.forward).parameters
    cache_argument = "cache" if "cache" in arguments else "past_key_values"
    plain = PlainDecoder(model, cache_argument=cache_argument, size=size)
    own = model.config._attn_implementation
    attention = CascadeAttention()
    AttentionInterface.register(_ATTENTION, attention)
    cascade = SharedPrefixDecoder(model, attention, cache_argument=cache_argument, size=size)
    probe = list(range(5, 5 + 24))  # any tokens will do
    expected = plain.logits([], probe)
    try:
        model.set_attn_implementation(_ATTENTION)
        difference = float((cascade.logits(probe[:16], probe[16:]) - expected).abs().max() / expected.abs().max())
        cause = f"its logits differ by {difference:.2g} of the largest"
    except Exception as error:
        difference, cause = 1.0, f"{type(error).__name__}: {error}"
    if difference < _tolerance(model):

        def plain_logits(ids: list[int], *, keep: int) -> Any:
            model.set_attn_implementation(own)
            try:
                return plain.all_logits(ids, keep=keep)
            finally:
                model.set_attn_implementation(_ATTENTION)

        return cascade, plain_logits
    model.set_attn_implementation(own)
    print(f"shared-prefix attention does not fit this model ({cause}): generating the plain way", file=sys.stderr)  # noqa: T201
    return plain, None


def _tolerance(model: Any) -> float:
    import torch

    return 1e-3 if model.dtype == torch.float32 else 0.1


def _stream_of(prompt: Prompt) -> tuple[str, bool, Decoding]:
    return prompt.prefix, prompt.chat, prompt.decoding


def _common_length(a: Sequence[int], b: Sequence[int]) -> int:
    for length, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return length
    return min(len(a), len(b))


def _context_length(config: Any) -> int:
    text_config = config.get_text_config()
    return int(getattr(text_config, "max_position_embeddings", None) or 1 << 30)


def _adds_bos(tokenizer: Any) -> bool:
    return tokenizer.bos_token_id is not None and tokenizer.encode("x")[:1] == [tokenizer.bos_token_id]


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The model's own end tokens: of its generation config, its config and its tokenizer."""
    found: set[int] = set()
    for ids in (model.generation_config.eos_token_id, model.config.eos_token_id, tokenizer.eos_token_id):
        if ids is not None:
            found.update([ids] if isinstance(ids, int) else ids)
    return frozenset(found)
