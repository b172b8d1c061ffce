"""The companion of records: a ds file of the dataset without them.

The property `.records` of the dataset says which variables are records, and which data it belongs to::

    {"axes": {variable: axis}, "n": records, "size": bytes of the data, "missing": [variable, ...], ...}

The container adds a checksum of the data. The companion of the samples in a data file D is the file D.meta, that of
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
from ...body.body import Body, FileBody
from ...datadings import format, index_files
from ...datadings.claim import Claim
from ...datadings.dataset_files import current_name, load_if
from ...datadings.writer import RawWriter
from ...dataset import META
from ...errors import DsError, FormatError
from ...model.settings import names, setting
from ...zds.format import COLLECTIONS, META as META_FOLDER, check_collection, data_name
from ...zds.roots import StoreRoot
from ..base import Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource

RECORDS = ".records"
"""The property of the dataset."""
SUFFIX = format.COMPANION
"""Of the companion of a data file."""
FILE = "dataset.ds"
"""Name of the companion of a collection."""
END_SIZE = 1 << 16
"""Bytes at the end of the documents that have a checksum: all would have to be read to open a store, and values are
checked when they are read."""


class Companion(NamedTuple):
    """What is the same for all records."""

    source: DsSource
    """Open, of the variables that are no records."""
    meta: Metadata
    """Of the whole dataset."""
    axes: dict[str, int]
    """Variables that are records → the axis that these are along."""


def emptied(entry: dict[str, Any], axis: int) -> dict[str, Any]:
    """Return the metadata of a variable without its records."""
    size = list(entry[".size"])
    size[axis] = 0
    return {**entry, ".size": size}


def create(path: str, meta: Metadata, of_data: dict[str, Any], constants: DsSource, *, atomic: bool = True) -> DsSink:
    """Write a companion under a temporary name; `commit` gives it its own.

    Parameters
    ----------
    path : str
        Of the companion.
    meta : Metadata
        Of the whole dataset.
    of_data : dict
        The property `.records`; see `record`.
    constants : DsSource
        Has the variables that are no records.
    atomic : bool
        False: write it under its own name.
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


def of_written(meta: Metadata, source: DsSource) -> Metadata:
    """Return metadata of a dataset with the types that its variables have in a file."""
    stored = source.meta
    found = {key: {**entry, ".type": stored[key].get(".type")} for key, entry in meta.items() if key != META}
    found[META] = meta.get(META, {})
    return found


def record(axes: dict[str, int], n: int, size: int, meta: Metadata, **checksum: str) -> dict[str, Any]:
    """Return the property `.records`.

    Parameters
    ----------
    axes : dict
        Variables that are records → the axis that these are along.
    n : int
        Records.
    size : int
        Bytes of the data.
    meta : Metadata
        With `.missing`.
    **checksum
        Of the data, by its name.
    """
    missing = [key for key in axes if meta[key].get(".missing")]
    return {"axes": axes, "n": n, "size": size, **checksum, "missing": missing}


def opened(
    source: DsSource, n: int, size: int, checksum: str, digest: Callable[[], str | None], data: str
) -> Companion | None:
    """Return a companion, if it belongs to the data.

    Parameters
    ----------
    source : DsSource
        The companion; closed unless it is returned.
    n, size : int
        Records, and bytes of the data.
    checksum : str
        Name of the checksum of the data in the property `.records`.
    digest : callable
        Returns that checksum of the data; None if it is not known.
    data : str
        Path of the data, for the warning that the companion belongs to others.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        own = source.meta.get(META, {}).get(RECORDS)
        is_of_data = (setting(own, "n", int), setting(own, "size", int)) == (n, size)
        if not is_of_data or digest() not in (None, setting(own, checksum, str)):
            message = f"{source.path}: belongs to other data than those of {data}, and is not used"
            warnings.warn(on_one_line(message), stacklevel=6)
            source.close()
            return None
        return Companion(source, *_metadata(source, own or {}, n))
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
                    f".size: found {full}, which are more values than {own['size']} bytes of data hold",
                    variable=unescape(key),
                )
            meta[key].update({".size": full, ".missing": key in missing})
    for key in axes:
        if key not in meta:
            raise FormatError(f"{RECORDS}: there is no variable {key!r:.60}")
    meta.setdefault(META, {}).pop(RECORDS, None)
    return meta, axes


def _full_size(source: DsSource, key: str, axis: Any, n: int) -> list[int]:
    """Return the size of a variable with all records, which the companion has with none."""
    found = source.variable(key).size
    if type(axis) is not int or not found or not 0 <= axis < len(found) or found[axis]:
        raise FormatError(f"{RECORDS}: found the axis {axis!r:.60}, but .size {None if found is None else list(found)}")
    return [*found[:axis], n, *found[axis + 1 :]]


def find_file(path: str, n: int, size: int) -> Companion | None:
    """Open the companion of a data file, if there is one that belongs to it.

    Parameters
    ----------
    path : str
        Of the data file.
    n : int
        Its samples.
    size : int
        Its bytes.

    Returns
    -------
    Companion or None
        None if there is none, or, with a warning, one of other data.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        source = DsSource(current_name(path, SUFFIX))
    except FileNotFoundError:
        return None

    def digest() -> str | None:
        sums = index_files.decode_sums(load_if(current_name(path, format.MD5)) or b"")
        return sums.digests.get(os.path.basename(path))

    return opened(source, n, size, "md5", digest, path)


