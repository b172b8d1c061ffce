"""HDF5: datasets, groups, attributes, dimension scales, and the conventions of netCDF-4.

A dataset of this package that is written to an HDF5 file is read back unchanged. `docs/hdf5.md` has the mapping.

This package reads usual files itself (`native`). It loads h5py for the others, and
writes large files with it (`by_library`).
"""

from __future__ import annotations

from typing import Any

from ... import hdf5
from ...body import Address
from ...body.body import Body, open_body
from ...body.stamp import Stamp
from ...errors import DsError, FormatError, Unusual
from ..base import ReadBy, Source
from ..library.guard import opening
from ..native import log_reason, refuse_elsewhere
from .by_library import LIBRARY, open_by_library
from .creating import create
from .format import HDF5Warning
from .native import opened

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
