"""`--engine openai` against a real server: `transformers serve` with a small model, and faults in front of it."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

pytest.importorskip("openai", reason="needs the openai package")
pytest.importorskip("torch", reason="needs torch")

from tests.plugins.models.faulty import FAULTS, FaultyServer, proxy_of
from variantbench.plugins.datatypes import Decoding, FinishReason, Prompt
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, find_engine, openai
from variantbench.plugins.store import open_store
from variantbench.plugins.store.check import check

COUNT = 200 if os.environ.get("VARIANTBENCH_SLOW") == "1" else 40
SERVE = "transformers.cli.serve"
STARTS_IN = 120  # seconds, on a busy machine


@pytest.fixture(scope="module")
def served(tiny_model, tmp_path_factory):
    """The address of a running `transformers serve`, without /v1."""
    missing = [name for name in ("fastapi", "uvicorn", "transformers") if importlib.util.find_spec(name) is None]
    if missing or importlib.util.find_spec(SERVE) is None:
        pytest.skip(f"no `transformers serve`: {' and '.join(missing) or SERVE} not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(tiny_model)]
    with (tmp_path_factory.mktemp("serve") / "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(url, process, log):
    end = time.monotonic() + STARTS_IN
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    log.seek(0)
    pytest.fail(f"`transformers serve` does not answer: {log.read()[-2000:]}")


@pytest.fixture
def proxy(served):
    """A server in front that does wrong for every third request."""
    running = FaultyServer(proxy_of(served))
    running.faults, running.share = FAULTS, 0.33
    yield running
    running.shutdown()
    running.server_close()


def jobs(*, chat=False):
    prompts = [
        Prompt(f"item-{n}", "f", "Question and answer. ", f"What is {n} + {7 * n % 31}?", Decoding(16), chat=chat)
        for n in range(COUNT)
    ]
    return [Job(prompt.item_id, "tiny", prompt) for prompt in prompts]


def engine(url, folder, *, sampling=None):
    settings = EngineSettings(
        "openai", "tiny", str(folder), "server", "server", 8, base_url=url, arguments=sampling or {}
    )
    return openai.OpenAIEngine(settings, openai.client_of(url), sleep=lambda _: None)


def texts(asked):
    found = [pair for part in asked.generate(plan_batches(jobs(), size=8)) for pair in part.items()]
    assert len(found) == COUNT
    return {job: (done.text, done.finish_reason) for job, done in found}


@pytest.fixture(scope="module")
def direct(served, tiny_model):
    return texts(engine(f"{served}/v1", tiny_model))


def test_the_server_says_what_it_holds_and_takes(served, tiny_model):
    assert openai.identify(f"{served}/v1", str(tiny_model))["id"] == str(tiny_model)
    assert openai.settle(f"{served}/v1", str(tiny_model), chat=False) == {}  # it refuses every field of ours


def test_its_answers_are_those_of_the_transformers_engine(direct, tiny_model):
    own = find_engine("transformers").load(EngineSettings("transformers", "tiny", str(tiny_model), "cpu", "float32", 8))
    ours = {job: done for part in own.generate(plan_batches(jobs(), size=8)) for job, done in part.items()}
    same = sum(direct[job][0] == ours[job].text for job in direct)
    print(f"\n{same} of {COUNT} texts are those of the transformers engine")
    assert same >= 0.9 * COUNT  # another code path: a tie may break otherwise
    assert {finish for _, finish in direct.values()} <= {FinishReason.LENGTH, FinishReason.END}


def test_faults_in_front_of_it_lose_nothing_and_double_nothing(proxy, direct, tiny_model):
    assert texts(engine(proxy.url, tiny_model)) == direct
    print(f"\n{COUNT} prompts, {len(proxy.asked)} requests, {len(proxy.met)} faults: {sorted(set(proxy.met))}")
    harmless = sum(fault in ("slow", "dribble") for fault in proxy.met)
    assert len(proxy.asked) == COUNT + len(proxy.met) - harmless


def test_a_whole_run_through_the_faults(proxy, suite, pytester, tiny_model):
    result = suite(
        "--engine=openai", f"--base-url={proxy.url}", f"--model={tiny_model}", "--max-new-tokens=8", "--batch-size=4"
    )
    assert result.ret == 0
    with open_store(str(pytester.path / ".variantbench" / "runs.db")) as store:
        (run,) = store.runs()
        records = list(store.records(run["id"]))
        assert not check(store).faults
    assert len({row["case_id"] for row in records}) == len(records) == 12
    assert all(row["robust_verdict"] != "error" for row in records)
