"""Questions per CPU second of the embedded model: one by one, in plain batches, with the shared prefix read once.

    OMP_NUM_THREADS=1 python tests/perf/shared_prefix.py [questions] [new tokens] [dtype]

All in one process and one run; ratios are to transformers' own one-by-one `generate`. Texts are compared as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.embedded import get_embedded
from variantbench.plugins.models.engines import EngineSettings, find_engine
from variantbench.plugins.models.plain import PlainDecoder
from variantbench.prompts.format import load_format

COUNT, NEW, DTYPE = (*sys.argv[1:], *("16", "64", "float32")[len(sys.argv) - 1 :])


def main() -> None:
    folder = get_embedded("smollm2-135m", say=print)
    form = load_format("gsm")
    decoding = replace(form.decoding, max_new_tokens=int(NEW))
    items = [item for item in load_items(variants_per_template=1) if not item.is_base][: int(COUNT)]
    jobs = [Job(item.id, "m", form.render(item, decoding=decoding)) for item in items]
    engine = find_engine("transformers").load(EngineSettings("transformers", "m", str(folder), "cpu", DTYPE, 32))
    cascade = engine.decoder
    length = len(engine.encode(jobs[0].prompt))
    print(f"{COUNT} questions of {length} tokens, {NEW} new, {DTYPE}, on {torch.get_num_threads()} threads")

    def stream() -> dict[str, str]:
        plan = plan_batches(jobs, size=32)
        return {job: done.text for some in engine.generate(plan) for job, done in some.items()}

    def shared() -> dict[str, str]:
        engine.decoder = cascade
        engine.model.set_attn_implementation("variantbench_cascade")
        return stream()

    def batched() -> dict[str, str]:
        engine.model.set_attn_implementation("sdpa")
        engine.decoder = PlainDecoder(engine.model, cache_argument=cascade.cache_argument, size=16)
        return stream()

    def one_by_one() -> dict[str, str]:
        engine.model.set_attn_implementation("sdpa")
        texts = {}
        for job in jobs:
            ids = torch.tensor([engine.encode(job.prompt)])
            new = engine.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=int(NEW), do_sample=False,
                stop_strings=["\nQ:"], tokenizer=engine.tokenizer,
            )  # fmt: skip
            texts[job.id] = engine.tokenizer.decode(new[0, ids.shape[1] :], skip_special_tokens=True)
        return texts

    reference, base = timed("one by one, transformers' generate", one_by_one, None, None)
    timed("batches of 16, plain", batched, reference, base)
    timed("shared prefix, slots of 32", shared, reference, base)


def timed(
    name: str, run: Callable[[], dict[str, str]], reference: dict[str, str] | None, base: float | None
) -> tuple[dict[str, str], float]:
    start = time.process_time()
    texts = run()
    rate = len(texts) / (time.process_time() - start)
    equal = f"{sum(texts[job] == reference[job] for job in texts)}/{len(texts)} texts equal" if reference else ""
    print(f"{name:<36} {rate:7.3f} questions/CPU s  x {rate / (base or rate):5.2f}  {equal}", flush=True)
    return texts, rate


if __name__ == "__main__":
    main()
