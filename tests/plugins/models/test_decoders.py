"""The shared-prefix decoder writes what the plain one writes, for every architecture of the registry and any batch."""

from __future__ import annotations

import inspect
import random

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from variantbench.plugins.datatypes import Decoding, FinishReason, Prompt  # noqa: E402
from variantbench.plugins.generation.plan import Job  # noqa: E402
from variantbench.plugins.models.decoding import Ending, Row, choose  # noqa: E402
from variantbench.plugins.models.engines import transformers as engine  # noqa: E402
from variantbench.plugins.models.plain import PlainDecoder  # noqa: E402
from variantbench.plugins.models.shared_prefix import SharedPrefixDecoder  # noqa: E402

VOCABULARY = 97
END = 2
SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": END,
    "pad_token_id": 0,
}
ARCHITECTURES = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "mistral with a window": lambda: transformers.MistralConfig(**SMALL, sliding_window=24),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL),
    "gemma": lambda: transformers.GemmaConfig(**SMALL, head_dim=8),
    "gemma2 with soft caps and windows": lambda: transformers.Gemma2Config(**SMALL, head_dim=8, sliding_window=24),
    "phi": lambda: transformers.PhiConfig(**{**SMALL, "num_key_value_heads": 4}),
    "phi3 with a window": lambda: transformers.Phi3Config(**SMALL, sliding_window=24),
    "stablelm": lambda: transformers.StableLmConfig(**SMALL),
}


class Letters:
    """A tokenizer of one letter per token; token 3 is a line break."""

    def decode(self, ids, *, skip_special_tokens, clean_up_tokenization_spaces):
        assert skip_special_tokens
        assert not clean_up_tokenization_spaces
        return "".join("\n" if i == 3 else chr(65 + i % 26) for i in ids if i > 2)


def tiny_model(config):
    torch.manual_seed(7)
    torch.set_grad_enabled(False)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():  # larger weights make the answers differ from prompt to prompt
        parameter.mul_(3.0)
    return model


def prompts(count: int, seed: int = 1) -> tuple[list[int], list[list[int]]]:
    draw = random.Random(seed)
    prefix = [1] + [draw.randrange(3, VOCABULARY) for _ in range(40)]
    return prefix, [[draw.randrange(3, VOCABULARY) for _ in range(draw.randrange(1, 30))] for _ in range(count)]


def answers(decoder, prefix, own, *, temperature=0.0, stops=(), new=24, seed=3):
    decoding = Decoding(max_new_tokens=new, temperature=temperature, stops=stops)
    ending = Ending(Letters(), frozenset({END}), decoding)
    rows = [
        Row(Job(str(n), "m", Prompt(str(n), "f", "", str(ids), decoding, seed)), "b", len(prefix) + len(ids), ids)
        for n, ids in enumerate(own)
    ]
    ended = [row for several in decoder.run(prefix, rows, decoding, ending) for row in several]
    assert sorted(row.job.id for row in ended) == sorted(row.job.id for row in rows)
    return {row.job.id: (row.new_ids, row.finish) for row in ended}


def decoders(model, size=8):
    model.set_attn_implementation("eager")  # as a fresh model has it
    cascade, _ = engine._decoder(model, size=size)
    assert isinstance(cascade, SharedPrefixDecoder)
    return cascade


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_texts_equal_one_by_one_generation(name):
    prefix, own = prompts(11)
    model = tiny_model(ARCHITECTURES[name]())
    plain = answers(PlainDecoder(model, cache_argument=cache_argument(model), size=1), prefix, own)
    cascade = answers(decoders(model), prefix, own)
    assert cascade == plain
    assert len({tuple(ids) for ids, _ in plain.values()}) > 5, "the answers hardly differ: the test would prove nothing"


def cache_argument(model):
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_does_not_depend_on_its_neighbours(dtype, temperature):
    prefix, own = prompts(23)
    model = tiny_model(ARCHITECTURES["llama"]()).to(dtype)
    results = [answers(decoders(model, size), prefix, own, temperature=temperature) for size in (4, 7, 16, 64)]
    assert all(result == results[0] for result in results[1:])


def test_a_sampled_answer_is_fixed_by_its_seed():
    prefix, own = prompts(6)
    decoder = decoders(tiny_model(ARCHITECTURES["llama"]()))
    once = answers(decoder, prefix, own, temperature=1.0)
    assert answers(decoder, prefix, own, temperature=1.0) == once
    other = answers(decoder, prefix, own, temperature=1.0, seed=4)
    assert all(other[row] != once[row] for row in once)


