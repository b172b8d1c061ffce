"""Parts of HDF5 files that hold others, in plain Python: bytes, checksums, heaps and B-trees of version 2.

The oracle of the tests: independent of the kernels, slow, and strict. All numbers are Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

UNDEFINED = 2**64 - 1
"""An address of nothing."""

WORD = 2**32 - 1


def defined(address: int) -> int | None:
    """Return an address, or None."""
    return None if address == UNDEFINED else address


class Message(NamedTuple):
    """A message of an object header. `order` is that of its creation; -1: it is not tracked."""

    type: int
    flags: int
    at: int
    size: int
    order: int


class Link(NamedTuple):
    """A link of a group."""

    name: str
    address: int
    order: int
    target: str | None = None
    """Path of a soft link."""


class WrongError(Exception):
    """A file that is damaged."""


class UnknownError(Exception):
    """A file that the package leaves to the library."""


def lookup3(data: bytes) -> int:
    """Return Bob Jenkins' `hashlittle` of bytes."""

    def rotated(x: int, n: int) -> int:
        return (x << n | x >> 32 - n) & WORD

    a = b = c = (0xDEADBEEF + len(data)) & WORD
    if not data:
        return c
    words = len(data) // 12 - (len(data) % 12 == 0)
    for at in range(0, words * 12, 12):
        a = (a + int.from_bytes(data[at : at + 4], "little")) & WORD
        b = (b + int.from_bytes(data[at + 4 : at + 8], "little")) & WORD
        c = (c + int.from_bytes(data[at + 8 : at + 12], "little")) & WORD
        a = (a - c & WORD) ^ rotated(c, 4)
        c = c + b & WORD
        b = (b - a & WORD) ^ rotated(a, 6)
        a = a + c & WORD
        c = (c - b & WORD) ^ rotated(b, 8)
        b = b + a & WORD
        a = (a - c & WORD) ^ rotated(c, 16)
        c = c + b & WORD
        b = (b - a & WORD) ^ rotated(a, 19)
        a = a + c & WORD
        c = (c - b & WORD) ^ rotated(b, 4)
        b = b + a & WORD
    tail = data[words * 12 :].ljust(12, b"\0")
    a = (a + int.from_bytes(tail[:4], "little")) & WORD
    b = (b + int.from_bytes(tail[4:8], "little")) & WORD
    c = (c + int.from_bytes(tail[8:], "little")) & WORD
    c = (c ^ b) - rotated(b, 14) & WORD
    a = (a ^ c) - rotated(c, 11) & WORD
    b = (b ^ a) - rotated(a, 25) & WORD
    c = (c ^ b) - rotated(b, 16) & WORD
    a = (a ^ c) - rotated(c, 4) & WORD
    b = (b ^ a) - rotated(a, 14) & WORD
    return (c ^ b) - rotated(b, 24) & WORD


class Bytes:
    """The bytes of a file, each read within bounds."""

    def __init__(self, data: bytes):
        self.data = data
        self.collections: dict[int, dict[int, bytes]] = {}
        """Global heaps that were read, by their addresses."""
        self.verified: set[tuple[int, int]] = set()

    def take(self, at: int, n: int) -> bytes:
        if at < 0 or n < 0 or at + n > len(self.data):
            raise WrongError(f"{n} bytes at {at} are not in the file of {len(self.data)} bytes")
        return self.data[at : at + n]

    def number(self, at: int, n: int = 8) -> int:
        return int.from_bytes(self.take(at, n), "little")

    def numbers(self, at: int, n: int, count: int) -> tuple[int, ...]:
        return tuple(self.number(at + i * n, n) for i in range(count))

    def expect(self, at: int, signature: bytes, version: int | None = 0) -> None:
        """Check a signature, and the version that follows it."""
        if self.take(at, len(signature)) != signature:
            raise WrongError(f"no {signature!r} at {at}")
        if version is not None and self.number(at + len(signature), 1) != version:
            raise WrongError(f"{signature!r} at {at} has an unknown version")

    def verify(self, start: int, end: int) -> None:
        """Compare the checksum at `end` with the bytes before it."""
        if (start, end) in self.verified:
            return
        if lookup3(self.take(start, end - start)) != self.number(end, 4):
            raise WrongError(f"checksum of bytes {start} to {end}")
        self.verified.add((start, end))

    def verify_around(self, start: int, end: int, at: int) -> None:
        """Compare the checksum at `at` with the bytes around it, in which it counts as zeros."""
        if (start, end) in self.verified:
            return
        if lookup3(self.take(start, at - start) + bytes(4) + self.take(at + 4, end - at - 4)) != self.number(at, 4):
            raise WrongError(f"checksum of bytes {start} to {end}")
        self.verified.add((start, end))


# B-trees of version 2


def bytes_for(n: int) -> int:
    """Return how many bytes a number up to `n` takes."""
    return (n.bit_length() + 7) // 8


