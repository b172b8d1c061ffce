"""Small files of both kinds, which this package reads itself: one in one call, or many at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ... import classic, hdf5
from ...body import Location, path_text
from ...body.body import FIRST_SIZE as WHOLE_SIZE, Body, MemoryBody, open_body
from ...dataset import Dataset
from ...errors import DsError
from ..base import SmallFiles
from ..native import log_reason
from .by_library import LIBRARY
from .classic.source import WholeClassicFile
from .hdf5.source import WholeNetCDF4File
from .whole import WholeFile, WholeFileRow

HDF5_START = hdf5.SIGNATURE[: len(classic.MAGIC[0])]
KINDS: dict[bytes, type[Any]] = {**dict.fromkeys(classic.MAGIC, WholeClassicFile), HDF5_START: WholeNetCDF4File}
"""Classes of files, by their first four bytes."""


def read(path: Any, keys: Collection[str] | None, full: bool, unpack: bool | None) -> Dataset | Body:
    """Read a dataset; return the body of the file if the netCDF4 library must read it.

    Parameters
    ----------
    path : str, bytes or PathLike
    keys, full, unpack
        As of `WholeFile.dataset`.
    """
    body = open_body(path, WHOLE_SIZE, WHOLE_SIZE)
    kind = KINDS.get(bytes(body.head(WHOLE_SIZE)[:4]))
    if kind is None:
        return body
    try:
        with body.watch:
            found: Dataset = kind(body).dataset(keys, full, unpack)
            return found
    except (classic.Unusual, hdf5.Unusual) as reason:
        log_reason(body.name, LIBRARY, str(reason))
        return body
    except DsError as error:
        raise error.at(path=body.name)


def hold(path: Location, content: bytearray) -> WholeFile | None:
    """Return a small file in memory; None if only a `Source` can read its metadata; see `drivers.base.SmallFiles`."""
    kind = KINDS.get(bytes(content[:4]))
    if kind is None:
        return None
    try:
        held: WholeFile = kind(MemoryBody(path_text(path), content))
    except (classic.Unusual, hdf5.Unusual):
        return None
    except DsError as error:
        raise error.at(path=path)
    return None if held.has_marker() else held


def digest(held: WholeFile) -> int:
    """Return a checksum that tells the header of a file from others."""
    return held.digest()


def from_held(path: Location, held: WholeFile, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset; parameters as of `WholeFile.dataset`."""
    return held.dataset(keys, False, unpack)


SMALL = SmallFiles(WHOLE_SIZE, hold, digest, from_held, WholeFileRow, masks=True)
