"""The variantbench command, as a user types it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from variantbench.plugins import inspection
from variantbench.plugins.store import schema


def variantbench(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "variantbench.plugins.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_models_lists_the_registry():
    done = variantbench("models")
    assert done.returncode == 0
    assert any(line.startswith("gemma-2b ") and "google/gemma-2b" in line for line in done.stdout.splitlines())
    assert any(line.startswith("smollm2-135m ") and "no hub" in line for line in done.stdout.splitlines())


def test_a_download_for_a_prompt_is_said(monkeypatch, tmp_path):
    heard = []
    monkeypatch.setattr(inspection, "model_folder", lambda spec, _, say: say(f"{spec.hub}: downloading") or tmp_path)
    inspection.prompt_of("gsm", "0001-base", model="someone/their-model", say=heard.append)
    assert heard == ["someone/their-model: downloading"]


def test_prompts_list_names_every_format():
    done = variantbench("prompts", "list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "cot_after", "cot_before", "few_shot", "gsm", "simple_code", "simple_nl", "structured_code", "structured_nl",
        "zero_shot",
    ]  # fmt: skip


def test_prompts_show_prints_the_exact_text():
    done = variantbench("prompts", "show", "gsm", "0001-base")
    assert done.stdout.endswith("\nA: Let's think step by step. ")
    assert done.stdout.startswith("As an expert problem solver")
    assert variantbench("prompts", "show", "zero_shot", "Q3-017").stdout.endswith(" Answer with yes or no only.")
    assert variantbench("prompts", "show", "few_shot", "Q1-001").stdout.count("Answer with yes or no only.\n") == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prompts", "show", "gms", "0001-base"], "variantbench: no prompt format 'gms': choose from"),
        (["prompts", "show", "gsm", "9999-base"], "variantbench: no GSM item '9999-base': ids are like"),
        (["runs", "--store", "none.db"], "variantbench: no store at"),
        (["report", "--store", "none.db"], "variantbench: no store at"),
        (["models", "get", "gemma-2b"], "variantbench: no embedded model 'gemma-2b': choose from smollm2-135m"),
        (["generate", "--templates", "none", "-o", "x.jsonl"], "variantbench: none: no such file or folder"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, message):
    done = variantbench(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_runs_and_report_show_what_was_run(suite, script, pytester):
    suite(*script(default="The final answer is 10."))
    listed = variantbench("runs", cwd=pytester.path).stdout.splitlines()
    assert len(listed) == 1
    assert "complete" in listed[0]
    assert "12 answers  answers.json" in listed[0]
    shown = variantbench("report", listed[0][:11], cwd=pytester.path).stdout
    assert "gsm       gsm               base             1/2" in shown


def test_version_names_whatever_can_change_a_result():
    lines = variantbench("--version").stdout.splitlines()
    assert lines[0].startswith("variantbench 0.")
    for subject in ("engine transformers ", "engine openai", "sandbox runner ", "grader "):
        assert any(line.startswith(subject) for line in lines), subject
    assert lines[-1] == f"store schema {schema.CURRENT}"
