"""A model behind an OpenAI-compatible server: vLLM's, SGLang's, llama.cpp's, `transformers serve`, or a provider's.

`--engine openai --base-url http://host:8000/v1 --model NAME`: NAME is what the server calls it. Prompts of base models
go to the completions endpoint, those that need a chat template to the chat endpoint, `--batch-size` at once. What may
happen once (429, 5xx, a broken connection, half an answer) is tried again with a growing pause; what the server says no
to stops the run with its words. The key comes from VARIANTBENCH_API_KEY or OPENAI_API_KEY and is stored nowhere.

Servers have defaults of their own for sampling (top_k 40 in llama.cpp's, whatever a model's generation_config says in
vLLM's). `settle` finds out at the start which of the fields that switch them off a server takes; the run notes them.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from variantbench.plugins.datatypes import Completion, FinishReason, Prompt
from variantbench.plugins.errors import EngineError, UserError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.engines import EngineSettings

Answer = TypeVar("Answer")

REQUIRES = ("openai",)
EXTRA = "openai"
REVISION = "2"
SERVED = True  # there are no files: the server knows the model

ATTEMPTS = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_EXAMPLE = "http://127.0.0.1:8000/v1"
_TIMEOUT = 600.0  # seconds for one answer
_REFUSED_FIELD = (400, 422)
_NO_ENDPOINT = (404, 405, 501)
_CHANGING = ("created", "permission", "status")  # what a server says of a model that is not the model

# What switches a server's own sampling defaults off: each field with the values for "off", tried in turn.
_PLAIN: Mapping[str, tuple[float, ...]] = {
    "top_k": (-1, 0),
    "min_p": (0.0,),
    "repetition_penalty": (1.0,),  # vLLM, SGLang
    "repeat_penalty": (1.0,),  # llama.cpp
}
_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|too long|maximum.{0,20}tokens", re.IGNORECASE)


def load(settings: EngineSettings) -> OpenAIEngine:
    """A client; nothing is asked yet."""
    return OpenAIEngine(settings, client_of(settings.base_url))


def client_of(base_url: str, *, timeout: float = _TIMEOUT) -> Any:
    """The client of a server; its own retries are off, since ours are counted."""
    import openai

    key = os.environ.get("VARIANTBENCH_API_KEY") or os.environ.get("OPENAI_API_KEY") or "none"
    return openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=timeout)


def identify(base_url: str, model: str) -> dict[str, Any]:
    """What the server says of the model, for its identity; UserError if it does not answer or does not have it."""
    import openai

    _check_url(base_url)
    client = client_of(base_url, timeout=20.0)
    try:
        models = _persist(lambda: client.models.list().data, attempts=4)
        listed = {f"{one.id}": one.model_dump(exclude_unset=True) for one in models}
    except openai.APIStatusError as error:
        raise UserError(f"--base-url {base_url} refuses to list its models: {_words(error)}") from None
    except (AttributeError, TypeError):  # the library takes whatever it is given for a list of models
        raise _no_openai_server(base_url) from None
    except FailingError as error:
        raise UserError(
            f"--base-url {base_url} does not answer ({error}): start the server, or give the URL that ends in /v1"
        ) from None
    if model not in listed:
        raise UserError(
            f"--model {model!r} is not served at {base_url}: there are {', '.join(sorted(listed)) or 'none'}"
        )
    return {name: value for name, value in listed[model].items() if name not in _CHANGING}


def settle(base_url: str, model: str, *, chat: bool) -> dict[str, float]:
    """The fields for plain sampling that the server takes, found with requests for one token; UserError if it says no.

    `chat`: whether the model is asked through the chat endpoint; where a server lacks it, the other one is tried.
    """
    import openai

    client = client_of(base_url)
    words = ""
    for endpoint in (_chat, _completion) if chat else (_completion, _chat):
        try:
            return _taken(partial(_first_question, endpoint, client, model, base_url))
        except openai.APIStatusError as error:
            words = words or _words(error)
            if error.status_code not in _NO_ENDPOINT:
                break
        except FailingError as error:
            words = str(error)
            break
    raise UserError(f"--base-url {base_url} does not answer a first question with --model {model!r}: {words}")


def _check_url(base_url: str) -> None:
    """UserError where the client's HTTP library, whichever it has, would fail with an error of its own."""
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        whole = False
    if not whole:
        raise UserError(f"--base-url {base_url!r} is no address of a server: give one such as {_EXAMPLE}")


