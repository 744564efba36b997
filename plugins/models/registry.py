"""Which model a name means: an entry of models.toml, a hub id, or files on this machine."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from variantbench.plugins.errors import UserError

_REGISTRY = Path(__file__).with_name("models.toml")
# As the hub checks ids: each part begins and ends with a letter, digit or underscore.
_HUB_ID = re.compile(r"(?!.*(--|\.\.))\b[\w.-]{1,96}\b/\b[\w.-]{1,96}\b(?<!\.git)", re.ASCII)


# The keys of an entry and what each holds.
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("hub", "path", "embedded", "revision", "licence", "dtype", "access"), str),
    **dict.fromkeys(("chat", "trust_remote_code"), bool),
    "parameters": float | int,
    "context": int,
    "studies": list,
}


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as named by the user. One of `embedded`, `hub` and `path` says where its weights are.

    `chat` None means: look whether the tokenizer has a chat template. `dtype` auto means: as the weights were saved.
    `context` counts tokens.
    """

    name: str
    hub: str = ""
    path: str = ""
    embedded: str = ""
    revision: str = ""
    licence: str = ""
    parameters: float | None = None
    dtype: str = "auto"
    chat: bool | None = None
    context: int | None = None
    access: str = "open"
    trust_remote_code: bool = False
    studies: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The spec as plain values."""
        return asdict(self)


@cache
def registry() -> dict[str, ModelSpec]:
    """Every entry of models.toml by its name."""
    return read_registry(_REGISTRY)


def read_registry(path: Path) -> dict[str, ModelSpec]:
    """The entries of a registry file; UserError names the first that is none."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a readable registry of models: {error}") from None
    return {name: _spec(path, name, table) for name, table in tables.items()}


def _spec(path: Path, name: str, table: Any) -> ModelSpec:
    if not isinstance(table, dict):
        raise UserError(f"{path}: {name!r} is {table!r:.60}: write it as a [table]")
    for key, value in table.items():
        kind = _KINDS.get(key)
        if kind is None:
            raise UserError(f"{path}: [{name}] has the unknown key {key!r}: allowed are {', '.join(_KINDS)}")
        texts = value if isinstance(value, list) and kind is list else []
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UserError(f"{path}: [{name}] {key} is {value!r:.60}: a value of type {_words(kind)} belongs there")
        if not all(isinstance(text, str) for text in texts):
            raise UserError(f"{path}: [{name}] {key} is {value!r:.60}: a list of texts belongs there")
    return ModelSpec(name=name, **{**table, "studies": tuple(table.get("studies", ()))})


def _words(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def resolve_model(text: str) -> ModelSpec:
    """The model that `text` names: a registry name or its hub id, a path, or any hub id; UserError if none of these."""
    known = registry()
    for spec in known.values():
        # the hub id of an embedded model means the hub's weights, not the embedded ones
        if text.lower() == spec.name or (spec.hub and not spec.embedded and text.lower() == spec.hub.lower()):
            return spec
    if path := _path_here(text):
        return ModelSpec(name=path.name, path=str(path))
    if _HUB_ID.fullmatch(text):
        return ModelSpec(name=text.split("/")[1].lower(), hub=text)
    close = difflib.get_close_matches(text.lower(), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise UserError(
        f"no model {text!r}: {hint}give a name that `variantbench models` lists, a hub id (org/name), or the path of a "
        "folder or .gguf file"
    )


def _path_here(text: str) -> Path | None:
    """The path that `text` names, if something is there. No text names none, though Path takes it for this folder."""
    try:
        path = Path(text).expanduser()
        return path.resolve() if text and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long for a file system, nobody's home, NUL
        return None
