"""docs/ci: script and workflow do what they say, on the embedded model and a broken copy of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the recipe is tried on a real model: pip install 'variantbench[transformers]'")
yaml = pytest.importorskip("yaml", reason="PyYAML reads the workflow")

RECIPE = Path(__file__).parents[2] / "docs" / "ci"
OPTIONS = "--prompts gsm -k easy --variants-per-template 2 --max-new-tokens 96 --device cpu -n 2"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> tuple[Path, Path]:
    """The embedded model, and the same with noise in the weights of one layer."""
    import torch
    from safetensors.torch import load_file, save_file

    from variantbench.plugins.models.embedded import get_embedded

    whole = get_embedded("smollm2-135m", say=print)
    broken = tmp_path_factory.mktemp("checkpoints") / "broken"
    shutil.copytree(whole, broken)
    (file,) = broken.glob("*.safetensors")
    weights = load_file(file)
    generator = torch.Generator().manual_seed(0)
    for name, value in weights.items():
        if ".layers.10." in f".{name}" and "proj" in name:
            weights[name] = value + 0.5 * value.std() * torch.randn(value.shape, generator=generator)
    save_file(weights, file, metadata={"format": "pt"})
    return whole, broken


def steps() -> dict[str, str]:
    workflow = yaml.safe_load((RECIPE / "github-actions.yml").read_text())
    return {step["name"]: step["run"] for step in workflow["jobs"]["compare"]["steps"] if "run" in step}


@pytest.mark.parametrize(("store", "given"), [("postgresql://a b", ["--store", "postgresql://a b"]), ("", [])])
def test_every_step_reads_the_same_store(store, given, tmp_path):
    shutil.copytree(RECIPE, tmp_path / "docs" / "ci")
    for name in ("python", "variantbench"):  # each notes what it is called with, an argument a line
        (tmp_path / name).write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@" >> "$CALLS"\n')
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "CALLS": str(tmp_path / "calls"),
        "STORE": store,
        "CHECKPOINT": "model",
        "OPTIONS": "-n 2",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for name in ("compare", "summary"):
        subprocess.run(["bash", "-ec", steps()[name]], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "calls").read_text().splitlines() == [
        *("python", "-m", "pytest", "--pyargs", "variantbench.benchmarks", "--model=model", *given, "-q", "-n", "2"),
        *("variantbench", "runs", "export", *given, "--output", "baseline.jsonl.gz"),
        *("variantbench", "report", *given),
    ]


def test_a_worse_checkpoint_is_found_and_the_same_one_is_not(checkpoints, tmp_path):
    shutil.copytree(RECIPE, tmp_path / "docs" / "ci")
    whole, broken = checkpoints
    tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OPTIONS": OPTIONS}

    def step(name: str, checkpoint: Path) -> subprocess.CompletedProcess[str]:
        summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "CHECKPOINT": str(checkpoint)}
        environment = {**os.environ, **tools, **summary}
        return subprocess.run(
            ["bash", "-ec", steps()[name]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    first = step("compare", whole)
    assert first.returncode == 0, first.stdout + first.stderr
    assert (tmp_path / "baseline.jsonl.gz").exists()
    same = step("compare", whole)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "verdict: PASS" in same.stdout
    worse = step("compare", broken)
    assert worse.returncode == 11, worse.stdout + worse.stderr
    assert "verdict: REGRESSION" in worse.stdout
    assert step("summary", broken).returncode == 0
    assert "easy" in (tmp_path / "summary.md").read_text()
