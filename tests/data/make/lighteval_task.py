"""A lighteval task over a folder with a copy of items.jsonl, test.jsonl (the environment variable ITEMS names it)."""

from __future__ import annotations

import os

from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def ask(line, task_name=None):
    specific = {name: line[name] for name in ("id", "group", "variant", "question")}
    query = f"Q: {line['question']}\nA:"
    return Doc(task_name=task_name, query=query, choices=[line["target"]], gold_index=0, specific=specific)


TASKS_TABLE = [
    LightevalTaskConfig(
        name="vb_words",
        prompt_function=ask,
        hf_repo=os.environ["ITEMS"],
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        few_shots_split=None,
        few_shots_select=None,
        metrics=[Metrics.exact_match],
        generation_size=40,
        stop_sequence=["\n\n"],
        version=1,
    )
]
