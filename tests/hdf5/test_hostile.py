"""Files that were made to harm: each check of a reader with a file that only this check refuses."""

from __future__ import annotations

import functools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import netCDF4
import numpy as np
import pytest

from .damage import NOWHERE, Anatomy, Structure, u8, u16, u32, u64, with_checksum
from .reference_heaps import lookup3

ROOT = Path(__file__).parents[2]
BEYOND = u64(2**40)
LAST = u64(2**64 - 9)
"""An address from which few numbers can be added without overflow."""

DATASPACE, LINK_INFO, TYPE, FILL, LINK, LAYOUT, FILTERS, ATTRIBUTE, CONTINUATION, TABLE, ATTRIBUTE_INFO = (
    1,
    2,
    3,
    5,
    6,
    8,
    11,
    12,
    16,
    17,
    21,
)


def _netcdf4(path: Path) -> None:
    """Dense links and attributes, huge objects, strings, chunks with filters."""
    with netCDF4.Dataset(path, "w") as file:
        for name, n in {"x": 4, "y": 6, "t": None}.items():
            file.createDimension(name, n)
        file.createVariable("x", "f8", ("x",))[:] = np.arange(4)
        variable = file.createVariable("v", "i4", ("x", "y"), chunksizes=(2, 3), zlib=True, fletcher32=True)
        variable[:] = np.arange(24).reshape(4, 6)
        variable.setncatts({f"attribute_{i}": np.int32(i) for i in range(60)})
        variable.strings = [f"text {i}" for i in range(40)]
        variable.huge = "x" * 5000
        file.createVariable("plain", "i4", ("x", "y"), chunksizes=(2, 3))[:] = np.arange(24).reshape(4, 6)
        file.createVariable("text", str, ("x",))[:] = np.array(["a", "bc", "def", ""], object)
        for i in range(70):
            file.createVariable(f"scalar_{i:02}", "i2", ())[...] = i
        file.createGroup("g")


def _few(path: Path) -> None:
    """Compact links and attributes, as of a small file."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 4)
        file.createVariable("x", "i4", ("x",))[:] = np.arange(4)
        file["x"].units = "a long text that fills a message"
        file.createGroup("g")


def _earliest(path: Path) -> None:
    """Object headers of version 1, symbol tables."""
    with h5py.File(path, "w") as file:
        file["d"] = np.arange(4)
        file["d"].attrs["number"] = np.float32(5)
        file.create_dataset("c", data=np.arange(200, dtype="i4"), chunks=(1,))
        file["s"] = ["a", "bc", "def"]
        file.attrs.update({f"attribute_{i}": i for i in range(30)})
        file.create_group("g")["inner"] = 1


def _latest(path: Path) -> None:
    """All indexes of layout version 4."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        data = np.arange(300, dtype="u2")
        for suffix, options in {"": {}, "_zlib": {"compression": "gzip"}}.items():
            file.create_dataset(f"single{suffix}", data=data, chunks=(300,), **options)
            file.create_dataset(f"fixed{suffix}", data=data, chunks=(1,), **options)
            file.create_dataset(f"extensible{suffix}", data=data, chunks=(1,), maxshape=(None,), **options)
            square = data.reshape(15, 20)
            file.create_dataset(f"btree2{suffix}", data=square, chunks=(1, 1), maxshape=(None, None), **options)


@functools.cache
def base(name: str) -> Anatomy:
    """Return a file that is not damaged, and where its parts are."""
    make = {"netcdf4": _netcdf4, "few": _few, "earliest": _earliest, "latest": _latest}[name]
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder, "x"))
        return Anatomy(Path(folder, "x").read_bytes())


class Case(NamedTuple):
    """A file that harms."""

    make: Callable[[], bytes]
    kinds: tuple[str, ...]
    """What reading may raise."""
    message: str
    """A pattern of the message."""


CASES: dict[str, Case] = {}


def case(base_name: str, kinds: str, message: str, name: str | None = None) -> Callable[[Callable[..., bytes]], None]:
    """Register a function that damages a file."""

    def registered(make: Callable[[Anatomy], bytes]) -> None:
        label = name or make.__name__.strip("_")
        assert label not in CASES
        CASES[label] = Case(lambda: make(base(base_name)), tuple(kinds.split()), message)

    return registered


def patches(base_name: str, kinds: str, message: str, table: dict[str, Callable[[Anatomy], tuple[int, bytes]]]) -> None:
    """Register files of which a few bytes are others."""
    for label, patch in table.items():
        case(base_name, kinds, message, label)(lambda a, patch=patch: a.patched(patch(a)))


# 1. addresses and sizes

