"""How often two engines of ours write the same, and how fast each is: the embedded model, greedy, float32.

    python tests/perf/agreement.py [--engines transformers,vllm] [--questions 32] [--new 48]

Each engine runs in a process of its own, as in a run of the suite; loading is not counted. Texts are compared with
those of the first engine. Needs an environment that holds all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.embedded import get_embedded
from variantbench.plugins.models.engines import EngineSettings, engine_version, find_engine
from variantbench.prompts.format import load_format

SIZE = 16
# for vLLM on a CPU, where nothing else is said
ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": "0"}


def jobs_of(count: int, new: int) -> list[Job]:
    form = load_format("gsm")
    decoding = replace(form.decoding, max_new_tokens=new)
    return [
        Job(item.id, "m", form.render(item, decoding=decoding)) for item in load_items(variants_per_template=1)[:count]
    ]


def answer(name: str, count: int, new: int) -> dict[str, Any]:
    """Texts by item and seconds, by one engine in this process."""
    settings = EngineSettings(
        name, "smollm2-135m", str(get_embedded("smollm2-135m", say=print)), "cpu", "float32", SIZE
    )
    engine = find_engine(name).load(settings)
    started = time.perf_counter()
    texts = {
        job: done.text
        for some in engine.generate(plan_batches(jobs_of(count, new), size=SIZE))
        for job, done in some.items()
    }
    return {"texts": texts, "seconds": time.perf_counter() - started, "version": engine_version(name)}


def in_its_own_process(name: str, count: int, new: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--only", name, "--questions", str(count), "--new", str(new)]
    done = subprocess.run(command, env={**ENVIRONMENT, **os.environ}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def agreement(engines: list[str], count: int, new: int) -> list[dict[str, Any]]:
    """A row for each engine: questions, rate, and how many texts are those of the first."""
    found = {name: in_its_own_process(name, count, new) for name in engines}
    first = found[engines[0]]["texts"]
    return [
        {
            "engine": answers["version"],
            "questions": len(answers["texts"]),
            "rate": len(answers["texts"]) / answers["seconds"],
            "same": sum(text == first[item] for item, text in answers["texts"].items()),
        }
        for answers in found.values()
    ]


def main() -> None:
    parse = argparse.ArgumentParser()
    parse.add_argument("--engines", default="transformers,vllm")
    parse.add_argument("--questions", type=int, default=32)
    parse.add_argument("--new", type=int, default=48)
    parse.add_argument("--only", help=argparse.SUPPRESS)
    asked = parse.parse_args()
    if asked.only:
        print(json.dumps(answer(asked.only, asked.questions, asked.new)))
        return
    print("| engine | questions | a second | texts as the first's |\n| --- | --- | --- | --- |")
    for row in agreement(asked.engines.split(","), asked.questions, asked.new):
        print(f"| {row['engine']} | {row['questions']} | {row['rate']:.2f} | {row['same']}/{row['questions']} |")


if __name__ == "__main__":
    main()
