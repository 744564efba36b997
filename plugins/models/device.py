"""Which device and number type a run computes with, found out without importing torch."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import re

from variantbench.plugins.errors import UserError

# Weights in 8 or 4 bits, arithmetic in bfloat16, as transformers offers it through bitsandbytes.
QUANTISED = ("int8", "int4")


def cuda_devices() -> int:
    """How many CUDA devices the driver shows; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def resolve_device(name: str, *, elsewhere: bool = False) -> str:
    """The device a run uses: ``auto`` takes a GPU where there is one. UserError if the named one is not here.

    `elsewhere`: other machines generate, so that cpu and cuda need not be here, and single GPUs cannot be named.
    """
    if elsewhere and name in ("cpu", "cuda"):
        return name
    if elsewhere and name != "auto":
        raise UserError(f"--device {name!r} does not go with an engine that chooses devices: take cpu, cuda or auto")
    here = ["cpu"]
    if gpus := cuda_devices():
        here += ["cuda", *(f"cuda:{index}" for index in range(gpus))]
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        here.append("mps")
    if name == "auto":
        return "cuda" if gpus else here[-1]
    if name not in here:
        known = re.fullmatch(r"cpu|mps|cuda(:\d+)?", name)
        trouble = "is not on this machine" if known else "is no device name"
        raise UserError(f"--device {name!r} {trouble}: here are {', '.join(here)} (or auto)")
    return name


def resolve_dtype(name: str, *, device: str, model_dtype: str) -> str:
    """The number type of weights and activations: ``auto`` is the model's own on a GPU, float32 on a CPU."""
    if name in QUANTISED:
        if not device.startswith("cuda"):
            raise UserError(f"--dtype {name} needs a CUDA device, not {device}: use float32 or bfloat16 here")
        if importlib.util.find_spec("bitsandbytes") is None:
            raise UserError(f"--dtype {name} needs bitsandbytes, not installed here: pip install bitsandbytes")
    if name != "auto":
        return name
    if device == "cpu":
        return "float32"
    return model_dtype if model_dtype != "auto" else "bfloat16"