for _label, _address in {"beyond": BEYOND, "overflow": LAST, "nowhere": NOWHERE}.items():
    # an address of nothing may mean that there is nothing
    _KINDS = "FormatError TruncatedError Unusual" + " read" * (_label == "nowhere")
    _table: dict[str, Callable[[Anatomy], tuple[int, bytes]]] = {
        f"root {_label}": lambda a, new=_address: (36, new),
        f"heap of links {_label}": lambda a, new=_address: (a.message("", LINK_INFO) + 10, new),
        f"tree of links {_label}": lambda a, new=_address: (a.message("", LINK_INFO) + 18, new),
        f"tree of attributes {_label}": lambda a, new=_address: (a.message("v", ATTRIBUTE_INFO) + 12, new),
        f"continuation {_label}": lambda a, new=_address: (_continuation(a), new),
        f"size of continuation {_label}": lambda a, new=_address: (_continuation(a) + 8, new),
        f"root of fractal heap {_label}": lambda a, new=_address: (a.find(b"FRHP") + 132, new),
        f"root of tree {_label}": lambda a, new=_address: (a.find(b"BTHD") + 16, new),
        f"child of tree {_label}": lambda a, new=_address: (_child(a, a.find(b"BTIN")), new),
        f"tree of huge objects {_label}": lambda a, new=_address: (_heap(a, "v") + 22, new),
        f"huge object {_label}": lambda a, new=_address: (_huge(a), new),
        f"size of huge object {_label}": lambda a, new=_address: (_huge(a) + 8, new),
        f"global heap {_label}": lambda a, new=_address: (a.index("text") + 4, new),
        f"size of global heap {_label}": lambda a, new=_address: (a.number(a.index("text") + 4) + 8, new),
        f"size of object of global heap {_label}": lambda a, new=_address: (a.number(a.index("text") + 4) + 24, new),
        f"chunk {_label}": lambda a, new=_address: (a.index("v") + 24 + 32, new),
    }
    patches("netcdf4", _KINDS, "", _table)
    if _label != "nowhere":
        patches(
            "netcdf4",
            "FormatError TruncatedError",
            "",
            {
                f"contiguous values {_label}": lambda a, new=_address: (a.message("x", LAYOUT) + 2, new),
                f"tree of chunks {_label}": lambda a, new=_address: (a.message("v", LAYOUT) + 3, new),
            },
        )
    patches(
        "earliest",
        "FormatError TruncatedError Unusual",
        "",
        {
            f"old root {_label}": lambda a, new=_address: (64, new),
            f"tree of a table {_label}": lambda a, new=_address: (a.message("", TABLE), new),
            f"local heap {_label}": lambda a, new=_address: (a.message("", TABLE) + 8, new),
            f"size of local heap {_label}": lambda a, new=_address: (a.find(b"HEAP") + 8, new),
            f"data of local heap {_label}": lambda a, new=_address: (a.find(b"HEAP") + 24, new),
            f"symbols {_label}": lambda a, new=_address: (a.find(b"TREE") + 32, new),
            f"name of a symbol {_label}": lambda a, new=_address: (a.find(b"SNOD") + 8, new),
            f"object of a symbol {_label}": lambda a, new=_address: (a.find(b"SNOD") + 16, new),
        },
    )
    patches(
        "latest",
        _KINDS,
        "",
        {
            f"block of a fixed array {_label}": lambda a, new=_address: (a.index("fixed") + 16, new),
            f"entries of a fixed array {_label}": lambda a, new=_address: (a.index("fixed") + 8, new),
            f"block of an extensible array {_label}": lambda a, new=_address: (a.index("extensible") + 60, new),
            f"data block {_label}": lambda a, new=_address: (a.number(a.index("extensible") + 60) + 14 + 32, new),
            f"super block {_label}": lambda a, new=_address: (a.number(a.index("extensible") + 60) + 14 + 80, new),
            f"single chunk {_label}": lambda a, new=_address: (_after_index(a, "single"), new),
            f"size of single chunk {_label}": lambda a, new=_address: (_after_index(a, "single_zlib"), new),
        },
    )


def _continuation(a: Anatomy) -> int:
    """Return where the first message is that names the next block of a header."""
    return next(each[0].at for name in a.objects if (each := a.messages(name, CONTINUATION)))


def _child(a: Anatomy, node: int) -> int:
    """Return where the pointer to the first child of an inner node of a B-tree v2 is."""
    tree = next(at for at in _all(a, b"BTHD") if a.number(at + 16) == node)
    return node + 6 + a.number(tree + 24, 2) * a.number(tree + 10, 2)


def _all(a: Anatomy, signature: bytes) -> list[int]:
    """Return where all structures with a signature are that have checksums."""
    return [each.start for each in a.structures if a.data.startswith(signature, each.start)]


def _heap(a: Anatomy, name: str) -> int:
    """Return where the heap of the attributes of an object is."""
    return a.number(a.message(name, ATTRIBUTE_INFO) + 4)


def _huge(a: Anatomy) -> int:
    """Return where the first record of a huge object is."""
    return a.number(a.number(_heap(a, "v") + 22) + 16) + 6


def _after_index(a: Anatomy, name: str) -> int:
    """Return what follows the type of the index in a layout message of version 4 for chunks of one axis."""
    at = a.message(name, LAYOUT)
    return at + 5 + a.number(at + 3, 1) * a.number(at + 4, 1) + 1


@case("netcdf4", "TruncatedError FormatError", "superblock|file")
def shorter_than_its_superblock_says(a: Anatomy) -> bytes:
    return a.data[:-1]


for _n in (0, 1, 8, 9, 12, 40, 47, 48, 63, 64, 95):
    case("earliest", "TruncatedError FormatError Unusual", "", f"{_n} bytes of an old superblock")(
        lambda a, n=_n: (a.data[:40] + u64(n) + a.data[48:])[:n]
    )
    case("netcdf4", "TruncatedError FormatError Unusual", "", f"{_n} bytes of a superblock")(
        lambda a, n=_n: (with_checksum(a.data[:28] + u64(n) + a.data[36:44]))[:n]
    )

# 2. messages

