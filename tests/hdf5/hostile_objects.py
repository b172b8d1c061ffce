"""Files that harm who reads objects: superblock, addresses, messages, continuations, groups."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import h5py

from .damage import NOWHERE, Anatomy, u8, u16, u32, u64, with_checksum
from .hostile import (
    ATTRIBUTE,
    ATTRIBUTE_INFO,
    BEYOND,
    CONTINUATION,
    DATASPACE,
    FILL,
    INT32,
    LAST,
    LAYOUT,
    LINK,
    LINK_INFO,
    TABLE,
    TYPE,
    after_index,
    attribute,
    case,
    child,
    continuation,
    heap_of,
    huge_record,
    link_name,
    message,
    patches,
    simple,
    with_attribute,
)

# 1. addresses and sizes


def wrong_addresses(label: str, new: bytes) -> None:
    """Register files in which one address or size is another number."""
    # an address of nothing may mean that there is nothing
    kinds = "FormatError TruncatedError Unusual" + " read" * (label == "nowhere")
    table: dict[str, Callable[[Anatomy], tuple[int, bytes]]] = {
        f"root {label}": lambda a: (36, new),
        f"heap of links {label}": lambda a: (a.message("", LINK_INFO) + 10, new),
        f"tree of links {label}": lambda a: (a.message("", LINK_INFO) + 18, new),
        f"tree of attributes {label}": lambda a: (a.message("v", ATTRIBUTE_INFO) + 12, new),
        f"continuation {label}": lambda a: (continuation(a), new),
        f"size of continuation {label}": lambda a: (continuation(a) + 8, new),
        f"root of fractal heap {label}": lambda a: (a.find(b"FRHP") + 132, new),
        f"root of tree {label}": lambda a: (a.find(b"BTHD") + 16, new),
        f"child of tree {label}": lambda a: (child(a, a.find(b"BTIN")), new),
        f"tree of huge objects {label}": lambda a: (heap_of(a, "v") + 22, new),
        f"huge object {label}": lambda a: (huge_record(a), new),
        f"size of huge object {label}": lambda a: (huge_record(a) + 8, new),
        f"global heap {label}": lambda a: (a.index("text") + 4, new),
        f"size of global heap {label}": lambda a: (a.number(a.index("text") + 4) + 8, new),
        f"size of object of global heap {label}": lambda a: (a.number(a.index("text") + 4) + 24, new),
        f"chunk {label}": lambda a: (a.index("v") + 24 + 32, new),
    }
    patches("netcdf4", kinds, "", table)
    if label != "nowhere":
        patches(
            "netcdf4",
            "FormatError TruncatedError",
            "",
            {
                f"contiguous values {label}": lambda a: (a.message("x", LAYOUT) + 2, new),
                f"tree of chunks {label}": lambda a: (a.message("v", LAYOUT) + 3, new),
            },
        )
    patches(
        "earliest",
        "FormatError TruncatedError Unusual",
        "",
        {
            f"old root {label}": lambda a: (64, new),
            f"tree of a table {label}": lambda a: (a.message("", TABLE), new),
            f"local heap {label}": lambda a: (a.message("", TABLE) + 8, new),
            f"size of local heap {label}": lambda a: (a.find(b"HEAP") + 8, new),
            f"data of local heap {label}": lambda a: (a.find(b"HEAP") + 24, new),
            f"symbols {label}": lambda a: (a.find(b"TREE") + 32, new),
            f"name of a symbol {label}": lambda a: (a.find(b"SNOD") + 8, new),
            f"object of a symbol {label}": lambda a: (a.find(b"SNOD") + 16, new),
        },
    )
    patches(
        "latest",
        kinds,
        "",
        {
            f"block of a fixed array {label}": lambda a: (a.index("fixed") + 16, new),
            f"entries of a fixed array {label}": lambda a: (a.index("fixed") + 8, new),
            f"block of an extensible array {label}": lambda a: (a.index("extensible") + 60, new),
            f"data block {label}": lambda a: (a.number(a.index("extensible") + 60) + 14 + 32, new),
            f"super block {label}": lambda a: (a.number(a.index("extensible") + 60) + 14 + 80, new),
            f"single chunk {label}": lambda a: (after_index(a, "single"), new),
            f"size of single chunk {label}": lambda a: (after_index(a, "single_zlib"), new),
        },
    )


for _label, _address in {"beyond": BEYOND, "overflow": LAST, "nowhere": NOWHERE}.items():
    wrong_addresses(_label, _address)


@case("netcdf4", "TruncatedError FormatError", "superblock|file")
def shorter_than_its_superblock_says(a: Anatomy) -> bytes:
    return a.data[:-1]


def cut_superblocks(n: int) -> None:
    """Register files that are as short as their superblocks say."""
    case("earliest", "TruncatedError FormatError Unusual", "", f"{n} bytes of an old superblock")(
        lambda a: (a.data[:40] + u64(n) + a.data[48:])[:n]
    )
    case("netcdf4", "TruncatedError FormatError Unusual", "", f"{n} bytes of a superblock")(
        lambda a: (with_checksum(a.data[:28] + u64(n) + a.data[36:44]))[:n]
    )


for _n in (0, 1, 8, 9, 12, 40, 47, 48, 63, 64, 95):
    cut_superblocks(_n)

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
        "length of a name": lambda a: (link_name(a) - 1, u8(255)),
        "link without a name": lambda a: (link_name(a) - 1, u8(0)),
        "link of an unknown version": lambda a: (a.message("", LINK), u8(7)),
        "layout of an unknown version": lambda a: (a.message("x", LAYOUT), u8(9)),
        "layout of an unknown class": lambda a: (a.message("x", LAYOUT) + 1, u8(9)),
        "size of the first block": lambda a: (a.objects["x"].address + 22, u8(255)),
        "header of an unknown version": lambda a: (a.objects["x"].address + 4, u8(3)),
        "message that must be known": lambda a: (a.message("x", FILL) - 6, u8(0x30) + u16(4) + u8(0x80)),
    },
)


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
    return a.appended(header, (link_name(a) + 1, u64(len(a.data))))


@case("few", "FormatError Unusual", "")
def type_of_a_type_of_a_type(a: Anatomy) -> bytes:
    start, headers = len(a.data), b""
    for i in range(50):
        shared = u8(TYPE) + u16(10) + b"\2" + b"\3\2" + u64(start + (i + 1) * 25)
        headers += with_checksum(b"OHDR\2\0" + u8(len(shared)) + shared)
    assert len(headers) == 50 * 25
    last = message(TYPE, INT32)
    headers += with_checksum(b"OHDR\2\0" + u8(len(last)) + last)
    return a.appended(headers, (link_name(a) + 1, u64(start)))


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
    return a.patched((28, u64(end)), (link_name(a) + 1, u64(start))) + header


@case("earliest", "FormatError Unusual", "")
def old_continuation_of_itself(a: Anatomy) -> bytes:
    start, at = len(a.data), len(a.data) + 40
    continuation = u16(CONTINUATION) + u16(16) + bytes(4) + u64(at) + u64(24)
    header = b"\1\0" + u16(2) + u32(1) + u32(24) + bytes(4) + continuation + continuation
    return a.appended(header, (a.find(b"SNOD") + 16, u64(start)))


# 4. groups


@case("few", "FormatError", "leads from a group to one that is around it")
def group_in_itself(a: Anatomy) -> bytes:
    return a.patched((link_name(a) + 1, u64(a.objects[""].address)))


@case("few", "Unusual", 'a link to the group "x"')
def group_of_two_names(a: Anatomy) -> bytes:
    return a.patched((link_name(a) + 1, u64(a.objects["g"].address)))


def linked(make: Callable[[Any], None], **options: Any) -> bytes:
    """Return a file by h5py."""
    content = io.BytesIO()
    with h5py.File(content, "w", **options) as file:
        make(file)
    return content.getvalue()


@case("few", "FormatError", "leads from a group to one that is around it")
def groups_in_each_other(_: Anatomy) -> bytes:
    def make(file: Any) -> None:
        file["a/b"], file["c/d"] = h5py.SoftLink("/c"), h5py.SoftLink("/a")

    return linked(make)


@case("few", "FormatError", "more than 100000 names")
def groups_with_many_names(_: Anatomy) -> bytes:
    def make(file: Any) -> None:
        group = file
        for _ in range(25):
            group, outer = group.create_group("a"), group
            outer["b"] = group

    return linked(make)


@case("few", "read Unusual", "")
def soft_links_in_a_circle(_: Anatomy) -> bytes:
    def make(file: Any) -> None:
        for i in range(2000):
            file[f"link{i:04}"] = h5py.SoftLink(f"link{(i + 1) % 2000:04}")

    return linked(make, libver="latest")


@case("few", "Unusual", "take too many steps")
def soft_links_of_many_steps(_: Anatomy) -> bytes:
    def make(file: Any) -> None:
        file["x"] = 1
        file["long"] = h5py.SoftLink("./" * 30_000 + "x")
        for i in range(1000):
            file[f"link{i}"] = h5py.SoftLink("long")

    return linked(make, libver="latest")


@case("earliest", "Unusual", "a name that is empty")
def soft_link_to_an_empty_path(a: Anatomy) -> bytes:
    at = a.find(b"SNOD") + 8
    return a.patched((at + 16, u32(2)), (at + 24, u32(0)))


@case("earliest", "FormatError", "not within its heap")
def soft_link_beyond_its_heap(a: Anatomy) -> bytes:
    at = a.find(b"SNOD") + 8
    return a.patched((at + 16, u32(2)), (at + 24, u32(1 << 31)))


@case("few", "FormatError", "it is too short")
def soft_link_longer_than_its_message(_: Anatomy) -> bytes:
    content = linked(lambda file: file.update({"link": h5py.SoftLink("target")}), libver="latest")
    return Anatomy(content).patched((content.index(b"\6\0target"), u16(500)))


@case("few", "Unusual", "a slash")
def link_with_a_slash(a: Anatomy) -> bytes:
    return a.patched((link_name(a), b"/"))


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
    return a.appended(groups, (link_name(a) + 1, u64(start)))


@case("netcdf4", "FormatError", "it is shared in a heap that the file does not have")
def attribute_shared_in_no_heap(a: Anatomy) -> bytes:
    return a.patched((a.find(b"BTLF\0\x08") + 6 + 8, u8(2)))


# 15. damage goes before what is unusual


@case("earliest", "FormatError", "it has the names of another group")
def groups_that_share_their_names(a: Anatomy) -> bytes:
    first, second = [match.start() for match in re.finditer(b"HEAP", a.data)][:2]
    return a.patched((second + 8, a.data[first + 8 : first + 32]))


@case("earliest", "FormatError", "local heap.*it does not end within the file")
def damage_after_an_external_link(_: Anatomy) -> bytes:
    def make(file: h5py.File) -> None:
        file["a"] = h5py.ExternalLink("other.h5", "/x")
        file["b/x"] = 1

    content = linked(make, libver="earliest")  # no checksum is in it
    at = content.rindex(b"HEAP") + 24
    return content[:at] + BEYOND + content[at + 8 :]


@case("few", "FormatError", "attribute.*it is too short")
def damage_after_an_unusual_attribute(_: Anatomy) -> bytes:
    def make(file: h5py.File) -> None:
        file["a"] = 1
        file["a"].attrs["first"] = 1
        file["b"] = 1
        file["b"].attrs["second"] = 2

    content = linked(make, libver="latest")
    changes = (content.index(b"first\0") - 9, u8(77)), (content.index(b"second\0") - 7, u16(60_000))
    return Anatomy(content).patched(*changes)


@case("few", "FormatError", "another group|leads from a group to one that is around it")
def group_in_itself_after_an_unusual_dataset(_: Anatomy) -> bytes:
    def make(file: h5py.File) -> None:
        file["a"] = [1, 2]
        file["b"] = file["/"]

    content = linked(make, libver="latest")
    return Anatomy(content).patched((content.index(bytes([2, 1, 1, 1, 2]) + bytes(7)), u8(9)))
