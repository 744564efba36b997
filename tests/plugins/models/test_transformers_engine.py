"""The transformers engine with the embedded model: real weights, real tokenizer."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from variantbench.benchmarks.gsm import load_easy_items
from variantbench.benchmarks.logic import load_items
from variantbench.plugins.datatypes import FinishReason
from variantbench.plugins.errors import EngineError
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, find_engine
from variantbench.prompts.format import load_format


def settings(folder, **changes):
    plain = EngineSettings("transformers", "smollm2-135m", str(folder), "cpu", "float32", 8)
    return replace(plain, **changes)


@pytest.fixture(scope="session")
def engine(smollm2):
    return find_engine("transformers").load(settings(smollm2))


def jobs_of(items, name, *, new=24, chat=False, temperature=0.0):
    form = load_format(name)
    decoding = replace(form.decoding, max_new_tokens=new, temperature=temperature)
    return [Job(item.id, "m", form.render(item, decoding=decoding, chat=chat)) for item in items]


def generate(engine, jobs, *, size=8):
    return {job: text for some in engine.generate(plan_batches(jobs, size=size)) for job, text in some.items()}


def test_greedy_texts_equal_transformers_own_generate(engine, smollm2):
    import torch
    from transformers import AutoModelForCausalLM

    jobs = jobs_of(load_easy_items(variants_per_template=0)[:5], "gsm")
    ours = generate(engine, jobs)
    reference = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    for job in jobs:
        ids = torch.tensor([engine.encode(job.prompt)])
        new = reference.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False)
        text = engine.tokenizer.decode(new[0, ids.shape[1] :], skip_special_tokens=True)
        assert text.startswith(ours[job.id].text)
        assert ours[job.id].text


def test_chat_prompts_go_through_the_template_with_one_bos(engine):
    job = jobs_of(load_items()[:1], "zero_shot", chat=True)[0]
    ids = engine.encode(job.prompt)
    text = engine.tokenizer.decode(ids)
    assert text.startswith("<|im_start|>system\n")
    assert text.endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert job.prompt.text in text
    assert ids[:2].count(engine.tokenizer.bos_token_id) == 1


def test_a_doubled_bos_is_refused(engine, monkeypatch):
    job = jobs_of(load_items()[:1], "zero_shot")[0]
    bos = engine.tokenizer.bos_token_id
    monkeypatch.setattr(engine, "adds_bos", True)
    monkeypatch.setattr(engine.tokenizer, "encode", lambda text, add_special_tokens: [bos, bos, 5])
    with pytest.raises(EngineError, match="does not start with exactly one BOS"):
        engine.encode(job.prompt)


def test_a_prompt_that_does_not_fit_is_not_cut(engine, monkeypatch):
    items = load_easy_items(variants_per_template=0)[:3]
    jobs = jobs_of(items, "gsm", new=8)
    lengths = [len(engine.encode(job.prompt)) for job in jobs]
    monkeypatch.setattr(engine, "context", sorted(lengths)[1] + 8)
    answers = generate(engine, jobs)
    for job, length in zip(jobs, lengths, strict=True):
        fits = length <= sorted(lengths)[1]
        assert (answers[job.id].finish_reason is FinishReason.PROMPT_TOO_LONG) != fits
        assert (answers[job.id].new_tokens > 0) == fits


def test_it_says_what_was_loaded(engine):
    described = engine.describe()
    assert described["architecture"] == "LlamaForCausalLM"
    assert described["end_tokens"] == ["<|im_end|>"]
    assert described["decoder"] == "SharedPrefixDecoder"
    assert "im_start" in described["chat_template"]
    json.dumps(described)


def test_a_folder_without_weights_says_so(smollm2, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(smollm2 / name, tmp_path)
    with pytest.raises(EngineError, match=r"model smollm2-135m does not load: .*; check the folder") as caught:
        find_engine("transformers").load(settings(tmp_path))
    assert "\n" not in str(caught.value)


def test_pickled_weights_are_not_loaded(smollm2, tmp_path):
    import torch

    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(smollm2 / name, tmp_path)
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(EngineError, match="does not load"):
        find_engine("transformers").load(settings(tmp_path))