@pytest.mark.parametrize("top_p", [1.0, 0.7])
def test_tokens_are_drawn_as_often_as_they_are_probable(top_p):
    decoding = Decoding(max_new_tokens=1, temperature=0.5, top_p=top_p)
    logits = torch.tensor([0.3, -torch.inf, 1.0, 0.9, -0.5, -torch.inf])
    rows = [
        Row(Job(str(n), "m", Prompt(str(n), "f", "", "the same text", decoding, n)), "b", 1, [1]) for n in range(20_000)
    ]
    drawn = choose(logits.expand(len(rows), -1), rows, decoding)
    counts = torch.bincount(torch.tensor(drawn), minlength=6) / len(rows)
    expected = (logits / 0.5).softmax(-1)
    if top_p < 1:  # the likeliest makes 0.47 of it, the likeliest two 0.86
        expected = torch.where(expected >= expected[3], expected, 0.0)
        expected /= expected.sum()
    assert torch.equal(counts == 0, expected == 0)
    assert (counts - expected).abs().max() < 4 * (0.25 / len(rows)) ** 0.5


def test_no_prefix_and_one_row():
    model = tiny_model(ARCHITECTURES["llama"]())
    own = [[1, 5, 9]]
    plain = answers(PlainDecoder(model, cache_argument=cache_argument(model), size=1), [], own)
    assert answers(decoders(model), [], own) == plain


def test_the_plain_decoder_agrees_with_generate():
    prefix, own = prompts(5)
    model = tiny_model(ARCHITECTURES["llama"]())
    mine = answers(PlainDecoder(model, cache_argument=cache_argument(model), size=3), prefix, own)
    for n, ids in enumerate(own):
        text = torch.tensor([prefix + ids])
        theirs = model.generate(text, attention_mask=torch.ones_like(text), max_new_tokens=24, do_sample=False)
        new = theirs[0, text.shape[1] :].tolist()
        assert mine[str(n)][0] == [token for token in new if token != END]


def test_a_model_whose_attention_cannot_be_replaced_goes_the_plain_way(capsys):
    model = tiny_model(ARCHITECTURES["llama"]())
    layer = model.model.layers[1].self_attn
    original = layer.forward

    def own_attention(hidden_states, *arguments, **named):
        output, weights = original(hidden_states, *arguments, **named)
        return output + 0.5 * hidden_states.cumsum(dim=1), weights  # looks at the tokens in a way of its own

    layer.forward = own_attention
    decoder, plain_logits = engine._decoder(model, size=4)
    assert isinstance(decoder, PlainDecoder)
    assert plain_logits is None
    assert "generating the plain way" in capsys.readouterr().err


class TestEnding:
    """When an answer ends."""

    def take(self, tokens, *, stops=(), most=50):
        decoding = Decoding(max_new_tokens=most, stops=stops)
        ending = Ending(Letters(), frozenset({END}), decoding)
        row = Row(Job("1", "m", Prompt("1", "f", "", "x", decoding)), "b", 3, [10, 11])
        for token in tokens:
            ending.take(row, token)
            if row.finish is not None:
                break
        return row, ending

    def test_an_end_token_is_not_part_of_the_text(self):
        row, ending = self.take([4, 5, END, 6])
        assert row.finish is FinishReason.END
        assert ending.text(row) == "EF"

    def test_only_an_end_token_is_an_empty_text(self):
        row, ending = self.take([END])
        assert (row.finish, ending.text(row)) == (FinishReason.END, "")

    def test_a_stop_string_ends_it_only_at_a_line_start(self):
        row, ending = self.take([16, 5, 6, 16, 3, 16, 7], stops=("Q",))  # 16 is Q
        assert row.finish is FinishReason.STOP
        assert ending.text(row) == "Q"
        row, ending = self.take([5, 16, 6, 3, 16, 7], stops=("Q",))
        assert ending.text(row) == "FQG\nQ"

    def test_a_stop_string_far_behind_a_line_start_is_found(self):
        row, _ = self.take([5] * 40 + [3, 16], stops=("Q",))
        assert row.finish is FinishReason.STOP

    def test_a_tail_that_begins_inside_a_line_does_not_stop(self):
        row, _ = self.take([5] * 30 + [16] + [5] * 19, stops=("Q",))
        assert row.finish is FinishReason.LENGTH

    def test_the_length_limit(self):
        row, ending = self.take([5] * 60, most=7)
        assert (row.finish, len(ending.text(row))) == (FinishReason.LENGTH, 7)
