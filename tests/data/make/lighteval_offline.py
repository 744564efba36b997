"""lighteval's command line, offline, with libraries newer than those it was written for (hub client, xxhash)."""

from __future__ import annotations

import xxhash
from huggingface_hub import HfApi

plain = xxhash.xxh64

if __name__ == "__main__":
    HfApi.list_models = lambda self, model_name=None, **_: [model_name]
    xxhash.xxh64 = lambda text=b"": plain(text.encode() if isinstance(text, str) else text)
    from lighteval.__main__ import app

    app()
