"""tests/gpu/check.py: on the GPU where there is one; its own working on the CPU always."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")
CHECK = Path(__file__).with_name("check.py")


def check(*options):
    return subprocess.run([sys.executable, str(CHECK), *options], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_the_gpu():
    done = check("--device", "cuda")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_itself_on_a_tiny_model():
    done = check("--device", "cpu", "--tiny")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BAD" not in done.stdout
    assert done.stdout.count("ok  ") == 5
