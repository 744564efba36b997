"""Writes items.jsonl, which every tool here was asked: six easy templates, their known question and two variants."""

from __future__ import annotations

import json
from pathlib import Path

from variantbench.benchmarks.gsm.sources import load_easy_items

if __name__ == "__main__":
    items = load_easy_items(variants_per_template=2, seed=0, sample=6)
    names = ("group", "variant", "id", "question", "target")
    lines = [json.dumps({name: getattr(item, name) for name in names}) + "\n" for item in items]
    (Path(__file__).parent.parent / "items.jsonl").write_text("".join(lines))