patches(
    "few",
    "FormatError TruncatedError Unusual",
    "",
    {
        "size of a message": lambda a: (a.message("x", DATASPACE) - 5, u16(60_000)),
        "rank 33": lambda a: (a.message("x", DATASPACE) + 1, u8(33)),
        "rank 255": lambda a: (a.message("x", DATASPACE) + 1, u8(255)),
        "rank 4": lambda a: (a.message("x", DATASPACE) + 1, u8(4)),
        "type without bytes": lambda a: (a.message("x", TYPE) + 4, u32(0)),
        "type of many bytes": lambda a: (a.message("x", TYPE) + 4, u32(2**32 - 1)),
        "type of an unknown class": lambda a: (a.message("x", TYPE), u8(0x1D)),
        "type of an unknown version": lambda a: (a.message("x", TYPE), u8(0xF0)),
        "fill value longer than its message": lambda a: (a.message("x", FILL) + 2, u32(2**31 - 1)),
        "fill value of another size": lambda a: (a.message("x", FILL) + 2, u32(3)),
        "fill value of an unknown version": lambda a: (a.message("x", FILL), u8(9)),
        "size of the name of an attribute": lambda a: (a.message("x", ATTRIBUTE) + 2, u16(65_535)),
        "attribute without a name": lambda a: (a.message("x", ATTRIBUTE) + 2, u16(0)),
        "size of the type of an attribute": lambda a: (a.message("x", ATTRIBUTE) + 4, u16(65_535)),
        "attribute without a type": lambda a: (a.message("x", ATTRIBUTE) + 4, u16(0)),
        "size of the dataspace of an attribute": lambda a: (a.message("x", ATTRIBUTE) + 6, u16(65_535)),
        "attribute without a dataspace": lambda a: (a.message("x", ATTRIBUTE) + 6, u16(0)),
        "length of a name": lambda a: (_link_name(a) - 1, u8(255)),
        "link without a name": lambda a: (_link_name(a) - 1, u8(0)),
        "link of an unknown version": lambda a: (a.message("", LINK), u8(7)),
        "layout of an unknown version": lambda a: (a.message("x", LAYOUT), u8(9)),
        "layout of an unknown class": lambda a: (a.message("x", LAYOUT) + 1, u8(9)),
        "size of the first block": lambda a: (a.objects["x"].address + 22, u8(255)),
        "header of an unknown version": lambda a: (a.objects["x"].address + 4, u8(3)),
        "message that must be known": lambda a: (a.message("x", FILL) - 6, u8(0x30) + u16(4) + u8(0x80)),
    },
)


def _link_name(a: Anatomy) -> int:
    return a.data.index(b"x", a.message("", LINK))


patches(
    "earliest",
    "FormatError TruncatedError Unusual",
    "",
    {
        "size of an old message": lambda a: (a.message("d", DATASPACE) - 6, u16(60_000)),
        "size of the first old block": lambda a: (a.objects["d"].address + 8, u32(2**32 - 1)),
        "old header of an unknown version": lambda a: (a.objects["d"].address, u8(2)),
        "old name of an attribute": lambda a: (a.message("d", ATTRIBUTE) + 2, u16(65_535)),
        "symbols in a node": lambda a: (a.find(b"SNOD") + 6, u16(65_535)),
        "entries in a node": lambda a: (a.find(b"TREE") + 6, u16(65_535)),
        "version of symbols": lambda a: (a.find(b"SNOD") + 4, u8(2)),
        "version of a local heap": lambda a: (a.find(b"HEAP") + 4, u8(9)),
    },
)


def with_attribute(a: Anatomy, body: bytes) -> bytes:
    """Return a small file of which a header of its own, with one attribute, is the root's only object."""
    header = b"OHDR" + u8(2) + u8(2)
    messages = message(DATASPACE, b"\2\0\0\0") + message(TYPE, INT32) + message(LAYOUT, b"\3\1" + NOWHERE + u64(4))
    messages += message(ATTRIBUTE, body)
    return a.appended(with_checksum(header + u32(len(messages)) + messages), (_link_name(a) + 1, u64(len(a.data))))


INT32 = b"\x10\x08\0\0\4\0\0\0\0\0\x20\0"
STRING = b"\x19\1\0\0\x10\0\0\0" + b"\x13\0\0\0\1\0\0\0"


def message(type: int, body: bytes) -> bytes:
    return u8(type) + u16(len(body)) + b"\0" + body


def attribute(type: bytes, space: bytes, data: bytes, name: bytes = b"name") -> bytes:
    return b"\3\0" + u16(len(name) + 1) + u16(len(type)) + u16(len(space)) + b"\0" + name + b"\0" + type + space + data


def simple(*shape: int) -> bytes:
    return b"\2" + u8(len(shape)) + b"\0\1" + b"".join(map(u64, shape))


@case("few", "read", "")
def _a_header_of_its_own(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(INT32, simple(2), u32(1) + u32(2)))


@case("few", "read", "")
def types_nested_deep(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(b"\x19\0\0\0\x10\0\0\0" * 4000 + INT32, simple(1), bytes(16)))


@case("few", "FormatError", "")
def shape_that_overflows(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(INT32, simple(2**62, 2**62), bytes(16)))


@case("few", "FormatError", "")
def shape_that_overflows_to_nothing(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(INT32, simple(2**32, 2**30), b""))


@case("few", "FormatError", "")
def more_values_than_bytes(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(INT32, simple(100), bytes(396)))


@case("few", "FormatError Unusual", "")
def enum_of_many_members(a: Anatomy) -> bytes:
    return with_attribute(a, attribute(b"\x38\xff\xff\0\4\0\0\0" + INT32 + b"a\0", simple(1), bytes(4)))


