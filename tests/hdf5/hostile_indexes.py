"""Files that harm who follows indexes: B-trees, heaps, extents, chunks, arrays of chunks."""

from __future__ import annotations

import zlib

from .damage import NOWHERE, Anatomy, u8, u16, u32, u64, with_checksum
from .hostile import (
    DATASPACE,
    FILTERS,
    LAYOUT,
    LINK_INFO,
    STRING,
    TABLE,
    TYPE,
    after_index,
    attribute,
    case,
    child,
    in_use,
    link_name,
    message,
    patches,
    simple,
    with_attribute,
)

# 5. B-trees


def leaf(a: Anatomy) -> int:
    """Return where the first leaf of the index of the dataset "c" is."""
    return a.number(a.index("c") + 24 + 24)


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
        "a last key before its chunks": lambda a: (leaf(a) + 24 + 32 * a.number(leaf(a) + 6, 2) + 8, u64(0)),
        "a last key of a root before its chunks": lambda a: (
            a.index("c") + 24 + 32 * a.number(a.index("c") + 6, 2) + 8,
            u64(100),
        ),
        "a key inside of a value": lambda a: (leaf(a) + 24 + 16, u64(4)),
    },
)
patches(
    "netcdf4",
    "FormatError Unusual",
    "",
    {
        "depth 17": lambda a: (a.find(b"BTHD") + 12, u16(17)),
        "depth 1000": lambda a: (a.find(b"BTHD") + 12, u16(1000)),
        "depth 0": lambda a: (next(at for at in in_use(a, b"BTHD") if a.number(at + 12, 2)) + 12, u16(0)),
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
        "records of a child": lambda a: (child(a, a.find(b"BTIN")) + 8, u8(255)),
        "signature of a leaf": lambda a: (a.find(b"BTLF"), b"BTIN"),
        "type of a leaf": lambda a: (a.find(b"BTLF") + 5, u8(1)),
    },
)


@case("netcdf4", "FormatError Unusual", "")
def inner_nodes_that_share_a_child(a: Anatomy) -> bytes:
    first = child(a, a.find(b"BTIN"))
    return a.patched((first + 9, a.data[first : first + 9]))


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
        node = a.number(child(a, node))
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
    return grown.appended(header, (link_name(grown) + 1, u64(len(grown.data))))


@case("netcdf4", "FormatError Unusual", "")
def one_huge_object_many_times(a: Anatomy) -> bytes:
    # all dense attributes of v are its huge one; they have one name, too
    leaves = [at for at in in_use(a, b"BTLF") if a.number(at + 5, 1) == 8]
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
        "type of an index": lambda a: (after_index(a, "single") - 1, u8(9)),
        "another index": lambda a: (after_index(a, "fixed") - 1, u8(4)),
        "depth of a tree of chunks": lambda a: (a.index("btree2") + 12, u16(9)),
        "records of a tree of chunks": lambda a: (a.index("btree2") + 10, u16(16)),
        "rank of a tree of chunks": lambda a: (a.message("btree2", LAYOUT) + 3, u8(2)),
        "filtered tree of plain chunks": lambda a: (a.index("btree2") + 5, u8(11)),
        "width of chunk sizes": lambda a: (a.message("fixed", LAYOUT) + 4, u8(0)),
        "chunk of another element": lambda a: (
            a.message("single", LAYOUT) + 5 + a.number(a.message("single", LAYOUT) + 4, 1),
            u8(4),
        ),
        "size of a single chunk": lambda a: (after_index(a, "single_zlib"), u64(3)),
    },
)


@case("latest", "Unusual FormatError", "")
def many_entries_of_an_extensible_array(a: Anatomy) -> bytes:
    return a.patched((a.index("extensible") + 44, u64(2**62)), (a.message("extensible", DATASPACE) + 4, u64(2**40)))
