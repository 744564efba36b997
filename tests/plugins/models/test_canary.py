"""The canary: what would make answers wrong without a sound stops the run, naming the item. And memory running out."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from dataclasses import replace

import torch

from variantbench.benchmarks.gsm import load_easy_items
from variantbench.benchmarks.logic import load_items
from variantbench.plugins.datatypes import FinishReason
from variantbench.plugins.errors import EngineError
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models import shared_prefix
from variantbench.plugins.models.engines import EngineSettings, find_engine, transformers
from variantbench.prompts.format import load_format


@pytest.fixture(params=["float32", "bfloat16"])
def engine(request, smollm2):
    return find_engine("transformers").load(EngineSettings("transformers", "m", str(smollm2), "cpu", request.param, 8))


def jobs(count=9, *, new=6):
    form = load_format("zero_shot")
    decoding = replace(form.decoding, max_new_tokens=new, temperature=0.0)
    return [Job(item.id, "m", form.render(item, decoding=decoding)) for item in load_items()[:count]]


def texts(engine, some):
    return {job: done.text for part in engine.generate(plan_batches(some, size=8)) for job, done in part.items()}


def test_a_sound_engine_passes_and_each_format_is_looked_at_once(engine, monkeypatch):
    looked = []
    check = transformers.check_format
    monkeypatch.setattr(transformers, "check_format", lambda *given: looked.append(given[1]) or check(*given))
    assert len(texts(engine, jobs())) == 9
    texts(engine, jobs(3))
    assert len(looked) == 1


def test_shifted_positions_are_found(engine, monkeypatch):
    length = shared_prefix.SlotCache.prefix_length
    by = 7 if engine.settings.dtype == "float32" else 300  # bfloat16 tells less apart
    monkeypatch.setattr(shared_prefix.SlotCache, "prefix_length", lambda cache: length(cache) and length(cache) + by)
    item = load_easy_items(variants_per_template=0)[0]
    form = load_format("gsm")
    job = Job("1", "m", form.render(item, decoding=replace(form.decoding, max_new_tokens=6)))
    words = f"prefix reuse changes what the model makes of {item.id} in format gsm: its logits"
    with pytest.raises(EngineError, match=words):
        texts(engine, [job])


def test_a_lost_question_is_found(engine, monkeypatch):
    tokens = transformers.token_ids
    monkeypatch.setattr(transformers, "token_ids", lambda tokenizer, prompt: tokens(tokenizer, prompt)[:-12])
    with pytest.raises(EngineError, match=r"the prompt of \S+ in format zero_shot is not whole"):
        texts(engine, jobs())


def test_where_memory_runs_out_half_as_many_go_on_with_the_same_answers(engine, monkeypatch, capsys):
    expected = texts(engine, jobs(12))
    run = type(engine.decoder).run

    def short_of_memory(decoder, *given):
        for count, ended in enumerate(run(decoder, *given)):
            if decoder.size > 4 and count == 1:
                raise torch.OutOfMemoryError("CUDA out of memory")
            yield ended

    monkeypatch.setattr(type(engine.decoder), "run", short_of_memory)
    assert texts(engine, jobs(12)) == expected
    assert engine.decoder.size == 4
    assert "out of memory: going on with 4 prompts at once" in capsys.readouterr().err


def test_the_canary_goes_on_with_fewer_too(engine, monkeypatch, capsys):
    expected = texts(engine, jobs(8))
    engine._checked.clear()
    run, full = type(engine.decoder).run, [True]

    def short_of_memory(decoder, *given):
        if full.pop() if full else False:
            raise torch.OutOfMemoryError("CUDA out of memory")
        yield from run(decoder, *given)

    monkeypatch.setattr(type(engine.decoder), "run", short_of_memory)
    assert texts(engine, jobs(8)) == expected
    assert engine._checked
    assert capsys.readouterr().err.count("going on with 4 prompts at once") == 1


def test_not_even_the_fewest_prompts_fit(engine, monkeypatch):
    def no_memory(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")
        yield

    engine._checked.add((jobs(1)[0].prompt.prefix, False))
    monkeypatch.setattr(type(engine.decoder), "run", no_memory)
    with pytest.raises(EngineError, match="with 4 prompts at once, the fewest there can be: take a smaller --max-new"):
        texts(engine, jobs(2))


def test_other_errors_are_not_taken_for_memory(engine, monkeypatch):
    def broken(*_):
        raise RuntimeError("shapes do not match")
        yield

    engine._checked.add((jobs(1)[0].prompt.prefix, False))
    monkeypatch.setattr(type(engine.decoder), "run", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        texts(engine, jobs(2))


def test_a_prompt_at_the_limit_of_the_context_gets_no_answer(engine):
    engine.context = max(len(engine.encode(job.prompt)) for job in jobs()) + 5
    found = {job: done for part in engine.generate(plan_batches(jobs(), size=8)) for job, done in part.items()}
    long = [done for done in found.values() if done.finish_reason is FinishReason.PROMPT_TOO_LONG]
    assert 0 < len(long) < len(found)
    assert all(done.text == "" for done in long)
