"""The long-lived process in a box: runs one answer after the other, each in a fresh child of its own.

Standard input brings jobs, standard output takes results; wire.py of the host's side describes both. The parent reads a
job's header only, its child reads the source itself; the parent passes on what the child reports without looking at it,
and wipes its buffer. So nothing of an answer is ever in the memory that another answer is forked from.

Covers: per answer its own user (or, where the box has one user only, no fork at all and no access to the runner's
memory), limits of CPU time, memory, processes and files; an end to everything the answer started. CPU time decides: the
wall clock only catches sleepers, and gives an answer that is computing more time, so that a busy machine changes no
grade. Does not cover: what the box itself must hold back (network, files); boot.py and the backend do that.
"""

import _signal
import fcntl
import gc
import io
import posix
import resource
import select
import sys
import time
from _struct import pack, unpack

JOB = ">4sQIIHHQ"  # magic, number, bytes of source, wall ms, cpu s, profile, bytes of memory
RESULT = ">4sQiIIII"  # magic, number, wait status, wall us, cpu us, peak KiB, bytes of report
HEADER_BYTES = 32
MOST_BYTES = 32 * 1024  # of a report
MOST_OUTPUT = 8 * 1024  # of what an answer prints
DEVNULL, REPORT, READY = 9, 3, 4
FIRST_UID, UIDS = 20_000, 40_000
TICK = 1.0  # seconds between two signs of life while an answer runs
PATIENCE = 20  # wall seconds that an answer gets for each second of CPU time it has used
SPARE_BYTES = 32 * 2**20  # of memory, for reporting that there is none left
PAPER = 1  # bits of the profile
PACKAGES = 2


def main():
    """Serve jobs until the host hangs up."""
    nonce, users = sys.argv[1:3]
    protect = harden() if users == "one-uid" else None
    del sys.argv[1:], sys.orig_argv[1:]
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # the first process of a box hears only signals it has handlers for
    for name in list(posix.environ):
        posix.unsetenv(name)
    posix.environ.clear()
    hello = f'{{"nonce": "{nonce}", "python": "{sys.version.split()[0]}", "status": "{status()}"}}'.encode()
    write_all(1, pack(">4sQiIIII", b"HEL3", 0, 0, 0, 0, 0, len(hello)) + hello)
    buffer = bytearray(MOST_BYTES)
    stage = Stage()
    gc.collect()
    gc.freeze()  # the objects of the runner are no answer's business, and pages stay shared
    while (header := read_all(0, HEADER_BYTES)) is not None:
        serve(header, buffer, users, protect, stage)


def harden():
    """Make the runner's memory unreadable for its own user; returns what keeps a child from forking."""
    sys.path.insert(0, sys.argv[0].rpartition("/")[0])
    import ctypes

    import boot
    import seccomp

    del sys.path[0]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    program = seccomp.build_no_fork_filter(posix.uname().machine)
    for name in ("boot", "seccomp"):
        del sys.modules[name]
    return lambda: boot.install(program, libc)