def records(file: Bytes, address: int, kind: int) -> list[bytes]:
    """Return all records of a B-tree of version 2, in their order."""
    file.expect(address, b"BTHD")
    file.verify(address, address + 34)
    if file.number(address + 5, 1) != kind:
        raise WrongError(f"B-tree v2 at {address} is not of type {kind}")
    node_size, record_size = file.number(address + 6, 4), file.number(address + 10, 2)
    depth, root = file.number(address + 12, 2), file.number(address + 16)
    n, total = file.number(address + 24, 2), file.number(address + 26)
    if not record_size or depth > 16 or node_size < 10 + record_size:
        raise WrongError(f"B-tree v2 at {address}")
    if not total or root == UNDEFINED:
        if total or n:
            raise WrongError(f"B-tree v2 at {address} has no root")
        return []
    in_leaf = (node_size - 10) // record_size
    width = bytes_for(in_leaf)
    capacity, total_widths, most = [in_leaf], [0], [in_leaf]
    for level in range(1, depth + 1):
        pointer = 8 + width + total_widths[level - 1]
        here = (node_size - 10 - pointer) // (record_size + pointer)
        if here < 1:
            raise WrongError(f"B-tree v2 at {address}: nodes are too small")
        most.append(here)
        capacity.append((here + 1) * capacity[level - 1] + here)
        total_widths.append(bytes_for(capacity[level]))
    seen: set[int] = set()

    def node(at: int, n: int, level: int) -> Iterator[bytes]:
        if at in seen or n > most[level]:
            raise WrongError(f"node of a B-tree v2 at {at}")
        seen.add(at)
        file.expect(at, b"BTIN" if level else b"BTLF")
        if file.number(at + 5, 1) != kind:
            raise WrongError(f"node of a B-tree v2 at {at} is of another type")
        here = [file.take(at + 6 + i * record_size, record_size) for i in range(n)]
        end = at + 6 + n * record_size
        if not level:
            file.verify(at, end)
            yield from here
            return
        pointer = 8 + width + total_widths[level - 1]
        file.verify(at, end + (n + 1) * pointer)
        for i in range(n + 1):
            child = end + i * pointer
            found = list(node(file.number(child), file.number(child + 8, width), level - 1))
            if level > 1 and len(found) != file.number(child + 8 + width, total_widths[level - 1]):
                raise WrongError(f"node of a B-tree v2 at {at} counts others")
            yield from found
            if i < n:
                yield here[i]

    found = list(node(root, n, depth))
    if len(found) != total:
        raise WrongError(f"B-tree v2 at {address} has {len(found)} records, expected {total}")
    return found


# fractal heaps


class FractalHeap(NamedTuple):
    """The head of a fractal heap."""

    address: int
    id_size: int
    has_checksums: bool
    max_managed: int
    huge: int
    width: int
    first: int
    max_direct: int
    bits: int
    root: int
    n_rows: int


def read_heap(file: Bytes, address: int) -> FractalHeap:
    file.expect(address, b"FRHP")
    if file.number(address + 7, 2):
        raise UnknownError("a fractal heap with filters")
    file.verify(address, address + 142)
    heap = FractalHeap(
        address,
        file.number(address + 5, 2),
        bool(file.number(address + 9, 1) & 2),
        file.number(address + 10, 4),
        file.number(address + 22),
        file.number(address + 110, 2),
        file.number(address + 112),
        file.number(address + 120),
        file.number(address + 128, 2),
        file.number(address + 132),
        file.number(address + 140, 2),
    )
    for n in (heap.width, heap.first, heap.max_direct):
        if n < 1 or n & (n - 1):
            raise WrongError(f"fractal heap at {address}: {n} is no power of two")
    if heap.bits > 64 or heap.max_direct < heap.first:
        raise WrongError(f"fractal heap at {address}")
    return heap


