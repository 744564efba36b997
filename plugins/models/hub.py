"""Models from the Hugging Face hub, or from its cache on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from variantbench.plugins.errors import UserError
from variantbench.plugins.models.registry import ModelSpec

_FILES = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]


def snapshot(spec: ModelSpec, *, say: Callable[[str], None]) -> Path:
    """The folder with the model's files, downloaded if needed; UserError says how to get access."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError:
        raise UserError(
            f"model {spec.hub} comes from the hub, which needs huggingface_hub: "
            "pip install 'variantbench[transformers]'"
        ) from None
    options = {"revision": spec.revision or None, "allow_patterns": _FILES + ["*.py"] * spec.trust_remote_code}
    try:
        return Path(snapshot_download(spec.hub, local_files_only=True, **options))
    except LocalEntryNotFoundError:
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
    except (LocalEntryNotFoundError, OSError) as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"model {spec.hub} is not in the local hub cache and the hub does not answer ({cause}): connect to the "
            "network, or give a local folder with --model=PATH; smollm2-135m and qwen2.5-coder-0.5b need no hub"
        ) from None