def status():
    """What the kernel says of this process's privileges."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return ""
    wanted = ("NoNewPrivs:", "Seccomp:", "CapEff:", "CapBnd:")
    return " ".join("".join(line[:2]) for line in lines if line and line[0] in wanted)


def read_all(fd, count):
    """`count` bytes; None if the stream ends before."""
    data = b""
    while len(data) < count:
        more = posix.read(fd, count - len(data))
        if not more:
            return None
        data = data + more if data else more
    return data


def write_all(fd, data):
    """Write everything."""
    view = memoryview(data)
    while view:
        view = view[posix.write(fd, view) :]


def serve(header, buffer, users, protect, stage):
    """Run one answer and pass on its report."""
    _, number, size, wall_ms, cpu_seconds, profile, memory = unpack(JOB, header)
    report, report_end = posix.pipe()
    ready, ready_end = posix.pipe()
    started = time.monotonic()
    child = posix.fork()
    if child == 0:
        become_answer(report_end, ready_end, number, size, cpu_seconds, profile, memory, users, protect, stage)
    posix.close(report_end)
    posix.close(ready_end)
    is_ready = posix.read(ready, 1)
    posix.close(ready)
    if not is_ready:  # the answer has not begun: whatever went wrong is not its doing
        posix._exit(4)
    used, late = watch(child, report, buffer, started + wall_ms / 1000, cpu_seconds)
    magic = b"RES!" if late else b"RES3"
    _, status, usage = posix.wait4(child, 0)
    wall = time.monotonic() - started
    if sweep(child):
        magic = b"RESO"
    used = drain(report, buffer, used)
    posix.close(report)
    cpu = usage.ru_utime + usage.ru_stime
    fields = (magic, number, status, microseconds(wall), microseconds(cpu), usage.ru_maxrss, used)
    write_all(1, pack(RESULT, *fields))
    write_all(1, memoryview(buffer)[:used])
    buffer[:used] = bytes(used)


def microseconds(seconds):
    """Seconds as they fit the header."""
    return min(int(seconds * 1e6), 2**32 - 1)


def watch(child, report, buffer, deadline, cpu_seconds):
    """Collect the report until the child ends or sleeps too long; (bytes collected, whether it was killed)."""
    posix.set_blocking(report, False)
    clock = (~child << 3) | 2  # the child's CPU time
    try:
        ended = posix.pidfd_open(child)
    except (AttributeError, OSError):  # gVisor, old kernels
        ended = -1
    poll = select.poll()
    poll.register(report, select.POLLIN)
    if ended >= 0:
        poll.register(ended, select.POLLIN)
    used, is_open, told = 0, True, time.monotonic()
    try:
        while True:
            now = time.monotonic()
            if now >= deadline and now >= deadline + patience(clock, cpu_seconds):
                posix.kill(child, 9)
                return used, True
            pause = min(TICK, max(deadline - now, 0.05)) if ended >= 0 else 0.005
            events = dict(poll.poll(1000 * pause))
            if ended in events or (ended < 0 and has_ended(child)):
                return used, False
            if report in events:
                before, used = used, drain(report, buffer, used)
                if is_open and (used == before or used == len(buffer)):  # the end of the pipe, or no room
                    poll.unregister(report)
                    is_open = False
            if now - told >= TICK:
                write_all(1, pack(RESULT, b"TIC3", 0, 0, 0, 0, 0, 0))
                told = now
    finally:
        if ended >= 0:
            posix.close(ended)


def patience(clock, cpu_seconds):
    """Further wall seconds for a child that computes."""
    try:
        return PATIENCE * min(time.clock_gettime(clock), cpu_seconds + 1)
    except OSError:
        return PATIENCE * cpu_seconds / 4


def has_ended(child):
    """Whether the child is a zombie; it stays one."""
    return posix.waitid(posix.P_PID, child, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT) is not None


def drain(report, buffer, used):
    """Read what is there into the buffer; returns how much of it is used now."""
    while used < len(buffer):
        try:
            count = posix.readv(report, [memoryview(buffer)[used:]])
        except BlockingIOError:
            break
        if count == 0:
            break
        used += count
    return used


def sweep(child):
    """End whatever the answer may have started; returns whether there was anything."""
    try:
        if posix.getpid() == 1:
            posix.kill(-1, 9)  # everything in the box but this process
        else:
            posix.killpg(child, 9)
    except OSError:
        return False
    found = False
    try:
        while True:
            posix.waitpid(-1, 0)
            found = True
    except ChildProcessError:
        return found


def become_answer(report_end, ready_end, number, size, cpu_seconds, profile, memory, users, protect, stage):
    """In the child: read the source, give up everything, run it. Never returns."""
    source = read_all(0, size) if size else b""
    if source is None:
        posix._exit(4)
    posix.setsid()
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    report_end = dup_above(report_end)
    ready_end = dup_above(ready_end)
    for fd in (0, 1, 2):
        posix.dup2(DEVNULL, fd)
    posix.dup2(report_end, REPORT)
    posix.dup2(ready_end, READY)
    posix.closerange(READY + 1, 64)
    limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    if users != "unprotected":
        limit(resource.RLIMIT_NPROC, 0, 0)
    limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)
    if users == "own-uid":
        uid = FIRST_UID + number % UIDS
        posix.setgroups([])
        posix.setresgid(uid, uid, uid)
        posix.setresuid(uid, uid, uid)
    elif protect is not None:
        protect()
    posix.putenv(b"OPENBLAS_NUM_THREADS", b"1")  # there are no threads; not in os.environ, which stays empty
    if profile & PACKAGES:
        sys.path.append("/opt/packages")
    posix.write(READY, b"r")
    posix.close(READY)
    stage.run(source, profile & PAPER)


def dup_above(fd):
    """The same descriptor at a number that dup2 to 0..4 cannot hit."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD, 16)


