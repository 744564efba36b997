"""Asks the items with inspect; its mock model is right about two times in three. python inspect_words.py eval 18 2"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match, pattern
from inspect_ai.solver import generate

ITEMS = [json.loads(line) for line in (Path(__file__).parent.parent / "items.jsonl").read_text().splitlines()]


def sample(row):
    metadata = {name: row[name] for name in ("group", "variant")}
    return Sample(input=row["question"], target=row["target"], id=row["id"], metadata=metadata)


@inspect_ai.task
def vb_words(items, epochs):
    scorers = [match(numeric=True), pattern(r"answer is (\d+)")]
    return inspect_ai.Task(dataset=list(map(sample, items)), solver=generate(), scorer=scorers, epochs=epochs)


def outputs(items, epochs):
    for number, row in enumerate(items * epochs, 1):
        said = f"We add. The final answer is {int(row['target']) + (number % 3 == 0)}"
        output = ModelOutput.from_content("mockllm/model", "I do not know" if number == 7 else said)
        output.usage = ModelUsage(input_tokens=20, output_tokens=9, total_tokens=29)
        yield output


if __name__ == "__main__":
    form, count, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = get_model("mockllm/model", custom_outputs=outputs(ITEMS[:count], epochs))
    settings = {"max_samples": 1, "max_tokens": 50, "temperature": 0.0, "display": "none"}
    (log,) = inspect_ai.eval(vb_words(ITEMS[:count], epochs), model=model, log_dir="logs", log_format=form, **settings)
    print(log.status, [(score.name, score.metrics["accuracy"].value) for score in log.results.scores])
