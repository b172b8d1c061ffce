"""The functions of the driver: a file is opened, read in one call, or read with many others; checked, or created."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from ... import classic, hdf5
from ...base.progress import Progress
from ...body import Location, path_text
from ...body.body import FIRST_SIZE as WHOLE_SIZE, Body, MemoryBody, open_body
from ...body.stamp import Stamp
from ...datasets import Dataset
from ...errors import DsError, Unusual
from ..base import Metadata, ReadBy, Report, SmallFiles, Source
from ..native import NativeSource, log_reason, open_native, refuse_elsewhere
from .by_library import LIBRARY, open_by_library
from .classic.source import ClassicSource, WholeClassicFile
from .creating import create as create
from .format import NetCDFWarning as NetCDFWarning
from .hdf5.source import NetCDF4Source, WholeNetCDF4File
from .header import title_of
from .whole import WholeFile, WholeFileRow

ALL_SIZE = 1024 * 1024
"""Bytes of a file that is read by one call if all of it is read."""
HDF5_START = hdf5.SIGNATURE[: len(classic.MAGIC[0])]
KINDS: dict[bytes, type[Any]] = {**dict.fromkeys(classic.MAGIC, WholeClassicFile), HDF5_START: WholeNetCDF4File}
"""Classes of files, by their first four bytes."""


def open(
    path: Any,
    *,
    skip_unsupported: bool = False,
    structured: bool = False,
    body: Body | None = None,
    stamp: Stamp | None = None,
) -> Source:
    """Open a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables and attributes of types that ds does not have, with a `NetCDFWarning`. Only files that the
        library reads have any.
    structured : bool
        Read variables of compound types as structured arrays.
    body : Body, optional
        The file, if it is open.
    stamp : Stamp, optional
        Its size and times, if they are known.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not a NetCDF file, or a damaged one.
    UnsupportedError
        As `source.NetCDFSource`.
    OtherFormatError
        If the library would end the process; see `hdf5.auditing.audited`.
    """
    body = open_body(path) if body is None else body
    found = _opened(body)
    if not isinstance(found, str):
        return found
    from .hdf5.auditing import audited

    audit = audited(body)
    log_reason(body.name, LIBRARY, found)
    refuse_elsewhere(body, LIBRARY, found)
    source = open_by_library(path, skip_unsupported=skip_unsupported, structured=structured, stamp=stamp)
    source.reader, source.audit = ReadBy(LIBRARY, found), audit
    return source


def _opened(body: Body) -> NativeSource | str:
    """Open a file without the library; if this is not possible, return the reason."""
    try:
        found: NativeSource | None = open_native(body, classic.MAGIC, ClassicSource)
        found = found or open_native(body, (hdf5.SIGNATURE,), NetCDF4Source)
    except Unusual as reason:
        return str(reason)
    return found or "its first bytes are not those of a NetCDF file"


def title(source: Source) -> str:
    """Return the usual name of the format of an open file."""
    return title_of(source.meta)


def read(
    path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset | Body | None:
    """Read a dataset; return the body of the file if the netCDF4 library must read it.

    None if `strings` needs the general way.

    Parameters
    ----------
    path : str, bytes or PathLike
    keys, full, unpack
        As of `WholeFile.dataset`.
    """
    if strings:
        return None
    body = open_body(path, WHOLE_SIZE, WHOLE_SIZE, ALL_SIZE if keys is None else 0)
    return _read(body, lambda file: file.dataset(keys, full, unpack))


T = TypeVar("T")


def _read(body: Body, use: Callable[[WholeFile], T]) -> T | Body:
    """Return what is made of a file in one call; its body if it must be opened, which logs the reason."""
    kind = KINDS.get(bytes(body.head(WHOLE_SIZE)[:4]))
    try:
        with body.watch:
            return body if kind is None else use(kind(body))
    except Unusual:
        return body
    except DsError as error:
        raise error.at(path=body.name)


def read_small(path: Any, limit: int) -> tuple[dict[str, Any], Metadata, int] | Body:
    """Read a small file without the library; see `Driver.read_small`."""
    body = open_body(path, whole=ALL_SIZE)
    return (None if body.size > limit else _read(body, lambda file: file.arrays(limit))) or body


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> Source:
    """Open a file, and report problems in the header of a classic file; parameters and errors as of `open`.

    Parameters
    ----------
    path : str, bytes or PathLike
    report : callable
    strict : bool
        Ignored.
    progress : callable, optional
        Never called, since the check takes no time.
    """
    body = open_body(path)
    found = _opened(body)
    if isinstance(found, str):
        return open(path, skip_unsupported=True, body=body)
    if isinstance(found, ClassicSource):
        from .classic import check as classic_check

        classic_check.check(found, report)
    return found


def hold(path: Location, content: bytearray) -> WholeFile | None:
    """Return a small file in memory; None if only a `Source` can read its metadata; see `drivers.base.SmallFiles`."""
    kind = KINDS.get(bytes(content[:4]))
    if kind is None:
        return None
    try:
        held: WholeFile = kind(MemoryBody(path_text(path), content))
    except Unusual:
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
