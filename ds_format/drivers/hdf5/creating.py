"""A file is created: in memory if it is small, else with h5py. It is chosen before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...body import path_text
from ...errors import DsError, UnsupportedError
from ...model.settings import as_hdf5
from ..base import Metadata
from .by_library import create_by_library
from .format import COMPRESSIONS

if TYPE_CHECKING:
    from .sink import HDF5Sink


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
