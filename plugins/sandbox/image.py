"""The Docker image of the boxes: the files of docker/sandbox over a base, built without a network where need be."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from variantbench.plugins.cache import cache_folder
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import RUNNER_FILES, RUNNER_FOLDER, SERVER_FILE
from variantbench.plugins.sandbox.docker import connect, daemon_errors
from variantbench.plugins.sandbox.rootfs import host_root, write_tar

NAME = "variantbench-sandbox"
_BUILD_SECONDS = 600

Say = Callable[[str], None]


def image_tag(base: str = "host") -> str:
    """The name of the image for this version's files over a base; another version has another name."""
    digest = hashlib.sha256(base.encode())
    for name in ("Dockerfile", *RUNNER_FILES, SERVER_FILE):
        digest.update((RUNNER_FOLDER / name).read_bytes())
    if base == "host":
        digest.update(host_root(cache_folder())[1].encode())
    return f"{NAME}:{digest.hexdigest()[:12]}"


def ensure_image(*, base: str = "host", say: Say = print) -> str:
    """The image's name; it is built if the daemon does not have it."""
    tag = image_tag(base)
    client = connect()
    with daemon_errors():
        if not client.images(name=tag):
            say("building the sandbox's image of this machine's Python (once)")
            build_image(base=base, say=lambda _: None)
    return tag


def build_image(*, base: str = "host", say: Say = print) -> str:
    """Build the image and return its name. `base`: ``host``, ``debian``, or an image that has python3."""
    client = connect(timeout=_BUILD_SECONDS)
    name = _base_image(client, base, say)
    tag = image_tag(base)
    with daemon_errors():
        lines = client.build(
            fileobj=_context(),
            custom_context=True,
            tag=tag,
            buildargs={"BASE": name},
            rm=True,
            forcerm=True,
            decode=True,
        )
        for line in lines:
            if "error" in line:
                raise SandboxError(f"the sandbox's image cannot be built: {line['error'].strip()}")
            if text := line.get("stream", "").strip():
                say(text)
    return tag


def _base_image(client: Any, base: str, say: Say) -> str:
    if base not in ("host", "debian"):
        return base
    if base == "debian":
        from variantbench.plugins.sandbox.debian import debian_root

        root, digest = debian_root(cache_folder(), say=say)
    else:
        root, digest = host_root(cache_folder())
    name = f"{NAME}-base:{base}-{digest.removeprefix('sha256:')[:12]}"
    with daemon_errors():
        if not client.images(name=name):
            say(f"importing {root} as {name}")
            with tempfile.TemporaryFile() as file:
                write_tar(root, file)
                file.seek(0)
                repository, _, tag = name.partition(":")
                client.import_image_from_data(_chunks(file), repository=repository, tag=tag)
    return name


def _chunks(file: Any) -> Iterator[bytes]:
    while chunk := file.read(1 << 20):
        yield chunk


def _context() -> io.BytesIO:
    """The build context, the same bytes every time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("Dockerfile", *RUNNER_FILES, SERVER_FILE):
            data = (RUNNER_FOLDER / name).read_bytes()
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    out.seek(0)
    return out
