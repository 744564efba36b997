"""The same answers whatever is changed that should change nothing: rows at once, ``-n``, an interrupted run.

A few short questions always; with VARIANTBENCH_SLOW=1 eight-shot prompts, as many as the promise names (an hour).
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from variantbench.benchmarks import gsm, logic
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, find_engine
from variantbench.plugins.models.tokens import token_ids
from variantbench.prompts.format import load_format

SLOW = os.environ.get("VARIANTBENCH_SLOW") == "1"
SIZES = (1, 16, 64, 128) if SLOW else (1, 3, 8)

FORMAT = "gsm" if SLOW else "zero_shot"

QUESTIONS = """
import pytest
from variantbench.benchmarks import gsm, logic


def some(run):
    return {items}


@pytest.mark.questions(items=some, formats=("{format}",))
def test_some(answer):
    assert answer.is_correct
"""


def jobs_of(count: int, new: int) -> list[Job]:
    """Greedy prompts."""
    form = load_format(FORMAT)
    decoding = replace(form.decoding, max_new_tokens=new, temperature=0.0)
    items = gsm.load_items(variants_per_template=3) if SLOW else logic.load_items()
    return [Job(item.id, "m", form.render(item, decoding=decoding, chat=not SLOW)) for item in items[:count]]


def texts(folder: Path, jobs: list[Job], *, dtype: str, size: int) -> dict[str, str]:
    engine = find_engine("transformers").load(EngineSettings("transformers", "m", str(folder), "cpu", dtype, size))
    plan = plan_batches(jobs, size=size)
    return {job: done.text for some in engine.generate(plan) for job, done in some.items()}


def test_bfloat16_texts_do_not_depend_on_the_rows_at_once(smollm2):
    jobs = jobs_of(*((128, 128) if SLOW else (8, 16)))
    first, *others = (texts(smollm2, jobs, dtype="bfloat16", size=size) for size in SIZES)
    assert len(first) == len(jobs)
    assert all(first.values())
    for other in others:
        assert other == first


def test_float32_texts_are_those_of_one_by_one_generation(smollm2):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    jobs = jobs_of(*((256, 128) if SLOW else (4, 16)))
    ours = texts(smollm2, jobs, dtype="float32", size=SIZES[-1])
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    model = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()
    stops = [f"\n{stop}" for stop in jobs[0].prompt.decoding.stops]
    different = []
    for job in jobs:
        ids = {"input_ids": torch.tensor([token_ids(tokenizer, job.prompt)])}
        new = job.prompt.decoding.max_new_tokens
        out = model.generate(
            **ids, max_new_tokens=new, do_sample=False, stop_strings=stops or None, tokenizer=tokenizer
        )
        text = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        if text != ours[job.id]:
            different.append((job.id, text, ours[job.id]))
    assert not different


def run(folder: Path, name: str, *options: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--no-html-report"]
    model = ["--model=smollm2-135m", "--device=cpu", "--dtype=bfloat16", f"--max-new-tokens={64 if SLOW else 12}"]
    model.append(f"--chat-template={'none' if SLOW else 'model'}")
    model += ["--limit=truncated=100%", "--limit=empty=100%"]  # so few tokens cut most answers off
    return [*command, *model, f"--store={folder / name}.db", *options]


def stored(folder: Path, name: str) -> dict[str, str]:
    """The texts of a store, by case."""
    query = "select case_id, text from records join completions on key = completion_key"
    with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
        return dict(connection.execute(query).fetchall())


def kept(folder: Path, name: str) -> int:
    try:
        with closing(sqlite3.connect(f"file:{folder / name}.db?mode=ro", uri=True)) as connection:
            return int(connection.execute("select count(*) from completions").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_workers_and_a_resume_change_no_text(smollm2, tmp_path):
    del smollm2
    count = 48 if SLOW else 8
    items = f"{'gsm.load_items(variants_per_template=1)' if SLOW else 'logic.load_items()'}[:{count}]"
    (tmp_path / "test_some.py").write_text(QUESTIONS.format(items=items, format=FORMAT))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, options in {
        "n0": ["-n0", "--batch-size=8"],
        "n1": ["-n1", "--batch-size=3"],
        "n4": ["-n4", "--batch-size=16"],
    }.items():
        subprocess.run(run(tmp_path, name, *options), cwd=tmp_path, check=True, capture_output=True)
    wanted = random.randrange(1, count - 1)
    resumed = run(tmp_path, "resumed", "--batch-size=2")
    process = subprocess.Popen(resumed, cwd=tmp_path, stdout=subprocess.DEVNULL)
    while kept(tmp_path, "resumed") < wanted and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert 0 < kept(tmp_path, "resumed") < count, "it was to be killed in the middle"
    done = subprocess.run(
        run(tmp_path, "resumed", "-n2", "--batch-size=8"), cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "are in the store already" in done.stdout
    first = stored(tmp_path, "n0")
    assert len(first) == count
    assert all(first.values())
    for name in ("n1", "n4", "resumed"):
        assert stored(tmp_path, name) == first
