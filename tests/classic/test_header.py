"""Headers: what is right, what is wrong, and what is for the library to read."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from ds_format import classic
from ds_format.body.body import Body, FileBody, MemoryBody
from ds_format.classic import header as headers
from ds_format.errors import FormatError, TruncatedError

from ..conftest import cases
from .files import Attribute, File, Variable, drawn, encode
from .same import at_once, compare, exact, in_memory, slowly
from .written import drawn_or_written, written

VERSIONS = [1, 2, 5]
X = (b"x", 3)
T = (b"t", 0)


def ints(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


A = Variable(b"a", [0], 4, [ints(1, 2, 3)])
"""A variable of the dimension X."""
R = Variable(b"r", [0], 4, [ints(1), ints(2), ints(3)])
"""A variable of the dimension T."""


def every_value(data: bytes) -> list[Any]:
    body = in_memory(data)
    return [classic.values(body, variable)[0].tolist() for variable in classic.read_header(body).variables]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_header_says_what_there_is(version: int) -> None:
    attributes = [Attribute(b"title", 2, b"an \xc3\xa4\0\0"), Attribute(b"n", 3, b"\1\0"), Attribute(b"e", 6, b"")]
    file = File(version, [T, X], attributes, [Variable(b"v", [0, 1], 3, [bytes(6)] * 3, attributes[:1]), R])
    data = encode(file)
    header = classic.read_header(in_memory(data))
    assert header.format == {1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT_OFFSET", 5: "NETCDF3_64BIT_DATA"}[version]
    assert header.dimensions == (("t", 3, True), ("x", 3, False))
    assert exact(header.attributes) == exact({"title": "an ä", "n": np.int16(256), "e": np.array([], "f8")})
    first, second = header.variables
    assert first == ("v", (0, 1), {"title": "an ä"}, "i2", (3, 3), header.size, 12)
    assert second == ("r", (0,), {}, "i4", (3,), header.size + 8, 12)
    assert classic.end_of(header.variables[1]) == len(data)


@cases("seed", range(300))
def test_the_kernel_reads_what_the_grammar_says(seed: int) -> None:
    data = encode(drawn(Random(seed)))
    assert at_once(data, len(data)) == slowly(data, len(data)) != None  # noqa: E711
    compare(data)


def test_the_kernel_reads_what_we_write() -> None:
    for data in written():
        assert at_once(data, len(data)) == slowly(data, len(data)) != None  # noqa: E711
        compare(data)


@cases("seed", range(200))
def test_of_mutated_headers_kernel_and_grammar_say_the_same(seed: int) -> None:
    random = Random(seed)
    whole = drawn_or_written(random)
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(data))
            data[place] = random.choice([0, 1, 2, 10, 11, 12, 127, 128, 255, random.randrange(256)])
        if random.random() < 0.2:
            del data[random.randrange(len(data)) :]
        compare(bytes(data))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_part_of_a_header_asks_for_more(version: int) -> None:
    data = encode(File(version, [T, X], [Attribute(b"title", 2, b"text")], [A._replace(dims=[1]), R]))
    size = classic.read_header(in_memory(data)).size
    for n in range(size):
        with pytest.raises(classic.Incomplete) as caught:
            headers._parse(data[:n], len(data), False)
        assert n < caught.value.size <= size
    for n in range(size):
        with pytest.raises(FormatError):
            classic.read_header(in_memory(data[:n]))


@pytest.mark.parametrize("prefix", [0, 4, 100, 40_000, 200_000])
def test_a_long_header_is_read_on(tmp_path: Path, prefix: int) -> None:
    attributes = [Attribute(f"a{i}".encode(), 2, b"text" * 20) for i in range(4000)]
    data = encode(File(1, [X], attributes, [A]))
    path = tmp_path / "x.nc"
    path.write_bytes(data)
    bodies: list[Body] = [
        FileBody.of("x.nc", os.open(path, os.O_RDONLY), head=data[:prefix]),
        MemoryBody("x.nc", bytes(9) + data, 9),
    ]
    expected = exact(classic.read_header(in_memory(data)))
    for body in bodies:
        assert exact(classic.read_header(body)) == expected
    cut = FileBody.open(path)
    os.truncate(path, 100_000)
    with pytest.raises(TruncatedError, match="header: found the end of the file at byte 100000, expected 262144 bytes"):
        classic.read_header(cut)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("cut", "n"), [(0, 3), (1, 2), (4, 2), (5, 1), (11, 0), (12, 0)])
def test_streaming_means_as_many_records_as_there_are(version: int, cut: int, n: int) -> None:
    streaming = 2**64 - 1 if version == 5 else 2**32 - 1
    data = encode(File(version, [T], [], [R], streaming))
    data = data[: len(data) - cut]
    assert classic.read_header(in_memory(data)).variables[0].shape == (n,)
    none = encode(File(version, [T], [], [], streaming))
    assert classic.read_header(in_memory(none)).dimensions == (("t", 0, True),)


@pytest.mark.parametrize("version", VERSIONS)
def test_too_many_records_are_missed_and_fewer_believed(version: int) -> None:
    data = encode(File(version, [T, X], [], [R, A._replace(dims=[1])], 5))
    header = classic.read_header(in_memory(data))
    with pytest.raises(TruncatedError, match=f'variable "r": found {len(data)} bytes in the file, expected at least'):
        classic.values(in_memory(data), header.variables[0])
    assert classic.values(in_memory(data), header.variables[1])[0].tolist() == [1, 2, 3]
    data = encode(File(version, [T], [], [R], 2))
    assert every_value(data) == [[1, 2]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("n", "step", "types"), [(1, 1, [1]), (1, 2, [3]), (2, 8, [1, 3]), (3, 12, [2, 2, 3]), (1, 8, [6])]
)
def test_one_record_variable_needs_no_padding(version: int, n: int, step: int, types: list[int]) -> None:
    size = {1: 1, 2: 1, 3: 2, 6: 8}
    data = encode(
        File(version, [T], [], [Variable(b"v%d" % i, [0], t, [bytes(size[t])] * 3) for i, t in enumerate(types)])
    )
    header = classic.read_header(in_memory(data))
    assert [v.step for v in header.variables] == [step] * n


def test_vsize_is_not_believed() -> None:
    data = encode(File(1, [T, X], [], [R._replace(vsize=77), A._replace(dims=[1], vsize=0), R._replace(name=b"s")]))
    assert every_value(data) == [[1, 2, 3]] * 3


def test_offsets_come_in_any_order() -> None:
    data = encode(File(1, [X], [], [A, A._replace(name=b"b", data=[ints(4, 5, 6)])]))
    first, second = (v.begin for v in classic.read_header(in_memory(data)).variables)
    data = encode(
        File(1, [X], [], [A._replace(begin=second), A._replace(name=b"b", data=[ints(4, 5, 6)], begin=first)])
    )
    assert every_value(data) == [
        [4, 5, 6],
        [1, 2, 3],
    ]


def test_dimensions_may_be_large_where_nothing_has_them() -> None:
    data = encode(File(5, [T, (b"x", 2**40)], [], [Variable(b"a", [0, 1], 6, [])]))
    (variable,) = classic.read_header(in_memory(data)).variables
    assert classic.values(in_memory(data), variable)[0].shape == variable.shape == (0, 2**40)
    data = encode(File(5, [(b"x", 2**40)], [], [Variable(b"a", [0], 6, [], vsize=0)]))
    (variable,) = classic.read_header(in_memory(data)).variables
    with pytest.raises(TruncatedError, match='variable "a"'):
        classic.values(in_memory(data), variable)[0]


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new, 1)


WRONG = {
    "magic": (File(3), None, "header: magic: found b'CDF.x03'"),
    "tag of dimensions": (File(1, [X], tags=(9, 12, 11)), None, "list of dimensions, tag: found 9, expected 10"),
    "tag of attributes": (File(1, [], [Attribute(b"a", 1, b"1")], tags=(10, 11, 11)), None, "list of attributes, tag"),
    "tag of variables": (File(1, [X], [], [A], tags=(10, 12, 12)), None, "list of variables, tag: found 12"),
    "tag of nothing": (File(1), lambda d: d[:8] + ints(7) + d[12:], "list of dimensions, tag: found 7, expected 10"),
    "count of dimensions": (
        File(1, [X]),
        lambda d: d[:12] + b"\xff" * 4 + d[16:],
        "list of dimensions, count: found 4294967295, expected at most as many as fit into the remaining 28 bytes",
    ),
    "count of 2**60": (File(5, [X]), lambda d: d[:16] + struct.pack(">Q", 2**60) + d[24:], "found 1152921504606846976"),
    "negative count": (File(5, [X]), lambda d: d[:16] + b"\xff" * 8 + d[24:], "count: found -1, expected no negative"),
    "count of values": (
        File(1, [], [Attribute(b"a", 4, ints(1), 2**30)]),
        None,
        'header: attribute "a", count: found 1073741824',
    ),
    "type of an attribute": (File(1, [], [Attribute(b"a", 12, bytes(8))]), None, 'attribute "a", type: found 12'),
    "type 0": (File(1, [], [Attribute(b"a", 0, bytes(8))]), None, 'attribute "a", type: found 0, expected one'),
    "type of a variable": (File(1, [X], [], [A._replace(type=13)]), None, 'variable "a": header: .*type: found 13'),
    "name": (File(1, [(b"\xe4", 1)]), None, "dimension 0, name: found b'.xe4', expected UTF-8"),
    "length of a name": (File(1, [X]), replaced(ints(1) + b"x", ints(77) + b"x"), "dimension 0, name: found 77"),
    "negative size": (File(5, [(b"x", -2)]), None, 'dimension "x", size: found -2, expected no negative number'),
    "dimension id": (File(1, [X], [], [A._replace(dims=[1])]), None, 'variable "a": header: dimension id: found 1'),
    "rank": (File(1, [X], [], [A._replace(rank=2**28)]), None, 'variable "a": .*rank: found 268435456'),
    "size of a variable": (
        File(1, [(b"x", 2**31), (b"y", 2**31), (b"z", 8)], [], [A._replace(dims=[0, 1, 2], vsize=0)]),
        None,
        'variable "a": header: found 147573952589676412928 bytes',
    ),
    "records of CDF-5": (File(5, [T], [], [R], -2), None, "numrecs: found -2, expected no negative number"),
    "begin in the header": (File(1, [X], [], [A._replace(begin=40)]), None, 'variable "a": header: begin: found 40'),
    "negative begin": (File(2, [X], [], [A._replace(begin=2**63)]), None, 'variable "a": header: .*begin: found -'),
    "variables at one place": (
        File(1, [X], [], [A, A._replace(name=b"b", begin=120)]),
        None,
        'variable "b": header: begin: found 120, expected at least 128, where the variable "a" ends',
    ),
    "records at one place": (
        File(1, [T], [], [R._replace(begin=116), R._replace(name=b"b", begin=118)]),
        None,
        'variable "b": header: begin: found 118, expected at least 120, where the variable "r" ends',
    ),
    "records apart": (
        File(1, [T], [], [R._replace(begin=116), R._replace(name=b"b", begin=140)]),
        None,
        'variable "b": header: begin: found 140, expected its records between',
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", WRONG)
def test_a_damaged_header_is_refused(title: str) -> None:
    file, change, message = WRONG[title]
    data = encode(file)
    data = data if change is None else change(data)
    with pytest.raises(FormatError, match=message):
        classic.read_header(in_memory(data))


UNUSUAL = {
    "no name": File(1, [(b"", 3)]),
    "no name of an attribute": File(1, [], [Attribute(b"", 1, b"1")]),
    "long name": File(1, [(b"x" * 256, 3)]),
    "slash": File(1, [X], [], [A._replace(name=b"a/b")]),
    "NUL": File(1, [(b"a\0b", 3)]),
    "not composed": File(1, [("a\u0308".encode(), 3)]),
    "two dimensions of one name": File(1, [X, X]),
    "two attributes of one name": File(1, [], [Attribute(b"a", 1, b"1")] * 2),
    "two variables of one name": File(1, [X], [], [A, A]),
    "two record dimensions": File(1, [T, (b"u", 0)]),
    "record dimension behind another": File(1, [T, X], [], [A._replace(dims=[1, 0])]),
    "record dimension twice": File(1, [T], [], [A._replace(dims=[0, 0])]),
    "many dimensions": File(1, [(b"x", 1)], [], [A._replace(dims=[0] * 65)]),
}


@pytest.mark.parametrize("title", UNUSUAL)
def test_an_unusual_header_is_left_to_the_library(title: str) -> None:
    data = encode(UNUSUAL[title])
    with pytest.raises(classic.Unusual):
        classic.read_header(in_memory(data))


@pytest.mark.parametrize("name", ["x", "ä", "a b", "a.b-c+d", "x" * 255, "ж" * 127])
def test_names(name: str) -> None:
    raw = name.encode()
    data = encode(File(1, [(raw, 3)], [Attribute(raw, 1, b"1")], [A._replace(name=raw)]))
    header = classic.read_header(in_memory(data))
    assert header.dimensions[0].name == header.variables[0].name == next(iter(header.attributes)) == name


def test_a_hole_full_of_zeros_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    path.write_bytes(b"CDF\1" + ints(0, 10, 2**30))
    os.truncate(path, 2**34)
    with pytest.raises(classic.Unusual):
        classic.read_header(FileBody.open(path))
