"""Classic files read in one call, above all small ones, which are held in memory; and series of small files."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .... import classic
from ....body.body import FIRST_SIZE as WHOLE_SIZE, Body, MemoryBody, open_body
from ....dataset import META, Dataset, as_array, as_masked, escape
from ....errors import DsError
from ....model import packing
from ....model.missing import settle
from ...alike import StackedValues
from ...base import Metadata, SmallFiles
from ..format import MARKER, PROPERTY
from .recalled import catalog_of
from .source import ClassicValues


class SmallClassicFile(NamedTuple):
    """A small classic file."""

    body: Body
    header: classic.ClassicHeader
    """Making metadata from its attributes changes them."""


def hold(path: str, content: bytearray) -> SmallClassicFile | None:
    """Return a small file in memory; None if it is not a classic one, or if only a `Source` can read its metadata.

    See `drivers.base.SmallFiles`.
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
    return None if MARKER in header.attributes else SmallClassicFile(body, header)


def digest(held: SmallClassicFile) -> int:
    """Return a checksum of the header of a file."""
    return zlib.crc32(held.body.read(0, held.header.size))


def from_held(path: str, held: SmallClassicFile, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset; parameters as of `read`."""
    return _dataset(held.body, held.header, keys, False, unpack)


def read(path: Any, keys: Collection[str] | None, full: bool, unpack: bool | None) -> Dataset | Body:
    """Read a dataset; return the body of the file if the netCDF4 library must read it: not classic, or unusual.

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
        return body
    try:
        with body.watch:
            return _dataset(body, classic.read_header(body, share=True), keys, full, unpack)
    except classic.Unusual:
        return body
    except DsError as error:
        raise error.at(path=body.name)


def _dataset(
    body: Body, header: classic.ClassicHeader, keys: Collection[str] | None, full: bool, unpack: bool | None
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


class ClassicRow:
    """A series of classic files; see `drivers.base.FileRow`.

    Headers of successive files may differ only in attributes of the dataset and in positions of values.

    Parameters
    ----------
    path : str
    held : SmallClassicFile
        The first file.
    """

    def __init__(self, path: str, held: SmallClassicFile):
        self._header = held.header
        self._values = ClassicValues(held.body)
        catalog = catalog_of(held.header, path, self._values.scalar)
        self._variables = catalog.variables
        self.entries: Metadata = dict(catalog.meta)
        # the metadata of these depend on their values
        self._is_alone = any(not variable.shape and variable.sentinels for variable in self._variables.values())

    def start(
        self,
        path: str,
        held: SmallClassicFile,
        stacks: Mapping[str, StackedValues],
        wanted: Collection[str],
        each: Collection[str],
    ) -> dict[str, Any]:
        """Take the values of the first file; see `drivers.base.FileRow`."""
        for key, stack in stacks.items():
            stack.append(as_array(self._values.read_variable(self._variables[key], None)))
        places = {key: i for i, key in enumerate(self._variables)}
        self._each = [(key, places[key], stacks[key]) for key in each if key in stacks]
        return self.entries[META].copy()

    def take(self, path: str, held: SmallClassicFile) -> dict[str, Any] | None:
        """Take another file; see `drivers.base.FileRow`."""
        header, known = held.header, self._header
        if self._is_alone or header.format != known.format or header.dimensions != known.dimensions:
            return None
        if len(header.variables) != len(known.variables):
            return None
        for new, old in zip(header.variables, known.variables, strict=True):
            if new.attributes is not old.attributes or new.name != old.name:
                return None
        values = ClassicValues(held.body)
        arrays = []
        for key, i, _ in self._each:
            variable = self._variables[key]
            variable.place = header.variables[i]
            arrays.append(as_array(values.read_variable(variable, None)))
        for (_, _, stack), array in zip(self._each, arrays, strict=True):
            stack.append(array)
        return {escape(name): value for name, value in header.attributes.items()}

    def typed(self, entries: Metadata) -> Metadata:
        """Return entries unchanged: attributes have their types."""
        return entries

    def missing(self) -> Mapping[str, bool]:
        """Return nothing: entries have it."""
        return {}


SMALL = SmallFiles(WHOLE_SIZE, hold, digest, from_held, ClassicRow, masks=True)
