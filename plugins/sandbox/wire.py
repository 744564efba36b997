"""How the host and the runner in a box talk. The runner's side is docker/sandbox/runner.py.

Host to runner: a header (magic, number, bytes of source, wall ms, cpu s, profile, bytes of memory), then the source.
Runner to host: a header (magic, number, wait status, wall us, cpu us, peak KiB, bytes), then the answer's own report.

A report is written by the answer's process, which may write anything: it is read strictly, and can change that
answer's grade only. It has a head (class, kind of value, lengths of type name and value), then parts with a tag.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from variantbench.plugins.datatypes import Execution, ExecutionClass
from variantbench.plugins.sandbox.base import Limits

_JOB = struct.Struct(">4sQIIHHQ")
_RESULT = struct.Struct(">4sQiIIII")
_HEAD = struct.Struct(">BBHH")
_PART = struct.Struct(">BH")

HELLO, TICK = b"HEL3", b"TIC3"
_DONE, _TOO_LATE, _ORPHANS = b"RES3", b"RES!", b"RESO"
_MAGICS = (HELLO, TICK, _DONE, _TOO_LATE, _ORPHANS)
_MOST_BYTES = 32 * 1024
# The bits PAPER and PACKAGES of runner.py. "stdlib" is Python without numpy and sympy.
_PROFILES = {"stdlib": 0, "paper": 1, "python": 2}

_SIGKILL, _SIGXCPU = 9, 24
_CLASSES = (
    ExecutionClass.OK,
    ExecutionClass.SYNTAX_ERROR,
    ExecutionClass.NAME_ERROR,
    ExecutionClass.ATTRIBUTE_ERROR,
    ExecutionClass.ZERO_DIVISION_ERROR,
    ExecutionClass.TYPE_VALUE_ERROR,
    ExecutionClass.NONE_RETURNED,
    ExecutionClass.NOT_A_NUMBER,
    ExecutionClass.NO_FUNCTION,
    ExecutionClass.MEMORY,
    ExecutionClass.OTHER,
)
_KINDS = ("", "int", "float", "bool", "nan", "inf", "-inf", "big int", "other")
_NO_KIND, _OTHER = 0, 8
_NOT_A_NUMBER = 7
_EXACT, _MESSAGE, _OUTPUT = 1, 2, 3

_INTEGER = re.compile(r"-?[0-9a-f]{1,4096}")
_REAL = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?0x0\.0p\+0")
_DECIMAL = re.compile(r"decimal ([+-]?[0-9.]{1,300}(?:E[+-]?[0-9]{1,3})?)")
_FRACTION = re.compile(r"(\w+) (-?[0-9a-f]{1,600})/([0-9a-f]{1,600})")
_OTHER_REAL = re.compile(r"(\w+) (-?0x\S+)")


class WireError(Exception):
    """The bytes from a box are not what a runner writes: the box is thrown away."""


@dataclass(frozen=True, slots=True)
class Result:
    """One frame from a runner. `number` is the job's; `report` what the answer wrote, unread."""

    magic: bytes
    number: int
    status: int = 0
    wall_us: int = 0
    cpu_us: int = 0
    report: bytes = b""


def pack_job(number: int, source: bytes, *, profile: str, limits: Limits) -> bytes:
    """A job as the runner reads it."""
    head = _JOB.pack(
        b"JOB3",
        number,
        len(source),
        int(limits.wall_seconds * 1000),
        limits.cpu_seconds,
        _PROFILES[profile],
        limits.memory_bytes,
    )
    return head + source


class Frames:
    """Cuts the bytes from a runner into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Result]:
        """The frames that are complete now; WireError if the bytes are none."""
        self._data += data
        while len(self._data) >= _RESULT.size:
            # the runner also says the peak of its memory, which nobody here asks for: to leave it out is a new runner
            magic, number, status, wall, cpu, _peak, size = _RESULT.unpack_from(self._data)
            if magic not in _MAGICS or size > _MOST_BYTES:
                raise WireError(f"not a frame: {bytes(self._data[:40])!r}")
            end = _RESULT.size + size
            if len(self._data) < end:
                return
            report = bytes(self._data[_RESULT.size : end])
            del self._data[:end]
            yield Result(magic, number, status, wall, cpu, report)


@dataclass(frozen=True, slots=True)
class Report:
    """What an answer's process says of itself."""

    ending: ExecutionClass
    kind: str = ""
    value: str | None = None
    message: str = ""
    output: str = ""


