"""First stage in a box: takes from itself what no answer may have, then becomes the runner.

Covers what must hold before the runner starts: no file can grow, no core is written, few descriptors, no new
privileges, the filter of system calls. Everything set here is inherited by every answer and costs it nothing.

Arguments: a nonce for the greeting, and ``own-uid`` (each answer runs as a user of its own; needs root in the box),
``one-uid`` (the box has one user) or ``unprotected`` (no filter: development on machines without any sandbox).
"""

import ctypes
import os
import platform
import resource
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)  # -P leaves it out

import seccomp  # noqa: E402

# The descriptor that stands in for an answer's input and output.
DEVNULL = 9


def limit_resources():
    """Hard limits of the runner and of everything it starts."""
    for name, value in (
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_NOFILE", 32),
        ("RLIMIT_SIGPENDING", 8),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (AttributeError, ValueError, OSError):  # gVisor does not know all of them
            continue


def install(program, libc):
    """Install a BPF program as a filter of system calls on this process."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    text = ctypes.create_string_buffer(program, len(program))
    pointer = ctypes.byref(Program(len(program) // 8, ctypes.cast(text, ctypes.c_void_p)))
    if libc.prctl(22, 2, pointer, 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise OSError(ctypes.get_errno(), "no filter of system calls could be installed")


def main():
    """Lock the box and become the runner."""
    nonce, users = sys.argv[1:3]
    os.dup2(os.open("/dev/null", os.O_RDWR), DEVNULL, inheritable=True)
    limit_resources()
    if users != "unprotected":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
            raise OSError(ctypes.get_errno(), "no_new_privs could not be set")
        install(seccomp.build_filter(platform.machine()), libc)
    command = [sys.executable, "-s", "-S", "-P", "-B", os.path.join(HERE, "runner.py"), nonce, users]
    os.execve(sys.executable, command, {"PYTHONHASHSEED": "0"})  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
