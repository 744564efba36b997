"""Where GSM items come from: the template language, the sampler and the sources."""

from __future__ import annotations

from variantbench.benchmarks.gsm.sources import load_easy_items, load_items

__all__ = ["load_easy_items", "load_items"]