def limit(which, soft, hard):
    """Set a limit where the kernel knows it."""
    try:
        resource.setrlimit(which, (soft, hard))
    except (ValueError, OSError):
        return


# What follows runs in the child beside the answer, which may have changed anything it can reach: modules, builtins,
# the globals of this file. So whatever is used after the answer has begun is a local name of a closure made before. All
# of it is made in the parent, once: touching an object in the child copies the page it lies on.

OK, SYNTAX, NAME, ATTRIBUTE, ZERO_DIVISION, TYPE_VALUE, NONE, NOT_A_NUMBER, NO_FUNCTION, MEMORY, OTHER = range(11)
NO_KIND, INT, FLOAT, BOOL, NAN, INFINITE, MINUS_INFINITE, BIG_INT, OTHER_KIND = range(9)
MOST_BITS = 8192  # longer integers are told by their length
EXACT, MESSAGE, OUTPUT = 1, 2, 3  # tags of what may follow the head of a report
PAPER_BUILTINS = (
    "int", "float", "str", "bool", "complex", "list", "dict", "tuple", "set", "len", "range", "enumerate", "zip",
    "all", "any", "reversed", "sorted", "filter", "map", "slice", "round", "min", "max", "abs", "sum", "pow", "divmod",
    "print",
)  # fmt: skip
PAPER_MODULES = ("numbers", "math", "cmath", "decimal", "fractions", "random", "typing", "array")


class NoFunctionError(Exception):
    """The program defines no ``solution``."""


class Stage:
    """What an answer is run on."""

    def __init__(self):
        self.kept, self.streams = make_streams()
        self.report = make_report(self.kept)
        self.module = type(sys)("answer")
        self.names = self.module.__dict__
        self.names["__builtins__"] = dict(__builtins__.__dict__)  # its own copy
        compile("", "<answer>", "exec")  # the first call makes hundreds of types, which no answer need pay for
        self.paper_names = {"__builtins__": {name: self.names["__builtins__"][name] for name in PAPER_BUILTINS}}

    def run(self, source, is_paper):
        """Run the source's ``solution`` and report what came of it. Never returns."""
        everything, report = BaseException, self.report
        sys.stdout, sys.stderr = self.streams
        try:
            program = self.paper_program(source) if is_paper else self.python_program(source)
        except (SyntaxError, ValueError) as error:  # ValueError: lone surrogates, null bytes
            report(error, None, SYNTAX)
        except everything as error:
            report(error, None, None)
        try:
            value = program()
        except everything as error:
            report(error, None, None)
        report(None, value, None)

    def python_program(self, source):
        """The whole language: a call that runs the source as a module of its own, then its ``solution``."""
        code = compile(source.decode("utf-8", "surrogatepass"), "<answer>", "exec", dont_inherit=True)
        sys.modules["answer"] = self.module
        names, execute, missing, no_function = self.names, exec, object(), NoFunctionError

        def program():
            execute(code, names)
            function = names.get("solution", missing)
            if function is missing:
                raise no_function
            return function()

        return program

    def paper_program(self, source):
        """The study's: few builtins, modules at hand, names of the module invisible inside functions."""
        text = source.decode("utf-8", "surrogatepass")
        names, local, execute, missing, no_function = self.paper_names, {}, exec, object(), NoFunctionError
        names.update({name: __import__(name) for name in PAPER_MODULES if name in text})

        def program():
            execute(text, names, local)
            function = local.get("solution", missing)
            if function is missing:
                raise no_function
            return function()

        return program