@case("few", "FormatError Unusual", "")
def name_that_does_not_end(a: Anatomy) -> bytes:
    body = attribute(INT32, simple(1), bytes(4), b"name")
    return with_attribute(a, body.replace(b"name\0", b"namex"))


@case("few", "FormatError Unusual", "")
def type_of_itself(a: Anatomy) -> bytes:
    shared = u8(TYPE) + u16(10) + b"\2" + b"\3\2" + u64(len(a.data))
    messages = message(DATASPACE, b"\2\0\0\0") + shared + message(LAYOUT, b"\3\1" + NOWHERE + u64(4))
    header = with_checksum(b"OHDR\2\2" + u32(len(messages)) + messages)
    return a.appended(header, (_link_name(a) + 1, u64(len(a.data))))


@case("few", "FormatError Unusual", "")
def type_of_a_type_of_a_type(a: Anatomy) -> bytes:
    start, headers = len(a.data), b""
    for i in range(50):
        shared = u8(TYPE) + u16(10) + b"\2" + b"\3\2" + u64(start + (i + 1) * 25)
        headers += with_checksum(b"OHDR\2\0" + u8(len(shared)) + shared)
    assert len(headers) == 50 * 25
    last = message(TYPE, INT32)
    headers += with_checksum(b"OHDR\2\0" + u8(len(last)) + last)
    return a.appended(headers, (_link_name(a) + 1, u64(start)))


# 3. continuations

CONTINUATIONS = 5000


@case("few", "FormatError Unusual", "")
def continuation_of_itself(a: Anatomy) -> bytes:
    at = len(a.data) + 200
    block = with_checksum(b"OCHK" + message(CONTINUATION, u64(at) + u64(4 + 20 + 4)))
    return _with_continuation(a, at, len(block)).ljust(at, b"\0") + block


@case("few", "FormatError Unusual", "")
def continuations_in_a_circle(a: Anatomy) -> bytes:
    at = len(a.data) + 200
    blocks = [with_checksum(b"OCHK" + message(CONTINUATION, u64(at + k) + u64(28))) for k in (28, 0)]
    return _with_continuation(a, at, 28, 56).ljust(at, b"\0") + b"".join(blocks)


@case("few", "FormatError Unusual", "")
def continuations_that_double(a: Anatomy) -> bytes:
    # each block names the next one twice: 2 ** 30 of them
    at, size = len(a.data) + 200, 48
    blocks = [
        with_checksum(b"OCHK" + 2 * message(CONTINUATION, u64(at + size * (i + 1)) + u64(size))) for i in range(30)
    ]
    last = with_checksum(b"OCHK" + message(0, bytes(36)))
    data = b"".join(blocks) + last
    return _with_continuation(a, at, size, len(data)).ljust(at, b"\0") + data


@case("few", "FormatError Unusual", "")
def continuations_without_number(a: Anatomy) -> bytes:
    at = len(a.data) + 200
    next_block = [message(CONTINUATION, u64(at + 28 * (i + 1)) + u64(28)) for i in range(CONTINUATIONS)]
    data = b"".join(with_checksum(b"OCHK" + each) for each in next_block) + with_checksum(
        b"OCHK" + message(0, bytes(16))
    )
    return _with_continuation(a, at, 28, len(data)).ljust(at, b"\0") + data


def _with_continuation(a: Anatomy, at: int, size: int, all_bytes: int | None = None) -> bytes:
    """Return a file with an object whose header continues at a place; what lies there is to be appended."""
    header = b"OHDR" + u8(2) + u8(2)
    messages = message(CONTINUATION, u64(at) + u64(size))
    start = len(a.data)
    header = with_checksum(header + u32(len(messages)) + messages)
    end = at + (size if all_bytes is None else all_bytes)
    return a.patched((28, u64(end)), (_link_name(a) + 1, u64(start))) + header


@case("earliest", "FormatError Unusual", "")
def old_continuation_of_itself(a: Anatomy) -> bytes:
    start, at = len(a.data), len(a.data) + 40
    continuation = u16(CONTINUATION) + u16(16) + bytes(4) + u64(at) + u64(24)
    header = b"\1\0" + u16(2) + u32(1) + u32(24) + bytes(4) + continuation + continuation
    return a.appended(header, (a.find(b"SNOD") + 16, u64(start)))


# 4. groups


@case("few", "Unusual", "")
def group_in_itself(a: Anatomy) -> bytes:
    return a.patched((_link_name(a) + 1, u64(a.objects[""].address)))


@case("few", "Unusual", "")
def object_of_two_names(a: Anatomy) -> bytes:
    return a.patched((_link_name(a) + 1, u64(a.objects["g"].address)))


@case("few", "Unusual FormatError", "")
def groups_in_groups(a: Anatomy) -> bytes:
    info = message(LINK_INFO, b"\0\0" + 2 * NOWHERE)
    size = 7 + len(info) + 4 + 12 + 4  # with a link

    def group(messages: bytes) -> bytes:
        return with_checksum(b"OHDR\2\0" + u8(len(messages)) + messages)

    start = len(a.data)
    links = [message(LINK, b"\1\0\1g" + u64(start + (i + 1) * size)) for i in range(2000)]
    groups = b"".join(group(info + link) for link in links) + group(info)
    assert len(groups) == 2001 * size - 16
    return a.appended(groups, (_link_name(a) + 1, u64(start)))


