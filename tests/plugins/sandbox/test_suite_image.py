"""The suite in an image of its own, joined with boxes by Unix sockets: built and started without a registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from variantbench.plugins.errors import SandboxError, UserError
from variantbench.plugins.sandbox.base import RUNNER_FOLDER, Limits
from variantbench.plugins.sandbox.choose import SandboxTask, check_choice, open_backend
from variantbench.plugins.sandbox.docker import connect
from variantbench.plugins.sandbox.image import ensure_image
from variantbench.plugins.sandbox.pool import Pool
from variantbench.plugins.store import open_store

SUITE = Path(__file__).parents[3] / "docker" / "suite"
LIMITS = {"nofile": 64, "core": 0, "nproc": 64}
ANSWER = "def solution():\n    return {}\n"


@pytest.fixture(scope="module")
def client(open_or_skip):
    open_or_skip("docker")
    return connect()


@pytest.fixture
def served(client, tmp_path):
    """Two containers that serve boxes in a folder, as the compose file starts them."""
    folder = tmp_path / "boxes"
    folder.mkdir(mode=0o750)
    started = [client.create_container(
        image=ensure_image(say=lambda _: None),
        entrypoint=["python3", "-s", "-S", "-P", "-B", "/opt/runner/serve.py", "/run/boxes"],
        volumes=["/run/boxes"],
        host_config=client.create_host_config(
            binds=[f"{folder}:/run/boxes"], network_mode="none", read_only=True, ipc_mode="none", cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID", "KILL"], security_opt=["no-new-privileges"], pids_limit=24,
            mem_limit="448m", memswap_limit="448m", nano_cpus=10**9,
            ulimits=[{"Name": name, "Soft": most, "Hard": most} for name, most in LIMITS.items()],
        ),
    )["Id"] for _ in range(2)]  # fmt: skip
    try:
        for container in started:
            client.start(container)
        wait_for(lambda: len(list(folder.glob("*.sock"))) == 2)
        yield folder
    finally:
        for container in started:
            client.remove_container(container, force=True)


def wait_for(condition, seconds=30.0):
    import time

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_served_boxes_execute_and_hold_back(served):
    limits = Limits(cpu_seconds=1, wall_seconds=1.0)
    backend = open_backend(SandboxTask(f"unix:{served}"), limits=limits)
    assert backend.digest.startswith("sha256:")
    with Pool(backend, limits=limits) as pool:
        assert pool.details()["boxes"] == 2
        hostile = {
            "while True: pass": "timeout",
            "import socket; socket.socket()": "other",
            "open('/run/boxes')": "other",
            "import os; os.fork()": "other",
        }
        for program, ending in hostile.items():
            got = pool.execute(f"def solution():\n    {program}\n    return 1\n")
            assert got.ending.value in (ending, "forbidden_string"), (program, got)
            assert pool.execute(ANSWER.format(6 * 7)).value == "42"


def test_a_box_serves_one_run_after_the_other(served):
    for number in range(3):
        with Pool(open_backend(SandboxTask(f"unix:{served}"))) as pool:
            assert pool.execute(ANSWER.format(number)).value == str(number)


def test_nobody_serves(tmp_path):
    with pytest.raises(SandboxError, match="no sandbox serves at .*: start the service"):
        open_backend(SandboxTask(f"unix:{tmp_path}"))
    with pytest.raises(UserError, match="unix:FOLDER of sockets"):
        check_choice(SandboxTask("socket"))


def test_serving_is_refused_outside_a_container(tmp_path):
    command = [sys.executable, str(RUNNER_FOLDER / "serve.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "only as the first process of a container" in done.stderr


def test_the_suite_runs_in_its_image_without_dockers_socket(client, needs, tmp_path):
    compose = shutil.which("docker-compose")
    needs(compose is not None, "no docker-compose")
    base = next(tag for image in client.images() for tag in image["RepoTags"] or () if "sandbox-base:host" in tag)
    docker = next(path for path in ("/usr/bin/docker", shutil.which("docker")) if path and Path(path).exists())
    name = f"variantbench-suite-test-{uuid.uuid4().hex[:8]}"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DOCKER": docker,
        "SUITE_IMAGE": name,
        "SANDBOX_IMAGE": ensure_image(say=lambda _: None),
        "RESULTS": str(tmp_path / "results"),
        "CACHE": str(tmp_path / "cache"),
        "COMPOSE_PROJECT_NAME": name,
    }
    for folder in ("results", "cache"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder).chmod(0o777)
    (tmp_path / "results" / "model.json").write_text('{"default": "def solution():\\n    return 41 + 1\\n"}')
    options = ["--engine=scripted", "--model=/work/model.json", "--prompts=structured_code", "-k", "0001"]
    try:
        run([SUITE / "build", name, base, ""], environment)
        order = [compose, "-f", SUITE / "compose.yaml"]
        run([*order, "run", "--rm", "suite", *options, "--variants-per-template=3", "-n", "2"], environment)
    finally:
        subprocess.run([compose, "-f", SUITE / "compose.yaml", "down", "-v"], env=environment, check=False)
        connect(timeout=600).remove_image(name, force=True)
    with open_store(str(tmp_path / "results" / "runs.db")) as store:
        records = list(store.records(store.find_run()["id"]))
    assert [row["robust_value"] for row in records] == ["42"] * 4
    assert all('"backend": "socket"' in row["execution"] for row in records)


def run(command, environment):
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