def make_streams():
    """What is kept of the answer's output, and its standard output and error, which go there."""
    kept = bytearray()
    room, length = MOST_OUTPUT, len

    class Kept(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            if length(kept) < room:
                kept.extend(memoryview(data)[: room - length(kept)])
            return length(data)

    return kept, [io.TextIOWrapper(Kept(), "utf-8", "surrogatepass", write_through=True) for _ in range(2)]


def make_report(kept):
    """The function that reports how the answer ended, and ends the child."""
    write, leave, packed, everything, no_memory = posix.write, posix._exit, pack, BaseException, MemoryError
    quiet, classify, describe, detail = make_quiet(), make_classify(), make_describe(), make_detail(kept)
    fd, no_kind, memory_head = REPORT, NO_KIND, pack(">BBHH", MEMORY, NO_KIND, 0, 0)
    length = len

    def report(error, value, known):
        quiet()
        try:
            if error is None:
                ending, kind, name, text = describe(value)
            else:
                ending, kind, name, text = classify(error) if known is None else known, no_kind, b"", b""
            write(fd, packed(">BBHH", ending, kind, length(name), length(text)) + name + text)
        except no_memory:
            write(fd, memory_head)
        try:  # the class stands; this may hang, fail or exit
            detail(error, value)
        except everything:
            leave(0)
        leave(0)

    return report


def make_quiet():
    """A function that gives the report memory and stack, and takes away the answer's hooks."""
    everything, set_limit, get_limit, memory = BaseException, resource.setrlimit, resource.getrlimit, resource.RLIMIT_AS

    def more_memory(which):
        hard = get_limit(which)[1]
        set_limit(which, (hard, hard))

    calls = ((sys.setprofile, None), (sys.settrace, None), (sys.setrecursionlimit, 1000), (more_memory, memory))

    def quiet():
        for call, argument in calls:
            try:
                call(argument)
            except everything:
                continue

    return quiet


def make_classify():
    """The function that gives an exception's class, by its real bases in the study's order."""
    order = (
        (NoFunctionError, NO_FUNCTION),
        (SyntaxError, SYNTAX),
        (NameError, NAME),
        (AttributeError, ATTRIBUTE),
        (ZeroDivisionError, ZERO_DIVISION),
        (TypeError, TYPE_VALUE),
        (ValueError, TYPE_VALUE),
        (MemoryError, MEMORY),
    )
    class_of, bases_of, other = type, type.__dict__["__mro__"].__get__, OTHER

    def classify(error):
        bases = bases_of(class_of(error))
        for wanted, ending in order:
            for base in bases:
                if base is wanted:
                    return ending
        return other

    return classify


def make_describe():
    """The function that gives a value's class, kind, type name and exact text, calling nothing of the answer's."""
    class_of, bases_of, name_of = type, type.__dict__["__mro__"].__get__, type.__dict__["__name__"].__get__
    whole, real, encode, plain_number = int, float, str.encode, make_plain_number()
    ok, none, no_number = OK, NONE, NOT_A_NUMBER
    no_kind, boolean, other = NO_KIND, BOOL, OTHER_KIND

    def describe(value):
        if value is None:
            return none, no_kind, b"", b""
        kind = class_of(value)
        name = encode(name_of(kind)[:60], "utf-8", "surrogatepass")
        if value is True or value is False:
            return ok, boolean, name, b"1" if value else b"0"
        for base in bases_of(kind):
            if base is whole or base is real:
                return (ok, *plain_number(value, base is whole, name))
        return no_number, other, name, b""

    return describe


def make_plain_number():
    """The function that writes the int or float inside a value as hexadecimal text."""
    add, multiply, bits_of, hexadecimal, real_hex = int.__add__, float.__mul__, int.bit_length, "%x".__mod__, float.hex
    encode, most, infinity = str.encode, MOST_BITS, float("inf")
    integer, big, real, no_value, plus, minus = INT, BIG_INT, FLOAT, NAN, INFINITE, MINUS_INFINITE
    decimal_text = "%d".__mod__

    def plain_number(value, is_whole, name):
        if is_whole:
            number = add(value, 0)
            bits = bits_of(number)
            if bits > most:
                return big, name, encode(decimal_text(bits))
            return integer, name, encode(hexadecimal(number))
        number = multiply(value, 1.0)
        if number != number:
            return no_value, name, b""
        if number == infinity or number == -infinity:
            return plus if number > 0 else minus, name, b""
        return real, name, encode(real_hex(number))

    return plain_number


def make_detail(kept):
    """The function that adds what may go wrong: the exact value of other numbers, the output, the message."""
    write, packed, exact_text, text_of, class_of = posix.write, pack, make_exact_text(), str, type
    name_of, encode, length, contents = type.__dict__["__name__"].__get__, str.encode, len, bytes
    fd, exact, message, output = REPORT, EXACT, MESSAGE, OUTPUT

    def add(tag, data):
        write(fd, packed(">BH", tag, length(data)) + data)

    def detail(error, value):
        if kept:
            add(output, contents(kept))
        if error is None:
            text = exact_text(value)
            if text is not None:
                add(exact, encode(text)[:4000])
        else:
            text = name_of(class_of(error))[:100] + ": " + text_of(error)[:400]
            add(message, encode(text, "utf-8", "surrogatepass"))

    return detail


def make_exact_text():
    """The function that writes decimals, fractions, and numbers of numpy and sympy, read through their own types."""
    modules, class_of, bases_of = sys.modules, type, type.__dict__["__mro__"].__get__
    whole, real, both, no_slot = int, float, "%x/%x".__mod__, AttributeError

    def is_a(value, module, name):
        """The class of that name, if it is a real base of the value's."""
        found = modules.get(module)
        wanted = None if found is None else found.__dict__.get(name)
        for base in bases_of(class_of(value)):
            if base is wanted:
                return wanted
        return None

    def of_builtin(kind, value):
        if class_of(value) is whole:
            return kind + " " + both((value, 1))
        if class_of(value) is real:
            return kind + " " + real.hex(value)
        return None

    def slot(value, name):
        """The integer that a type keeps under that name in the value, or for all its values."""
        for base in bases_of(class_of(value)):
            found = base.__dict__.get(name)
            if found is not None:
                return whole.__add__(found if class_of(found) is whole else found.__get__(value), 0)
        raise no_slot

    def of_slots(kind, value, numerator, denominator):
        return kind + " " + both((slot(value, numerator), slot(value, denominator)))

    def exact_text(value):
        if owner := is_a(value, "decimal", "Decimal"):
            return "decimal " + owner.__str__(value)
        if is_a(value, "fractions", "Fraction"):
            return of_slots("fraction", value, "_numerator", "_denominator")
        if owner := is_a(value, "numpy", "generic"):
            return of_builtin("numpy", owner.item(value))
        if is_a(value, "sympy", "Rational"):
            return of_slots("sympy", value, "p", "q")
        if owner := is_a(value, "sympy", "Float"):
            return of_builtin("sympy", owner.__float__(value))
        return None

    return exact_text


if __name__ == "__main__":
    main()
