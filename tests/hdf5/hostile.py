"""Files that harm: small ones that use all parts of the format, a table of harmful changes, and words for these."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import h5py
import netCDF4
import numpy as np

from .damage import NOWHERE, Anatomy, Structure, u8, u16, u32, u64, with_checksum

BEYOND = u64(2**40)
LAST = u64(2**64 - 9)
"""An address from which few numbers can be added without overflow."""

DATASPACE, LINK_INFO, TYPE, FILL, LINK, LAYOUT, FILTERS, ATTRIBUTE = 1, 2, 3, 5, 6, 8, 11, 12
CONTINUATION, TABLE, ATTRIBUTE_INFO = 16, 17, 21
"""Types of messages."""

INT32 = b"\x10\x08\0\0\4\0\0\0\0\0\x20\0"
STRING = b"\x19\1\0\0\x10\0\0\0" + b"\x13\0\0\0\1\0\0\0"
"""Datatypes."""


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


def continuation(a: Anatomy) -> int:
    """Return where the first message is that names the next block of a header."""
    return next(each[0].at for name in a.objects if (each := a.messages(name, CONTINUATION)))


def child(a: Anatomy, node: int) -> int:
    """Return where the pointer to the first child of an inner node of a B-tree v2 is."""
    tree = next(at for at in in_use(a, b"BTHD") if a.number(at + 16) == node)
    return node + 6 + a.number(tree + 24, 2) * a.number(tree + 10, 2)


def in_use(a: Anatomy, signature: bytes) -> list[int]:
    """Return where all structures with a signature are that have checksums."""
    return [each.start for each in a.structures if a.data.startswith(signature, each.start)]


def heap_of(a: Anatomy, name: str) -> int:
    """Return where the heap of the attributes of an object is."""
    return a.number(a.message(name, ATTRIBUTE_INFO) + 4)


def huge_record(a: Anatomy) -> int:
    """Return where the first record of a huge object is."""
    return a.number(a.number(heap_of(a, "v") + 22) + 16) + 6


def after_index(a: Anatomy, name: str) -> int:
    """Return what follows the type of the index in a layout message of version 4 for chunks of one axis."""
    at = a.message(name, LAYOUT)
    return at + 5 + a.number(at + 3, 1) * a.number(at + 4, 1) + 1


def link_name(a: Anatomy) -> int:
    return a.data.index(b"x", a.message("", LINK))


def with_attribute(a: Anatomy, body: bytes) -> bytes:
    """Return a small file of which a header of its own, with one attribute, is the root's only object."""
    header = b"OHDR" + u8(2) + u8(2)
    messages = message(DATASPACE, b"\2\0\0\0") + message(TYPE, INT32) + message(LAYOUT, b"\3\1" + NOWHERE + u64(4))
    messages += message(ATTRIBUTE, body)
    return a.appended(with_checksum(header + u32(len(messages)) + messages), (link_name(a) + 1, u64(len(a.data))))


def message(type: int, body: bytes) -> bytes:
    return u8(type) + u16(len(body)) + b"\0" + body


def attribute(type: bytes, space: bytes, data: bytes, name: bytes = b"name") -> bytes:
    return b"\3\0" + u16(len(name) + 1) + u16(len(type)) + u16(len(space)) + b"\0" + name + b"\0" + type + space + data


def simple(*shape: int) -> bytes:
    return b"\2" + u8(len(shape)) + b"\0\1" + b"".join(map(u64, shape))


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


def _last(a: Anatomy, signature: bytes) -> Structure:
    found = [each for each in a.structures if a.data.startswith(signature, each.start)]
    return found[-1]
