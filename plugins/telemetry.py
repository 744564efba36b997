"""Nothing is reported to anyone: switches of the libraries that would, set before they are loaded."""

from __future__ import annotations

import os

SWITCHES = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "DO_NOT_TRACK": "1",
}


def switch_off() -> None:
    """Set them, but leave what the user has set."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
