"""A root folder for boxes, made of an interpreter of this machine: no registry, no network.

It holds the interpreter, its standard library without tests and tools, numpy and sympy where the interpreter has them
(in a folder of their own, off the usual path), and the shared libraries they need. Two builds give the same bytes.

Covers: no shell, no setuid file, no user's file. Does not cover: other architectures than this machine's.
"""

from __future__ import annotations

import compileall
import hashlib
import importlib.util
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from variantbench.plugins.errors import SandboxError

PACKAGES = ("numpy", "sympy", "mpmath")
_PACKAGES_FOLDER = "opt/packages"

_LEFT_OUT = {
    "__pycache__", "test", "tests", "idlelib", "ensurepip", "lib2to3", "tkinter", "turtledemo", "turtle.py",
    "site-packages", "dist-packages", "pydoc_data", "venv", "include", "_pyrepl",
}  # fmt: skip
_NO_CODE = re.compile(
    r"config-\d.*|libpython.*\.a|.*\.(?:pyi|pxd|pyx|h|c|a|f90|exe|md|txt|rst)|_tkinter\..*|_test.*\.so|xx.*\.so"
)
_FILES = {
    "etc/passwd": "root:x:0:0:root:/:\nnobody:x:65534:65534:nobody:/:\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "dev/null": "",
}
_FOLDERS = ("dev", "proc", "sys", "tmp", "var/tmp", "opt/runner", "etc", _PACKAGES_FOLDER)


def host_root(cache: Path) -> tuple[Path, str]:
    """A root folder made of the running interpreter, built at first use, and its digest."""
    if shutil.which("ldd") is None:
        raise SandboxError("no ldd on this machine: a root for the sandbox cannot be made of its interpreter")
    python = Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
    recipe = json.dumps([str(python), sys.version, *_package_versions(), _own_digest()])
    return cached_root(cache, recipe, lambda root: build_root(root, python))


def cached_root(cache: Path, recipe: str, build: Callable[[Path], None]) -> tuple[Path, str]:
    """The root folder that a recipe describes, built at first use, and its digest."""
    folder = cache / "sandbox" / f"root-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    note = folder / "digest"
    if not note.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as making:
            made = Path(making) / "made"
            build(made / "root")
            (made / "digest").write_text(digest(made / "root"))
            try:
                made.rename(folder)
            except OSError:  # another process was faster
                if not note.is_file():
                    raise
    return folder / "root", note.read_text()


def build_root(root: Path, python: Path) -> None:
    """Fill an empty folder with everything that `python` needs to run."""
    furnish(root)
    library, version = _standard_library(python)
    binary = root / "usr/local/bin" / version
    binary.parent.mkdir(parents=True)
    shutil.copyfile(python, binary)
    binary.chmod(0o755)
    (binary.parent / "python3").symlink_to(version)
    home = root / "usr/local/lib" / version
    _copy_tree(library, home)
    for package in PACKAGES:
        _copy_package(package, root / _PACKAGES_FOLDER)
    extensions = [path for path in root.rglob("*.so*") if path.is_file()]
    for path in shared_libraries([python, *_originals(library, home, extensions), *extensions]):
        _copy_library(path, root)
    for folder in (home, root / _PACKAGES_FOLDER):
        compileall.compile_dir(
            folder,
            quiet=2,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            stripdir=str(root),
        )
    even_out(root)


def furnish(root: Path) -> None:
    """The folders and the few files that every box has."""
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (root / name).write_text(text)


def even_out(root: Path) -> None:
    """Everything readable, nothing setuid, whatever the umask was."""
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _standard_library(python: Path) -> tuple[Path, str]:
    code = "import sysconfig; print(sysconfig.get_path('stdlib'))"
    done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - this Python
    library = Path(done.stdout.strip())
    return library, library.name


def _copy_tree(source: Path, target: Path) -> None:
    def left_out(_folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name in _LEFT_OUT or _NO_CODE.fullmatch(name)}

    shutil.copytree(source, target, ignore=left_out, ignore_dangling_symlinks=True, dirs_exist_ok=True)


def _copy_package(name: str, target: Path) -> None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return
    folder = Path(found.origin).parent
    _copy_tree(folder, target / name)
    if (libraries := folder.parent / f"{name}.libs").is_dir():
        shutil.copytree(libraries, target / libraries.name, dirs_exist_ok=True)


def _originals(library: Path, home: Path, copies: Iterable[Path]) -> Iterator[Path]:
    """Extension modules where they came from: there their relative search paths hold."""
    for copy in copies:
        if copy.is_relative_to(home) and (original := library / copy.relative_to(home)).is_file():
            yield original


def shared_libraries(files: Iterable[Path]) -> list[Path]:
    """The shared libraries that files need, and the loader, by ``ldd``."""
    found: set[Path] = set()
    for file in files:
        done = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False)  # noqa: S603, S607 - libc's own
        found.update(Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.MULTILINE))
    return sorted(found)


def _copy_library(path: Path, root: Path) -> None:
    """A shared library at its own path; the interpreter's own beside it, where relative search paths find it."""
    if path.is_relative_to(root):
        return
    targets = [root / str(path).lstrip("/")]
    if path.name.startswith("libpython"):
        targets.append(root / "usr/local/lib" / path.name)
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(os.path.realpath(path), target)
        target.chmod(0o755)


def _package_versions() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return versions


def _own_digest() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


# As an archive that is the same every time.


def write_tar(root: Path, out: IO[bytes]) -> None:
    """A tar of the folder: sorted, without times and owners."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            info = archive.gettarinfo(str(path), arcname=str(path.relative_to(root)))
            info.mtime = info.uid = info.gid = 0
            info.uname = info.gname = "root"
            if info.isfile():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)


def digest(root: Path) -> str:
    """The sha256 of the folder's archive."""
    with tempfile.TemporaryFile() as file:
        write_tar(root, file)
        file.seek(0)
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
