"""Programs and how they must end, for tests that need no shared data: one or more of each kind of attack and answer."""

from __future__ import annotations

from typing import NamedTuple


class Program(NamedTuple):
    """A program, its class, its value and kind."""

    name: str
    source: str
    ending: str
    value: str | None = None
    kind: str = ""


def body(*lines: str) -> str:
    return "def solution():\n" + "".join(f"    {line}\n" for line in lines)


ORDINARY = (
    Program("int", body("return 12 * 12"), "ok", "144", "int"),
    Program("negative int", body("return -7"), "ok", "-7", "int"),
    Program("big int", body("return 7 ** 900"), "ok", str(7**900), "int"),
    Program("bigger int", body("return 7 ** 9000"), "ok", None, "big int"),
    Program("float", body("return 0.1 * 3"), "ok", repr(0.1 * 3), "float"),
    Program("smallest float", body("return 5e-324"), "ok", "5e-324", "float"),
    Program("minus zero", body("return -0.0"), "ok", "-0.0", "float"),
    Program("true", body("return 1 == 1"), "ok", "True", "bool"),
    Program("nan", body("return float('nan')"), "ok", None, "nan"),
    Program("infinite", body("return float('inf')"), "ok", None, "inf"),
    Program("minus infinite", body("return -float('inf')"), "ok", None, "-inf"),
    Program("none", body("pass"), "none_returned"),
    Program("text", body("return '12'"), "not_a_number", None, "other"),
    Program("complex", body("return 2j"), "not_a_number", None, "other"),
    Program("decimal", "from decimal import *\n" + body("return Decimal('2.50')"), "not_a_number", "5/2", "decimal"),
    Program("nan decimal", "from decimal import *\n" + body("return Decimal('nan')"), "not_a_number", None, "other"),
    Program("fraction", "from fractions import *\n" + body("return Fraction(-1, 3)"), "not_a_number", "-1/3", "fraction"),
    Program("no function", "x = 5\n", "no_function"),
    Program("nothing", "", "no_function"),
    Program("syntax", body("return (1"), "syntax_error"),
    Program("syntax of evaluated text", body("return eval('1 +')"), "syntax_error"),
    Program("name", body("return pears"), "name_error"),
    Program("attribute", body("return 'a'.size"), "attribute_error"),
    Program("zero division", body("return 1 % 0"), "zero_division_error"),
    Program("type", body("return len(5)"), "type_value_error"),
    Program("value", body("return int('x')"), "type_value_error"),
    Program("key", body("return {}[1]"), "other"),
    Program("import", body("import no_such_module"), "other"),
    Program("recursion", body("return solution()"), "other"),
    Program("module level fails", "1 / 0\n" + body("return 1"), "zero_division_error"),
    Program("prints, returns", body("print('9' * 20_000)", "return 4"), "ok", "4", "int"),
    Program("carriage returns", "def solution():\r    return 3\r", "ok", "3", "int"),
    Program("null byte", "def solution():\n    return 1 \0\n", "syntax_error"),
    Program("lone surrogate", body("return len('\ud800')"), "syntax_error"),
    Program("main guard", body("return 2") + "if __name__ == '__main__':\n    1 / 0\n", "ok", "2", "int"),
    Program("data class", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\n" + body("return P(6).x"), "ok", "6", "int"),
)  # fmt: skip

HOSTILE = (
    Program("loop", body("while True: pass"), "timeout"),
    Program("sleeper", body("import time", "time.sleep(99)"), "timeout"),
    Program("stopped", body("import os", "os.kill(os.getpid(), 19)"), "timeout"),
    Program("ignores SIGXCPU", body("import signal", "signal.signal(24, signal.SIG_IGN)", "while True: pass"), "timeout"),
    Program("one long call of C", body("return 3 ** 3 ** 20"), "timeout"),
    Program("fills its pipe", body("import os", "while True: os.write(3, b'x' * 9999)"), "timeout"),
    Program("memory", body("return len(bytearray(10 ** 10))"), "memory"),
    Program("memory bit by bit", body("keep = []", "while True: keep.append(bytes(10 ** 6))"), "memory"),
    Program("fork", body("import os", "return os.fork()"), "other"),
    Program("thread", body("import _thread", "return _thread.start_new_thread(print, ())"), "other"),
    Program("exit 0", body("import os", "os._exit(0)"), "other"),
    Program("exit 4, as the runner does", body("import os", "os._exit(4)"), "other"),
    Program("SystemExit", body("raise SystemExit(0)"), "other"),
    Program("kills its group", body("import os", "os.killpg(0, 9)"), "other"),
    Program("kills everybody", body("import os", "os.kill(-1, 9)", "return 1"), "other"),
    Program("segmentation fault", body("import ctypes", "ctypes.string_at(1)"), "other"),
    Program("writes", body("return open('/opt/mark', 'w').write('x')"), "other"),
    Program("appends to the runner", body("return open('/opt/runner/runner.py', 'a').write('#')"), "other"),
    Program("opens a device to write", body("return open('/dev/null', 'w').write('x')"), "other"),
    Program("reads the shadow file", body("return len(open('/etc/shadow').read())"), "other"),
    Program("reads the runner's memory map", body("return len(open('/proc/1/maps').read())"), "other"),
    Program("writes its own memory", body("return open('/proc/self/mem', 'r+b').fileno()"), "other"),
    Program("socket", body("import socket", "return socket.socket().fileno()"), "other"),
    Program("name server", body("import socket", "return len(socket.getaddrinfo('example.org', 80))"), "other"),
    Program("stops the runner", body("import os", "try: os.kill(1, 19)", "except OSError: pass", "return 1"), "ok", "1", "int"),
    Program("kills the runner", body("import os", "try: os.kill(1, 9)", "except OSError: pass", "return 1"), "ok", "1", "int"),
    Program("sends the runner every signal", body("import os", "for number in range(1, 65):", "    try: os.kill(1, number)", "    except OSError: pass", "return 1"), "ok", "1", "int"),
    Program("interrupts itself", body("import os", "os.kill(os.getpid(), 2)", "return 1"), "other"),
    Program("class written before the message hangs", "class E(KeyError, ValueError):\n    def __str__(self):\n        while True: pass\n" + body("raise E"), "type_value_error"),
    Program("int that lies", "class I(int):\n    def __add__(self, other): return 99\n    __index__ = __int__ = __radd__ = __add__\n" + body("return I(5)"), "ok", "5", "int"),
    Program("type that lies", "class L:\n    __class__ = int\n" + body("return L()"), "not_a_number", None, "other"),
    Program("forged frame", body("import os, struct", "f = struct.pack('>4sQiIIII', b'RES3', 2, 0, 1, 1, 1, 7) + bytes([0, 1, 0, 0, 0, 1]) + b'7'", "for fd in range(32):", "    try: os.write(fd, f)", "    except OSError: pass", "os._exit(0)"), "other"),
    Program("forged greeting", body("import os", "for fd in range(32):", "    try: os.write(fd, b'HEL3' + bytes(28))", "    except OSError: pass", "os._exit(0)"), "other"),
    Program("more than a report holds", body("import os", "os.set_blocking(3, False)", "for _ in range(99):", "    try: os.write(3, b'x' * 4096)", "    except OSError: pass", "os._exit(0)"), "other"),
    Program("closes everything", body("import os", "os.closerange(0, 99)", "return 5"), "other"),
    Program("clears builtins", body("import builtins", "vars(builtins).clear()", "return 3"), "ok", "3", "int"),
    Program("clears the runner's globals", body("import sys", "vars(sys.modules['__main__']).clear()", "return 3"), "ok", "3", "int"),
    Program("never ends at exit", body("import atexit", "atexit.register(solution)", "return 3"), "ok", "3", "int"),
)  # fmt: skip

# What a program sees of its box. `docker` and `bubblewrap` differ in how they tell users apart.
POSTURE = {
    "environment": (body("import os", "return len(os.environ)"), "0"),
    "descriptors": (
        body("import os", "n = 0", "for i in range(99):", "    try: os.fstat(i); n += 1", "    except OSError: pass", "return n"),
        "4",
    ),
    "standard input": (body("import os", "return len(os.read(0, 99))"), "0"),
    "processes": (body("import os", "return sum(name.isdigit() for name in os.listdir('/proc'))"), "2"),
    "network interfaces": (body("return len(open('/proc/net/dev').readlines()) - 2"), "1"),
    "root is read-only": (body("import os", "return os.statvfs('/').f_flag & os.ST_RDONLY"), "1"),
    "shared memory segments of the host": (body("return len(open('/proc/sysvipc/shm').readlines()) - 1"), "0"),
    "host name": (body("import os", "return int(os.uname().nodename == 'box')"), "1"),
    "no new privileges": (body("return int('NoNewPrivs:\\t1' in open('/proc/self/status').read())"), "1"),
    "groups": (body("import os", "return len([g for g in os.getgroups() if g not in (os.getgid(), 65534)])"), "0"),
    "capabilities": (body("return int('CapEff:\\t0000000000000000' in open('/proc/self/status').read())"), "1"),
    "hash seed": (body("return hash('apples')"), None),
}  # fmt: skip


def limit(name: str) -> str:
    return body("import resource", f"return resource.getrlimit(resource.{name})[1]")


LIMITS = {
    "RLIMIT_FSIZE": "0",
    "RLIMIT_CORE": "0",
    "RLIMIT_MEMLOCK": "0",
    "RLIMIT_MSGQUEUE": "0",
    "RLIMIT_NOFILE": "32",
    "RLIMIT_SIGPENDING": "8",
    "RLIMIT_NPROC": "0",
    "RLIMIT_CPU": "2",
    "RLIMIT_AS": str((256 + 32) * 2**20),
}
