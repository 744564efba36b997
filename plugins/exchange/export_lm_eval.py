"""Our answers as lm-evaluation-harness writes its own: ``<model>/samples_<task>_<date>.jsonl`` and the results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Verdict, text_hash
from variantbench.plugins.exchange.exporting import Answer, safe
from variantbench.plugins.exchange.fields import OWN

METRIC = "exact_match"


def writer(folder: Path, first: dict[str, Any]) -> LmEvalWriter:
    """What writes the samples of one model and task."""
    return LmEvalWriter(folder / safe(first["model"]), first["model"], safe(f"{first['benchmark']}_{first['format']}"))


class LmEvalWriter:
    """One samples file with its results."""

    def __init__(self, folder: Path, model: str, task: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.model, self.task = folder, model, task
        while (name := self._name(date := f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%f}")).exists():
            pass
        self.date, self.file = date, name.open("w", encoding="utf-8")
        self.count = self.right = self.judged = 0

    def _name(self, date: str) -> Path:
        return self.folder / f"samples_{self.task}_{date}.jsonl"

    def add(self, answer: Answer) -> None:
        """Write one row."""
        own, right = answer.own, answer.verdict is Verdict.CORRECT
        decoding = own["decoding"] or {}
        settings = {
            "until": list(decoding.get("stops", ())),
            "max_gen_toks": decoding.get("max_new_tokens", 0),
            "do_sample": bool(decoding.get("temperature")),
            "temperature": decoding.get("temperature", 0.0),
            "top_p": decoding.get("top_p", 1.0),
        }
        doc = {name: own[name] for name in ("question", "target", "group", "variant")} | {"id": own["item"], OWN: own}
        row = {
            "doc_id": self.count,
            "doc": doc,
            "target": own["target"],
            "arguments": {"gen_args_0": {"arg_0": own["prompt"], "arg_1": settings}},
            "resps": [[answer.text]],
            "filtered_resps": ["[invalid]" if own["value"] is None else own["value"]],
            "filter": "none",
            "metrics": [METRIC],
            "doc_hash": text_hash(json.dumps(doc)),
            "prompt_hash": text_hash(own["prompt"]),
            "target_hash": text_hash(own["target"]),
            METRIC: float(right),
        }
        self.file.write(json.dumps(row) + "\n")
        self.count += 1
        self.judged += answer.verdict is not Verdict.ERROR
        self.right += right

    def close(self) -> None:
        """Write the results beside the samples."""
        self.file.close()
        accuracy = self.right / self.judged if self.judged else 0.0
        results = {
            "results": {self.task: {"alias": self.task, f"{METRIC},none": accuracy}},
            "n-samples": {self.task: {"original": self.count, "effective": self.count}},
            "higher_is_better": {self.task: {METRIC: True}},
            "config": {"model": "variantbench", "model_args": ""},
            "model_source": "variantbench",
            "model_name": self.model,
            "model_name_sanitized": self.folder.name,
        }
        (self.folder / f"results_{self.date}.json").write_text(json.dumps(results, indent=2), encoding="utf-8")
