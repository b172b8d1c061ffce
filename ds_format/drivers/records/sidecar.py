"""The sidecar file of records: a ds file of the dataset without them.

The property `.records` of the dataset names the variables that are records, and the data that the file belongs to::

    {"axes": {variable: axis}, "n": records, "size": bytes of the data, "missing": [variable, ...], ...}

The container adds a checksum of the data. The sidecar file of the samples in a data file D is the file D.meta. That of
the documents in a collection is the file `dataset.ds` next to data.jsonl.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base.text import on_one_line, unescape
from ...body import Address, path_text
from ...body.body import Body, FileBody
from ...datadings import format
from ...datadings.claim import Claim
from ...datadings.dataset_files import current_name, load_sums
from ...datadings.writer import RawWriter
from ...datasets import META
from ...errors import DsError, FormatError
from ...model.settings import names, setting
from ...zds.format import COLLECTIONS, META as META_FOLDER, check_collection, data_name
from ...zds.roots import StoreRoot
from ..base import Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource

RECORDS = ".records"
"""The property of the dataset."""
SUFFIX = format.SIDECAR
"""Suffix of the sidecar file of a data file."""
FILE = "dataset.ds"
"""Name of the sidecar file of a collection."""
ONLY_VALUES = "only its values were read: all its files are checked by a local path"
"""Message of a check of records at an address."""
END_SIZE = 1 << 16
"""Bytes at the end of the documents that the checksum covers. A checksum of all bytes would slow down opening a store,
and values are checked when they are read."""


class Sidecar(NamedTuple):
    """An open sidecar file: everything that is the same for all records."""

    source: DsSource
    """Open; it has the variables that are not in the records."""
    meta: Metadata
    """Metadata of the whole dataset."""
    axes: dict[str, int]
    """Variables in the records → their axis along the records."""


def emptied(entry: dict[str, Any], axis: int) -> dict[str, Any]:
    """Return the metadata of a variable with no records."""
    size = list(entry[".size"])
    size[axis] = 0
    return {**entry, ".size": size}


def create(path: str, meta: Metadata, of_data: dict[str, Any], constants: DsSource, *, atomic: bool = True) -> DsSink:
    """Write a sidecar file under a temporary name; `commit` renames it.

    Parameters
    ----------
    path : str
        The sidecar file.
    meta : Metadata
        Metadata of the whole dataset.
    of_data : dict
        The property `.records`; see `records_property`.
    constants : DsSource
        Has the variables that are not in the records.
    atomic : bool
        False: write it under its final name.
    """
    axes = of_data["axes"]
    without = {key: emptied(entry, axes[key]) if key in axes else entry for key, entry in meta.items()}
    without[META] = {**without.get(META, {}), RECORDS: of_data}
    sink = DsSink(path, without, atomic=atomic)
    try:
        for key, entry in meta.items():
            if key != META and key not in axes and entry.get(".size") is not None:
                sink.write(key, constants.blocks(key))
    except BaseException:
        sink.abort()
        raise
    return sink


def with_stored_types(meta: Metadata, source: DsSource) -> Metadata:
    """Return the metadata of a dataset with the types that its variables have in a ds file."""
    stored = source.meta
    found = {key: {**entry, ".type": stored[key].get(".type")} for key, entry in meta.items() if key != META}
    found[META] = meta.get(META, {})
    return found


def records_property(axes: dict[str, int], n: int, size: int, meta: Metadata, **checksum: str) -> dict[str, Any]:
    """Return the property `.records`.

    Parameters
    ----------
    axes : dict
        Variables in the records → their axis along the records.
    n : int
        Number of records.
    size : int
        Bytes of the data.
    meta : Metadata
        With `.missing`.
    **checksum
        The checksum of the data, by its name.
    """
    missing = [key for key in axes if meta[key].get(".missing")]
    return {"axes": axes, "n": n, "size": size, **checksum, "missing": missing}


def _open(
    source: DsSource, n: int, size: int, checksum: str, digest: Callable[[], str | None], data: str
) -> Sidecar | None:
    """Return a sidecar file if it belongs to the data, else warn and return None.

    Parameters
    ----------
    source : DsSource
        The sidecar file; closed unless it is returned.
    n, size : int
        Number of records, and bytes of the data.
    checksum : str
        Name of the checksum in the property `.records`.
    digest : callable
        Returns that checksum of the data; None if it is not available.
    data : str
        Path of the data, for the warning.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        own = source.meta.get(META, {}).get(RECORDS)
        is_of_data = (setting(own, "n", int), setting(own, "size", int)) == (n, size)
        if not is_of_data or digest() not in (None, setting(own, checksum, str)):
            message = f"{source.path}: does not belong to the data of {data}, and is ignored"
            warnings.warn(on_one_line(message), stacklevel=6)
            source.close()
            return None
        return Sidecar(source, *_metadata(source, own or {}, n))
    except BaseException as error:
        source.close()
        if isinstance(error, DsError):
            raise error.at(path=source.path)
        raise


