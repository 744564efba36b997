"""The engine that asks a server: one that answers over HTTP, and does everything wrong once in a while."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("openai", reason="needs the openai package")

from dataclasses import replace

from variantbench.plugins.datatypes import Decoding, FinishReason, Prompt
from variantbench.plugins.errors import EngineError, UserError
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, openai

DECODING = Decoding(32, stops=("Q:",))


class Server(ThreadingHTTPServer):
    """An OpenAI-compatible server: the answer is the prompt's last word. `faults` are what it does instead."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.share = 0.0  # of requests that meet a fault
        self.draw = random.Random(1)
        self.asked: list[dict] = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def fault(self) -> str:
        with self.lock:
            return self.draw.choice(self.faults) if self.faults and self.draw.random() < self.share else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(
            200, {"object": "list", "data": [{"id": "org/tiny", "object": "model", "owned_by": "us", "created": 1}]}
        )

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append({**body, "key": self.headers["authorization"]})
        fault = self.server.fault()
        if fault == "reset":
            self.hang_up()
            return
        if fault.isdigit():
            self.reply(int(fault), {"error": {"message": "too many at once"}})
            return
        if fault == "slow":
            time.sleep(0.3)
        text = body["messages"][0]["content"] if "messages" in body else body["prompt"]
        if len(text) > 5000:
            self.reply(400, {"error": {"message": "This model's maximum context length is 1000 tokens"}})
            return
        said = text.split()[-1]
        choice = {"index": 0, "finish_reason": "length" if said == "long" else "stop"}
        choice |= {"message": {"role": "assistant", "content": said}} if "messages" in body else {"text": said}
        answer = {"id": "1", "object": "text_completion", "created": 1, "model": "org/tiny", "choices": [choice]}
        if fault == "empty":
            answer["choices"] = []
        self.reply(
            200,
            {**answer, "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
            cut=fault == "cut",
        )

    def reply(self, status, body, *, cut=False):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self.hang_up()

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def server():
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


def engine(server, **changes):
    settings = EngineSettings("openai", "tiny", "org/tiny", "server", "server", 8, base_url=server.url)
    return openai.OpenAIEngine(replace(settings, **changes), openai.client_of(server.url), sleep=lambda _: None)


def jobs(count, *, chat=False, decoding=DECODING):
    prompts = [Prompt(f"item-{n}", "f", "shots ", f"say w{n}", decoding, chat=chat) for n in range(count)]
    return [Job(prompt.item_id, "tiny", prompt) for prompt in prompts]


def answers(asked, some):
    found = [pair for part in asked.generate(plan_batches(some, size=8)) for pair in part.items()]
    assert len(found) == len(some)
    return dict(found)


@pytest.mark.parametrize("chat", [False, True])
def test_every_prompt_has_its_own_answer(server, chat):
    found = answers(engine(server), jobs(50, chat=chat))
    assert {job: done.text for job, done in found.items()} == {f"item-{n}": f"w{n}" for n in range(50)}
    assert {done.finish_reason for done in found.values()} == {FinishReason.STOP}
    assert all((done.prompt_tokens, done.new_tokens) == (3, 1) for done in found.values())


def test_it_is_asked_as_the_format_says(server, monkeypatch):
    monkeypatch.setenv("VARIANTBENCH_API_KEY", "secret")
    warm = Decoding(99, temperature=0.7, top_p=0.9, stops=("Q:",))
    answers(engine(server), [replace(job, prompt=replace(job.prompt, seed=3)) for job in jobs(1, decoding=warm)])
    (asked,) = server.asked
    expected = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 99, "seed": 3, "stop": ["\nQ:"], "repeat_penalty": 1.0}
    assert {name: asked[name] for name in expected} == expected
    assert (asked["model"], asked["prompt"], asked["key"]) == ("org/tiny", "shots say w0", "Bearer secret")


def test_whatever_a_server_does_once_in_a_while_loses_nothing(server):
    server.faults, server.share = ["429", "500", "503", "reset", "slow", "cut", "empty"], 0.4
    found = answers(engine(server), jobs(120))
    assert {job: done.text for job, done in found.items()} == {f"item-{n}": f"w{n}" for n in range(120)}
    assert len(server.asked) > 130


def test_a_server_that_fails_on_and_on_ends_the_run(server):
    server.faults, server.share = ["500"], 1.0
    with pytest.raises(
        EngineError, match=r"failed 8 times on item-0 \(HTTP 500: too many at once\): see to the server"
    ):
        answers(engine(server), jobs(1))


def test_a_refusal_is_not_tried_again(server):
    server.faults, server.share = ["401"], 1.0
    with pytest.raises(EngineError, match="refuses item-0: HTTP 401: too many at once"):
        answers(engine(server), jobs(1))
    assert len(server.asked) == 1


def test_a_prompt_beyond_the_context_gets_no_answer_and_truncation_is_told(server):
    long = [replace(job, prompt=replace(job.prompt, suffix="x " * 4000)) for job in jobs(1)]
    assert answers(engine(server), long)["item-0"].finish_reason is FinishReason.PROMPT_TOO_LONG
    cut = [replace(job, prompt=replace(job.prompt, suffix="say long")) for job in jobs(1)]
    assert answers(engine(server), cut)["item-0"].finish_reason is FinishReason.LENGTH


def test_the_budget_holds(server):
    with pytest.raises(EngineError, match="--max-requests 5 is reached: run the same command again"):
        answers(engine(server, max_requests=5), jobs(20))
    assert len(server.asked) <= 5


def test_what_was_paid_for_is_kept(server):
    asked, kept = engine(server, max_requests=8), {}

    def keep_all():
        for part in asked.generate(plan_batches(jobs(20), size=8)):
            kept.update(part)

    with pytest.raises(EngineError, match="--max-requests 8"):
        keep_all()
    assert len(kept) == len(server.asked) == 8


def test_the_server_identifies_its_model(server):
    assert openai.identify(server.url, "org/tiny") == {"id": "org/tiny", "object": "model", "owned_by": "us"}
    with pytest.raises(UserError, match="'other' is not served at .*: there are org/tiny"):
        openai.identify(server.url, "other")
    with pytest.raises(UserError, match="does not answer"):
        openai.identify("http://127.0.0.1:9/v1", "other")


def test_a_whole_run_resumes_where_its_budget_ended(server, suite, mode):
    options = ["--engine=openai", f"--base-url={server.url}", "--model=org/tiny", "--batch-size=2", *mode]
    first = suite(*options, "--max-requests=5")
    assert first.ret == 10
    first.stdout.fnmatch_lines(["stopped: --max-requests 5 is reached*"])
    second = suite(*options)
    second.stdout.re_match_lines([r".*[1-5] of them are in the store already, \d+ to generate"])
    assert len(server.asked) <= 12 + 2  # what was on its way when the budget ended


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine=openai", "--model=x"], "*--engine openai needs --base-url, such as http://127.0.0.1:8000/v1*"),
        (["--base-url=http://x/v1", "--model=smollm2-135m"], "*does not go with --engine transformers*"),
        (["--engine=openai", "--model=x", "--base-url=http://127.0.0.1:9/v1"], "*does not answer*start the server*"),
        (["--engine-arg=a=1", "--model=smollm2-135m"], "*--engine-arg goes with --engine vllm*"),
    ],
)
def test_nonsense_is_one_line(suite, options, words):
    result = suite(*options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([words])
