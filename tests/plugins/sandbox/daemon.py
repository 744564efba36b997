"""A Docker daemon of one's own, to be killed and hung: with its own containerd, storage and network namespace.

Without the namespace, `--bridge none` would take away the bridge of the machine's own daemon; without a containerd of
its own, both would share their containers.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("dockerd", "containerd", "runc", "unshare")


def missing() -> str:
    """What this machine lacks for a daemon of one's own; empty if nothing."""
    if os.geteuid() != 0:
        return "a private Docker daemon needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"a private Docker daemon needs {', '.join(lacking)}" if lacking else ""


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class PrivateDaemon:
    """Started on construction; `url` is its address."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="vb-dockerd-", dir="/var/tmp"))  # paths must be short
        self.url = f"unix://{self.folder}/docker.sock"
        self.options = options
        self.containerd = self._start_containerd()
        self.dockerd = self._start_dockerd()

    def _spawn(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            environment = {**os.environ, "PATH": _path()}
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def _start_containerd(self) -> subprocess.Popen[bytes]:
        config = self.folder / "containerd.toml"
        config.write_text(
            f'version = 2\nroot = "{self.folder}/c-root"\nstate = "{self.folder}/c-state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{self.folder}/c.sock"\n'
        )
        process = self._spawn("containerd", "-c", str(config))
        self._wait_for(self.folder / "c.sock", process)
        return process

    def _start_dockerd(self) -> subprocess.Popen[bytes]:
        (self.folder / "docker.pid").unlink(missing_ok=True)
        folder = str(self.folder)
        command = ["dockerd", "--host", self.url, "--containerd", f"{folder}/c.sock", "--data-root", f"{folder}/data"]
        command += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/docker.pid", "--bridge", "none"]
        process = self._spawn("unshare", "--net", *command, "--iptables=false", "--ip6tables=false", *self.options)
        self._wait_for(self.folder / "docker.sock", process)
        return process

    def _wait_for(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        for _ in range(300):
            if path.exists():
                return
            if process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.1)
        raise RuntimeError(f"{path} does not appear: {(self.folder / 'log').read_text()[-2000:]}")

    def restart(self, *, by: signal.Signals) -> None:
        """End the daemon by a signal, and start it again."""
        self.dockerd.send_signal(by)
        try:
            self.dockerd.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.dockerd.kill()
            self.dockerd.wait()
        (self.folder / "docker.sock").unlink(missing_ok=True)
        self.dockerd = self._start_dockerd()

    def hang(self, seconds: float) -> None:
        """Stop the daemon for a while."""
        self.dockerd.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.dockerd.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End both and remove everything."""
        for process in (self.dockerd, self.containerd):
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (mount := line.split()[1]).startswith(str(self.folder)):
                subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
