"""A model that is a file: answers written down beforehand, for tests and demonstrations without weights.

The model is the path of a JSON file (``--engine scripted --model=answers.json``) with the keys

* ``default``: the answer where nothing else fits;
* ``answers``: a table from a piece of the question's own part to the answer of every prompt that holds it;
* ``seconds``: wall time that each batch takes (0);
* ``die_after``: end the process after so many answers, once (a file beside the script remembers it), or
* ``die_always_after``: the same, each time;
* ``die_on``: a piece of a question that ends the process, each time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Completion, FinishReason
from variantbench.plugins.errors import UserError
from variantbench.plugins.generation.plan import Batch, Job
from variantbench.plugins.models.engines import EngineSettings

REQUIRES: tuple[str, ...] = ()
EXTRA = ""
REVISION = "1"


class ScriptedEngine:
    """Answers from a script."""

    def __init__(self, path: Path, script: dict[str, Any]) -> None:
        self.path, self.script = path, script
        self.died = path.with_suffix(".died")
        self.given = 0

    def describe(self) -> dict[str, Any]:
        """The script's file."""
        return {"script": str(self.path)}

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """The scripted answer of every job, batch by batch."""
        for batch in batches:
            time.sleep(self.script.get("seconds", 0.0))
            yield {job.id: self._completion(job, batch) for job in batch.jobs}

    def _completion(self, job: Job, batch: Batch) -> Completion:
        self._maybe_die(job.prompt.suffix)
        self.given += 1
        text = self._answer(job.prompt.suffix)
        words = _words(job.prompt.prefix) + _words(job.prompt.suffix)
        return Completion(text, FinishReason.END, words, len(text.split()), "scripted", batch.id)

    def _answer(self, question: str) -> str:
        for piece, answer in self.script.get("answers", {}).items():
            if piece in question:
                return str(answer)
        return str(self.script.get("default", ""))

    def _maybe_die(self, question: str) -> None:
        if (fatal := self.script.get("die_on")) is not None and fatal in question:
            os._exit(9)
        once = self.script.get("die_after")
        if once is not None and self.given >= once and not self.died.exists():
            self.died.touch()
            os._exit(9)
        always = self.script.get("die_always_after")
        if always is not None and self.given >= always:
            os._exit(9)


@lru_cache
def _words(text: str) -> int:
    return len(text.split())


def load(settings: EngineSettings) -> ScriptedEngine:
    """The engine of the script at `settings.source`."""
    path = Path(settings.source)
    try:
        script = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(script, dict) or not isinstance(script.get("answers", {}), dict):
            raise ValueError("an object is needed, and in it for answers another")
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"--model={path} is no script that --engine scripted can read: {error}") from None
    return ScriptedEngine(path, script)
