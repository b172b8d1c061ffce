"""A plain Python parser of HDF5 files: bytes → the records of `ds_format.hdf5.records`. The oracle of the tests.

Source of all facts: "HDF5 File Format Specification Version 3.0", The HDF Group. It shares no code with the kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ds_format.hdf5.records import (
    HDF5Attribute,
    HDF5Dataset,
    HDF5File,
    HDF5Filter,
    HDF5Group,
    HDF5Layout,
    HDF5Type,
)

from .reference_chunks import values
from .reference_heaps import (
    UNDEFINED,
    Bytes,
    Link,
    Message,
    UnknownError,
    WrongError,
    defined,
    heap_object,
    read_heap,
    records,
    sequence,
    symbols,
    text_at,
)

__all__ = ["UnknownError", "WrongError", "parse", "values"]

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SCALE_NAMES = ("CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST")
HIDDEN = frozenset((*SCALE_NAMES, "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"))
FLOATS = {
    2: (15, 0, 16, 10, 5, 0, 10, 15),
    4: (31, 0, 32, 23, 8, 0, 23, 127),
    8: (63, 0, 64, 52, 11, 0, 52, 1023),
}
"""By size: position of the sign, offset, precision, position and size of exponent and mantissa, bias."""
OTHER_KINDS = {2: "time", 4: "bitfield", 5: "opaque", 6: "compound", 10: "array"}
INDEXES = {1: "single", 2: "implicit", 3: "fixed", 4: "extensible", 5: "btree2"}
MAX_RANK, LAST_MESSAGE = 32, 0x17


def parse(data: bytes, netcdf: bool = False) -> HDF5File:
    """Return all objects of a file.

    Parameters
    ----------
    data : bytes
    netcdf : bool
        Whether attributes of shape (1,) are given as those without dimensions are.

    Raises
    ------
    WrongError
        If the file is damaged.
    UnknownError
        If the package leaves it to the library.
    """
    parser = Parser(Bytes(data), netcdf)
    return parser.parse()


class Parser:
    """Reads one file."""

    def __init__(self, file: Bytes, netcdf: bool):
        self.file = file
        self.netcdf = netcdf
        self.groups: list[HDF5Group] = []
        self.datasets: list[HDF5Dataset] = []
        self.types: list[tuple[str, HDF5Type]] = []
        self.is_ordered = True
        self.other_names: list[tuple[str, int, int | str]] = []
        self.addresses: set[int] = set()

    def parse(self) -> HDF5File:
        """Return all objects; see `parse`."""
        self.group("", self.root(), -1, 0)
        return HDF5File(self.groups, self.datasets, self.types, self.is_ordered, self.other_names)

    def root(self) -> int:
        """Return the address of the root group."""
        file = self.file
        if not file.data.startswith(SIGNATURE):
            raise UnknownError("a user block, or no HDF5 file")
        version = file.number(8, 1)
        if version > 3:
            raise UnknownError(f"superblock of version {version}")
        at = 13 if version < 2 else 9
        if file.numbers(at, 1, 2) != (8, 8):
            raise UnknownError("addresses or lengths of another size than 8 bytes")
        if version < 2:
            shift = 4 if version else 0
            file.take(0, 96 + shift)
            base, end, driver, root = (file.number(at + shift) for at in (24, 40, 48, 64))
            if driver != UNDEFINED:
                raise UnknownError("information of a driver")
        else:
            file.verify(0, 44)
            base, end, root = file.number(12), file.number(28), file.number(36)
            if version == 3 and file.number(11, 1) & 5:
                raise UnknownError("a file that is open for writing")
        if base > end or end - base > len(file.data):
            raise WrongError(f"the file has {len(file.data)} bytes, expected {end} less {base}")
        return root

    # object headers

    def header(self, address: int) -> list[Message]:
        """Return all messages of an object."""
        version = self.file.number(address, 1)
        if version == 1:
            blocks = [(address + 16, self.file.number(address + 8, 4))]
            step, head = self._messages_1, b""
        else:
            self.file.expect(address, b"OHDR", 2)
            flags = self.file.number(address + 5, 1)
            width = 1 << (flags & 3)
            at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
            size = self.file.number(at, width)
            self.file.verify(address, at + width + size)
            blocks = [(at + width, size)]
            step, head = (self._messages_2_ordered if flags & 4 else self._messages_2), b"OCHK"
        found: list[Message] = []
        used = 0
        for at, size in blocks:  # which grows
            used += size
            if used > len(self.file.data) or len(blocks) > 4096:
                raise WrongError(f"object header at {address}: continuations in a circle")
            for message in step(at, size):
                found.append(message)
                if message.type == 0x10:
                    if message.size < 16:
                        raise WrongError(f"object header at {address}: continuation of {message.size} bytes")
                    start, n = self.file.number(message.at), self.file.number(message.at + 8)
                    self.file.take(start, n)
                    if head:
                        self.file.expect(start, head, None)
                        if n < 8:
                            raise WrongError(f"object header at {address}: continuation of {n} bytes")
                        self.file.verify(start, start + n - 4)
                        start, n = start + 4, n - 8
                    blocks.append((start, n))
                elif message.type > LAST_MESSAGE and message.flags & 0x80:
                    raise UnknownError(f"message {message.type}")
        return found

    def _messages_1(self, at: int, size: int) -> Iterator[Message]:
        end = at + size
        self.file.take(at, size)
        while at + 8 <= end:
            n = self.file.number(at + 2, 2)
            if at + 8 + n > end:
                raise WrongError(f"message at {at} is not within its block")
            yield Message(self.file.number(at, 2), self.file.number(at + 4, 1), at + 8, n, -1)
            at += 8 + n

    def _messages_2(self, at: int, size: int, head: int = 4) -> Iterator[Message]:
        end = at + size
        self.file.take(at, size)
        while at + head <= end:
            n = self.file.number(at + 1, 2)
            if at + head + n > end:
                raise WrongError(f"message at {at} is not within its block")
            order = self.file.number(at + 4, 2) if head == 6 else -1
            yield Message(self.file.number(at, 1), self.file.number(at + 3, 1), at + head, n, order)
            at += head + n

    def _messages_2_ordered(self, at: int, size: int) -> Iterator[Message]:
        return self._messages_2(at, size, 6)

    def shared(self, at: int, size: int, type: int) -> tuple[Message, int]:
        """Return the message that a shared one is about, and the address of its object."""
        version, kind = self.file.numbers(at, 1, 2)
        if version == 3 and kind != 2:
            raise UnknownError("a message in the heap of shared ones")
        if version not in (1, 2, 3) or size < (16 if version == 1 else 10):
            raise WrongError(f"shared message at {at}")
        address = self.file.number(at + (8 if version == 1 else 2))
        for message in self.header(address):
            if message.type == type and not message.flags & 2:
                return message, address
        raise WrongError(f"object header at {address} has no message {type} to share")

    def resolved(self, messages: list[Message], type: int) -> tuple[Message, int | None] | None:
        """Return the message of a type, and the object it is shared from; None if there is none."""
        for message in messages:
            if message.type == type:
                return self.shared(message.at, message.size, type) if message.flags & 2 else (message, None)
        return None

    # messages

    def space(self, at: int, size: int) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
        """Return a shape, None if there is no value, and the largest one, with -1 for unlimited."""
        file = self.file
        version, rank, flags, kind = file.numbers(at, 1, 4)
        if version not in (1, 2):
            raise WrongError(f"dataspace at {at} of version {version}")
        if rank > MAX_RANK or flags & ~1:
            raise UnknownError(f"dataspace of {rank} dimensions")
        start = at + (8 if version == 1 else 4)
        if start + 8 * rank * (1 + (flags & 1)) > at + size:
            raise WrongError(f"dataspace at {at} is longer than its message")
        shape = file.numbers(start, 8, rank)
        if version == 2:
            if kind > 2 or (kind != 1 and rank):
                raise WrongError(f"dataspace at {at} of class {kind}")
            if kind == 2:
                return None, ()
        if not flags & 1:
            return shape, shape
        most = tuple(-1 if n == UNDEFINED else n for n in file.numbers(start + 8 * rank, 8, rank))
        if any(m != -1 and m < n for n, m in zip(shape, most, strict=True)):
            raise WrongError(f"dataspace at {at} is larger than its maximum")
        return shape, most

    def type(self, at: int, size: int, address: int | None = None) -> HDF5Type:
        """Return a datatype; `address` is that of the object it is shared from."""
        file = self.file
        if size < 8:
            raise WrongError(f"datatype at {at} of {size} bytes")
        kind, version = file.number(at, 1) & 15, file.number(at, 1) >> 4
        if not 1 <= version <= 5:
            raise UnknownError(f"datatype of version {version}")
        bits, width = file.number(at + 1, 3), file.number(at + 4, 4)
        if not width:
            raise WrongError(f"datatype at {at} of no bytes")
        end = at + size

        def properties(n: int) -> int:
            if at + 8 + n > end:
                raise WrongError(f"datatype at {at} is longer than its message")
            return at + 8

        def numeric(code: str, is_usual: bool, unusual: str = "unusual number") -> HDF5Type:
            known = np.dtype(code).str if is_usual else None
            return HDF5Type("number" if is_usual else unusual, known, width, None, address)

        if kind == 0:
            start = properties(4)
            is_usual = file.numbers(start, 2, 2) == (0, 8 * width) and width in (1, 2, 4, 8)
            code = f"{'<>'[bits & 1]}{'ui'[bits >> 3 & 1]}{width}"
            return numeric(code, is_usual)
        if kind == 1:
            start = properties(12)
            found = (
                bits >> 8 & 255,
                *file.numbers(start, 2, 2),
                *file.numbers(start + 4, 1, 4),
                file.number(start + 8, 4),
            )
            # the padding is that of bits that are not used, and there are none
            is_usual = found == FLOATS.get(width) and not bits & 0xC0 and bits >> 4 & 3 == 2
            code = f"{'<>'[bits & 1]}f{width}"
            return numeric(code, is_usual, "unusual float")
        if kind == 3:
            paddings = ("NUL ends", "NULs", "spaces")
            if bits & 15 >= len(paddings):
                raise UnknownError("an unknown padding")
            padding, is_utf8 = paddings[bits & 15], bits >> 4 & 15 == 1
            return HDF5Type("text", f"|S{width}", width, None, address, padding, is_utf8)
        if kind == 7:
            if bits & 15:
                raise UnknownError("references to regions, or of a new kind")
            return HDF5Type("reference", None, width, None, address)
        if kind == 8:
            return self.enum(at, end, bits & 0xFFFF, width, version, address)
        if kind == 9:
            return HDF5Type("string" if bits & 15 == 1 else "sequence", None, width, None, address)
        if kind in OTHER_KINDS:
            return HDF5Type(OTHER_KINDS[kind], None, width, None, address)
        raise UnknownError(f"datatype of class {kind}")

    def enum(self, at: int, end: int, n: int, width: int, version: int, address: int | None) -> HDF5Type:
        file = self.file
        base = self.type(at + 8, end - at - 8)
        if file.number(at + 8, 1) & 15 != 0 or base.code is None:
            return HDF5Type("unusual number", None, width, None, address)
        if base.size != width:
            raise WrongError(f"enum at {at} of {width} bytes, expected {base.size}")
        names, start = [], at + 8 + 12
        for _ in range(n):
            name = text_at(file, start, end)
            size = len(name) + 1
            start += size if version >= 3 else size + -size % 8
            names.append(name.decode("utf-8", "surrogateescape"))
        if start + n * width > end:
            raise WrongError(f"enum at {at} is longer than its message")
        numbers = np.frombuffer(file.take(start, n * width), base.code).tolist()
        return HDF5Type("enum", base.code, width, tuple(zip(names, numbers, strict=True)), address)

    def type_of(self, messages: list[Message]) -> HDF5Type:
        found = self.resolved(messages, 3)
        if found is None:
            raise WrongError("an object without a datatype")
        return self.type(found[0].at, found[0].size, found[1])

    def layout(self, messages: list[Message], size: int) -> HDF5Layout:
        """Return the layout of values of so many bytes."""
        unusual = HDF5Layout("unusual", None, 0, None, None, (), 0)
        message = next(message for message in messages if message.type == 8)
        if message.flags & 2:
            raise UnknownError("a layout that is shared")
        file, at, end = self.file, message.at, message.at + message.size
        version, kind = file.numbers(at, 1, 2)
        if not 1 <= version <= 5 or (version > 2 and kind > 3):
            raise UnknownError(f"layout at {at} of version {version} and class {kind}")

        def within(stop: int) -> None:
            if stop > end:
                raise WrongError(f"layout at {at} is longer than its message")

        if (version > 2 and kind == 3) or any(each.type == 7 for each in messages):
            return unusual
        if version < 3:
            rank, kind = file.numbers(at + 1, 1, 2)
            start = at + (8 if kind == 0 else 16)
            within(start + 4 * rank)
            if kind == 2:
                *chunk, item = self.chunk(file.numbers(start, 4, rank), at)
                return HDF5Layout("chunked", defined(file.number(at + 8)), item, tuple(chunk), "btree1", (), 0)
            if kind == 1:
                return HDF5Layout("contiguous", defined(file.number(at + 8)), size, None, None, (), 0)
            start += 4 * rank
            stored = file.number(start, 4)
            start += 4
        elif kind == 0:
            stored, start = file.number(at + 2, 2), at + 4
        elif kind == 1:
            within(at + 18)
            stored, start = file.number(at + 10), file.number(at + 2)
            if start == UNDEFINED:
                return HDF5Layout("contiguous", None, stored, None, None, (), 0)
        if kind < 2:
            if stored < size:
                raise WrongError(f"layout at {at}: {stored} bytes of values, expected {size}")
            if kind == 0:
                within(start + stored)
            file.take(start, size)
            return HDF5Layout("contiguous" if kind else "compact", start, size, None, None, (), 0)
        if version == 3:
            rank = file.number(at + 2, 1)
            within(at + 11 + 4 * rank)
            *chunk, item = self.chunk(file.numbers(at + 11, 4, rank), at)
            return HDF5Layout("chunked", defined(file.number(at + 3)), item, tuple(chunk), "btree1", (), 0)
        flags, rank, width = file.numbers(at + 2, 1, 3)
        start = at + 5 + rank * width
        if not 1 <= width <= 8:
            raise WrongError(f"layout at {at}: numbers of {width} bytes")
        within(start + 1)
        *chunk, item = self.chunk(file.numbers(at + 5, width, rank), at)
        index = INDEXES.get(file.number(start, 1))
        if index is None:
            raise UnknownError("an unknown index of chunks")
        widths = {"fixed": [1], "extensible": [1] * 5, "btree2": [4, 1, 1], "implicit": []}.get(
            index, [8, 4] if flags & 2 else []
        )
        start += 1
        within(start + sum(widths) + 8)
        starts = itertools.accumulate(widths, initial=start)
        parameters = tuple(file.number(where, n) for where, n in zip(starts, widths, strict=False))
        address = file.number(start + sum(widths))
        return HDF5Layout("chunked", defined(address), item, tuple(chunk), index, parameters, flags)

    def chunk(self, found: tuple[int, ...], at: int) -> tuple[int, ...]:
        if not 2 <= len(found) <= MAX_RANK + 1 or 0 in found:
            raise WrongError(f"layout at {at}: chunks of {found}")
        return found

    def filters(self, messages: list[Message]) -> tuple[HDF5Filter, ...]:
        found = self.resolved(messages, 11)
        if found is None:
            return ()
        file, at = self.file, found[0].at
        end = at + found[0].size
        version, n = file.numbers(at, 1, 2)
        if version not in (1, 2) or n > 32:
            raise WrongError(f"filters at {at} of version {version}")
        at += 8 if version == 1 else 2
        filters = []
        for _ in range(n):
            number = file.number(at, 2)
            has_name = version == 1 or number >= 256
            name = file.number(at + 2, 2) if has_name else 0
            at += 4 if has_name else 2
            flags, count = file.numbers(at, 2, 2)
            at += 4 + (name + -name % 8 if version == 1 else name)
            if at + 4 * count > end:
                raise WrongError(f"filters at {at} are longer than their message")
            filters.append(HDF5Filter(number, bool(flags & 1), file.numbers(at, 4, count)))
            at += 4 * count + (4 if version == 1 and count % 2 else 0)
        return tuple(filters)

    def fill(self, messages: list[Message]) -> tuple[bytes | None, bool]:
        """Return a fill value, and whether it is written."""
        found = self.resolved(messages, 5)
        if found is None:
            old = self.resolved(messages, 4)
            return (None if old is None else self.sized(old[0].at, old[0]) or None), True
        message, file = found[0], self.file
        at = message.at
        version = file.number(at, 1)
        if version in (1, 2):
            time, is_defined = file.number(at + 2, 1), file.number(at + 3, 1)
            has_value, start = is_defined or version == 1, at + 4
        elif version == 3:
            flags = file.number(at + 1, 1)
            time, has_value, start = flags >> 2 & 3, flags & 0x20, at + 2
        else:
            raise WrongError(f"fill value at {at} of version {version}")
        return (self.sized(start, message) or None if has_value else None), time != 1

    def sized(self, at: int, message: Message) -> bytes:
        n = self.file.number(at, 4)
        if n == 2**32 - 1:  # -1: it is not defined
            return b""
        if at + 4 + n > message.at + message.size:
            raise WrongError(f"fill value at {at} is longer than its message")
        return self.file.take(at + 4, n)

    # groups

    def group(self, name: str, address: int, order: int, depth: int, messages: list[Message] | None = None) -> None:
        if depth > MAX_RANK:
            raise UnknownError("groups too deep in one another")
        self.addresses.add(address)
        messages = self.header(address) if messages is None else messages
        attributes, strings, hidden = self.attributes(messages)
        self.groups.append(HDF5Group(name, address, order, attributes, strings, hidden))
        inner = []
        for link in self.links(messages):
            path = f"{name}/{link.name}" if name else link.name
            if "/" in link.name:
                raise UnknownError("a link with a slash")
            if link.target is not None or link.address in self.addresses:
                self.other_names.append((path, link.order, link.address if link.target is None else link.target))
                continue
            self.addresses.add(link.address)
            messages = self.header(link.address)
            kinds = {message.type for message in messages}
            if kinds & {2, 0x11} and 8 not in kinds:
                inner.append((path, link.address, link.order, depth + 1, messages))
                continue
            if 8 in kinds:
                self.datasets.append(self.dataset(path, link, messages))
            elif 3 in kinds:
                self.types.append((path, self.type_of(messages)._replace(address=link.address)))
            else:
                raise WrongError(f"object header at {link.address} is of nothing")
        for each in inner:
            self.group(*each)

    def links(self, messages: list[Message]) -> list[Link]:
        table = self.resolved(messages, 0x11)
        info = self.resolved(messages, 2)
        if info is None:
            self.is_ordered = False
            if table is None:
                raise WrongError("a group without links")
            found = list(symbols(self.file, self.file.number(table[0].at), self.file.number(table[0].at + 8)))
            return sorted(found, key=lambda link: link.name.encode("utf-8", "surrogateescape"))
        at, file = info[0].at, self.file
        if file.number(at, 1):
            raise WrongError(f"link info at {at}")
        is_ordered = file.number(at + 1, 1) & 1
        self.is_ordered = self.is_ordered and bool(is_ordered)
        at += 10 if is_ordered else 2
        heap, tree = file.number(at), file.number(at + 8)
        found = [self.link(message.at, message.size) for message in messages if message.type == 6]
        if heap != UNDEFINED:
            fractal = read_heap(file, heap)
            found += [self.link(*heap_object(file, fractal, record[4:])) for record in records(file, tree, 5)]
        if len({link.name for link in found}) != len(found):
            raise UnknownError("two links of one name")
        if is_ordered:
            found.sort(key=lambda link: link.order)
            return [link._replace(order=(link.order ^ 1 << 63) - (1 << 63)) for link in found]  # as it is signed
        return sorted(found, key=lambda link: link.name.encode("utf-8", "surrogateescape"))

    def link(self, at: int, size: int) -> Link:
        file, end = self.file, at + size
        version, flags = file.numbers(at, 1, 2)
        if version != 1:
            raise WrongError(f"link at {at} of version {version}")
        at += 2
        is_soft = False
        if flags & 8:
            if file.number(at, 1) > 1:
                raise UnknownError("an external link")
            is_soft = file.number(at, 1) == 1
            at += 1
        order = -1
        if flags & 4:
            order = file.number(at)
            at += 8
        at += 1 if flags & 16 else 0
        width = 1 << (flags & 3)
        n = file.number(at, width)
        at += width
        if not n or at + n + (2 if is_soft else 8) > end:
            raise WrongError(f"link at {at} is longer than its message")
        name = file.take(at, n).decode("utf-8", "surrogateescape")
        if not is_soft:
            return Link(name, file.number(at + n), order)
        size = file.number(at + n, 2)
        if at + n + 2 + size > end:
            raise WrongError(f"link at {at} is longer than its message")
        return Link(name, UNDEFINED, order, file.take(at + n + 2, size).decode("utf-8", "surrogateescape"))

    # attributes

    def attributes(self, messages: list[Message]) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
        """Return attributes, names of those that are one string, and the hidden ones."""
        places = [(message.order, message.at, message.size) for message in messages if message.type == 12]
        if any(message.type == 12 and message.flags & 2 for message in messages):
            raise UnknownError("an attribute that is shared")
        info, file = self.resolved(messages, 0x15), self.file
        if info is not None:
            at = info[0].at
            at += 4 if file.number(at + 1, 1) & 1 else 2
            heap, tree = file.number(at), file.number(at + 8)
            if heap != UNDEFINED:
                fractal = read_heap(file, heap)
                for record in records(file, tree, 8):
                    if record[8] & 2:
                        raise UnknownError("an attribute that is shared")
                    order = int.from_bytes(record[9:13], "little")
                    places.append((order, *heap_object(file, fractal, record[:8])))
        found = [(order, *self.attribute(at, size)) for order, at, size in places]
        # the header says it, too, and the library believes the header
        if any(message.order >= 0 for message in messages):
            found.sort(key=lambda each: each[0])
        if len({each[1] for each in found}) != len(found):
            raise UnknownError("two attributes of one name")
        attributes: dict[str, Any] = {}
        strings, hidden = [], {}
        for _, raw, type, shape, data, type_at in found:
            name = raw.decode("utf-8", "surrogateescape")
            if name in (HIDDEN if self.netcdf else ("DIMENSION_LIST",)):
                # texts end with a NUL, and lists are of references
                is_other = name == "CLASS" and (type.kind != "text" or file.number(type_at + 1, 1) & 15)
                if name == "DIMENSION_LIST" and type.kind == "sequence":
                    inner = file.number(type_at + 8, 1) & 15, file.number(type_at + 9, 1) & 15
                    is_other = (*inner, file.number(type_at + 12, 4)) != (7, 0, 8)
                if is_other:
                    hidden[name] = HDF5Attribute(type, shape, data)
                elif name != "REFERENCE_LIST":
                    hidden[name] = self.hidden(name, type, shape, data)
                continue
            attributes[name] = self.value(type, shape, data)
            is_text = shape == (1,) and type.kind == "text"
            if is_text or (type.kind == "string" and shape in ((), (1,))):
                strings.append(name)
        if not self.netcdf and all(message.order < 0 for message in messages):
            attributes = dict(sorted(attributes.items()))
        return attributes, strings, hidden

    def attribute(self, at: int, size: int) -> tuple[bytes, HDF5Type, tuple[int, ...] | None, bytes, int]:
        """Return the name, type, shape and bytes of an attribute, and where its type is."""
        file, end = self.file, at + size
        version, flags = file.numbers(at, 1, 2)
        if not 1 <= version <= 3:
            raise WrongError(f"attribute at {at} of version {version}")
        flags = 0 if version == 1 else flags
        name_size, type_size, space_size = file.numbers(at + 2, 2, 3)
        start = at + 8 + (version == 3)

        def step(n: int) -> int:
            return n + -n % 8 if version == 1 else n

        type_at = start + step(name_size)
        space_at = type_at + step(type_size)
        data_at = space_at + step(space_size)
        if data_at > end:
            raise WrongError(f"attribute at {at} is longer than its message")
        name = text_at(file, start, start + name_size)
        shared = None
        if flags & 1:
            message, shared = self.shared(type_at, type_size, 3)
            type_at, type_size = message.at, message.size
        type = self.type(type_at, type_size, shared)
        if flags & 2:
            message, _ = self.shared(space_at, space_size, 1)
            space_at, space_size = message.at, message.size
        shape, _ = self.space(space_at, space_size)
        n = type.size * math.prod(shape) if shape is not None else 0
        if data_at + n > end:
            raise WrongError(f"attribute at {at} is longer than its message")
        return name, type, shape, file.take(data_at, n), type_at

    def value(self, type: HDF5Type, shape: tuple[int, ...] | None, data: bytes) -> Any:
        """Return the value of an attribute."""
        if type.kind not in ("number", "text", "string") or (shape is not None and len(shape) > 1):
            if type.kind == "string" and not self.netcdf:
                parts = [sequence(self.file, data[i : i + 16]) for i in range(0, len(data), 16)]
                texts = [each.partition(b"\0")[0].decode("utf-8", "surrogateescape") for each in parts]
                return HDF5Attribute(type, shape, texts)
            return HDF5Attribute(type, shape, data)
        if self.netcdf and type.code in ("<f2", ">f2"):  # netCDF has no such numbers
            return HDF5Attribute(type, shape, data)
        is_one = not shape or (self.netcdf and shape == (1,))
        if type.kind == "number":
            assert type.code is not None
            array = np.frombuffer(data, type.code).astype(type.code[1:])
            if shape is None and not self.netcdf:
                return None
            return array[0] if is_one and shape is not None and len(array) == 1 else array
        if shape is None:
            return ""
        items = [data[i : i + type.size] for i in range(0, len(data), type.size)]
        if type.kind == "text" and not self.netcdf and type.padding != "NUL ends":
            cut = (item.rstrip(b" ") if type.padding == "spaces" else item for item in items)
            texts = [item.rstrip(b"\0").decode("utf-8", "surrogateescape") for item in cut]
            return texts if shape else texts[0]
        if type.kind == "text" and not shape and self.netcdf:
            return data.rstrip(b"\0").decode("utf-8", "surrogateescape")
        raw = items if type.kind == "text" else [sequence(self.file, item) for item in items]
        texts = [each.partition(b"\0")[0].decode("utf-8", "surrogateescape") for each in raw]
        return texts[0] if is_one and len(texts) == 1 else texts

    def hidden(self, name: str, type: HDF5Type, shape: tuple[int, ...] | None, data: bytes) -> Any:
        """Return the value of an attribute by which netCDF-4 stores dimensions."""
        other = HDF5Attribute(type, shape, data)
        if name == "_nc3_strict":
            return True
        if shape is None or len(shape) > 1:
            return other
        if name == "DIMENSION_LIST":
            if type.kind != "sequence" or len(shape) != 1:
                return other
            elements = [sequence(self.file, data[i : i + 16], 8) for i in range(0, len(data), 16)]
            return tuple(tuple(np.frombuffer(each, "<u8").tolist()) for each in elements)
        value = self.value(type, shape, data)
        if name in ("CLASS", "NAME", "_NCProperties"):
            value = value[0] if isinstance(value, list) and len(value) == 1 else value
            return value if isinstance(value, str) else other
        if type.kind != "number" or type.code is None or type.code[1] not in "iu":
            return other
        numbers = tuple(np.atleast_1d(value).tolist())
        if name == "_Netcdf4Coordinates":
            return numbers
        return numbers[0] if len(numbers) == 1 else other

    def dataset(self, name: str, link: Link, messages: list[Message]) -> HDF5Dataset:
        space = self.resolved(messages, 1)
        if space is None:
            raise WrongError(f"object header at {link.address} has no dataspace")
        shape, most = self.space(space[0].at, space[0].size)
        type = self.type_of(messages)
        layout = self.layout(messages, type.size * math.prod(shape) if shape is not None else 0)
        fill, is_written = self.fill(messages)
        attributes, strings, hidden = self.attributes(messages)
        return HDF5Dataset(
            name,
            link.address,
            link.order,
            type,
            shape,
            most,
            layout,
            self.filters(messages),
            fill,
            is_written,
            attributes,
            strings,
            hidden,
        )