# 5. B-trees


@case("earliest", "FormatError", "B-tree|node|chunk")
def node_of_its_own_level(a: Anatomy) -> bytes:
    return a.patched((a.index("c") + 24 + 24, u64(a.index("c"))))


@case("earliest", "FormatError", "B-tree|node|chunk")
def nodes_that_share_a_child(a: Anatomy) -> bytes:
    root = a.index("c")
    first = a.number(root + 24 + 24)
    return a.patched((root + 24 + 32 + 24, u64(first)))


@case("earliest", "FormatError Unusual", "")
def tree_of_exponential_size(a: Anatomy) -> bytes:
    # 60 levels of two children that are the same: 2 ** 60 leaves
    start, size, nodes = len(a.data), 24 + 2 * 32 + 24, b""
    for i in range(60):
        level = 60 - i
        node = b"TREE" + u8(1) + u8(level) + u16(2) + 2 * NOWHERE
        for k in range(2):
            node += u32(4) + u32(0) + u64(k) + u64(0) + u64(start + (i + 1) * size)
        nodes += node + bytes(24)
    leaf = b"TREE" + u8(1) + u8(0) + u16(1) + 2 * NOWHERE + u32(4) + u32(0) + u64(0) + u64(0) + u64(0)
    return a.appended(nodes + leaf + bytes(size), (a.message("c", LAYOUT) + 3, u64(start)))


@case("earliest", "FormatError Unusual", "")
def table_of_exponential_size(a: Anatomy) -> bytes:
    start, size, nodes = len(a.data), 24 + 2 * 16 + 8, b""
    for i in range(60):
        nodes += b"TREE" + u8(0) + u8(60 - i) + u16(2) + 2 * NOWHERE
        nodes += (u64(0) + u64(start + (i + 1) * size)) * 2 + u64(0)
    leaf = b"TREE" + u8(0) + u8(0) + u16(0) + 2 * NOWHERE
    return a.appended(nodes + leaf + bytes(size), (a.message("", TABLE), u64(start)))


patches(
    "earliest",
    "FormatError Unusual",
    "B-tree|node|chunk|tree",
    {
        "level of a root": lambda a: (a.index("c") + 5, u8(200)),
        "level of a leaf": lambda a: (a.number(a.index("c") + 24 + 24) + 5, u8(1)),
        "type of a node": lambda a: (a.index("c") + 4, u8(0)),
        "many entries": lambda a: (a.number(a.index("c") + 24 + 24) + 6, u16(65_535)),
        "keys that do not ascend": lambda a: (a.number(a.index("c") + 24 + 24) + 24 + 8, u64(9)),
        "a chunk that is there twice": lambda a: (a.number(a.index("c") + 24 + 24) + 24 + 8, u64(1)),
        "signature of a node": lambda a: (a.index("c"), b"TREX"),
    },
)
patches(
    "netcdf4",
    "FormatError Unusual",
    "",
    {
        "depth 17": lambda a: (a.find(b"BTHD") + 12, u16(17)),
        "depth 1000": lambda a: (a.find(b"BTHD") + 12, u16(1000)),
        "depth 0": lambda a: (next(at for at in _all(a, b"BTHD") if a.number(at + 12, 2)) + 12, u16(0)),
        "size of nodes": lambda a: (a.find(b"BTHD") + 6, u32(11)),
        "no size of nodes": lambda a: (a.find(b"BTHD") + 6, u32(0)),
        "large nodes": lambda a: (a.find(b"BTHD") + 6, u32(2**32 - 1)),
        "size of records": lambda a: (a.find(b"BTHD") + 10, u16(1)),
        "no size of records": lambda a: (a.find(b"BTHD") + 10, u16(0)),
        "large records": lambda a: (a.find(b"BTHD") + 10, u16(65_535)),
        "type of a tree": lambda a: (a.find(b"BTHD") + 5, u8(3)),
        "records of the root": lambda a: (a.find(b"BTHD") + 24, u16(65_535)),
        "all records": lambda a: (a.find(b"BTHD") + 26, u64(2**62)),
        "one record less": lambda a: (a.find(b"BTHD") + 26, u64(a.number(a.find(b"BTHD") + 26) - 1)),
        "records of a child": lambda a: (_child(a, a.find(b"BTIN")) + 8, u8(255)),
        "signature of a leaf": lambda a: (a.find(b"BTLF"), b"BTIN"),
        "type of a leaf": lambda a: (a.find(b"BTLF") + 5, u8(1)),
    },
)


@case("netcdf4", "FormatError Unusual", "")
def inner_nodes_that_share_a_child(a: Anatomy) -> bytes:
    child = _child(a, a.find(b"BTIN"))
    step = _child(a, a.find(b"BTIN"))
    first = a.data[child : child + 9]
    return a.patched((step + 9, first))


# 6. fractal heaps