def _metadata(source: DsSource, own: dict[str, Any], n: int) -> tuple[Metadata, dict[str, int]]:
    """Return the metadata of the whole dataset, and the axes of its records."""
    axes: dict[str, int] = setting(own, "axes", dict) or {}
    missing = names(own, "missing")
    meta: Metadata = {}
    for key, entry in source.meta.items():
        meta[key] = dict(entry)
        if key in axes:
            try:
                full = _full_size(source, key, axes[key], n)
            except DsError as error:
                raise error.at(variable=unescape(key))
            if math.prod(full) > own["size"]:
                raise FormatError(
                    f".size: found {full}, more values than {own['size']} bytes of data can hold",
                    variable=unescape(key),
                )
            meta[key].update({".size": full, ".missing": key in missing})
    for key in axes:
        if key not in meta:
            raise FormatError(f"{RECORDS}: there is no variable {key!r:.60}")
    meta.setdefault(META, {}).pop(RECORDS, None)
    return meta, axes


def _full_size(source: DsSource, key: str, axis: Any, n: int) -> list[int]:
    """Return the size of a variable with all records. In the sidecar file it has none."""
    found = source.variable(key).size
    if type(axis) is not int or not found or not 0 <= axis < len(found) or found[axis]:
        raise FormatError(f"{RECORDS}: found the axis {axis!r:.60}, but .size {None if found is None else list(found)}")
    return [*found[:axis], n, *found[axis + 1 :]]


def find_file(path: str | Address, n: int, size: int) -> Sidecar | None:
    """Open the sidecar file of a data file.

    Parameters
    ----------
    path : str or Address
        The data file.
    n : int
        Number of samples.
    size : int
        Bytes of the data file.

    Returns
    -------
    Sidecar or None
        None if there is none, or if it does not belong to the data. The latter is a warning.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    name = path_text(path)
    try:
        source = DsSource(path.sibling(SUFFIX) if isinstance(path, Address) else current_name(path, SUFFIX))
    except FileNotFoundError:
        return None

    return _open(source, n, size, "md5", lambda: load_sums(path).get(os.path.basename(name)), name)


def prepare_file(claim: Claim, meta: Metadata, of_data: dict[str, Any], constants: DsSource) -> None:
    """Write a sidecar file that appears together with its data file; see `create`."""
    create(claim.reserve(SUFFIX), meta, of_data, constants, atomic=False).commit()


class SidecarWriter(RawWriter):
    """Writes messages of another dataset, and its sidecar file, if it has one.

    Parameters
    ----------
    path : str
        The data file, which is replaced.
    sidecar : Sidecar or None
        That of the other dataset, open until the writer is closed.
    """

    def __init__(self, path: str, sidecar: Sidecar | None):
        super().__init__(path, overwrite=True)
        self._sidecar = sidecar

    def _prepare_others(self, claim: Claim) -> None:
        sidecar = self._sidecar
        if sidecar is not None:
            digest = self._digest.hexdigest()
            of_data = records_property(sidecar.axes, len(self), self._end, sidecar.meta, md5=digest)
            prepare_file(claim, sidecar.meta, of_data, sidecar.source)


def member_name(collection: str) -> str:
    """Return the path of the sidecar file of a collection, from the root of the store."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META_FOLDER}/{FILE}"


def find_member(place: StoreRoot, collection: str, n: int) -> Sidecar | None:
    """Open the sidecar file of a collection.

    It belongs to the collection if the number of documents, the size of data.jsonl and a checksum of its end agree.

    Parameters
    ----------
    place : StoreRoot
        The store.
    collection : str
    n : int
        Number of documents.

    Returns
    -------
    Sidecar or None
        None if there is none, or if it does not belong to the collection. The latter is a warning.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    file = place.open(member_name(collection))
    if file is None:
        return None
    source = _copied(file)
    data = place.open(data_name(collection))
    if data is None:
        return _open(source, n, -1, "end", str, data_name(collection))
    return _open(source, n, data.size, "end", lambda: checksum_of_end(data), data.name)


def checksum_of_end(data: Body) -> str:
    """Return the CRC-32 of the end of data."""
    start = max(data.size - END_SIZE, 0)
    return f"{zlib.crc32(data.read(start, data.size - start)):08x}"


def create_member(
    root: str, collection: str, axes: dict[str, int], n: int, meta: Metadata, constants: DsSource
) -> None:
    """Write the sidecar file of a collection in a folder.

    Parameters
    ----------
    root : str
        The folder of the store.
    collection : str
    axes : dict
        Variables in the records → their axis along the records.
    n : int
        Number of documents.
    meta : Metadata
        Metadata of the whole dataset, with `.missing`.
    constants : DsSource
        Has the variables that are not in the records.
    """
    data = os.path.join(root, *data_name(collection).split("/"))
    file = FileBody.open(data)
    of_data = records_property(axes, n, file.size, meta, end=checksum_of_end(file))
    create(os.path.join(root, *member_name(collection).split("/")), meta, of_data, constants).commit()


def copy_member(place: StoreRoot, collection: str, n: int, root: str, n_written: int) -> None:
    """Copy the sidecar file of a collection, if it has one, to a collection with some of its documents.

    Parameters
    ----------
    place : StoreRoot
        The store to copy from.
    collection : str
        Name of both collections.
    n : int
        Number of documents there.
    root : str
        The folder of the store to copy to.
    n_written : int
        Number of documents there.
    """
    sidecar = find_member(place, collection, n)
    if sidecar is not None:
        with contextlib.closing(sidecar.source):
            create_member(root, collection, sidecar.axes, n_written, sidecar.meta, sidecar.source)


def _copied(member: Body) -> DsSource:
    """Open a copy of a member of an archive, or of a file, that has no name."""
    with tempfile.NamedTemporaryFile(suffix=".ds") as file:
        file.writelines(member.blocks())
        file.flush()
        source = DsSource(file.name)
    source.path = member.name
    return source
