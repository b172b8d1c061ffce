"""Values of datasets of HDF5 files in plain Python: indexes of chunks, filters, and what was never written."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ds_format.hdf5.records import HDF5Dataset

from .reference_heaps import UNDEFINED, Bytes, UnknownError, WrongError, records, sequence


class Chunk(NamedTuple):
    """A chunk that was written."""

    number: tuple[int, ...]
    """Along each axis."""
    address: int
    size: int
    mask: int
    """A bit for each filter that it did not go through."""


def values(data: bytes, dataset: HDF5Dataset) -> NDArray[Any]:
    """Return the values of a dataset, in native byte order; strings of variable length as objects.

    Raises
    ------
    WrongError
        If the file is damaged.
    UnknownError
        If the package leaves the dataset to the library.
    """
    file = Bytes(data)
    kind = dataset.type.kind
    if kind not in ("number", "text", "string", "enum") or dataset.shape is None:
        raise UnknownError(f"values of the type {kind}")
    dtype = np.dtype("V16" if dataset.type.code is None else dataset.type.code)
    raw = _raw(file, dataset, dtype)
    if kind == "string":
        texts = [sequence(file, bytes(each)).split(b"\0")[0].decode("utf-8", "surrogateescape") for each in raw.flat]
        strings = np.empty(len(texts), object)
        strings[:] = texts
        return strings.reshape(raw.shape)
    return raw.astype(dtype.newbyteorder("="))


def _raw(file: Bytes, dataset: HDF5Dataset, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the elements of a dataset as they are in the file."""
    layout, shape = dataset.layout, dataset.shape
    assert shape is not None
    size = dtype.itemsize * math.prod(shape)
    if layout.kind == "unusual":
        raise UnknownError("an unusual layout")
    if layout.kind == "chunked" and layout.size != dtype.itemsize:
        raise WrongError(f"chunks of elements of {layout.size} bytes, expected {dtype.itemsize}")
    if dataset.fill is not None and len(dataset.fill) != dtype.itemsize:
        raise WrongError(f"a fill value of {len(dataset.fill)} bytes, expected {dtype.itemsize}")
    if size > 1 << 28:
        raise UnknownError(f"{size} bytes of values")
    filled = np.frombuffer((dataset.fill or bytes(dtype.itemsize)) * math.prod(shape), dtype).reshape(shape).copy()
    if layout.address is None:
        return filled
    if layout.kind != "chunked":
        if layout.size < size:
            raise WrongError(f"{layout.size} bytes of values, expected {size}")
        return np.frombuffer(file.take(layout.address, size), dtype).reshape(shape)
    assert layout.chunk is not None
    for chunk in chunks(file, dataset):
        region = tuple(slice(i * n, i * n + n) for i, n in zip(chunk.number, layout.chunk, strict=True))
        part = filled[region]
        if part.size:
            is_edge = part.shape != layout.chunk
            whole = _unfiltered(file, dataset, chunk, is_edge and bool(layout.flags & 1))
            filled[region] = np.frombuffer(whole, dtype).reshape(layout.chunk)[tuple(map(slice, part.shape))]
    return filled


def chunks(file: Bytes, dataset: HDF5Dataset) -> list[Chunk]:
    """Return all chunks that were written, each once."""
    found = _chunks(file, dataset)
    if len({chunk.number for chunk in found}) != len(found):
        raise WrongError("a chunk that is there twice")
    return found


def _chunks(file: Bytes, dataset: HDF5Dataset) -> list[Chunk]:
    layout = dataset.layout
    assert layout.chunk is not None
    assert layout.address is not None
    if dataset.shape is None or len(layout.chunk) != len(dataset.shape):
        raise WrongError("chunks of another rank")
    if layout.index == "btree1":
        return list(_btree1(file, layout.address, layout.chunk, None))
    if layout.index == "single":
        size, mask = layout.parameters or (math.prod(layout.chunk) * layout.size, 0)
        return [Chunk((0,) * len(layout.chunk), layout.address, size, mask)]
    if layout.index == "btree2":
        return list(_btree2(file, dataset, layout.address))
    if layout.index == "extensible":
        return _numbered(dataset, _extensible(file, layout.address), is_extensible=True)
    if layout.index == "implicit":
        n, size = math.prod(_grid(dataset, dataset.max_shape)), math.prod(layout.chunk) * layout.size
        return _numbered(dataset, [(i, layout.address + i * size, None, 0) for i in range(n)])
    return _numbered(dataset, _fixed(file, layout.address))


Entry = tuple[int, int, int | None, int]
"""Number of a chunk, its address, its size if it is filtered, and the mask of its filters."""


