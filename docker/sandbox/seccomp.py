"""The system calls that an answer may make, as a BPF program for x86_64 and aarch64. Everything else is refused.

Covers: no sockets but pairs, no writing to files, no namespaces, no tracing, no keys, no shared memory that outlives an
answer, no limits of other processes. A call through a foreign ABI ends the process. Does not cover: bugs in the calls
that are allowed.
"""

import struct

# name: number on x86_64, on aarch64 (None: the call does not exist there)
ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "stat": (4, None), "fstat": (5, 80), "lstat": (6, None),
    "poll": (7, None), "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215),
    "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "ioctl": (16, 29), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66),
    "access": (21, None), "pipe": (22, None), "select": (23, None), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "dup": (32, 23), "dup2": (33, None), "pause": (34, None), "nanosleep": (35, 101),
    "getitimer": (36, 102), "alarm": (37, None), "setitimer": (38, 103), "getpid": (39, 172), "sendto": (44, 206),
    "recvfrom": (45, 207), "shutdown": (48, 210), "getsockname": (51, 204), "fork": (57, None), "vfork": (58, None),
    "execve": (59, 221), "exit": (60, 93), "wait4": (61, 260), "kill": (62, 129), "uname": (63, 160),
    "fcntl": (72, 25), "getdents": (78, None), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50),
    "readlink": (89, None), "umask": (95, 166), "gettimeofday": (96, 169), "getrlimit": (97, 163),
    "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153), "getuid": (102, 174), "getgid": (104, 176),
    "setuid": (105, 146), "setgid": (106, 144), "geteuid": (107, 175), "getegid": (108, 177), "setpgid": (109, 154),
    "getppid": (110, 173), "getpgrp": (111, None), "setsid": (112, 157), "getgroups": (115, 158),
    "setgroups": (116, 159), "setresuid": (117, 147), "getresuid": (118, 148), "setresgid": (119, 149),
    "getresgid": (120, 150), "getpgid": (121, 155), "getsid": (124, 156), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "statfs": (137, 43),
    "fstatfs": (138, 44), "arch_prctl": (158, None), "setrlimit": (160, 164), "gettid": (186, 178),
    "tkill": (200, 130), "time": (201, None), "futex": (202, 98), "sched_getaffinity": (204, 123),
    "getdents64": (217, 61), "set_tid_address": (218, 96), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "exit_group": (231, 94),
    "epoll_wait": (232, None), "epoll_ctl": (233, 21), "tgkill": (234, 131),
    "waitid": (247, 95), "newfstatat": (262, 79),
    "readlinkat": (267, 78), "faccessat": (269, 48), "pselect6": (270, 72), "ppoll": (271, 73),
    "set_robust_list": (273, 99), "get_robust_list": (274, 100), "epoll_pwait": (281, 22), "signalfd4": (289, 74),
    "eventfd2": (290, 19), "epoll_create1": (291, 20), "dup3": (292, 24), "pipe2": (293, 59), "preadv": (295, 69),
    "pwritev": (296, 70), "getcpu": (309, 168), "getrandom": (318, 278), "statx": (332, 291), "rseq": (334, 293),
    "pidfd_open": (434, 434), "close_range": (436, 436), "faccessat2": (439, 439),
}  # fmt: skip

# Calls that are allowed with some arguments only.
OPEN, OPENAT, CLONE, CLONE3 = (2, None), (257, 56), (56, 220), (435, 435)
SOCKETPAIR, PRCTL, PRLIMIT = (53, 199), (157, 167), (302, 261)

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | 1, 0x00050000 | 38

# O_ACCMODE, O_CREAT, O_TRUNC, O_APPEND and the bit of O_TMPFILE that is not O_DIRECTORY, the same on both machines
_WRITES = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
# all CLONE_NEW* flags: time, mount, cgroup, uts, ipc, user, pid, net
_NAMESPACES = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_AF_UNIX = 1
_SET_DUMPABLE, _SET_NAME, _GET_NAME, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 4, 15, 16, 22, 38

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data


def build_filter(machine: str) -> bytes:
    """The BPF program for a machine as `platform.machine` names it, as an array of struct sock_filter."""
    column, architecture = _ARCHITECTURES[machine]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # the x32 ABI
        program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, KILL)]
    for numbers in ALLOWED.values():
        program += _if_call(numbers[column], [(_RETURN, 0, 0, ALLOW)])
    program += _if_call(OPEN[column], _refuse_bits(1, _WRITES))
    program += _if_call(OPENAT[column], _refuse_bits(2, _WRITES))
    program += _if_call(CLONE[column], _refuse_bits(0, _NAMESPACES))
    program += _if_call(SOCKETPAIR[column], _allow_only(0, (_AF_UNIX,)))
    program += _if_call(PRLIMIT[column], _allow_only(0, (0,)))
    dumpable = _allow_only(1, (0,))
    is_dumpable = [(_LOAD, 0, 0, _argument(0)), (_EQUAL, 0, len(dumpable), _SET_DUMPABLE), *dumpable]
    others = _allow_only(0, (_SET_NAME, _GET_NAME, _SET_SECCOMP, _SET_NO_NEW_PRIVS))
    program += _if_call(PRCTL[column], [*is_dumpable, *others])
    program += _if_call(CLONE3[column], [(_RETURN, 0, 0, ENOSYS)])  # its flags lie in memory; libc falls back
    program += [(_RETURN, 0, 0, EPERM)]
    return _assemble(program)


def build_no_fork_filter(machine: str) -> bytes:
    """A further program that refuses new processes and threads: for answers that share the runner's uid."""
    column, _ = _ARCHITECTURES[machine]
    program = [(_LOAD, 0, 0, _NUMBER)]
    for numbers in (CLONE, CLONE3, ALLOWED["fork"], ALLOWED["vfork"]):
        program += _if_call(numbers[column], [(_RETURN, 0, 0, 0x00050000 | 11)])  # EAGAIN, as the limit gives
    program += [(_RETURN, 0, 0, ALLOW)]
    return _assemble(program)


def _if_call(number, then):
    return [] if number is None else [(_EQUAL, 0, len(then), number), *then]


def _argument(position):
    return 16 + 8 * position  # the low half, on little-endian machines


def _refuse_bits(position, bits):
    return [(_LOAD, 0, 0, _argument(position)), (_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, EPERM), (_RETURN, 0, 0, ALLOW)]


def _allow_only(position, values):
    checks = [(_LOAD, 0, 0, _argument(position))]
    for value in values:
        checks += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, ALLOW)]
    return [*checks, (_RETURN, 0, 0, EPERM)]


def _assemble(program):
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
