"""Damage to HDF5 files at chosen places, with checksums that are right again, so that what reads them gets there."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ds_format.hdf5.records import HDF5Dataset, HDF5Group

from .reference import Parser
from .reference_chunks import chunks
from .reference_heaps import UNDEFINED, Bytes, Message, lookup3


class Structure(NamedTuple):
    """Bytes with a checksum."""

    start: int
    end: int
    """The first byte that does not count, except for the checksum."""
    checksum: int
    """Where its checksum is: at the end, or among the others, where it counts as zeros."""


class _Recording(Bytes):
    """Notes which bytes have a checksum."""

    def __init__(self, data: bytes):
        super().__init__(data)
        self.structures: set[Structure] = set()

    def verify(self, start: int, end: int) -> None:
        super().verify(start, end)
        self.structures.add(Structure(start, end, end))

    def verify_around(self, start: int, end: int, at: int) -> None:
        super().verify_around(start, end, at)
        self.structures.add(Structure(start, end, at))


class Anatomy:
    """A file, and where its parts are.

    Parameters
    ----------
    data : bytes
        Of a file that is not damaged.
    """

    def __init__(self, data: bytes):
        self.data = data
        self.file = _Recording(data)
        self._parser = Parser(self.file, False)
        found = self._parser.parse()
        groups: dict[str, HDF5Group | HDF5Dataset] = {each.name: each for each in found.groups}
        self.objects = groups | {each.name: each for each in found.datasets}
        self.chunks: list[tuple[int, int]] = []
        """Where chunks begin and end."""
        for dataset in found.datasets:
            if dataset.layout.kind == "chunked" and dataset.layout.address is not None:
                self.chunks += [(each.address, each.address + each.size) for each in chunks(self.file, dataset)]
        self.structures = sorted(self.file.structures)

    def dataset(self, name: str) -> HDF5Dataset:
        found = self.objects[name]
        assert isinstance(found, HDF5Dataset)
        return found

    def index(self, name: str) -> int:
        """Return the address of the values of a dataset, or of the index of its chunks."""
        address = self.dataset(name).layout.address
        assert address is not None
        return address

    def messages(self, name: str, type: int) -> list[Message]:
        """Return the messages of a type that the header of an object has."""
        return [message for message in self._parser.header(self.objects[name].address) if message.type == type]

    def message(self, name: str, type: int) -> int:
        """Return where the first message of a type begins."""
        return self.messages(name, type)[0].at

    def find(self, signature: bytes, n: int = 0) -> int:
        """Return where the n-th structure with a signature begins; it is in use if it has a checksum."""
        found = [each.start for each in self.structures if self.data.startswith(signature, each.start)]
        if found:
            return found[n]
        at = -1
        for _ in range(n + 1):
            at = self.data.index(signature, at + 1)
        return at

    def number(self, at: int, n: int = 8) -> int:
        return self.file.number(at, n)

    def patched(self, *changes: tuple[int, bytes]) -> bytes:
        """Return the file with other bytes at some places, and with the checksums of what was changed."""
        data = bytearray(self.data)
        for at, new in changes:
            assert at + len(new) <= len(data)
            data[at : at + len(new)] = new
        return self.repaired(data, changes)

    def repaired(self, data: bytearray, changes: tuple[tuple[int, bytes], ...], largest: int = 1 << 62) -> bytes:
        """Correct the checksums of bytes that were changed, except for those of more than so many bytes."""
        for start, end, checksum in self.structures:
            if end - start > largest:
                continue
            stop = max(end, checksum + 4)
            if any(at < stop and at + len(new) > start for at, new in changes):
                if checksum < end:
                    data[checksum : checksum + 4] = bytes(4)
                data[checksum : checksum + 4] = u32(lookup3(bytes(data[start:end])))
        return bytes(data)

    def flipped(self, structure: Structure) -> bytes:
        """Return the file with a wrong checksum."""
        at = structure.checksum
        return self.data[:at] + bytes([self.data[at] ^ 1]) + self.data[at + 1 :]

    def appended(self, more: bytes, *changes: tuple[int, bytes]) -> bytes:
        """Return the file with more bytes at its end, which its superblock knows of, and with other changes."""
        version = self.data[8]
        end = u64(len(self.data) + len(more))
        return self.patched(({0: 40, 1: 44}.get(version, 28), end), *changes) + more


def u8(n: int) -> bytes:
    return struct.pack("<B", n)


def u16(n: int) -> bytes:
    return struct.pack("<H", n)


def u32(n: int) -> bytes:
    return struct.pack("<I", n)


def u64(n: int) -> bytes:
    return struct.pack("<Q", n)


NOWHERE = u64(UNDEFINED)


def with_checksum(data: bytes) -> bytes:
    """Return a structure with its checksum."""
    return data + u32(lookup3(data))