def _no_openai_server(base_url: str) -> UserError:
    return UserError(
        f"--base-url {base_url} answers, but not as an OpenAI server does: give the URL that ends in /v1, as {_EXAMPLE}"
    )


def _first_question(
    endpoint: Callable[..., Any], client: Any, model: str, base_url: str, fields: Mapping[str, float]
) -> None:
    options = {"model": model, "max_tokens": 1, "temperature": 0.0, "extra_body": fields}
    choices = getattr(endpoint(client, "1", options), "choices", None)
    if not isinstance(choices, list):
        raise _no_openai_server(base_url)
    if not choices:
        raise IncompleteError("an answer without a choice")


def _taken(ask: Callable[[Mapping[str, float]], None]) -> dict[str, float]:
    """The fields of _PLAIN with which a request is not refused."""
    import openai

    left = {name: list(values) for name, values in _PLAIN.items()}
    while True:
        fields = {name: values[0] for name, values in left.items() if values}
        try:
            _persist(partial(ask, fields))
        except openai.APIStatusError as error:
            if error.status_code not in _REFUSED_FIELD or not fields:
                raise
            words = _words(error)
            for name in [name for name in fields if name in words] or list(fields):
                left[name].pop(0)
        else:
            return fields


class OpenAIEngine:
    """Asks the server, several prompts at once."""

    def __init__(self, settings: EngineSettings, client: Any, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings, self.client, self.sleep = settings, client, sleep
        self.plain = dict(settings.arguments)
        self.requests = 0
        self._lock = threading.Lock()

    def describe(self) -> dict[str, Any]:
        """Where it is asked, and what is sent to make its sampling plain."""
        return {"base_url": self.settings.base_url, "served_as": self.settings.source, "sampling": self.plain}

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """Each answer as it comes."""
        with ThreadPoolExecutor(self.settings.batch_size) as pool:
            jobs = ((job, batch.id) for batch in batches for job in batch.jobs)
            running: dict[Future[Completion], str] = {}
            failed: list[EngineError] = []
            for job, batch in jobs:
                running[pool.submit(self._answer, job, batch)] = job.id
                if len(running) >= 2 * self.settings.batch_size:
                    yield from _finished(running, failed)
                if failed:
                    break
            while running:  # also after a failure: what was asked is paid for
                for future in [future for future in running if failed and future.cancel()]:
                    del running[future]
                if running:
                    yield from _finished(running, failed)
        if failed:
            raise failed[0]

    def _answer(self, job: Job, batch: str) -> Completion:
        started = time.perf_counter()
        text, finish, usage = self._ask(job.prompt)
        return Completion(
            text=text,
            finish_reason=finish,
            prompt_tokens=usage[0],
            new_tokens=usage[1],
            engine=self.settings.engine,
            batch=batch,
            seconds=time.perf_counter() - started,
        )

    def _ask(self, prompt: Prompt) -> tuple[str, FinishReason, tuple[int, int]]:
        """Text, why it ended, tokens of prompt and answer; EngineError if the server says no, or fails on and on."""
        import openai

        where = self.settings.base_url
        try:
            return _persist(lambda: _read(self._request(prompt), prompt), sleep=self.sleep)
        except openai.APIStatusError as error:
            if _TOO_LONG.search(_words(error)) and error.status_code in (400, 413, 422):
                return "", FinishReason.PROMPT_TOO_LONG, (0, 0)
            raise EngineError(f"{where} refuses {prompt.item_id}: {_words(error)}") from None
        except FailingError as error:
            raise EngineError(
                f"{where} failed {ATTEMPTS} times on {prompt.item_id} ({error}): "
                "see to the server, then run the same command again"
            ) from None

    def _request(self, prompt: Prompt) -> Any:
        self._count()
        decoding = prompt.decoding
        options: dict[str, Any] = {
            "model": self.settings.source,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_new_tokens,
            "seed": prompt.seed,
            "extra_body": self.plain,
        }
        if decoding.stops:
            options["stop"] = [f"\n{stop}" for stop in decoding.stops][:4]  # stop strings count at a line start only
        return (_chat if prompt.chat else _completion)(self.client, prompt.text, options)

    def _count(self) -> None:
        with self._lock:
            self.requests += 1
            if self.settings.max_requests is not None and self.requests > self.settings.max_requests:
                raise EngineError(
                    f"--max-requests {self.settings.max_requests} is reached: run the same command again to go on"
                )


class IncompleteError(Exception):
    """The server answered, but not with a whole answer."""


class FailingError(Exception):
    """The server failed again and again, in ways that may pass."""


def _chat(client: Any, text: str, options: Mapping[str, Any]) -> Any:
    return client.chat.completions.create(messages=[{"role": "user", "content": text}], **options)


def _completion(client: Any, text: str, options: Mapping[str, Any]) -> Any:
    return client.completions.create(prompt=text, **options)


def _persist(
    ask: Callable[[], Answer], *, attempts: int = ATTEMPTS, sleep: Callable[[float], None] = time.sleep
) -> Answer:
    """What the server answers, asked again while it fails; APIStatusError if it says no, FailingError in the end."""
    import openai

    cause = ""
    for attempt in range(attempts):
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - a pause
        try:
            return ask()
        except openai.APIStatusError as error:
            if error.status_code not in (408, 409, 429) and error.status_code < 500:
                raise
            cause = _words(error)
            pause = max(pause, _retry_after(error))
        except (openai.APIConnectionError, openai.APIResponseValidationError, ValueError, IncompleteError) as error:
            cause = f"{type(error).__name__}: {error}"
        if attempt < attempts - 1:
            sleep(pause)
    raise FailingError(cause)


def _finished(running: dict[Future[Completion], str], failed: list[EngineError]) -> Iterator[dict[str, Completion]]:
    """The answers that are there, as soon as there is one; failures are noted."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    answers = {}
    for future in done:
        job = running.pop(future)
        try:
            answers[job] = future.result()
        except EngineError as error:
            failed.append(error)
    if answers:
        yield answers


def _read(answer: Any, prompt: Prompt) -> tuple[str, FinishReason, tuple[int, int]]:
    choices = getattr(answer, "choices", None)
    if not choices:
        raise IncompleteError("an answer without a choice")
    choice = choices[0]
    text = choice.message.content if prompt.chat else choice.text
    if choice.finish_reason is None or (text is None and choice.finish_reason != "length"):
        raise IncompleteError(f"an answer that ended with {choice.finish_reason!r} and text {text!r}")
    usage = getattr(answer, "usage", None)
    tokens = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
    ended = FinishReason.STOP if prompt.decoding.stops else FinishReason.END  # servers do not tell the two apart
    return text or "", FinishReason.LENGTH if choice.finish_reason == "length" else ended, tokens


def _words(error: Any) -> str:
    """A server's refusal as one short line."""
    try:
        body = error.response.json()
        message = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
        text = message.get("message", message) if isinstance(message, dict) else message
    except (ValueError, AttributeError):
        text = error.response.text
    words = text if isinstance(text, str) else json.dumps(text)
    return f"HTTP {error.status_code}: {' '.join(words.split())[:200]}"


def _retry_after(error: Any) -> float:
    try:
        return min(_LONGEST_PAUSE, float(error.response.headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
