"""Replicas over a cluster of two nodes: the same answers as without, all of them, once each, whatever dies.

The short form has 60 prompts, VARIANTBENCH_SLOW=1 gives the long one of 400.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from dataclasses import replace

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'variantbench[ray]'")

from variantbench.plugins.datatypes import Decoding, Prompt
from variantbench.plugins.errors import EngineError, UserError
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, find_engine
from variantbench.plugins.models.engines import ray as ray_engine

# Ray leaves sockets and files of its own open, and warns of its own future
pytestmark = pytest.mark.filterwarnings("ignore")

COUNT = 400 if os.environ.get("VARIANTBENCH_SLOW") == "1" else 60
SIZE = 8
PREFIX = "Question and answer. " * 12


def jobs(count=COUNT, new=64):
    """Greedy and sampled answers in turn."""
    warm = [Decoding(new, stops=("Q:",)), Decoding(new, temperature=0.8, top_p=0.9, stops=("Q:",))]
    prompts = [
        Prompt(f"item-{n}", "f", PREFIX, f"What is {n} + {7 * n % 31}?" + " Well?" * (n % 5), warm[n // 30 % 2], seed=n)
        for n in range(count)
    ]
    return [Job(prompt.item_id, "tiny", prompt) for prompt in prompts]


def settings(folder, **changes):
    return replace(EngineSettings("ray", "tiny", str(folder), "cpu", "float32", SIZE), **changes)


@pytest.fixture(scope="session")
def alone(tiny_model):
    """What one process answers."""
    engine = find_engine("transformers").load(settings(tiny_model, engine="transformers"))
    return {job: done for part in engine.generate(plan_batches(jobs(), size=SIZE)) for job, done in part.items()}


def texts(completions):
    return {job: (done.text, done.finish_reason, done.new_tokens) for job, done in completions.items()}


def test_two_replicas_on_two_nodes_answer_as_one_process(two_nodes, tiny_model, alone):
    engine = ray_engine.load(settings(tiny_model, ray_address=two_nodes.address))
    found = [pair for part in engine.generate(plan_batches(jobs(), size=SIZE)) for pair in part.items()]
    assert len(found) == COUNT
    assert texts(dict(found)) == texts(alone)
    assert len({text for text, *_ in texts(alone).values()}) > COUNT / 2  # they could have differed
    assert {seat.answers > 0 for seat in engine.seats} == {True}  # both had a part
    assert len({seat.pid for seat in engine.seats}) == engine.describe()["replicas"] == 2


def test_an_actor_and_a_node_die_and_every_prompt_is_answered_once(two_mortal_nodes, tiny_model, alone):
    engine = ray_engine.load(settings(tiny_model, ray_address=two_mortal_nodes.address))
    found, killed = [], []
    for part in engine.generate(plan_batches(jobs(), size=SIZE)):
        found += part.items()
        if not killed and len(found) > COUNT / 8:
            killed.append("actor")
            os.kill(next(task.seat.pid for task in engine.running.values() if task.batches), signal.SIGKILL)
        elif killed == ["actor"] and len(found) > COUNT / 2:
            killed.append("node")
            (second,) = [node for node in two_mortal_nodes.worker_nodes if node is not two_mortal_nodes.head_node]
            two_mortal_nodes.remove_node(second, allow_graceful=False)
    assert killed == ["actor", "node"]
    assert len(found) == COUNT
    assert texts(dict(found)) == texts(alone)
    deaths = [line for line in engine.take_news() if "died" in line]
    print(f"\n{COUNT} prompts, {len(found)} answers, all as one process gives them; news:", *deaths, sep="\n  ")
    assert deaths


def test_a_replica_whose_process_was_killed_comes_back(two_nodes, tiny_model, alone):
    engine = ray_engine.load(settings(tiny_model, ray_address=two_nodes.address, arguments={"replicas": 1}))
    found, pids = {}, [engine.seats[0].pid]
    for part in engine.generate(plan_batches(jobs(40), size=SIZE)):
        found |= part
        if len(pids) < 3 and len(found) >= 12 * len(pids):
            pids.append(engine.seats[0].pid)
            os.kill(pids[-1], signal.SIGKILL)
    assert texts(found) == {job: done for job, done in texts(alone).items() if job in found}
    assert len(found) == 40
    assert len({*pids, engine.seats[0].pid}) == 3


def test_more_replicas_than_fit_are_refused_in_one_line(two_nodes, tiny_model):
    wanted = settings(tiny_model, ray_address=two_nodes.address, arguments={"replicas": 3})
    with pytest.raises(EngineError, match=r"replicas=3: the cluster has room for 2 with 1 CPU each; add nodes"):
        ray_engine.load(wanted)


def test_a_replica_with_other_files_is_refused(two_nodes, tiny_model, monkeypatch):
    monkeypatch.setattr(ray_engine, "fingerprint", lambda folder: "other weights")
    with pytest.raises(EngineError, match="has other files of tiny than this machine"):
        ray_engine.load(settings(tiny_model, ray_address=two_nodes.address))


def records(pytester):
    with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
        return connection.execute("select case_id, robust_verdict from records order by case_id").fetchall()


def test_a_whole_run_with_a_batch_that_kills(suite, script, pytester):
    options = script(default="The final answer is 10.", die_on="2.1?")
    options += ["--engine=ray", "--engine-arg=engine=scripted", "--engine-arg=replicas=2", "--batch-size=1"]
    result = suite(*options, "-k", "simple_nl")
    verdicts = dict(records(pytester))
    assert len(verdicts) == 6
    (killer,) = [case for case, verdict in verdicts.items() if verdict == "error"]
    assert "0002-v1" in killer
    result.stdout.re_match_lines([r".*set aside: 3 replicas died of the batch of 0002-v1: .*"])
    assert result.ret == 10  # ours, and resumable: no wrong answer
    again = suite(*options, "-k", "simple_nl and not 0002-v1")
    again.stdout.fnmatch_lines(["*5 of them are in the store already, 0 to generate*"])


def test_its_answers_are_those_of_the_replicas_engine_in_the_store(suite, script):
    options = script(default="The final answer is 10.")
    assert suite(*options).ret == 0
    result = suite(*options, "--engine=ray", "--engine-arg=engine=scripted")
    result.stdout.fnmatch_lines(["*12 of them are in the store already, 0 to generate*"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine-arg=engine=openai"], "*engine=openai: --engine ray can hold replicas of transformers, vllm, scri*"),
        (["--engine-arg=replicas=0"], "*replicas=0: a whole number of at least 1 is needed*"),
        (["--engine-arg=tensor_parallel_size=0"], "*tensor_parallel_size=0: a whole number of at least 1 is needed*"),
        (["--engine-arg=tensor_parallel_size=two"], "*tensor_parallel_size=two: a whole number of at least 1 is*"),
        (["--engine-arg=speed=9"], "*--engine-arg speed is not for transformers*"),
        (["--device=cuda:1"], "*--device 'cuda:1' does not go with an engine that chooses devices*"),
        (["--engine=transformers", "--ray-address=auto"], "*--ray-address auto does not go with --engine tr*"),
    ],
)
def test_nonsense_is_one_line(suite, options, words):
    result = suite("--engine=ray", "--model=smollm2-135m", *options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([words])


def test_a_cluster_that_is_not_there_is_one_line(suite, script):
    options = [*script(default="1"), "--engine=ray", "--engine-arg=engine=scripted", "--ray-address=127.0.0.1:9"]
    result = suite(*options)
    assert result.ret == 10
    assert re.search(r"stopped: --ray-address 127\.0\.0\.1:9: no Ray there", result.stdout.str())


def test_the_largest_model_goes_first():
    from variantbench.plugins.options import RunConfig
    from variantbench.plugins.run import check

    run, specs = check(RunConfig(models=("gemma-2b", "gemma-7b"), engine="ray"))
    assert run.models == tuple(spec.name for spec in specs) == ("gemma-7b", "gemma-2b")


def test_an_error_of_the_replicas_engine_stops_the_run(two_nodes, tmp_path):
    wanted = settings(tmp_path, ray_address=two_nodes.address)
    with pytest.raises(EngineError, match="model tiny does not load"):
        ray_engine.load(wanted)
    with pytest.raises(UserError, match="engine=x"):
        ray_engine.answered_by({"engine": "x"})
