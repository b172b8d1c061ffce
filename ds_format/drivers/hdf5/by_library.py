"""The way to the modules that need h5py. They are imported when a file is opened or created with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...base import isolation
from ...base.optional import unavailable
from ...body import Address
from ...errors import DsError
from ..base import Metadata
from ..library.guard import Guard
from .format import HDF5Warning

if TYPE_CHECKING:
    from ..library.plan import FilePlan
    from ..library.source import LibrarySource
    from .new_file import NewFile
    from .sink import DatasetPlan, HDF5Sink
    from .source import HDF5Source

LIBRARY = "h5py"
EXTRA = "ds-format-cython[hdf5]"


@contextlib.contextmanager
def _needing_h5py(use: str = "") -> Iterator[None]:
    """Import modules that need h5py; if it is not installed, the error names what to install, and what needs it."""
    try:
        yield
    except ImportError as error:
        raise unavailable(error, LIBRARY, EXTRA, use) from error


def open_by_library(path: Any, reason: str = "", *, skip_unsupported: bool = False) -> LibrarySource:
    """Open a file with h5py, a local one perhaps in another process; parameters as of `open_here`."""
    if isolation.is_on() and not isinstance(path, Address):
        from ..library.isolated import IsolatedSource

        return IsolatedSource(path, LIBRARY, HDF5Warning, open_here, reason=reason, skip_unsupported=skip_unsupported)
    return open_here(path, reason, skip_unsupported=skip_unsupported)


def open_here(path: Any, reason: str = "", *, skip_unsupported: bool = False) -> HDF5Source:
    """Open a file with h5py in this process; parameters and errors as of `source.HDF5Source`.

    Parameters
    ----------
    path : str, bytes or PathLike
    reason : str
        Why h5py must open it, for the error if it is not installed.
    skip_unsupported : bool
    """
    with _needing_h5py(reason):
        from .source import HDF5Source
    return HDF5Source(path, skip_unsupported=skip_unsupported)


def create_by_library(path: Any, meta: Metadata, planned: FilePlan[DatasetPlan], **options: Any) -> HDF5Sink:
    """Create a file with h5py; parameters as of `sink.HDF5Sink`."""
    with _needing_h5py():
        from .library_sink import H5pySink
    return H5pySink(path, meta, planned, **options)


def copy_by_library(copy: Callable[[NewFile], None], written: str, target: str) -> None:
    """Write a file with h5py.

    Parameters
    ----------
    copy : callable
        Makes the objects of a file that it gets.
    written : str
        A file, which is emptied.
    target : str
        The name for messages.
    """
    with _needing_h5py():
        from .library_sink import LibraryFile
    with Guard(DsError, target), contextlib.closing(LibraryFile(written, target)) as file:
        copy(file)