def heap_object(file: Bytes, heap: FractalHeap, identifier: bytes) -> tuple[int, int]:
    """Return where an object of a fractal heap is: its address and its size."""
    kind = identifier[0] >> 4
    if kind == 1:
        if heap.id_size >= 17:
            return int.from_bytes(identifier[1:9], "little"), int.from_bytes(identifier[9:17], "little")
        key = identifier[1 : heap.id_size][:8].ljust(8, b"\0")
        for record in records(file, heap.huge, 1):
            if record[16:24] == key:
                return int.from_bytes(record[:8], "little"), int.from_bytes(record[8:16], "little")
        raise WrongError(f"fractal heap at {heap.address}: no huge object {key!r}")
    if kind == 2:
        raise UnknownError("a tiny object in a fractal heap")
    if kind:
        raise WrongError(f"fractal heap at {heap.address}: kind of object {kind}")
    width = -(-heap.bits // 8)
    n = min(bytes_for(heap.max_direct), bytes_for(heap.max_managed))
    offset = int.from_bytes(identifier[1 : 1 + width], "little")
    size = int.from_bytes(identifier[1 + width : 1 + width + n], "little")
    if not size:
        raise WrongError(f"fractal heap at {heap.address}: an object without bytes")
    if not heap.n_rows:
        return _in_block(file, heap, heap.root, heap.first, 0, offset, size)
    return _in_rows(file, heap, heap.root, heap.n_rows, 0, offset, size)


def _in_block(
    file: Bytes, heap: FractalHeap, at: int, block_size: int, start: int, offset: int, size: int
) -> tuple[int, int]:
    width = -(-heap.bits // 8)
    head = 13 + width + 4 * heap.has_checksums
    _check_block(file, heap, at, b"FHDB", start)
    file.take(at, block_size)
    if heap.has_checksums:
        file.verify_around(at, at + block_size, at + head - 4)
    if not head <= offset - start <= block_size - size:
        raise WrongError(f"fractal heap at {heap.address}: {size} bytes at {offset} are not in their block")
    return at + offset - start, size


def _in_rows(
    file: Bytes, heap: FractalHeap, at: int, n_rows: int, start: int, offset: int, size: int
) -> tuple[int, int]:
    _check_block(file, heap, at, b"FHIB", start)
    entries = at + 13 + -(-heap.bits // 8)
    file.verify(at, entries + n_rows * heap.width * 8)
    for row in range(n_rows):
        block_size = heap.first << max(row - 1, 0)
        begin = start + heap.width * (block_size if row else 0)
        column = (offset - begin) // block_size
        if 0 <= column < heap.width:
            break
    else:
        raise WrongError(f"fractal heap at {heap.address}: no block has byte {offset}")
    child = file.number(entries + (row * heap.width + column) * 8)
    begin += column * block_size
    if block_size <= heap.max_direct:
        return _in_block(file, heap, child, block_size, begin, offset, size)
    rows = (block_size // (heap.first * heap.width)).bit_length()
    return _in_rows(file, heap, child, rows, begin, offset, size)


def _check_block(file: Bytes, heap: FractalHeap, at: int, signature: bytes, start: int) -> None:
    file.expect(at, signature)
    if file.number(at + 5) != heap.address or file.number(at + 13, -(-heap.bits // 8)) != start:
        raise WrongError(f"block of a fractal heap at {at} is of another heap, or elsewhere in it")


# heaps of strings and references


def global_object(file: Bytes, address: int, index: int) -> bytes:
    """Return an object of a global heap."""
    if address not in file.collections:
        file.collections[address] = _collection(file, address)
    found = file.collections[address].get(index)
    if found is None:
        raise WrongError(f"global heap at {address} has no object {index}")
    return found


def _collection(file: Bytes, address: int) -> dict[int, bytes]:
    file.expect(address, b"GCOL", 1)
    end = address + file.number(address + 8)
    file.take(address, end - address)
    found: dict[int, bytes] = {}
    at = address + 16
    while at + 16 <= end:
        index, size = file.number(at, 2), file.number(at + 8)
        if not index:
            break
        if at + 16 + size > end or index in found:
            raise WrongError(f"object {index} of the global heap at {address}")
        found[index] = file.take(at + 16, size)
        at += 16 + size + -size % 8
    return found


def sequence(file: Bytes, element: bytes, size: int = 1) -> bytes:
    """Return the bytes of an element of variable length, of which the values take `size` bytes each."""
    count, address, index = (int.from_bytes(element[a:b], "little") for a, b in ((0, 4), (4, 12), (12, 16)))
    if not address or not count:
        return b""
    found = global_object(file, address, index)
    if count * size > len(found):
        raise WrongError(f"object {index} of the global heap at {address} has not {count} values")
    return found[: count * size]


def text_at(file: Bytes, at: int, end: int) -> bytes:
    """Return what comes before the next NUL."""
    found, nul, _ = file.take(at, max(end - at, 0)).partition(b"\0")
    if not nul:
        raise WrongError(f"name at {at} does not end")
    return found


def symbols(file: Bytes, tree: int, heap: int, level: int | None = None) -> Iterator[Link]:
    """Yield the links of a symbol table."""
    file.expect(heap, b"HEAP")
    size, start = file.number(heap + 8), file.number(heap + 24)
    file.expect(tree, b"TREE", None)
    kind, here, n = file.number(tree + 4, 1), file.number(tree + 5, 1), file.number(tree + 6, 2)
    if kind or (level is not None and here != level):
        raise WrongError(f"node of a B-tree at {tree}")
    for i in range(n):
        child = file.number(tree + 32 + 16 * i)
        if here:
            yield from symbols(file, child, heap, here - 1)
            continue
        file.expect(child, b"SNOD", 1)
        for at in range(child + 8, child + 8 + 40 * file.number(child + 6, 2), 40):
            name = text_at(file, start + file.number(at), start + size).decode("utf-8", "surrogateescape")
            target = None
            if file.number(at + 16, 4) == 2:
                place = start + file.number(at + 24, 4)
                target = text_at(file, place, start + size).decode("utf-8", "surrogateescape")
            yield Link(name, file.number(at + 8), -1, target)
