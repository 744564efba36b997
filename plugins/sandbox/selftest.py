"""Before a run: do the defences hold? Each is attacked once; a harmless program behind it must get its value."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.errors import SandboxError
from variantbench.plugins.sandbox.base import Backend, Limits
from variantbench.plugins.sandbox.pool import Pool

LIMITS = Limits(cpu_seconds=1, wall_seconds=1.0, memory_bytes=128 * 2**20)

_OTHER, _TIMEOUT, _MEMORY = ExecutionClass.OTHER, ExecutionClass.TIMEOUT, ExecutionClass.MEMORY

# name of the defence: an attack, and the endings that show that the defence held
ATTACKS: dict[str, tuple[str, tuple[ExecutionClass, ...]]] = {
    "loop": ("def solution():\n    while True: pass\n", (_TIMEOUT,)),
    "sleeper": ("def solution():\n    import time\n    time.sleep(600)\n    return 1\n", (_TIMEOUT,)),
    "fork": ("def solution():\n    import os\n    os.fork()\n    return 1\n", (_OTHER,)),
    "memory": ("def solution():\n    return len(bytes(10 ** 9))\n", (_MEMORY,)),
    "network": (
        "def solution():\n    import socket\n    socket.socket().connect(('192.0.2.1', 80))\n    return 1\n",
        (_OTHER,),
    ),
    "write a file": ("def solution():\n    open('/tmp/mark', 'w').write('x')\n    return 1\n", (_OTHER,)),
    "read the host's file": ("def solution():\n    return len(open({secret!r}).read())\n", (_OTHER,)),
    "forged frame": (
        "def solution():\n"
        "    import os, struct\n"
        "    frame = struct.pack('>4sQiIIII', b'RES3', 1, 0, 1, 1, 1, 7) + bytes([0, 1, 0, 0, 0, 1]) + b'7'\n"
        "    for fd in range(64):\n"
        "        try: os.write(fd, frame * 3)\n"
        "        except OSError: pass\n"
        "    os._exit(0)\n",
        (_OTHER,),
    ),
    "exit 0": ("def solution():\n    import os\n    os._exit(0)\n", (_OTHER,)),
}


def self_test(backend: Backend) -> None:
    """Nothing if every defence holds; else SandboxError that names those that do not."""
    failed = list(_failures(backend))
    if failed:
        raise SandboxError(
            f"the {backend.name} sandbox does not hold: {'; '.join(failed)}. No program of a model's is run: "
            "use another --sandbox, or --sandbox off"
        )


def _failures(backend: Backend) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w") as secret, Pool(backend, boxes=1, limits=LIMITS) as pool:
        secret.write("secret")
        secret.flush()
        pool.try_out()
        runs = []
        for name, (source, _) in ATTACKS.items():
            attack = pool.submit(source.replace("{secret!r}", repr(secret.name)))
            runs.append((name, attack, pool.submit("def solution():\n    return 6 * 7\n")))
        for name, attack, sentinel in runs:
            got = attack.result()
            if got.ending not in ATTACKS[name][1]:
                yield f"{name}: {_short(got)}"
            if sentinel.result().value != "42":
                yield f"{name}: the answer behind it was lost ({_short(sentinel.result())})"


def _short(got: Execution) -> str:
    return " ".join(filter(None, (got.ending.value, got.value, got.message)))
