"""What an answer's process writes is read strictly: anything at all gives an ending, and only that answer's."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.plugins.datatypes import ExecutionClass
from variantbench.plugins.sandbox.base import Limits
from variantbench.plugins.sandbox.wire import Frames, Result, WireError, pack_job, read_execution, read_report

OK, NOT_A_NUMBER, OTHER = 0, 7, 10
INT, FLOAT, BOOL, NAN, BIG_INT = 1, 2, 3, 4, 7


def head(ending: int, kind: int, value: bytes, name: bytes = b"") -> bytes:
    return struct.pack(">BBHH", ending, kind, len(name), len(value)) + name + value


def part(tag: int, data: bytes) -> bytes:
    return struct.pack(">BH", tag, len(data)) + data


def frame(magic: bytes, number: int, report: bytes = b"", *, status=0, wall=0, cpu=0) -> bytes:
    return struct.pack(">4sQiIIII", magic, number, status, wall, cpu, 0, len(report)) + report


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report(data):
    report = read_report(data)
    assert report.ending in ExecutionClass
    assert (report.value is None) or report.ending in (ExecutionClass.OK, ExecutionClass.NOT_A_NUMBER)


@given(st.integers(-(2**8192) + 1, 2**8192 - 1))
def test_integers_come_back_exactly(number):
    assert read_report(head(OK, INT, b"%x" % number)).value == str(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_bit_for_bit(number):
    value = read_report(head(OK, FLOAT, number.hex().encode())).value
    assert value is not None
    assert struct.pack("d", float(value)) == struct.pack("d", number)


@given(st.fractions(max_denominator=10**50))
def test_fractions_come_back_exactly(number):
    exact = f"fraction {number.numerator:x}/{number.denominator:x}".encode()
    report = read_report(head(NOT_A_NUMBER, 8, b"", b"Fraction") + part(1, exact))
    assert (report.value, report.kind) == (str(number), "fraction")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=5))
def test_decimals_come_back_exactly(number):
    from fractions import Fraction

    report = read_report(head(NOT_A_NUMBER, 8, b"") + part(1, f"decimal {number}".encode()))
    assert report.value == str(Fraction(number))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        head(11, 0, b""),  # no such class
        head(OK, 9, b""),  # no such kind
        head(OK, 0, b""),  # right, but without a value
        head(OTHER, INT, b"2a"),  # failed, but with one
        head(OK, INT, b" 2a\n"),  # what int() would let pass
        head(OK, INT, b"2_a"),
        head(OK, INT, b"+2a"),
        head(OK, INT, b""),
        head(OK, INT, b"0x2a"),
        head(OK, INT, "٤".encode()),
        head(OK, INT, b"f" * 5000),
        head(OK, FLOAT, b"nan"),
        head(OK, FLOAT, b"1.5"),
        head(OK, FLOAT, b"0x1.8p+99999"),
        head(OK, BOOL, b"2"),
        head(OK, NAN, b"1"),
        head(OK, BIG_INT, b"many"),
        struct.pack(">BBHH", OK, INT, 65535, 65535),  # lengths beyond the data
    ],
)
def test_what_no_runner_writes_is_malformed(data):
    assert read_report(data).ending is ExecutionClass.OTHER
    assert read_report(data).value is None


@pytest.mark.parametrize(
    "exact",
    [
        b"decimal NaN",
        b"decimal 1E+99999999",
        b"decimal 1.2.3",
        b"fraction 1/0",
        b"fraction 0x1/2",
        b"numpy 0x",
        b"poem",
    ],
)
def test_a_malformed_exact_value_is_none(exact):
    report = read_report(head(NOT_A_NUMBER, 8, b"") + part(1, exact))
    assert (report.ending, report.value) == (ExecutionClass.NOT_A_NUMBER, None)


def test_a_part_that_is_cut_leaves_the_class():
    report = read_report(head(OK, INT, b"2a") + part(3, b"output")[:-2])
    assert (report.value, report.output) == ("42", "")


@given(st.lists(st.binary(max_size=50), max_size=5), st.lists(st.integers(1, 60), max_size=20))
def test_frames_are_found_however_the_stream_is_cut(reports, cuts):
    stream = b"".join(frame(b"RES3", number, report) for number, report in enumerate(reports))
    frames, found = Frames(), []
    for size in [*cuts, len(stream)]:
        found += frames.feed(stream[:size])
        stream = stream[size:]
    assert [(result.number, result.report) for result in found] == list(enumerate(reports))


@given(st.binary(min_size=32, max_size=64).filter(lambda data: data[:3] not in (b"RES", b"HEL", b"TIC")))
def test_a_stream_that_is_none_is_refused(data):
    with pytest.raises(WireError):
        list(Frames().feed(data))


def test_a_frame_longer_than_a_runner_sends_is_refused():
    with pytest.raises(WireError):
        list(Frames().feed(struct.pack(">4sQiIIII", b"RES3", 1, 0, 0, 0, 0, 32 * 1024 + 1)))


@pytest.mark.parametrize(
    ("result", "ending"),
    [
        (Result(b"RES!", 1, status=9), "timeout"),  # killed at the wall limit
        (Result(b"RES3", 1, status=24, cpu_us=10), "timeout"),  # SIGXCPU
        (Result(b"RES3", 1, status=9, cpu_us=3_000_000), "timeout"),  # the kernel's hard limit
        (Result(b"RES3", 1, status=9, cpu_us=10_000), "other"),  # killed itself
        (Result(b"RES3", 1, status=11), "other"),
        (Result(b"RES3", 1, status=0), "other"),  # exit 0 without a report
        (Result(b"RES3", 1, status=4 << 8), "other"),
        (Result(b"RES!", 1, report=head(OK, INT, b"2a")), "ok"),  # the class stands, whatever came later
        (Result(b"RES!", 1, report=b"xx"), "timeout"),
    ],
)
def test_without_a_report_the_end_of_the_process_decides(result, ending):
    assert read_execution(result, limits=Limits()).ending.value == ending


def test_a_job_says_how_long_its_source_is():
    data = pack_job(7, b"source", profile="paper", limits=Limits())
    assert struct.unpack(">4sQIIHHQ", data[:32]) == (b"JOB3", 7, 6, 8000, 2, 1, 256 * 2**20)
    assert data[32:] == b"source"