_MALFORMED = Report(ExecutionClass.OTHER, message="the report of the program's process is malformed")


def read_execution(
    result: Result, *, limits: Limits, backend: str = "", image: str = "", profile: str = ""
) -> Execution:
    """How a program ended: by its own report where there is one, else by how its process ended."""
    report = read_report(result.report) if result.report else _MALFORMED
    if report is _MALFORMED:
        report = _without_report(result, limits)
    return Execution(
        ending=report.ending,
        value=report.value,
        output=report.output,
        seconds=round(result.wall_us / 1e6, 4),
        backend=backend,
        image=image,
        profile=profile,
        kind=report.kind,
        message=report.message,
        cpu_seconds=round(result.cpu_us / 1e6, 4),
    )


def _without_report(result: Result, limits: Limits) -> Report:
    signal, code = result.status & 0x7F, result.status >> 8 & 0xFF
    out_of_time = signal == _SIGKILL and result.cpu_us >= limits.cpu_seconds * 1_000_000
    if result.magic == _TOO_LATE or signal == _SIGXCPU or out_of_time:
        return Report(ExecutionClass.TIMEOUT)
    if result.report:
        return _MALFORMED
    how = f"killed by signal {signal}" if signal else f"left with exit code {code}"
    return Report(ExecutionClass.OTHER, message=f"the program's process was {how} before solution returned")


def read_report(data: bytes) -> Report:
    """A report read strictly; any that is not as the runner writes them is of the class OTHER."""
    if len(data) < _HEAD.size:
        return _MALFORMED
    number, kind, name_size, value_size = _HEAD.unpack_from(data)
    end = _HEAD.size + name_size + value_size
    if number >= len(_CLASSES) or kind >= len(_KINDS) or end > len(data):
        return _MALFORMED
    value = _value(kind, data[end - value_size : end])
    has_value = kind not in (_NO_KIND, _OTHER)
    if has_value != (_CLASSES[number] is ExecutionClass.OK) or value is None:
        return _MALFORMED
    parts = dict(_parts(data[end:]))
    exact_kind, exact = _exact(_text(parts.get(_EXACT, b""))) if number == _NOT_A_NUMBER else ("", None)
    name = data[_HEAD.size : _HEAD.size + name_size]
    return Report(
        ending=_CLASSES[number],
        kind=exact_kind or _KINDS[kind],
        value=value or exact,
        message=_text(parts.get(_MESSAGE, b"")) or (_text(name) if kind == _OTHER else ""),
        output=_text(parts.get(_OUTPUT, b"")),
    )


def _value(kind: int, data: bytes) -> str | None:
    """The value as exact text, empty where the kind has none, None where the bytes are no such value."""
    text = data.decode("latin-1")
    match kind:
        case 1 if _INTEGER.fullmatch(text):
            return _decimal(int(text, 16))
        case 2 if _REAL.fullmatch(text):
            return repr(float.fromhex(text))
        case 3 if text in ("0", "1"):
            return "True" if text == "1" else "False"
        case 7 if re.fullmatch("[0-9]{1,9}", text):
            return ""
        case 0 | 4 | 5 | 6 | 8 if not text:
            return ""
    return None


def _decimal(number: int) -> str:
    return str(number) if number.bit_length() < 14_000 else ""


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The tagged parts up to the first that is not whole."""
    start = 0
    while start + _PART.size <= len(data):
        tag, size = _PART.unpack_from(data, start)
        start += _PART.size
        if start + size > len(data):
            return
        yield tag, data[start : start + size]
        start += size


def _exact(text: str) -> tuple[str, str | None]:
    """Kind and value of a number that is neither int nor float."""
    try:
        if match := _DECIMAL.fullmatch(text):
            return "decimal", str(Fraction(match[1]))
        if match := _FRACTION.fullmatch(text):
            return match[1], str(Fraction(int(match[2], 16), int(match[3], 16)))
        if (match := _OTHER_REAL.fullmatch(text)) and _REAL.fullmatch(match[2]):
            return match[1], repr(float.fromhex(match[2]))
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    return "", None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