patches(
    "netcdf4",
    "FormatError Unusual TruncatedError",
    "heap|version",
    {
        "no width of a heap": lambda a: (a.find(b"FRHP") + 110, u16(0)),
        "width 3": lambda a: (a.find(b"FRHP") + 110, u16(3)),
        "no size of the first block": lambda a: (a.find(b"FRHP") + 112, u64(0)),
        "odd size of the first block": lambda a: (a.find(b"FRHP") + 112, u64(1000)),
        "large first block": lambda a: (a.find(b"FRHP") + 112, u64(2**63)),
        "no size of direct blocks": lambda a: (a.find(b"FRHP") + 120, u64(0)),
        "large direct blocks": lambda a: (a.find(b"FRHP") + 120, u64(2**63)),
        "bits of a heap": lambda a: (a.find(b"FRHP") + 128, u16(65)),
        "no bits of a heap": lambda a: (a.find(b"FRHP") + 128, u16(0)),
        "rows of a heap": lambda a: (a.find(b"FRHP") + 140, u16(65_535)),
        "size of ids": lambda a: (a.find(b"FRHP") + 5, u16(1)),
        "long ids": lambda a: (a.find(b"FRHP") + 5, u16(65_535)),
        "filters of a heap": lambda a: (a.find(b"FRHP") + 7, u16(1)),
        "heap of an unknown version": lambda a: (a.find(b"FRHP") + 4, u8(1)),
        "block of another heap": lambda a: (a.find(b"FHDB") + 5, u64(96)),
        "block at another place": lambda a: (a.find(b"FHDB") + 13, u8(1)),
        "tiny object": lambda a: (_id(a), u8(0x20)),
        "object of an unknown kind": lambda a: (_id(a), u8(0x30)),
        "object in the head of its block": lambda a: (_id(a) + 1, u32(2)),
        "object outside of its heap": lambda a: (_id(a) + 1, u32(2**31)),
        "object longer than its block": lambda a: (_id(a) + 5, u16(65_535)),
    },
)


def _id(a: Anatomy) -> int:
    """Return where the id of the first dense link is."""
    return a.number(a.number(a.message("", LINK_INFO) + 18) + 16) + 6 + 4 if not _depth(a) else _leaf(a) + 6 + 4


def _depth(a: Anatomy) -> int:
    return a.number(a.number(a.message("", LINK_INFO) + 18) + 12, 2)


def _leaf(a: Anatomy) -> int:
    node = a.number(a.number(a.message("", LINK_INFO) + 18) + 16)
    while a.data[node : node + 4] == b"BTIN":
        node = a.number(_child(a, node))
    return node


# 7. and 8. global heaps, and few bytes that become many

patches(
    "netcdf4",
    "FormatError TruncatedError Unusual",
    "heap|version",
    {
        "object that is not there": lambda a: (a.index("text") + 12, u32(9999)),
        "string longer than its object": lambda a: (a.index("text"), u32(2**32 - 1)),
        "size of a global heap": lambda a: (a.number(a.index("text") + 4) + 8, u64(8)),
        "version of a global heap": lambda a: (a.number(a.index("text") + 4) + 4, u8(2)),
        "signature of a global heap": lambda a: (a.number(a.index("text") + 4), b"GCOX"),
    },
)


def heap_of_one(size: int) -> bytes:
    """Return a global heap with one object."""
    whole = 16 + 16 + size + -size % 8 + 16
    return b"GCOL\1\0\0\0" + u64(whole) + u16(1) + u16(1) + bytes(4) + u64(size) + b"x" * size + bytes(-size % 8 + 16)


@case("few", "FormatError Unusual", "")
def one_string_a_thousand_times(a: Anatomy) -> bytes:
    heap, n, size = len(a.data), 2000, 60_000
    more = heap_of_one(size)
    grown = Anatomy(a.appended(more))
    element = u32(size) + u64(heap) + u32(1)
    return with_attribute(grown, attribute(STRING, simple(n), element * n))


@case("few", "FormatError Unusual read", "")
def values_of_one_string(a: Anatomy) -> bytes:
    heap, n, size = len(a.data), 3000, 50_000
    values = heap + len(heap_of_one(size))
    grown = Anatomy(a.appended(heap_of_one(size) + (u32(size) + u64(heap) + u32(1)) * n))
    messages = message(DATASPACE, simple(n)) + message(TYPE, STRING)
    messages += message(LAYOUT, b"\3\1" + u64(values) + u64(16 * n))
    header = with_checksum(b"OHDR\2\2" + u32(len(messages)) + messages)
    return grown.appended(header, (_link_name(grown) + 1, u64(len(grown.data))))


@case("netcdf4", "FormatError Unusual", "")
def one_huge_object_many_times(a: Anatomy) -> bytes:
    # all dense attributes of v are its huge one; they have one name, too
    leaves = [at for at in _all(a, b"BTLF") if a.number(at + 5, 1) == 8]
    huge = next(a.data[at + 6 + 17 * i :][:8] for at in leaves for i in range(28) if a.data[at + 6 + 17 * i] >> 4 == 1)
    records = [at + 6 + 17 * i for at in leaves for i in range(28) if a.data[at + 6 + 17 * i :][:8].strip(b"\0")]
    return a.patched(*((at, huge) for at in records if a.data[at] >> 4 == 0 and a.data[at + 8] == 0))


# 9. and 10. extents and chunks

