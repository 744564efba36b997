"""Our answers as a log that inspect reads: one ``.eval`` for each model, benchmark and format."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import FinishReason, Verdict, text_hash
from variantbench.plugins.exchange.exporting import Answer, safe
from variantbench.plugins.exchange.fields import OWN

SCORER = "variantbench"
_LETTER = {Verdict.CORRECT: "C", Verdict.INCORRECT: "I", Verdict.NO_ANSWER: "N"}


def writer(folder: Path, first: dict[str, Any]) -> InspectWriter:
    """What writes the log of one model and task."""
    task = safe(f"{first['benchmark']}_{first['format']}")
    return InspectWriter(folder / f"{safe(first['model'])}_{task}.eval", first, task)


class InspectWriter:
    """One log."""

    def __init__(self, path: Path, first: dict[str, Any], task: str) -> None:
        self.model, self.task, self.first = first["model"], task, first
        self.started = _now()
        self.zipped = zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED)
        self.epochs: Counter[str] = Counter()
        self.summaries: list[dict[str, Any]] = []
        self.right = self.judged = 0
        self._write("_journal/start.json", {"version": 2, "eval": self._spec(), "plan": {"steps": []}})

    def add(self, answer: Answer) -> None:
        """Write one sample."""
        item = answer.own["item"]
        self.epochs[item] += 1
        epoch = self.epochs[item]
        sample = self._sample(answer, item, epoch)
        self._write(f"samples/{safe(item)}_epoch_{epoch}.json", sample)
        short = ("id", "epoch", "target", "scores")
        self.summaries.append({**{name: sample[name] for name in short}, "input": sample["input"][:200]})
        self.judged += answer.verdict is not Verdict.ERROR
        self.right += answer.verdict is Verdict.CORRECT

    def close(self) -> None:
        """Write summaries and header."""
        self._write("summaries.json", self.summaries)
        total = sum(self.epochs.values())
        accuracy = self.right / self.judged if self.judged else 0.0
        metrics = {"accuracy": {"name": "accuracy", "value": accuracy, "params": {}}}
        score = {"name": SCORER, "scorer": SCORER, "params": {}, "metrics": metrics}
        header = {
            "version": 2,
            "status": "success",
            "eval": self._spec(),
            "plan": {"steps": []},
            "results": {"total_samples": total, "completed_samples": total, "scores": [score]},
            "stats": {"started_at": self.started, "completed_at": _now(), "model_usage": {}},
        }
        self._write("header.json", header)
        self.zipped.close()

    def _write(self, name: str, value: Any) -> None:
        self.zipped.writestr(name, json.dumps(value))

    def _spec(self) -> dict[str, Any]:
        decoding = self.first["decoding"] or {}
        config = {
            "max_tokens": decoding.get("max_new_tokens"),
            "temperature": decoding.get("temperature"),
            "top_p": decoding.get("top_p"),
            "stop_seqs": list(decoding.get("stops", ())) or None,
        }
        identity = text_hash(f"{self.started} {self.model} {self.task}")[:22]
        return {
            "eval_id": identity,
            "run_id": identity,
            "task_id": identity,
            "created": self.started,
            "task": self.task,
            "dataset": {"name": self.first["benchmark"]},
            "model": self.model,
            "model_generate_config": {name: value for name, value in config.items() if value is not None},
            "config": {},
        }

    def _sample(self, answer: Answer, item: str, epoch: int) -> dict[str, Any]:
        own = answer.own
        cut = own["finish_reason"] == FinishReason.LENGTH
        usage = {"input_tokens": own["prompt_tokens"], "output_tokens": own["new_tokens"]}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": answer.text, "source": "generate"}
        error = {"message": own["reason"] or "not judged", "traceback": "", "traceback_ansi": ""}
        score = {"value": _LETTER.get(answer.verdict), "answer": own["value"], "explanation": own["reason"]}
        return {
            "id": item,
            "epoch": epoch,
            "input": own["prompt"] or own["question"],
            "target": own["target"],
            "messages": [{"role": "user", "content": own["prompt"] or own["question"]}, message],
            "output": {
                "model": self.model,
                "choices": [{"message": message, "stop_reason": "max_tokens" if cut else "stop"}],
                "completion": answer.text,
                "usage": usage,
            },
            "scores": {} if answer.verdict is Verdict.ERROR else {SCORER: score},
            "error": error if answer.verdict is Verdict.ERROR else None,
            "metadata": {"group": own["group"], "variant": own["variant"], OWN: own},
        }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
