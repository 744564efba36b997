"""What only a GPU can show, in less than 8 minutes: python tests/gpu/check.py [--device cuda] [--tiny]

On a model of gemma-2b's shape with random weights (no download): texts are the same for every number of rows at once
(bfloat16), and as transformers' own `generate` gives them (float32); tokens a second, memory, what the shared prefix
saves; beside vLLM where it is installed. `--tiny --device cpu` tries the script itself. Ends with 1 if texts differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, find_engine
from variantbench.prompts.format import load_format

GEMMA_2B = {
    "hidden_size": 2048,
    "intermediate_size": 16384,
    "num_hidden_layers": 18,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "vocab_size": 256_000,
}
TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "vocab_size": 1_000,
}


def write_model(folder: Path, shape: dict[str, int]) -> None:
    """A model with random weights and a tokenizer of bytes, three to a token where a word begins."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GemmaConfig, GemmaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    config = GemmaConfig(**shape, max_position_embeddings=8192, bos_token_id=2, eos_token_id=1, pad_token_id=0)
    GemmaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    texts = [load_format("gsm").render(item).text for item in load_items(variants_per_template=0)[:40]]
    special = ["<pad>", "<eos>", "<bos>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, initial_alphabet=alphabet)
    inner.train_from_iterator(texts, trainer)
    names = dict(zip(("pad_token", "eos_token", "bos_token"), special, strict=True))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, **names)
    tokenizer.save_pretrained(folder)


def jobs_of(count: int, new: int) -> list[Job]:
    form = load_format("gsm")
    decoding = replace(form.decoding, max_new_tokens=new, stops=())
    items = load_items(variants_per_template=count // 100 + 1)[:count]
    return [Job(item.id, "m", form.render(item, decoding=decoding)) for item in items]


class Checks:
    """What was found so far."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def say(self, what: str, value: str, *, good: bool = True) -> None:
        print(f"{'ok  ' if good else 'BAD '} {what:<58} {value}", flush=True)
        if not good:
            self.failed.append(what)


def load(folder: Path, device: str, dtype: str, slots: int) -> Any:
    return find_engine("transformers").load(EngineSettings("transformers", "m", str(folder), device, dtype, slots))


def generate(engine: Any, jobs: list[Job], slots: int) -> tuple[dict[str, str], int, float]:
    """Texts, new tokens and seconds."""
    started = time.perf_counter()
    texts, tokens = {}, 0
    for part in engine.generate(plan_batches(jobs, size=slots)):
        for job, done in part.items():
            texts[job] = done.text
            tokens += done.new_tokens
    return texts, tokens, time.perf_counter() - started


def same_for_every_batch(checks: Checks, folder: Path, device: str, jobs: list[Job], sizes: list[int]) -> None:
    reference: dict[str, str] = {}
    for slots in sizes:
        engine = load(folder, device, "bfloat16", slots)
        texts, tokens, seconds = generate(engine, jobs, slots)
        equal = sum(texts[job] == reference.get(job, texts[job]) for job in texts)
        reference = reference or texts
        memory = torch.cuda.max_memory_allocated() / 2**30 if device.startswith("cuda") else 0.0
        what = f"bfloat16, {slots} rows at once: as with {sizes[0]}"
        figures = f"{equal}/{len(jobs)}, {tokens / seconds:,.0f} tokens/s, {memory:.1f} GiB"
        checks.say(what, figures, good=equal == len(jobs))
        engine.decoder.forget()
        del engine


def as_generate(checks: Checks, folder: Path, device: str, jobs: list[Job]) -> None:
    engine = load(folder, device, "float32", 16)
    texts, _, seconds = generate(engine, jobs, 16)
    engine.model.set_attn_implementation("sdpa")
    started = time.perf_counter()
    equal = 0
    for job in jobs:
        ids = torch.tensor([engine.encode(job.prompt)], device=device)
        new = job.prompt.decoding.max_new_tokens
        out = engine.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False)
        text = engine.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        equal += text.startswith(texts[job.id]) or texts[job.id].startswith(text)
    ratio = (time.perf_counter() - started) / seconds
    checks.say("float32: as transformers' generate, one by one", f"{equal}/{len(jobs)}, {ratio:.1f} times faster",
               good=equal == len(jobs))  # fmt: skip


def sampled(checks: Checks, folder: Path, device: str, jobs: list[Job]) -> None:
    warm = [
        replace(job, prompt=replace(job.prompt, seed=1, decoding=replace(job.prompt.decoding, temperature=0.7)))
        for job in jobs
    ]
    first, second = (generate(load(folder, device, "bfloat16", slots), warm, slots)[0] for slots in (64, 16))
    equal = sum(first[job] == second[job] for job in first)
    checks.say("sampled: 64 rows at once as 16", f"{equal}/{len(jobs)}", good=equal == len(jobs))


def beside_vllm(checks: Checks, folder: Path, jobs: list[Job]) -> None:
    peers = Path(__file__).parents[1] / "perf" / "peers.py"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({job.id: job.prompt.text for job in jobs}, file)
        file.flush()
        new = str(jobs[0].prompt.decoding.max_new_tokens)
        command = [sys.executable, str(peers), "vllm", str(folder), file.name, "bfloat16", new]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        checks.say("vLLM", "not here" if "No module named 'vllm'" in done.stderr else done.stderr[-300:])
        return
    found = json.loads(done.stdout.splitlines()[-1])
    checks.say("vLLM, bfloat16, prefix caching", f"{found['cpu']:.1f} CPU s for {len(jobs)} questions")


def main() -> int:
    parse = argparse.ArgumentParser()
    parse.add_argument("--device", default="cuda")
    parse.add_argument("--tiny", action="store_true")
    asked = parse.parse_args()
    if asked.device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked")
        return 2
    torch.backends.cuda.matmul.allow_tf32 = False
    checks = Checks()
    started = time.perf_counter()
    count, new = (8, 4) if asked.tiny else (256, 128)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, TINY if asked.tiny else GEMMA_2B)
        jobs = jobs_of(count, new)
        sizes = [4, 8] if asked.tiny else [16, 64, 128, 256]
        same_for_every_batch(checks, folder, asked.device, jobs, sizes)
        as_generate(checks, folder, asked.device, jobs[: 2 if asked.tiny else 16])
        sampled(checks, folder, asked.device, jobs[:64])
        beside_vllm(checks, folder, jobs)
    print(
        f"{time.perf_counter() - started:.0f} s; " + (f"BAD: {', '.join(checks.failed)}" if checks.failed else "good")
    )
    return bool(checks.failed)


if __name__ == "__main__":
    sys.exit(main())
