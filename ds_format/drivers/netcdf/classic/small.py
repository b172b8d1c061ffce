"""A classic file in one go, above all a small one, which is held in memory."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from typing import Any, NamedTuple

from .... import classic, packing
from ....body.stamp import Watch
from ....dataset import META, Dataset, as_masked
from ....errors import DsError
from ....kernels.files import opening
from ...base import Metadata
from ...library.missing import settle
from ..marker import MARKER
from ..storage import PROPERTY
from .recalled import catalog_of
from .source import FIRST_SIZE as WHOLE_SIZE
from .values import ClassicValues

__all__ = ["WHOLE_SIZE", "Held", "digest", "from_held", "held", "read"]


class Held(NamedTuple):
    """A file."""

    data: bytearray
    header: classic.Header
    """Who makes metadata of its attributes changes them."""


def held(path: str, content: bytearray) -> Held | None:
    """Return what is held of a small file; None if it is no classic one, or says what a `Source` has to tell of.

    See `drivers.small.SmallFiles`.
    """
    found = _parsed(path, content) if content[:4] in classic.MAGIC else None
    return None if found is None or MARKER in found.attributes else Held(content, found)


def _parsed(path: str, content: bytearray) -> classic.Header | None:
    """Return the header of a whole file; None if the library shall read it."""
    try:
        return classic.parse(content, len(content), share=True)
    except (classic.Unusual, classic.Incomplete):
        return None
    except DsError as error:
        raise error.at(path=path)


def digest(held: Held) -> int:
    """Return what tells the header of a file from others."""
    return zlib.crc32(memoryview(held.data)[: held.header.size])


def from_held(path: str, held: Held, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset; parameters as of `read`."""
    data, header = held
    return _dataset(header, path, ClassicValues(path, -1, len(data), data), keys, False, unpack)


def read(path: Any, keys: Collection[str] | None, full: bool, unpack: bool | None) -> Dataset | None:
    """Read a dataset; None if the file is no classic one, or an unusual one, which the netCDF4 library shall read.

    Parameters
    ----------
    path : str, bytes or PathLike
    keys : collection of str, optional
        Which variables to read, by their keys; those that do not exist are left out.
    full : bool
        Whether to return the metadata of the other variables, too.
    unpack : bool or None
        As `packing.is_unpacked_by`.
    """
    fd, size, data, changed = opening.open_first(path, WHOLE_SIZE)
    try:
        if data[:4] in classic.MAGIC:
            size = size if fd >= 0 else len(data)  # it may have shrunk meanwhile
            with Watch() if fd < 0 else Watch.of_open(os.fsdecode(path), fd, size, changed):
                header = classic.read_header(fd, size, data, share=True)
                values = ClassicValues(os.fsdecode(path), fd, size, None if fd >= 0 else data)
                return _dataset(header, os.fsdecode(path), values, keys, full, unpack)
    except classic.Unusual:
        pass
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    finally:
        if fd >= 0:
            os.close(fd)
    return None


def _dataset(
    header: classic.Header,
    path: str,
    values: ClassicValues,
    keys: Collection[str] | None,
    full: bool,
    unpack: bool | None,
) -> Dataset:
    read_keys = None if full else keys
    catalog = catalog_of(header, path, values.scalar, keys=read_keys, lends=read_keys is None)
    variables = catalog.variables
    # variables that are lent have the places of an earlier file
    places = header.variables if read_keys is None else [variable.place for variable in variables.values()]
    dataset = Dataset()
    kept: Metadata = {}
    packed = packing.entries_to_unpack(catalog.meta, unpack)
    for (key, variable), place in zip(variables.items(), places, strict=True):
        entry = catalog.meta[key]
        del entry[".missing"]
        is_wanted = keys is None or key in keys
        if is_wanted:
            array = None if entry[".size"] is None else values.read_whole(variable, place)
            if key in packed:
                array = None if array is None else packing.unpack(array, packed[key])
                entry = packing.unpacked_meta(packed[key])
                entry.pop(".missing", None)
            dataset[key] = as_masked(array)
            if PROPERTY in entry:
                entry = settle(entry, array)
        if is_wanted or full:
            kept[key] = entry
    kept[META] = catalog.meta[META]
    dataset[META] = kept
    return dataset
