"""A model behind an OpenAI-compatible server: vLLM's, SGLang's, llama.cpp's, `transformers serve`, or a provider's.

`--engine openai --base-url http://host:8000/v1 --model NAME`: NAME is what the server calls it. Prompts of base models
go to the completions endpoint, those that need a chat template to the chat endpoint, `--batch-size` at once. What may
happen once (429, 5xx, a broken connection, half an answer) is tried again with a growing pause; what the server says no
to stops the run with its words. The key comes from VARIANTBENCH_API_KEY or OPENAI_API_KEY and is stored nowhere.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from variantbench.plugins.datatypes import Completion, FinishReason, Prompt
from variantbench.plugins.errors import EngineError, UserError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.engines import EngineSettings

REQUIRES = ("openai",)
EXTRA = "openai"
REVISION = "1"
SERVED = True  # there are no files: the server knows the model

ATTEMPTS = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_TIMEOUT = 600.0  # seconds for one answer
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

    try:
        models = client_of(base_url, timeout=20.0).models.list().data
        listed = {one.id: one.model_dump(exclude_unset=True) for one in models}
    except openai.APIStatusError as error:
        raise UserError(f"--base-url {base_url} refuses to list its models: {_words(error)}") from None
    except (openai.OpenAIError, ValueError) as error:
        raise UserError(
            f"--base-url {base_url} does not answer ({error}): start the server, or give the URL that ends in /v1"
        ) from None
    if model not in listed:
        raise UserError(
            f"--model {model!r} is not served at {base_url}: there are {', '.join(sorted(listed)) or 'none'}"
        )
    return {name: value for name, value in listed[model].items() if name not in ("created", "permission")}


class OpenAIEngine:
    """Asks the server, several prompts at once."""

    def __init__(self, settings: EngineSettings, client: Any, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings, self.client, self.sleep = settings, client, sleep
        self.requests = 0
        self._lock = threading.Lock()

    def describe(self) -> dict[str, Any]:
        """Where it is asked."""
        return {"base_url": self.settings.base_url, "served_as": self.settings.source}

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

        cause = ""
        for attempt in range(ATTEMPTS):
            self._count()
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - a pause
            try:
                return _read(self._request(prompt), prompt)
            except openai.APIStatusError as error:
                if _TOO_LONG.search(_words(error)) and error.status_code in (400, 413, 422):
                    return "", FinishReason.PROMPT_TOO_LONG, (0, 0)
                if error.status_code not in (408, 409, 429) and error.status_code < 500:
                    raise EngineError(f"{self.settings.base_url} refuses {prompt.item_id}: {_words(error)}") from None
                cause = _words(error)
                pause = max(pause, _retry_after(error))
            except (openai.APIConnectionError, openai.APIResponseValidationError, ValueError, IncompleteError) as error:
                cause = f"{type(error).__name__}: {error}"
            if attempt < ATTEMPTS - 1:
                self.sleep(pause)
        raise EngineError(
            f"{self.settings.base_url} failed {ATTEMPTS} times on {prompt.item_id} ({cause}): "
            "see to the server, then run the same command again"
        )

    def _request(self, prompt: Prompt) -> Any:
        decoding = prompt.decoding
        options: dict[str, Any] = {
            "model": self.settings.source,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_new_tokens,
            "seed": prompt.seed,
        }
        if decoding.stops:
            options["stop"] = [f"\n{stop}" for stop in decoding.stops][:4]  # stop strings count at a line start only
        if "api.openai.com" not in self.settings.base_url:
            options["extra_body"] = {"repeat_penalty": 1.0}  # llama.cpp's server penalises repetition by default
        if prompt.chat:
            messages = [{"role": "user", "content": prompt.text}]
            return self.client.chat.completions.create(messages=messages, **options)
        return self.client.completions.create(prompt=prompt.text, **options)

    def _count(self) -> None:
        with self._lock:
            self.requests += 1
            if self.settings.max_requests is not None and self.requests > self.settings.max_requests:
                raise EngineError(
                    f"--max-requests {self.settings.max_requests} is reached: run the same command again to go on"
                )


class IncompleteError(Exception):
    """The server answered, but not with a whole answer."""


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
        message = body.get("error", body) if isinstance(body, dict) else body
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
