"""The formats by name, and which one a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange import helm, inspect_ai, lighteval, lm_eval, nemo, study, table
from variantbench.plugins.exchange.foreign import Entry, Source, Stated
from variantbench.plugins.exchange.guarded import head_of


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads one tool's logs."""

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Source], Iterator[Entry]]
    stated: Callable[[Source], list[Stated]]
    version: Callable[[Source], str]


# Tables last: they take whatever else has their suffix.
READERS: Mapping[str, Reader] = {
    module.NAME: Reader(module.NAME, module.recognises, module.read, module.stated, module.version)
    for module in (lm_eval, inspect_ai, lighteval, nemo, helm, study, table)
}
AUTO = "auto"


def reader_of(path: Path, name: str = AUTO) -> Reader:
    """The reader of that name, or the one that recognises the file."""
    head = head_of(path)
    if name != AUTO:
        return READERS[name]
    found = next((reader for reader in READERS.values() if reader.recognises(path, head)), None)
    if found is None:
        raise UserError(f"{path}: no log that is known here: name its format with --format ({', '.join(READERS)})")
    return found
