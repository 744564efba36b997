"""A model for lighteval that says the right answer to two questions in three."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse
from lighteval.utils.cache_management import SampleCache

ROWS = [json.loads(line) for line in (Path(os.environ["ITEMS"]) / "test.jsonl").read_text().splitlines()]
TARGETS = {f"Q: {row['question']}\nA:": row["target"] for row in ROWS}


class Mock(LightevalModel):
    tokenizer, add_special_tokens, max_length = None, False, 2048

    def __init__(self, config):
        self.config = config
        self._cache = SampleCache(config)

    def greedy_until(self, docs):
        texts = [TARGETS[doc.query] if number % 3 else "no idea" for number, doc in enumerate(docs)]
        return [
            ModelResponse(text=[text], input=doc.query, input_tokens=[1, 2], output_tokens=[[3, 4]])
            for text, doc in zip(texts, docs, strict=True)
        ]

    def loglikelihood(self, docs):
        raise NotImplementedError

    def loglikelihood_rolling(self, docs):
        raise NotImplementedError
