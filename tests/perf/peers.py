"""One way to answer a file of prompts: tests/perf/engines.py runs it in an interpreter that has it. None of ours here.

    PYTHON tests/perf/peers.py WAY FOLDER PROMPTS.json DTYPE NEW_TOKENS

Prints a line of JSON: texts by id, CPU seconds of generating (loading left out), peak memory in MB.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

STOP = "\nQ:"  # a line that begins like the next question

Answer = Callable[[dict[str, str]], dict[str, str]]


def one_by_one(folder: str, dtype: str, new: int) -> Answer:
    """transformers' generate, a prompt at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()

    def answer(prompts: dict[str, str]) -> dict[str, str]:
        texts = {}
        for key, text in prompts.items():
            ids = tokenizer(text, return_tensors="pt")
            out = model.generate(
                **ids, max_new_tokens=new, do_sample=False, stop_strings=[STOP], tokenizer=tokenizer, pad_token_id=0
            )
            texts[key] = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        return texts

    return answer


def continuous_batching(folder: str, dtype: str, new: int) -> Answer:
    """transformers' own continuous batching (no stop strings there: it goes on to the length limit)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    settings = GenerationConfig(
        max_new_tokens=new, do_sample=False, eos_token_id=tokenizer.eos_token_id, pad_token_id=0
    )

    def answer(prompts: dict[str, str]) -> dict[str, str]:
        ids = [tokenizer(text)["input_ids"] for text in prompts.values()]
        out = model.generate_batch(inputs=ids, generation_config=settings)
        done = sorted(out.values(), key=lambda one: int(str(one.request_id).rsplit("_", 1)[-1]))
        texts = [tokenizer.decode(one.generated_tokens, skip_special_tokens=True) for one in done]
        return dict(zip(prompts, texts, strict=True))

    return answer


def lm_eval(folder: str, dtype: str, new: int) -> Answer:
    """lm-evaluation-harness, Hugging Face backend, batches of 16."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=folder, dtype=dtype, device="cpu", batch_size=16)

    def answer(prompts: dict[str, str]) -> dict[str, str]:
        how = {"until": [STOP], "max_gen_toks": new, "do_sample": False}
        asked = [Instance("generate_until", {}, (text, how), n) for n, text in enumerate(prompts.values())]
        return dict(zip(prompts, model.generate_until(asked), strict=True))

    return answer


def vllm(folder: str, dtype: str, new: int) -> Answer:
    """vLLM with automatic prefix caching, in this process."""
    from vllm import LLM, SamplingParams

    model = LLM(model=folder, dtype=dtype, enable_prefix_caching=True, max_num_seqs=128, max_model_len=2048, seed=0)
    how = SamplingParams(temperature=0.0, max_tokens=new, stop=[STOP])

    def answer(prompts: dict[str, str]) -> dict[str, str]:
        out = model.generate(list(prompts.values()), how, use_tqdm=False)
        return dict(zip(prompts, (one.outputs[0].text for one in out), strict=True))

    return answer


WAYS = {"one_by_one": one_by_one, "continuous_batching": continuous_batching, "lm_eval": lm_eval, "vllm": vllm}


def peak_memory() -> float:
    """The most memory of this process, in MB. `getrusage` would count that of the process that started it."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    way, folder, file, dtype, new = sys.argv[1:]
    with open(file, encoding="utf-8") as opened:
        prompts = json.load(opened)
    answer = WAYS[way](folder, dtype, int(new))
    started = time.process_time()
    texts = answer(prompts)
    cpu = time.process_time() - started
    print("\n" + json.dumps({"texts": texts, "cpu": cpu, "memory": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
