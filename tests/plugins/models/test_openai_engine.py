"""The engine that asks a server: one that answers over HTTP, and does everything wrong once in a while."""

from __future__ import annotations

import pytest

pytest.importorskip("openai", reason="needs the openai package")

import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.plugins.models.faulty import FAULTS, FaultyHandler, FaultyServer
from variantbench.plugins.datatypes import Decoding, FinishReason, Prompt
from variantbench.plugins.errors import EngineError, UserError
from variantbench.plugins.generation.plan import Job, plan_batches
from variantbench.plugins.models.engines import EngineSettings, openai
from variantbench.plugins.store import open_store

DECODING = Decoding(32, stops=("Q:",))


class Handler(FaultyHandler):
    """The answer is the prompt's last word; `refuses` on the server are the fields that it does not take."""

    def listed(self):
        model = {"id": "org/tiny", "object": "model", "owned_by": "us", "created": 1, "status": {"value": "loaded"}}
        return 200, {"object": "list", "data": [model]}

    def answer(self, body):
        if self.path.removeprefix("/v1") in getattr(self.server, "lacks", ()):
            return 404, {"detail": "Not Found"}
        refused = [name for name, value in getattr(self.server, "refuses", ()) if body.get(name) == value]
        if refused:
            return 422, {"detail": f"Unexpected fields in the request: {refused}"}
        text = body["messages"][0]["content"] if "messages" in body else body["prompt"]
        if len(text) > 5000:
            return 400, {"error": {"message": "This model's maximum context length is 1000 tokens"}}
        said = text.split()[-1]
        choice = {"index": 0, "finish_reason": "length" if said == "long" else "stop"}
        choice |= {"message": {"role": "assistant", "content": said}} if "messages" in body else {"text": said}
        answer = {"id": "1", "object": "text_completion", "created": 1, "model": "org/tiny", "choices": [choice]}
        return 200, {**answer, "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}


@pytest.fixture
def server():
    running = FaultyServer(Handler)
    yield running
    running.shutdown()
    running.server_close()


def engine(server, **changes):
    settings = EngineSettings("openai", "tiny", "org/tiny", "server", "server", 8, base_url=server.url)
    return openai.OpenAIEngine(replace(settings, **changes), openai.client_of(server.url), sleep=lambda _: None)


@contextmanager
def other_server(said):
    """The address of a server that says the same to everything, as HTML where it looks so."""

    class Says(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-type", "text/html" if said.startswith(b"<") else "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Says) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}/v1"
        running.shutdown()


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
    asked = engine(server, arguments={"top_k": -1})
    answers(asked, [replace(job, prompt=replace(job.prompt, seed=3)) for job in jobs(1, decoding=warm)])
    (asked,) = server.asked
    expected = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 99, "seed": 3, "stop": ["\nQ:"], "top_k": -1}
    assert {name: asked[name] for name in expected} == expected
    assert (asked["model"], asked["prompt"], asked["key"]) == ("org/tiny", "shots say w0", "Bearer secret")


def test_whatever_a_server_does_once_in_a_while_loses_nothing(server):
    server.faults, server.share = FAULTS, 0.4
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


@pytest.mark.parametrize(
    "said",
    [b"<html>no</html>", b'["org/tiny"]', b"null", b'{"models": []}', b'{"data": null}', b'{"data": ["org/tiny"]}'],
)
def test_what_answers_but_is_no_openai_server_is_said(said):
    with other_server(said) as url:
        for ask in (openai.identify, partial(openai.settle, chat=False), partial(openai.settle, chat=True)):
            with pytest.raises(UserError, match=f"{url} answers, but not as an OpenAI server does: give the URL that"):
                ask(url, "org/tiny")


def test_a_refusal_with_status_200_is_no_answer(server, monkeypatch):
    monkeypatch.setattr(Handler, "answer", lambda *_: (200, {"detail": "Not Found"}))
    with pytest.raises(UserError, match="answers, but not as an OpenAI server"):
        openai.settle(server.url, "org/tiny", chat=False)


@pytest.mark.parametrize("url", ["http://localhost:abc/v1", "http://[::1/v1", "http://x:99999/v1", "localhost:8000/v1"])
def test_what_is_no_url_is_said(url):
    with pytest.raises(UserError, match="is no address of a server: give one such as http"):
        openai.identify(url, "org/tiny")


PLAIN = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "repeat_penalty": 1.0}


@pytest.mark.parametrize(
    ("refuses", "left"),
    [
        ([], PLAIN),
        ([("repeat_penalty", 1.0)], {name: PLAIN[name] for name in ("top_k", "min_p", "repetition_penalty")}),
        ([("top_k", -1)], {**PLAIN, "top_k": 0}),  # llama-cpp-python's server
        ([("top_k", -1), ("top_k", 0), *list(PLAIN.items())[1:]], {}),  # transformers serve, OpenAI
    ],
)
@pytest.mark.parametrize("chat", [False, True])
def test_only_fields_that_the_server_takes_are_sent(server, refuses, left, chat):
    server.refuses = refuses
    assert openai.settle(server.url, "org/tiny", chat=chat) == left
    assert len(server.asked) <= 3
    assert {"messages" in asked for asked in server.asked} == {chat}


def test_a_server_with_one_endpoint_is_asked_there(server):
    server.lacks = ["/completions"]
    assert openai.settle(server.url, "org/tiny", chat=False) == PLAIN
    server.lacks = ["/completions", "/chat/completions"]
    with pytest.raises(
        UserError, match="does not answer a first question with --model 'org/tiny': HTTP 404: Not Found"
    ):
        openai.settle(server.url, "org/tiny", chat=False)


def test_a_fault_at_the_start_is_no_refusal(server):
    server.faults, server.share = ["429", "reset", "cut"], 0.5
    assert openai.settle(server.url, "org/tiny", chat=False) == PLAIN
    assert server.met


def test_what_was_sent_is_noted_and_part_of_the_key(server, suite, pytester):
    def model_of_the_newest_run():
        with open_store(str(pytester.path / ".variantbench" / "runs.db")) as store:
            return store.find_run()["manifest"]["models"][0]

    options = ["--engine=openai", f"--base-url={server.url}", "--model=org/tiny"]
    assert suite(*options).ret == 0
    assert model_of_the_newest_run()["sampling"] == PLAIN
    server.refuses = [("min_p", 0.0)]
    again = suite(*options)
    again.stdout.no_fnmatch_line("*in the store already*")  # it may sample otherwise
    assert "min_p" not in model_of_the_newest_run()["sampling"]
    assert all("min_p" not in asked for asked in server.asked[-12:])


def test_a_whole_run_resumes_where_its_budget_ended(server, suite, mode):
    options = ["--engine=openai", f"--base-url={server.url}", "--model=org/tiny", "--batch-size=2", *mode]
    first = suite(*options, "--max-requests=5")
    assert first.ret == 10
    first.stdout.fnmatch_lines(["stopped: --max-requests 5 is reached*"])
    second = suite(*options)
    second.stdout.re_match_lines([r".*[1-5] of them are in the store already, \d+ to generate"])
    assert len(server.asked) <= 2 + 12 + 2  # a first question of each run; what was on its way when the budget ended


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
