"""Identity of a model: the sha256 over its weights, configuration and tokenizer files.

A name is no identity: an overwritten checkpoint keeps its name and is another model. Hashing gigabytes takes a while,
so each file's hash is remembered under its path, size and modification time.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from variantbench.plugins.cache import cache_folder

_IDENTITY = (".safetensors", ".bin", ".pt", ".gguf", ".json", ".model", ".jinja", ".txt", ".tiktoken", ".py")
_IGNORED = ("README", "LICENSE")


def identity_files(path: Path) -> list[Path]:
    """The files that make a model what it is, in fixed order."""
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.iterdir()
        if file.is_file() and file.suffix in _IDENTITY and not file.name.startswith(_IGNORED)
    )


def fingerprint(path: Path) -> str:
    """The sha256, in hex, over names and contents of the model's files; `path` is a folder or a single file."""
    whole = hashlib.sha256()
    remembered = _Remembered()
    for file in identity_files(path):
        whole.update(f"{file.name} {remembered.sha256(file)}\n".encode())
    remembered.save()
    return whole.hexdigest()


def file_sha256(path: Path) -> str:
    """The sha256 of one file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Remembered:
    """File hashes kept between runs, by path, size and modification time."""

    def __init__(self) -> None:
        self.file = cache_folder() / "fingerprints.json"
        try:
            self.hashes: dict[str, str] = json.loads(self.file.read_text())
        except (OSError, ValueError):
            self.hashes = {}
        self.changed = False

    def sha256(self, path: Path) -> str:
        stat = path.stat()
        key = f"{path.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
        if key not in self.hashes:
            self.hashes[key] = file_sha256(path)
            self.changed = True
        return self.hashes[key]

    def save(self) -> None:
        if not self.changed:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.file.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(self.hashes))
            temporary.replace(self.file)
        except OSError:
            pass  # only a memory aid: without it the next run hashes again
