"""Models from the Hugging Face hub, or from its cache on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from variantbench.plugins.errors import UserError
from variantbench.plugins.models.registry import ModelSpec
from variantbench.plugins.telemetry import switch_off

_FILES = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
_SECOND_COPIES = ["consolidated*", "original/*"]  # of the same weights, in other forms


def snapshot(spec: ModelSpec, *, say: Callable[[str], None]) -> Path:
    """The folder with the model's files, downloaded if needed; UserError says how to get access."""
    switch_off()
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError:
        raise UserError(
            f"model {spec.hub} comes from the hub, which needs huggingface_hub: "
            "pip install 'variantbench[transformers]'"
        ) from None
    options = {
        "revision": spec.revision or None,
        "allow_patterns": _FILES + ["*.py"] * spec.trust_remote_code,
        "ignore_patterns": _SECOND_COPIES,
    }
    try:
        folder = Path(snapshot_download(spec.hub, local_files_only=True, **options))
        if is_complete(folder):
            return folder
    except LocalEntryNotFoundError:
        pass
    say(f"{spec.hub}: downloading from the hub")
    try:
        return Path(snapshot_download(spec.hub, **options))
    except GatedRepoError:
        raise UserError(
            f"model {spec.hub} is gated ({spec.licence}): accept its licence on its hub page, then run `hf auth login`"
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            f"no model {spec.hub} on the hub (or it is private): check the id, or run `hf auth login`"
        ) from None
    except _failures() as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"model {spec.hub} is not in the local hub cache and the hub does not answer ({cause}): connect to the "
            "network, or give a local folder with --model=PATH; smollm2-135m and qwen2.5-coder-0.5b need no hub"
        ) from None


def _failures() -> tuple[type[Exception], ...]:
    """OSError and what the hub's HTTP library raises: requests, httpx or another, the base of the hub's own errors."""
    from huggingface_hub.errors import HfHubHTTPError

    return OSError, *(kind for kind in HfHubHTTPError.__bases__ if issubclass(kind, Exception))


def is_complete(folder: Path) -> bool:
    """Whether a folder of the hub's cache holds a whole model: the cache also keeps what a tokenizer alone needed."""
    if not (folder / "config.json").is_file():
        return False
    for index in folder.glob("*.safetensors.index.json"):
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return all((folder / shard).is_file() for shard in shards)
    return any(folder.glob("*.safetensors"))