patches(
    "netcdf4",
    "Unusual FormatError TruncatedError",
    "",
    {
        "many values": lambda a: (a.message("v", DATASPACE) + 4, (u64(2**40) + u64(6)) * 2),
        "more values than numbers": lambda a: (a.message("v", DATASPACE) + 4, u64(2**62) * 4),
        "many values that are not chunked": lambda a: (a.message("x", DATASPACE) + 4, u64(2**40) * 2),
        "chunks of many values": lambda a: (a.message("v", LAYOUT) + 11, u32(2**31) + u32(2**31)),
        "chunks of no value": lambda a: (a.message("v", LAYOUT) + 11, u32(0)),
        "chunks of 200 megabytes": lambda a: (a.message("v", LAYOUT) + 11, u32(10_000) + u32(5000)),
        "chunk of no bytes": lambda a: (a.index("v") + 24, u32(0)),
        "chunk of one byte": lambda a: (a.index("v") + 24, u32(1)),
        "chunk longer than the file": lambda a: (a.index("v") + 24, u32(2**32 - 1)),
        "plain chunk that is shorter": lambda a: (a.index("plain") + 24, u32(20)),
        "plain chunk that is longer": lambda a: (a.index("plain") + 24, u32(28)),
        "mask of filters": lambda a: (a.index("v") + 24 + 4, u32(7)),
        "chunk between others": lambda a: (a.index("v") + 24 + 8, u64(1)),
        "chunk with other bytes": lambda a: (a.number(a.index("v") + 24 + 32), b"\xff\xff\xff"),
        "Fletcher-32 of a chunk": lambda a: (_last_byte(a, "v"), b"\x55"),
        "unknown filter": lambda a: (_first_filter(a), u16(77)),
        "many filters": lambda a: (a.message("v", FILTERS) + 1, u8(200)),
        "rank of chunks": lambda a: (a.message("v", LAYOUT) + 2, u8(2)),
        "rank of chunks 200": lambda a: (a.message("v", LAYOUT) + 2, u8(200)),
        "size of elements": lambda a: (a.message("v", LAYOUT) + 19, u32(8)),
        "size of many elements": lambda a: (a.message("v", LAYOUT) + 19, u32(2**32 - 1)),
    },
)


def _first_filter(a: Anatomy) -> int:
    at = a.message("v", FILTERS)
    return at + {1: 8, 2: 2}[a.number(at, 1)]


def _last_byte(a: Anatomy, name: str) -> int:
    key = a.index(name) + 24
    return a.number(key + 32) + a.number(key, 4) - 1


@case("netcdf4", "Unusual FormatError", "")
def many_values_in_a_file_of_few(a: Anatomy) -> bytes:
    return a.patched(
        (a.message("x", DATASPACE) + 4, u64(2**40) * 2),
        (a.message("x", LAYOUT) + 2, NOWHERE),
        (a.message("x", LAYOUT) + 10, u64(2**43)),
    )


def bomb(a: Anatomy, chunk: tuple[int, int], stream: bytes, shape: tuple[int, int]) -> bytes:
    """Return a file whose variable v has one chunk, which only zlib has compressed."""
    start = len(a.data)
    key = a.index("v") + 24
    return a.appended(
        stream,
        (a.message("v", DATASPACE) + 4, (u64(shape[0]) + u64(shape[1])) * 2),
        (a.message("v", LAYOUT) + 11, u32(chunk[0]) + u32(chunk[1])),
        (a.index("v") + 6, u16(1)),
        # the mask: what is not deflate was left out
        (key, u32(len(stream)) + u32(_others_than_deflate(a))),
        (key + 32, u64(start)),
    )


def _others_than_deflate(a: Anatomy) -> int:
    return sum(1 << i for i, each in enumerate(a.dataset("v").filters) if each.number != 1)


@case("netcdf4", "read", "")
def _chunk_of_its_own(a: Anatomy) -> bytes:
    return bomb(a, (10, 10), zlib.compress(bytes(400)), (10, 10))


@case("netcdf4", "FormatError", "")
def chunk_of_a_bomb(a: Anatomy) -> bytes:
    return bomb(a, (10, 10), zlib.compress(bytes(50_000_000)), (10, 10))


@case("netcdf4", "FormatError Unusual", "")
def bomb_of_its_size(a: Anatomy) -> bytes:
    return bomb(a, (10_000, 10_000), zlib.compress(bytes(1000)), (4, 6))


@case("netcdf4", "FormatError", "")
def chunk_that_is_longer(a: Anatomy) -> bytes:
    return bomb(a, (10, 10), zlib.compress(bytes(405)), (10, 10))


@case("netcdf4", "FormatError", "")
def chunk_that_is_shorter(a: Anatomy) -> bytes:
    return bomb(a, (10, 10), zlib.compress(bytes(399)), (10, 10))


@case("netcdf4", "FormatError", "")
def stream_that_is_cut(a: Anatomy) -> bytes:
    return bomb(a, (10, 10), zlib.compress(bytes(400))[:-1], (10, 10))


@case("netcdf4", "FormatError", "")
def stream_with_another_checksum(a: Anatomy) -> bytes:
    stream = zlib.compress(bytes(400))
    return bomb(a, (10, 10), stream[:-1] + bytes([stream[-1] ^ 1]), (10, 10))


# 11. arrays of chunks

