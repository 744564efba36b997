"""A cluster of two nodes on this machine, and a small model with random weights."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a two-layer model whose tokens are bytes; its answers differ from prompt to prompt."""
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("models") / "tiny"
    letters = ["<pad>", "<eos>", "<bos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names).save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(letters),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    model.save_pretrained(folder)
    return folder


def start_two_nodes():
    pytest.importorskip("ray", reason="needs ray: pip install 'variantbench[ray]'")
    # no report to Ray's makers; and what Ray will do by default one day, of which it warns until then
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    return cluster


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[Any]:
    """A head and a second node, each with one CPU; for tests that leave both alive."""
    cluster = start_two_nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture
def two_nodes(running_cluster: Any) -> Iterator[Any]:
    """The running cluster, and nobody else on it."""
    yield running_cluster
    import ray

    ray.shutdown()


@pytest.fixture
def two_mortal_nodes() -> Iterator[Any]:
    """A cluster of its own for a test that kills."""
    import ray

    cluster = start_two_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()
