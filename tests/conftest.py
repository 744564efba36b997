"""Fixtures for all tests: reference data and services where they are at hand; a scripted model, ways to run it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from variantbench.plugins.errors import UserError
from variantbench.plugins.models.embedded import get_embedded

# a time limit on single examples would fail on a busy machine, and says nothing about the code
settings.register_profile("variantbench", deadline=None)
settings.load_profile("variantbench")

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def needs() -> Callable[[bool, str], None]:
    """Skips with the reason where something is absent; fails where CI has promised that it is there."""

    def check(condition: bool, reason: str) -> None:
        if condition:
            return
        if os.environ.get("VARIANTBENCH_REQUIRE_SERVICES") == "1":
            pytest.fail(f"{reason}, but VARIANTBENCH_REQUIRE_SERVICES=1 promises it")
        pytest.skip(reason)

    return check


@pytest.fixture
def shared() -> Path:
    """The folder of shared reference data, beside the checkout; the test skips without it."""
    if not SHARED.is_dir():
        pytest.skip(f"no shared reference data at {SHARED}")
    return SHARED


# Every test of the plugin runs in each of these ways.
MODES = {"plain": [], "two workers": ["-n2"], "without xdist": ["-p", "no:xdist"]}

BENCHMARK = '''
import pytest
from variantbench.plugins.datatypes import Item


def few_items(run):
    """Two templates with a base question and variants; the answer to item n of template t is 10 t + n."""
    return [
        Item(f"{t:04}-{'base' if n == 0 else f'v{n}'}", "gsm", f"{t:04}", f"Question {t}.{n}?", str(10 * t + n), n)
        for t in (1, 2)
        for n in range(1 + run.variants_per_template)
    ]


@pytest.mark.questions(items=few_items, formats=("gsm", "simple_nl"))
def test_few(answer):
    assert answer.is_correct
'''


@pytest.fixture(params=MODES.values(), ids=MODES.keys())
def mode(request: pytest.FixtureRequest) -> list[str]:
    """The options of one way to run."""
    return request.param


@pytest.fixture
def benchmark_text() -> str:
    """The text of the small benchmark."""
    return BENCHMARK


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes a scripted model and returns the options that use it."""

    def write(**content: Any) -> list[str]:
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(content))
        return ["--engine=scripted", f"--model={path}"]

    return write


@pytest.fixture
def suite(pytester: pytest.Pytester, benchmark_text: str) -> Callable[..., pytest.RunResult]:
    """Runs the small benchmark in a pytest of its own, with a store in that folder."""
    pytester.makepyfile(test_few=benchmark_text)

    def run(*arguments: str, html: bool = False) -> pytest.RunResult:
        options = ["-p", "no:cacheprovider", "--variants-per-template=2", *([] if html else ["--no-html-report"])]
        return pytester.runpytest_subprocess(*options, *arguments)

    return run


@pytest.fixture(scope="session")
def smollm2(needs) -> Path:
    """The folder of smollm2-135m, downloaded on first use."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    try:
        return get_embedded("smollm2-135m", say=lambda line: None)
    except UserError as error:
        needs(False, f"the embedded model cannot be had: {error}")
        raise


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model of its own kind."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def make_tiny_model(folder: Path, *, context: int = 1024) -> Path:
    """Makes in `folder` a two-layer model whose tokens are bytes; its answers differ from prompt to prompt."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

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
        max_position_embeddings=context,
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
