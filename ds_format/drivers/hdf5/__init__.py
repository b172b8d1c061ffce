"""HDF5: datasets, groups, attributes, dimension scales, and the conventions of netCDF-4.

A dataset of this package that is written to an HDF5 file is read back unchanged. `docs/hdf5.md` has the mapping.

This package reads usual files itself (`native`), and writes small ones. It loads h5py for the others (`by_library`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import hdf5
from ...body import Address, path_text
from ...body.body import Body, open_body
from ...body.stamp import Stamp
from ...errors import DsError, FormatError, UnsupportedError, Unusual
from ...model.settings import as_hdf5
from ..base import Metadata, ReadBy, Source
from ..library.guard import opening
from ..native import log_reason, refuse_elsewhere
from .by_library import LIBRARY, create_by_library, open_by_library
from .format import COMPRESSIONS, HDF5Warning
from .native import opened

if TYPE_CHECKING:
    from .sink import HDF5Sink

__all__ = ["HDF5Warning", "create", "open"]


def open(path: Any, *, skip_unsupported: bool = False, body: Body | None = None, stamp: Stamp | None = None) -> Source:
    """Open a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables of types that ds does not have, with an `HDF5Warning`. Attributes of such types are always
        left out.
    body : Body, optional
        The file, if it is open.
    stamp : Stamp, optional
        Ignored: the body has one.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """
    body = open_body(path) if body is None else body
    try:
        found = opened(body, skip_unsupported)
    except Unusual as unusual:
        reason = str(unusual)
    else:
        if found is not None:
            return found
        refuse_elsewhere(body, LIBRARY, "")
        with opening(body.name, "HDF5"):
            raise FormatError("no HDF5 file")
    log_reason(body.name, LIBRARY, reason)
    try:
        audit = hdf5.Audit(body, netcdf=False)
        for name in audit.datasets:
            audit.check_values(name)  # h5py goes through the index of each dataset that it opens
    except DsError as error:
        raise error.at(path=body.name)
    if isinstance(path, Address):
        path.keep(body)
    source = open_by_library(path, reason, skip_unsupported=skip_unsupported)
    source.reader = ReadBy(LIBRARY, reason)
    return source


def create(
    path: Any,
    meta: Metadata,
    *,
    compression: str | None = None,
    level: int | None = None,
    atomic: bool = True,
    durable: bool = False,
) -> HDF5Sink:
    """Create a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : dict
        Metadata of the dataset. The property `.hdf5` (see `ds_format.drivers.hdf5.format`) restores the storage
        settings of the file that the dataset was read from. It is optional.
    compression : {"gzip", "lzf"}, optional
    level : int, optional
    atomic, durable : bool
        As `sink.HDF5Sink`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If HDF5 cannot hold the dataset.
    """
    from .composed_sink import SmallHDF5Sink, is_small
    from .sink import plan_file

    try:
        if compression is not None and compression not in COMPRESSIONS:
            raise UnsupportedError(f'found the compression "{compression}", expected one of {", ".join(COMPRESSIONS)}')
        planned = plan_file(as_hdf5(meta))
    except DsError as error:
        raise error.at(path=path_text(path)) from error.__cause__
    kind = SmallHDF5Sink if is_small(planned.variables.values(), compression) else create_by_library
    return kind(path, meta, planned, compression=compression, level=level, atomic=atomic, durable=durable)
