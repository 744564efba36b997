"""The batch plan and the keys of completions."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from variantbench.plugins.datatypes import Decoding, Prompt
from variantbench.plugins.generation.key import completion_key
from variantbench.plugins.generation.plan import Job, from_wire, plan_batches, to_wire

GREEDY = Decoding(16, stops=("Q:",))
SETTINGS = {"engine": "e 1", "device": "cpu", "dtype": "float32"}
PROMPT = Prompt("0001-base", "gsm", "shots\n", "Q: How many?", GREEDY)


def job(number: int, text: str, *, prefix: str = "shots", decoding: Decoding = GREEDY, model: str = "m") -> Job:
    return Job(f"node-{number}", model, Prompt(str(number), "gsm", prefix, text, decoding))


jobs = st.lists(
    st.builds(
        lambda text, prefix, temperature: (text, prefix, Decoding(16, temperature)),
        st.text(max_size=30),
        st.sampled_from(["one", "two"]),
        st.sampled_from([0.0, 0.7]),
    ),
    max_size=60,
).map(lambda values: [job(n, text, prefix=prefix, decoding=d) for n, (text, prefix, d) in enumerate(values)])


@given(jobs, st.integers(1, 9))
def test_every_job_is_planned_once_in_batches_of_one_kind(selected, size):
    batches = plan_batches(selected, size=size)
    assert sorted(j.id for b in batches for j in b.jobs) == sorted(j.id for j in selected)
    for batch in batches:
        assert 1 <= len(batch.jobs) <= size
        assert len({(j.prompt.prefix, j.prompt.decoding) for j in batch.jobs}) == 1


@given(jobs, st.integers(1, 9))
def test_the_same_selection_gives_the_same_plan(selected, size):
    assert plan_batches(selected, size=size) == plan_batches(list(selected), size=size)


def test_the_first_cases_come_in_the_first_batches():
    selected = [job(n, "x" * (1 + 7 * n % 50)) for n in range(1000)]
    first = [j.id for b in plan_batches(selected, size=10)[:4] for j in b.jobs]
    assert set(first) == {f"node-{n}" for n in range(40)}


@given(jobs)
def test_jobs_survive_the_wire(selected):
    assert from_wire(json.loads(json.dumps(to_wire(selected)))) == selected


def test_a_shared_prefix_goes_over_the_wire_once():
    wire = json.dumps(to_wire([job(n, "short", prefix="p" * 5000) for n in range(1000)]))
    assert wire.count("p" * 5000) == 1


def key(prompt: Prompt = PROMPT, identity: str = "weights", **settings: str) -> str:
    return completion_key(prompt, model_identity=identity, settings={**SETTINGS, **settings})


def test_the_key_changes_with_everything_that_can_change_an_answer():
    changed = [
        key(identity="other weights"),
        key(engine="e 2"),
        key(dtype="bfloat16"),
        key(device="cuda"),
        key(replace(PROMPT, suffix="Q: How much?")),
        key(replace(PROMPT, chat=True)),
        key(replace(PROMPT, decoding=replace(GREEDY, max_new_tokens=17))),
        key(replace(PROMPT, decoding=replace(GREEDY, stops=()))),
        key(replace(PROMPT, decoding=replace(GREEDY, temperature=0.5))),
    ]
    assert len({key(), *changed}) == 1 + len(changed)


def test_the_seed_counts_only_where_it_is_used():
    assert key(replace(PROMPT, seed=2)) == key(replace(PROMPT, seed=1))
    sampled = replace(PROMPT, decoding=replace(GREEDY, temperature=0.7))
    assert key(replace(sampled, seed=2)) != key(replace(sampled, seed=1))


def test_names_do_not_count():
    assert key(replace(PROMPT, item_id="another", format="renamed")) == key()
