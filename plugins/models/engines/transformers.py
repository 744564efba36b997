"""Hugging Face transformers: batched generation with our own decoding loop, on a GPU if there is one, else on the CPU.

The tokens that all prompts of a batch share are read once and their cache is copied to every row. Rows that have ended
leave the batch. A sampled answer draws from a generator of its own, so it does not depend on its batch.
"""

from __future__ import annotations

import copy
import inspect
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason, Prompt, text_hash
from variantbench.plugins.errors import EngineError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.engines import EngineSettings

if TYPE_CHECKING:
    import torch

REQUIRES = ("torch", "transformers")
EXTRA = "transformers"
REVISION = "1"  # part of the completions' key: raise it when answers may change

# Fewer shared tokens than this are not worth a pass of their own.
_SHORTEST_PREFIX = 32
# In float32 torch's CPU kernels give one or two rows other last bits than four or more: batches never shrink below.
_FEWEST_ROWS = 4
# So many tokens at the end of an answer are decoded after each step to look for a stop string.
_TAIL = 16


def load(settings: EngineSettings) -> TransformersEngine:
    """Load weights and tokenizer; EngineError says what is missing and how to get it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_grad_enabled(False)
    options: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
    if settings.revision:
        options["revision"] = settings.revision
    try:
        tokenizer = AutoTokenizer.from_pretrained(settings.source, **options)
        model = AutoModelForCausalLM.from_pretrained(
            settings.source, dtype=getattr(torch, settings.dtype), use_safetensors=True, **options
        )
        model = model.to(settings.device).eval()
    except (OSError, ValueError, RuntimeError, ImportError, AssertionError) as error:
        raise EngineError(f"model {settings.model} does not load: {_first_line(error)}; {_advice(settings)}") from error
    return TransformersEngine(settings, model, tokenizer)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def _advice(settings: EngineSettings) -> str:
    if "/" in settings.source and not settings.source.startswith("/"):
        return (
            "if it is gated, accept its licence on the hub and run `hf auth login`; offline, only models in the local "
            "hub cache or given by --model=PATH can be used"
        )
    return "check the folder (config.json, *.safetensors and the tokenizer's files belong there), --dtype and --device"


@dataclass(slots=True)
class _Row:
    """One answer being generated. `finish` is None while it runs; rows that only fill a batch are born finished."""

    job: Job
    prompt_ids: list[int]
    generator: torch.Generator | None = None
    new_ids: list[int] = field(default_factory=list)
    finish: FinishReason | None = None


@dataclass(slots=True)
class _State:
    """What the model has read so far: its cache, the attention mask (rows x tokens) and the last positions (rows x 1)."""

    cache: Any
    mask: torch.Tensor
    positions: torch.Tensor

    def keep(self, index: torch.Tensor) -> None:
        """Drop all rows but those at `index`."""
        self.cache.batch_select_indices(index)
        self.mask, self.positions = self.mask[index], self.positions[index]

    def advance(self) -> None:
        """Make room for one more token in every row."""
        import torch

        self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=1)
        self.positions = self.positions[:, -1:] + 1


class TransformersEngine:
    """A causal language model and its tokenizer."""

    def __init__(self, settings: EngineSettings, model: Any, tokenizer: Any) -> None:
        self.settings, self.model, self.tokenizer = settings, model, tokenizer
        self.device = model.device
        self.context = settings.context or _context_length(model.config)
        self.end_ids = _end_ids(model, tokenizer)
        self.adds_bos = _adds_bos(tokenizer)
        # transformers 5.24 renamed the argument
        arguments = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in arguments else "past_key_values"
        self._prefix: tuple[list[int], Any] | None = None

    def describe(self) -> dict[str, Any]:
        """What was loaded, for the run's manifest."""
        template = self.tokenizer.chat_template
        return {
            "architecture": (self.model.config.architectures or ["unknown"])[0],
            "revision": getattr(self.model.config, "_commit_hash", None) or self.settings.revision,
            "context": self.context,
            "end_tokens": self.tokenizer.convert_ids_to_tokens(sorted(self.end_ids)),
            "bos": self.tokenizer.bos_token if self.adds_bos else None,
            "chat_template": template if isinstance(template, str) else None,
        }

    def generate(self, batches: Iterable[Batch]) -> Iterator[tuple[str, Completion]]:
        """(job id, completion) for every job, batch by batch. A prompt that leaves no room for an answer is not cut."""
        for batch in batches:
            start = time.perf_counter()
            decoding = batch.jobs[0].prompt.decoding
            rows = [self._row(job) for job in batch.jobs]
            if running := [row for row in rows if row.finish is None]:
                self._run(running, decoding)
            seconds = (time.perf_counter() - start) / len(rows)
            for row in rows:
                yield row.job.id, self._completion(row, batch=batch.id, seconds=seconds)

    def encode(self, prompt: Prompt) -> list[int]:
        """The prompt's tokens, with exactly one BOS where the tokenizer uses one."""
        text = prompt.text
        if prompt.chat:
            text = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
            )
        ids = list(self.tokenizer.encode(text, add_special_tokens=not prompt.chat))
        bos = self.tokenizer.bos_token_id
        if self.adds_bos and (ids[:1] != [bos] or ids[1:2] == [bos]):
            raise EngineError(f"the prompt of {prompt.item_id} does not start with exactly one BOS: token ids {ids[:3]}")
        return ids

    def _row(self, job: Job) -> _Row:
        row = _Row(job, self.encode(job.prompt))
        if len(row.prompt_ids) + job.prompt.decoding.max_new_tokens > self.context:
            row.finish = FinishReason.PROMPT_TOO_LONG
        elif job.prompt.decoding.temperature > 0:
            import torch

            row.generator = torch.Generator().manual_seed(_sampling_seed(job.prompt))
        return row

    def _run(self, rows: list[_Row], decoding: Decoding) -> None:
        """Generate until every row has ended."""
        import torch

        stops = [re.compile(rf"(?:^|\n){re.escape(stop)}") for stop in decoding.stops]
        filling = [_Row(rows[0].job, rows[0].prompt_ids, finish=FinishReason.END)] * (_FEWEST_ROWS - len(rows))
        active = rows + filling
        state, logits = self._read_prompts(active)
        for _ in range(decoding.max_new_tokens):
            tokens = _choose(logits, active, decoding)
            for row, token in zip(active, tokens, strict=True):
                if row.finish is None:
                    self._take(row, token, stops)
            kept = _rows_to_keep(active)
            if not kept:
                return
            if len(kept) < len(active):
                state.keep(torch.tensor(kept, device=self.device))
                active, tokens = [active[i] for i in kept], [tokens[i] for i in kept]
            state.advance()
            logits = self._forward(torch.tensor(tokens, device=self.device)[:, None], state)
        for row in rows:
            row.finish = row.finish or FinishReason.LENGTH

    def _take(self, row: _Row, token: int, stops: Sequence[re.Pattern[str]]) -> None:
        """Give the row its next token, and end it if that is an end token or completes a stop string at a line start."""
        if token in self.end_ids:
            row.finish = FinishReason.END
            return
        row.new_ids.append(token)
        if stops and any(stop.search(self._decode(row, last=_TAIL)) for stop in stops):
            # the tail may begin inside a line, so ask the whole text before believing it
            if any(stop.search(self._decode(row)) for stop in stops):
                row.finish = FinishReason.STOP

    def _decode(self, row: _Row, *, last: int | None = None) -> str:
        """The text of the row's answer, untouched; `last` limits it to that many tokens.

        Decoded behind the prompt's last tokens, since some tokenizers drop the blank before a text's first word.
        """
        known = (row.prompt_ids + row.new_ids[:-last])[-4:] if last else row.prompt_ids[-4:]
        new = row.new_ids[-last:] if last else row.new_ids
        before, whole = (
            self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            for ids in (known, known + new)
        )
        return str(whole[len(before) :])

    def _read_prompts(self, rows: list[_Row]) -> tuple[_State, torch.Tensor]:
        """Read all prompts: the shared tokens once, then every row's own, padded on the left."""
        import torch

        shared = self._shared_tokens(rows)
        cache = self._prefix_cache(rows[0].prompt_ids[:shared])
        if shared:
            cache.batch_repeat_interleave(len(rows))
        own = [row.prompt_ids[shared:] for row in rows]
        width = max(map(len, own))
        pad = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else next(iter(self.end_ids))
        ids = torch.tensor([[pad] * (width - len(o)) + o for o in own], device=self.device)
        mask = torch.tensor([[1] * shared + [0] * (width - len(o)) + [1] * len(o) for o in own], device=self.device)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, shared:]
        state = _State(cache, mask, positions)
        return state, self._forward(ids, state)

    def _shared_tokens(self, rows: Sequence[_Row]) -> int:
        """How many leading tokens all rows share with the format's prefix; every row keeps one of its own at least."""
        prefix = self.encode(replace(rows[0].job.prompt, suffix=""))
        shared = min(_common_length(prefix, row.prompt_ids[:-1]) for row in rows)
        return shared if shared >= _SHORTEST_PREFIX else 0

    def _prefix_cache(self, ids: list[int]) -> Any:
        """A fresh cache that has read `ids`; the last one is remembered, since batches of a format share it."""
        import torch
        from transformers import DynamicCache

        if not ids:
            return DynamicCache()
        if self._prefix is None or self._prefix[0] != ids:
            cache = DynamicCache()
            row = torch.tensor([ids], device=self.device)
            state = _State(cache, torch.ones_like(row), torch.arange(len(ids), device=self.device)[None])
            self._forward(row, state)
            self._prefix = (ids, cache)
        return copy.deepcopy(self._prefix[1])

    def _forward(self, ids: torch.Tensor, state: _State) -> torch.Tensor:
        """Logits (rows x vocabulary) of the next token, in float32."""
        output = self.model(
            input_ids=ids,
            attention_mask=state.mask,
            position_ids=state.positions,
            **{self._cache_argument: state.cache},
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def _completion(self, row: _Row, *, batch: str, seconds: float) -> Completion:
        assert row.finish is not None  # noqa: S101 - _run ends every row
        return Completion(
            text=self._decode(row),
            finish_reason=row.finish,
            prompt_tokens=len(row.prompt_ids),
            new_tokens=len(row.new_ids),
            engine=self.settings.engine,
            batch=batch,
            seconds=seconds,
        )


def _choose(logits: torch.Tensor, rows: Sequence[_Row], decoding: Decoding) -> list[int]:
    """The next token of every row: the likeliest, or drawn from the row's own generator."""
    if decoding.temperature == 0:
        return [int(token) for token in logits.argmax(dim=-1)]
    probabilities = (logits / decoding.temperature).softmax(dim=-1).cpu()
    return [_draw(row_probabilities, row, decoding.top_p) for row_probabilities, row in zip(probabilities, rows, strict=True)]


def _draw(probabilities: torch.Tensor, row: _Row, top_p: float) -> int:
    if row.finish is not None:
        return 0
    if top_p < 1:
        ordered, index = probabilities.sort(descending=True)
        probabilities = probabilities.clone()
        probabilities[index[ordered.cumsum(0) - ordered >= top_p]] = 0
    return int(probabilities.multinomial(1, generator=row.generator))


def _rows_to_keep(rows: Sequence[_Row]) -> list[int]:
    """The rows to go on with: all while more than half of them run, else those that run and a few to fill the batch."""
    running = [i for i, row in enumerate(rows) if row.finish is None]
    if not running:
        return []
    ended = [i for i, row in enumerate(rows) if row.finish is not None]
    kept = sorted(running + ended[: max(0, _FEWEST_ROWS - len(running))])
    return kept if len(kept) <= len(rows) // 2 else list(range(len(rows)))


def _common_length(a: Sequence[int], b: Sequence[int]) -> int:
    for length, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return length
    return min(len(a), len(b))


def _sampling_seed(prompt: Prompt) -> int:
    return int(text_hash(f"{prompt.seed}\n{prompt.text}")[:15], 16)


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
