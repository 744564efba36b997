"""One model of a run, as the process that has the options hands it to the supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from variantbench.plugins.models.engines import EngineSettings


@dataclass(frozen=True, slots=True)
class ModelTask:
    """One model of the run: how to load it, under which identity its answers are kept."""

    name: str
    identity: str
    details: Mapping[str, Any]
    settings: EngineSettings
    key_settings: Mapping[str, Any]
