"""A classic file in one go, above all a small one, which is held in memory."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any, NamedTuple

from .... import classic
from ....body.body import FIRST_SIZE as WHOLE_SIZE
from ....body.body import Body, MemoryBody, open_body
from ....dataset import META, Dataset, as_masked
from ....errors import DsError
from ....model import packing
from ...base import Metadata
from ...library.missing import settle
from ..format import MARKER, PROPERTY
from .recalled import catalog_of
from .source import ClassicValues

__all__ = ["WHOLE_SIZE", "Held", "digest", "from_held", "held", "read"]


class Held(NamedTuple):
    """A file."""

    body: Body
    header: classic.Header
    """Who makes metadata of its attributes changes them."""


def held(path: str, content: bytearray) -> Held | None:
    """Return what is held of a small file; None if it is no classic one, or says what a `Source` has to tell of.

    See `drivers.small.SmallFiles`.
    """
    if content[:4] not in classic.MAGIC:
        return None
    body = MemoryBody(path, content)
    try:
        header = classic.read_header(body, share=True)
    except classic.Unusual:
        return None
    except DsError as error:
        raise error.at(path=path)
    return None if MARKER in header.attributes else Held(body, header)


def digest(held: Held) -> int:
    """Return what tells the header of a file from others."""
    return zlib.crc32(held.body.read(0, held.header.size))


def from_held(path: str, held: Held, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset; parameters as of `read`."""
    return _dataset(held.body, held.header, keys, False, unpack)


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
    body = open_body(path, WHOLE_SIZE)
    if body.head(WHOLE_SIZE)[:4] not in classic.MAGIC:
        return None
    try:
        with body.watch:
            return _dataset(body, classic.read_header(body, share=True), keys, full, unpack)
    except classic.Unusual:
        return None
    except DsError as error:
        raise error.at(path=body.name)


def _dataset(
    body: Body, header: classic.Header, keys: Collection[str] | None, full: bool, unpack: bool | None
) -> Dataset:
    values = ClassicValues(body)
    read_keys = None if full else keys
    catalog = catalog_of(header, body.name, values.scalar, keys=read_keys, lends=read_keys is None)
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
