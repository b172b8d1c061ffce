"""Appending to a file, which is copied with the new data, or to a series, which gets a segment of them."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Unpack

from .. import drivers
from ..base.progress import Progress
from ..body import Address, path_text
from ..body.lock import Lock
from ..body.target import naming, place_folder
from ..body.temporary import HOLDS, WorkFolder
from ..drivers.ds.series import LOCK, is_series, listed
from ..errors import BusyError, UnsupportedError, explained
from ..kernels.files import files
from ..kernels.files.names import exists, is_folder, is_link, real_path
from ..views.subset import Path
from .additions import Additions
from .merging import merge_parts
from .segments import append_segment, join, start_series

if TYPE_CHECKING:
    from ..api.options import MergeOptions

TIMEOUT = 60.0
"""Default time to wait for another process that writes, in seconds."""


def append(
    filename: Path,
    d: Any,
    dim: str,
    *,
    duplicates: Literal["error", "last"] = "error",
    series: bool = False,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    **options: Unpack[MergeOptions],
) -> None:
    """Append data to a file or a series along a dimension. The result is that of `ds_format.merge_files`.

    A file is replaced by a new one, into which its bytes are copied. File systems that can share bytes do so. A series
    is a folder of ds files that is read as one dataset: the new data become one more file in it, so that the time does
    not depend on the size of the series. A file that does not exist is created.

    Appending is atomic, also if the process is killed or the disk is full: readers find all of the new data or none.

    Parameters
    ----------
    filename : str, bytes or PathLike
        A local file of any format, or a series.
    d : dict, str, bytes, PathLike, xarray.Dataset, or a list of these
        The new data: a dataset as `ds_format.write` takes it, or a file as `ds_format.read` does. All of a list are
        appended in one step, in their order.
    dim : str
        Name of a dimension of the new data. Variables without it are taken from the first dataset that has them, with a
        `DsWarning` if they differ.
    duplicates : {"error", "last"}
        If the coordinate `dim` has a value already: an error names it, or the new record replaces the old
        one. The old record is removed, and the new one is at the end.
    series : bool
        Start a series if the file does not exist, or make one of an existing ds file.
    timeout : float
        Seconds to wait for another process that appends to the same file; 0: do not wait.
    progress : callable, optional
        Called with the number of bytes of data in memory that are processed, and their total.
    **options
        Options of the format of the file, or of the new segment, as for `ds_format.merge_files`. With `durable=True`,
        the new file and its folder are flushed to the disk.

    Raises
    ------
    BusyError
        If another process is still writing after `timeout`.
    MissingError
        If new data do not have the dimension.
    UnsupportedError
        If the data cannot be merged; see `ds_format.merge_files`. If the coordinate has a value already.
    ValueError
        If `duplicates` is another word.
    OSError, DriverError, FormatError
        As `ds_format.merge_files`.

    Examples
    --------
    >>> import ds_format as ds
    >>> meta = {"hour": {".dims": ["hour"]}, "rain": {".dims": ["hour"], "units": "mm"}}
    >>> for hour in range(3):
    ...     ds.append("hours.ds", {"hour": [hour], "rain": [hour / 2], ".": meta}, "hour")
    >>> ds.read("hours.ds")["rain"]
    array([0. , 0.5, 1. ])
    """
    if duplicates not in {"error", "last"}:
        raise ValueError(f'duplicates: found {duplicates!r}, expected "error" or "last"')
    path = _local(filename)
    given: dict[str, Any] = {**options}
    with _locked(path, timeout):
        if is_folder(path):
            append_segment(path, d, dim, duplicates, progress, given)
        elif series:
            start_series(path, d, dim, duplicates, progress, given)
        else:
            new = Additions(path if exists(path) else None, d, dim, duplicates)
            merge_parts(dim, new.paths, path, new.open, progress=progress, appends=True, **given)


def compact(filename: Path, *, timeout: float = TIMEOUT, durable: bool = False) -> None:
    """Make one ds file of a series, under the same name. A ds file is left as it is.

    The name leads to the series or to the file at any moment, if the operating system can exchange two names, as Linux
    can.

    Parameters
    ----------
    filename : str, bytes or PathLike
    timeout
        As `ds_format.append`.
    durable : bool
        Flush the file and its folder to the disk.

    Raises
    ------
    BusyError
        If another process is still writing after `timeout`.
    OSError
        If the series cannot be read, or the file cannot be written.
    FormatError
        If the series is damaged.

    Examples
    --------
    >>> import os
    >>> import ds_format as ds
    >>> meta = {"rain": {".dims": ["hour"], "units": "mm"}}
    >>> for hour in range(3):
    ...     ds.append("series.ds", {"rain": [hour / 2], ".": meta}, "hour", series=True)
    >>> ds.read("series.ds")["rain"], os.path.isdir("series.ds")
    (array([0. , 0.5, 1. ]), True)
    >>> ds.compact("series.ds")
    >>> ds.read("series.ds")["rain"], os.path.isdir("series.ds")
    (array([0. , 0.5, 1. ]), False)
    """
    path = _local(filename)
    with _locked(path, timeout, compacts=True):
        if not is_folder(path):
            drivers.open_source(path, drivers.FORMATS["ds"]).close()
            return
        with WorkFolder(path, "compact") as folder:
            written = os.path.join(folder, "compact.ds")
            join(path, listed(path)[0], written, durable=durable)
            place_folder(written, path)
        if durable:
            files.sync_folder(path)


def _local(filename: Path) -> str:
    """Return the path of a file or series, behind a link."""
    path = drivers.located(filename)
    if isinstance(path, Address):
        raise UnsupportedError("data can only be appended to local files", path=path.name)
    name = path_text(path)
    name = name.rstrip("/") or name
    return real_path(name) if is_link(name) else name


@contextlib.contextmanager
def _locked(path: str, timeout: float, *, compacts: bool = False) -> Iterator[None]:
    """Let one process at a time write to a file or series.

    The lock of a file is next to it, and is removed at the end. That of a series is in its folder. Who makes a file of
    a series needs both, since the name may be free for a moment.
    """
    end, pause = time.monotonic() + timeout, 0.001
    held: list[Lock] = []
    while not held:
        try:
            held = _locks(path, compacts)
        except BusyError:
            if time.monotonic() >= end:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
    try:
        yield
    finally:
        _release(held)


def _locks(path: str, compacts: bool) -> list[Lock]:
    """Return the locks of what is there, or none if it is no longer the same when they are locked."""
    held: list[Lock] = []
    is_one = HOLDS and is_series(path)  # elsewhere, a folder with an open file has its name for good
    try:
        if compacts or not is_one:
            folder, name = os.path.split(path)
            if folder and not exists(folder):
                error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                raise explained(error, is_output=True)
            with naming(path):
                held.append(Lock(os.path.join(folder or ".", f".{name}.lock"), path))
        if is_one:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                held.append(Lock(os.path.join(path, LOCK), path, stays=True))
                return held
        elif not (HOLDS and is_series(path)):
            return held
    except BaseException:
        _release(held)
        raise
    _release(held)
    return []


def _release(held: list[Lock]) -> None:
    while held:
        with contextlib.suppress(OSError):  # the lock falls with its descriptor
            held.pop().release(remove=True)