patches(
    "latest",
    "FormatError Unusual TruncatedError",
    "",
    {
        "pages of a fixed array": lambda a: (a.index("fixed") + 7, u8(255)),
        "small pages of a fixed array": lambda a: (a.index("fixed") + 7, u8(0)),
        "size of entries": lambda a: (a.index("fixed") + 6, u8(1)),
        "client of a fixed array": lambda a: (a.index("fixed") + 5, u8(1)),
        "unknown client": lambda a: (a.index("fixed") + 5, u8(7)),
        "many entries of a fixed array": lambda a: (a.index("fixed") + 8, u64(2**40)),
        "no entries of a fixed array": lambda a: (a.index("fixed") + 8, u64(0)),
        "few entries of a fixed array": lambda a: (a.index("fixed") + 8, u64(3)),
        "block of another fixed array": lambda a: (a.number(a.index("fixed") + 16) + 6, u64(96)),
        "size of entries of an extensible array": lambda a: (a.index("extensible") + 6, u8(200)),
        "bits of an extensible array": lambda a: (a.index("extensible") + 7, u8(255)),
        "no bits of an extensible array": lambda a: (a.index("extensible") + 7, u8(0)),
        "first entries of an extensible array": lambda a: (a.index("extensible") + 8, u8(255)),
        "smallest block": lambda a: (a.index("extensible") + 9, u8(3)),
        "no smallest block": lambda a: (a.index("extensible") + 9, u8(0)),
        "pointers": lambda a: (a.index("extensible") + 10, u8(255)),
        "no pointers": lambda a: (a.index("extensible") + 10, u8(0)),
        "pages of an extensible array": lambda a: (a.index("extensible") + 11, u8(255)),
        "no pages of an extensible array": lambda a: (a.index("extensible") + 11, u8(0)),
        "block of another extensible array": lambda a: (a.number(a.index("extensible") + 60) + 6, u64(96)),
        "type of an index": lambda a: (_after_index(a, "single") - 1, u8(9)),
        "another index": lambda a: (_after_index(a, "fixed") - 1, u8(4)),
        "depth of a tree of chunks": lambda a: (a.index("btree2") + 12, u16(9)),
        "records of a tree of chunks": lambda a: (a.index("btree2") + 10, u16(16)),
        "rank of a tree of chunks": lambda a: (a.message("btree2", LAYOUT) + 3, u8(2)),
        "filtered tree of plain chunks": lambda a: (a.index("btree2") + 5, u8(11)),
        "width of chunk sizes": lambda a: (a.message("fixed", LAYOUT) + 4, u8(0)),
        "chunk of another element": lambda a: (
            a.message("single", LAYOUT) + 5 + a.number(a.message("single", LAYOUT) + 4, 1),
            u8(4),
        ),
        "size of a single chunk": lambda a: (_after_index(a, "single_zlib"), u64(3)),
    },
)


@case("latest", "Unusual FormatError", "")
def many_entries_of_an_extensible_array(a: Anatomy) -> bytes:
    return a.patched((a.index("extensible") + 44, u64(2**62)), (a.message("extensible", DATASPACE) + 4, u64(2**40)))


# 13. checksums


def _names_of_structures() -> dict[str, str]:
    names = {
        b"\x89HDF": "superblock", b"OHDR": "object header", b"OCHK": "object header", b"FRHP": "fractal heap",
        b"FHDB": "fractal heap", b"FHIB": "fractal heap", b"BTHD": "B-tree", b"BTLF": "B-tree", b"BTIN": "B-tree",
        b"FAHD": "fixed array", b"FADB": "fixed array", b"EAHD": "extensible array", b"EAIB": "extensible array",
        b"EADB": "extensible array", b"EASB": "extensible array",
    }  # fmt: skip
    return {signature.decode("latin-1"): name for signature, name in names.items()}


SIGNATURES = {
    "netcdf4": "\x89HDF OHDR OCHK FRHP FHDB FHIB BTHD BTLF BTIN",
    "latest": "OHDR FAHD FADB EAHD EAIB EADB EASB BTHD BTLF BTIN",
}
for _base, _signatures in SIGNATURES.items():
    for _signature in _signatures.split():
        case(
            _base,
            "FormatError",
            rf"(?i){_names_of_structures()[_signature]}.*checksum",
            f"checksum of {_signature} in {_base}",
        )(lambda a, signature=_signature: a.flipped(_last(a, signature.encode("latin-1"))))


def _last(a: Anatomy, signature: bytes) -> Structure:
    found = [each for each in a.structures if a.data.startswith(signature, each.start)]
    return found[-1]


# 14. and what is told of them all


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[str]]:
    """Read all files in processes that have little memory, the next one after each that ends too early."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {}
    for i, (name, each) in enumerate(CASES.items()):
        paths[str(folder / f"{i}.nc")] = name
        (folder / f"{i}.nc").write_bytes(each.make())
    found: dict[str, Sequence[str]] = {}
    remaining = list(paths)
    while remaining:
        done = _read(remaining)
        found |= {paths[path]: told for path, told in done.items()}
        remaining = [path for path in remaining if path not in done]
        if remaining:
            found[paths[remaining.pop(0)]] = "crash", "the process ended"
    return found


def _read(paths: list[str]) -> dict[str, Sequence[str]]:
    words = [sys.executable, "-X", "faulthandler", "-m", "tests.hdf5.reading", *paths]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        output = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=60).stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
    return {path: told for path, *told in map(json.loads, output.splitlines())}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file(name: str, outcomes: dict[str, Sequence[str]]) -> None:
    kind, message = outcomes[name]
    assert kind in CASES[name].kinds, (kind, message)
    assert re.search(CASES[name].message, message), (kind, message)


def test_what_is_damaged_is_damaged_by_the_patch_alone() -> None:
    """The files are whole before, and of a patch of the same bytes nothing changes."""
    for name in ("netcdf4", "few", "earliest", "latest"):
        a = base(name)
        assert a.patched((0, a.data[:100]), (len(a.data) // 2, a.data[len(a.data) // 2 :])) == a.data
        structure = a.structures[0] if a.structures else None
        assert (
            structure is None
            or lookup3(a.data[structure.start : structure.end])
            == struct.unpack_from("<I", a.data, structure.checksum)[0]
        )