def prepare(claim: Claim, meta: Metadata, of_data: dict[str, Any], constants: DsSource) -> None:
    """Write a companion that appears together with its data file; see `create`."""
    create(claim.reserve(SUFFIX), meta, of_data, constants, atomic=False).commit()


class CarryingWriter(RawWriter):
    """Writes messages of another dataset, and the companion of that, if it has one.

    Parameters
    ----------
    path : str
        The data file, which is replaced.
    found : Companion or None
        Of the other dataset, open until the writer is closed.
    """

    def __init__(self, path: str, found: Companion | None):
        super().__init__(path, overwrite=True)
        self._found = found

    def _prepare_others(self, claim: Claim) -> None:
        found = self._found
        if found is not None:
            digest = self._digest.hexdigest()
            of_data = record(found.axes, len(self), self._end, found.meta, md5=digest)
            prepare(claim, found.meta, of_data, found.source)


def member_name(collection: str) -> str:
    """Return the path of the companion of a collection, from the root of the store."""
    return f"{COLLECTIONS}/{check_collection(collection)}/{META_FOLDER}/{FILE}"


def find_member(place: StoreRoot, collection: str, n: int) -> Companion | None:
    """Open the companion of a collection, if there is one that belongs to it.

    Whether it does tells the number of documents, the size of their file, and a checksum of its end.

    Parameters
    ----------
    place : StoreRoot
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
    file = place.open(member_name(collection))
    if file is None:
        return None
    source = _copied(file)
    data = place.open(data_name(collection))
    if data is None:
        return opened(source, n, -1, "end", str, data_name(collection))
    return opened(source, n, data.size, "end", lambda: checksum_of_end(data), data.name)


def checksum_of_end(data: Body) -> str:
    """Return the CRC-32 of the end of data."""
    start = max(data.size - END_SIZE, 0)
    return f"{zlib.crc32(data.read(start, data.size - start)):08x}"


def create_member(
    root: str, collection: str, axes: dict[str, int], n: int, meta: Metadata, constants: DsSource
) -> None:
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
    file = FileBody.open(data)
    of_data = record(axes, n, file.size, meta, end=checksum_of_end(file))
    create(os.path.join(root, *member_name(collection).split("/")), meta, of_data, constants).commit()


def carry(place: StoreRoot, collection: str, n: int, root: str, n_written: int) -> None:
    """Give a collection in a folder that has documents of another one the companion of that, if it has one.

    Parameters
    ----------
    place : StoreRoot
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
    found = find_member(place, collection, n)
    if found is not None:
        with contextlib.closing(found.source):
            create_member(root, collection, found.axes, n_written, found.meta, found.source)


def _copied(member: Body) -> DsSource:
    """Open a member of an archive, or a file, as what has a descriptor of its own: a copy without a name."""
    with tempfile.NamedTemporaryFile(suffix=".ds") as file:
        file.writelines(member.blocks())
        file.flush()
        source = DsSource(file.name)
    source.path = member.name
    return source
