"""The companion of a collection: the file `dataset.ds` among those of the collection."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from typing import Any

from ....zds.format import COLLECTIONS, META, check_collection, data_name
from ....zds.places import Place, Region
from ...base import Metadata
from ...ds.source import DsSource
from ...settings import setting
from .. import companion
from ..companion import Companion

FILE = "dataset.ds"
END_SIZE = 1 << 16
"""Bytes at the end of the documents that have a checksum: all would have to be read to open a store, and values are
checked when they are read."""


def name_of(collection: str) -> str:
    """Return the path of the companion of a collection, from the root of the store."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META}/{FILE}"


def find(place: Place, collection: str, n: int) -> Companion | None:
    """Open the companion of a collection, if there is one that belongs to it.

    Whether it does tells the number of documents, the size of their file, and a checksum of its end.

    Parameters
    ----------
    place : Place
        Of the store.
    collection : str
    n : int
        Its documents.

    Returns
    -------
    Companion or None
        None if there is none, or, with a warning, one of other data.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    region = place.open(name_of(collection))
    if region is None:
        return None
    with contextlib.closing(region):
        source = _opened(region)
    data = place.open(data_name(collection))
    if data is None:
        return companion.opened(source, n, lambda own: False, data_name(collection))
    with contextlib.closing(data):
        return companion.opened(source, n, lambda own: _is_of(own, n, data), data.path)


def checksum(end: bytes) -> str:
    """Return the CRC-32 of the end of data."""
    return f"{zlib.crc32(end):08x}"


def create(root: str, collection: str, axes: dict[str, int], n: int, meta: Metadata, constants: DsSource) -> None:
    """Write the companion of a collection in a folder.

    Parameters
    ----------
    root : str
        Of the store.
    collection : str
    axes : dict
        Variables that are records → the axis that these are along.
    n : int
        Documents.
    meta : Metadata
        Of the whole dataset, with `.missing`.
    constants : DsSource
        Has the variables that are no records.
    """
    data = os.path.join(root, *data_name(collection).split("/"))
    with open(data, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - END_SIZE, 0))
        crc = checksum(file.read())
    of_data = companion.record(axes, n, size, meta, end=crc)
    companion.create(os.path.join(root, *name_of(collection).split("/")), meta, of_data, constants).commit()


def carry(place: Place, collection: str, n: int, root: str, n_written: int) -> None:
    """Give a collection in a folder that has documents of another one the companion of that, if it has one.

    Parameters
    ----------
    place : Place
        Of the other one.
    collection : str
        Of both.
    n : int
        Documents of the other one.
    root : str
        The folder.
    n_written : int
        Documents in it.
    """
    found = find(place, collection, n)
    if found is not None:
        with contextlib.closing(found.source):
            create(root, collection, found.axes, n_written, found.meta, found.source)


def _is_of(own: Any, n: int, data: Region) -> bool:
    if not companion.is_record(own, n, data.size):
        return False
    return setting(own, "end", str) == checksum(data.read(max(data.size - END_SIZE, 0), data.size))


def _opened(region: Region) -> DsSource:
    """Open a member of an archive, or a file, as what has a descriptor of its own: a copy without a name."""
    with tempfile.NamedTemporaryFile(suffix=".ds") as file:
        file.writelines(region.blocks())
        file.flush()
        source = DsSource(file.name)
    source.path = region.path
    return source
