"""A root folder for boxes, made of Debian's packages: security updates as Debian has them, no registry.

Only ``apt-get download`` and ``dpkg-deb`` are used; nothing is installed on this machine, no package's script runs.
Covers: Debian and its kin, any architecture that apt is configured for. Does not cover: numpy and sympy.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.rootfs import cached_root, even_out, furnish

_ROOTS = ("python3-minimal", "libpython3-stdlib")
# What no program in a box needs: databases, terminals, mail, network names, scripts of packages.
_UNWANTED = re.compile(
    r"debconf|dpkg|media-types|netbase|tzdata|tar|gcc-\d+-base|install-info|mailcap|mime-support|.*-(?:data|common)|"
    r"(?:lib)?perl.*|lib(?:db|gdbm|krb|gssapi|k5|keyutils|tirpc|nsl|com-err|ncurses|readline|tinfo).*"
)
_LEFT_OUT = ("usr/share", "etc", "usr/sbin", "sbin", "var", "bin", "usr/bin/pdb3*", "usr/bin/py3*", "usr/bin/pydoc*")

Say = Callable[[str], None]


def debian_root(cache: Path, *, say: Say = print) -> tuple[Path, str]:
    """A root folder of the Debian release's Python, built at first use, and its digest; SandboxError without apt."""
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise SandboxError(f"no {program} on this machine: the base debian is made with it (try --base host)")
    packages = _closure()
    recipe = json.dumps([*packages, hashlib.sha256(Path(__file__).read_bytes()).hexdigest()])
    say(f"{len(packages)} packages: {', '.join(packages)}")
    return cached_root(cache, recipe, lambda root: _build(root, packages))


def _closure() -> list[str]:
    """The packages that Python needs to run, with their versions."""
    command = ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"]
    command += ["--no-breaks", "--no-replaces", "--no-enhances", *_ROOTS]
    names = sorted({line for line in _run(command).splitlines() if re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", line)})
    wanted = [name for name in names if not _UNWANTED.fullmatch(name)]
    policies = re.findall(
        r"^(\S+):\n\s+Installed: .*\n\s+Candidate: (\S+)", _run(["apt-cache", "policy", *wanted]), re.M
    )
    return [f"{name}={version}" for name, version in policies if version != "(none)"]


def _build(root: Path, packages: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *packages], cwd=folder)
        root.mkdir(parents=True)
        for archive in sorted(Path(folder).glob("*.deb")):
            _run(["dpkg-deb", "-x", str(archive), str(root)])
    for pattern in _LEFT_OUT:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    furnish(root)
    interpreter = next(path for path in (root / "usr/bin").glob("python3.*") if path.name[8:].isdigit())
    (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/local/bin/python3").symlink_to(f"/usr/bin/{interpreter.name}")
    _compile(root, interpreter)
    even_out(root)


def _compile(root: Path, interpreter: Path) -> None:
    """Byte code of the standard library, made by the interpreter that will read it: an import is then cheap."""
    loader = next(path for path in root.glob("lib/*/ld-linux-*.so.*") if not path.is_symlink())
    libraries = f"{loader.parent}:{root}/usr/{loader.parent.relative_to(root)}"
    library = root / "usr/lib" / interpreter.name
    command = [str(loader), "--library-path", libraries, str(interpreter), "-s", "-S", "-m", "compileall", "-q"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", str(root), str(library)]
    _run(command, environment={"PYTHONHOME": str(root / "usr")})


def _run(command: list[str], *, cwd: str | None = None, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(  # noqa: S603 - commands of ours
        command, capture_output=True, text=True, check=False, cwd=cwd, env=environment
    )
    if done.returncode != 0:
        raise SandboxError(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-300:]}")
    return done.stdout