def _grid(dataset: HDF5Dataset, shape: tuple[int, ...]) -> list[int]:
    return [-(-n // step) for n, step in zip(shape, dataset.layout.chunk or (), strict=True)]


def _numbered(dataset: HDF5Dataset, entries: list[Entry], is_extensible: bool = False) -> list[Chunk]:
    """Return chunks that are numbered through the grid of the largest shape; an axis without limit is the slowest."""
    order = list(range(len(dataset.max_shape)))
    if is_extensible:
        order.sort(key=lambda axis: dataset.max_shape[axis] != -1)
    elif -1 in dataset.max_shape:
        raise WrongError("an array of chunks for an axis without limit")
    grid = _grid(dataset, dataset.max_shape)
    whole = math.prod(dataset.layout.chunk or ()) * dataset.layout.size
    found = []
    for number, address, size, mask in entries:
        position = [0] * len(grid)
        left = number
        for axis in reversed(order[1:] if is_extensible else order):
            left, position[axis] = divmod(left, grid[axis])
        if is_extensible:
            position[order[0]] = left
        elif left:
            raise WrongError(f"chunk {number} is outside of the largest shape")
        found.append(Chunk(tuple(position), address, whole if size is None else size, mask))
    return found


def _btree1(file: Bytes, address: int, chunk: tuple[int, ...], level: int | None) -> Iterator[Chunk]:
    file.expect(address, b"TREE", None)
    kind, here, n = file.number(address + 4, 1), file.number(address + 5, 1), file.number(address + 6, 2)
    if kind != 1 or (level is not None and here != level):
        raise WrongError(f"node of a B-tree at {address}")
    key_size = 8 + 8 * (len(chunk) + 1)
    before: tuple[int, ...] | None = None
    for i in range(n):
        key = address + 24 + i * (key_size + 8)
        offsets = file.numbers(key + 8, 8, len(chunk))
        if before is not None and offsets <= before:
            raise WrongError(f"keys of the B-tree node at {address} do not ascend")
        before = offsets
        child = file.number(key + key_size)
        if here:
            yield from _btree1(file, child, chunk, here - 1)
            continue
        if any(offset % n for offset, n in zip(offsets, chunk, strict=True)):
            raise WrongError(f"chunk at {offsets} is between others")
        position = tuple(offset // n for offset, n in zip(offsets, chunk, strict=True))
        yield Chunk(position, child, file.number(key, 4), file.number(key + 4, 4))


def _btree2(file: Bytes, dataset: HDF5Dataset, address: int) -> Iterator[Chunk]:
    chunk = dataset.layout.chunk or ()
    rank = len(chunk)
    for record in records(file, address, 11 if dataset.filters else 10):
        numbers = record[-8 * rank :]
        position = tuple(int.from_bytes(numbers[8 * i : 8 * i + 8], "little") for i in range(rank))
        size, mask = math.prod(chunk) * dataset.layout.size, 0
        if dataset.filters:
            size = int.from_bytes(record[8 : -8 * rank - 4], "little")
            mask = int.from_bytes(record[-8 * rank - 4 : -8 * rank], "little")
        yield Chunk(position, int.from_bytes(record[:8], "little"), size, mask)


def _entry(file: Bytes, number: int, at: int, client: int, size: int) -> Entry:
    if not client:
        return number, file.number(at), None, 0
    return number, file.number(at), file.number(at + 8, size - 12), file.number(at + size - 4, 4)


def _is_set(bits: bytes, i: int) -> bool:
    return bool(bits[i // 8] & 0x80 >> i % 8)


def _fixed(file: Bytes, address: int) -> list[Entry]:
    file.expect(address, b"FAHD")
    file.verify(address, address + 24)
    client, size, page_bits = file.numbers(address + 5, 1, 3)
    n, block = file.number(address + 8), file.number(address + 16)
    if block == UNDEFINED:
        return []
    file.expect(block, b"FADB")
    if file.number(block + 5, 1) != client or file.number(block + 6) != address:
        raise WrongError(f"data block at {block} is of another fixed array")
    if n > len(file.data):
        raise WrongError(f"fixed array at {address} has {n} entries")
    page = 1 << page_bits
    at = block + 14
    if n <= page:
        file.verify(block, at + n * size)
        found = [_entry(file, i, at + i * size, client, size) for i in range(n)]
        return [entry for entry in found if entry[1] != UNDEFINED]
    n_pages = -(-n // page)
    bits = file.take(at, -(-n_pages // 8))
    file.verify(block, at + len(bits))
    at += len(bits) + 4
    found = []
    for i in range(n_pages):
        if _is_set(bits, i):
            here = min(page, n - i * page)
            file.verify(at, at + here * size)
            found += [_entry(file, i * page + k, at + k * size, client, size) for k in range(here)]
        at += page * size + 4
    return [entry for entry in found if entry[1] != UNDEFINED]


def _extensible(file: Bytes, address: int) -> list[Entry]:
    file.expect(address, b"EAHD")
    file.verify(address, address + 68)
    client, size, max_bits, n_first, min_block, min_pointers, page_bits = file.numbers(address + 5, 1, 7)
    n, index_block = file.number(address + 44), file.number(address + 60)
    if index_block == UNDEFINED:
        return []
    for power in (min_block, min_pointers):
        if power < 1 or power & (power - 1):
            raise WrongError(f"extensible array at {address}: {power} is no power of two")
    n_levels = 1 + max_bits - (min_block.bit_length() - 1)
    n_inside = 2 * (min_pointers.bit_length() - 1)
    offset_size, page = -(-max_bits // 8), 1 << page_bits

    def entries(first: int, at: int, count: int) -> Iterator[Entry]:
        for i in range(count):
            if first + i < n:
                entry = _entry(file, first + i, at + i * size, client, size)
                if entry[1] != UNDEFINED:
                    yield entry

    def head(at: int, signature: bytes, first: int | None) -> int:
        file.expect(at, signature)
        if file.number(at + 5, 1) != client or file.number(at + 6) != address:
            raise WrongError(f"block at {at} is of another extensible array")
        if first is None:
            return at + 14
        # those named in the index block have an offset of no meaning
        if signature == b"EASB" and file.number(at + 14, offset_size) != first - n_first:
            raise WrongError(f"block at {at} is elsewhere in its extensible array")
        return at + 14 + offset_size

    def data_block(at: int, first: int, count: int, bits: bytes = b"", first_bit: int = 0) -> Iterator[Entry]:
        if at == UNDEFINED:
            return
        start = head(at, b"EADB", first)
        if not bits:
            file.verify(at, start + count * size)
            yield from entries(first, start, count)
            return
        file.verify(at, start)
        start += 4
        for i in range(count // page):
            if _is_set(bits, first_bit + i):
                file.verify(start, start + page * size)
                yield from entries(first + i * page, start, page)
            start += page * size + 4

    at = head(index_block, b"EAIB", None)
    found = list(entries(0, at, n_first))
    at += n_first * size
    first = n_first
    pointers = 2 * (min_pointers - 1)
    file.verify(index_block, at + (pointers + max(n_levels - n_inside, 0)) * 8)
    for level in range(n_levels):
        n_blocks, count = 1 << level // 2, min_block << (level + 1) // 2
        if level < n_inside:
            for _ in range(n_blocks):
                if count > page:
                    raise UnknownError("pages in a data block of an index block")
                found += data_block(file.number(at), first, count)
                at += 8
                first += count
            continue
        block, at = file.number(at), at + 8
        if block != UNDEFINED:
            inner = head(block, b"EASB", first)
            # the bits of all blocks follow one another, but take as many bytes as if each began a byte of its own
            n_bits = count // page if count > page else 0
            n_bytes = n_blocks * -(-n_bits // 8)
            file.verify(block, inner + n_bytes + n_blocks * 8)
            bits = file.take(inner, n_bytes)
            for i in range(n_blocks):
                child = file.number(inner + n_bytes + 8 * i)
                found += data_block(child, first + i * count, count, bits, i * n_bits)
        first += n_blocks * count
    return found


# filters


def _unfiltered(file: Bytes, dataset: HDF5Dataset, chunk: Chunk, is_plain: bool) -> bytes:
    """Return the bytes of a chunk."""
    data = file.take(chunk.address, chunk.size)
    size = math.prod(dataset.layout.chunk or ()) * dataset.layout.size
    for i, each in reversed(list(enumerate(dataset.filters))):
        if is_plain or chunk.mask >> i & 1:
            continue
        if each.number == 1:
            data = _inflated(data, size + 4, chunk.address)
        elif each.number == 2:
            data = _unshuffled(data, each.values[0] if each.values else dataset.layout.size)
        elif each.number == 3:
            data, stored = data[:-4], data[-4:]
            found = fletcher32(data).to_bytes(4, "little")
            # old libraries stored the halves the other way around
            if stored not in (found, bytes((found[1], found[0], found[3], found[2]))):
                raise WrongError(f"Fletcher-32 of the chunk at {chunk.address}")
        else:
            raise UnknownError(f"filter {each.number}")
    if len(data) != size:
        raise WrongError(f"chunk at {chunk.address} has {len(data)} bytes, expected {size}")
    return data


def _inflated(data: bytes, most: int, address: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, most + 1)
    except zlib.error as error:
        raise WrongError(f"chunk at {address}: {error}") from None
    if not stream.eof or len(found) > most:
        raise WrongError(f"chunk at {address} is not inflated")
    return found


def _unshuffled(data: bytes, width: int) -> bytes:
    n = len(data) // width if width > 1 else 0
    if n < 2:
        return data
    return np.frombuffer(data[: n * width], np.uint8).reshape(width, n).T.tobytes() + data[n * width :]


def fletcher32(data: bytes) -> int:
    """Return the checksum of HDF5's filter 3: sums of big-endian words of two bytes."""
    words = np.frombuffer(data + bytes(len(data) % 2), ">u2").astype(object)
    first = int(sum(words.tolist()))
    second = sum(itertools.accumulate(words.tolist()))

    def folded(n: int) -> int:
        return n % 65535 or (65535 if n else 0)

    return folded(second) << 16 | folded(first)
