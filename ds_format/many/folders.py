"""Whole folders of data files."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
import warnings as warnings_module
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, overload

import numpy as np

from .. import drivers
from ..api.files import read
from ..base import modes
from ..base.error_text import NOT_RECOGNISED
from ..base.text import counted, keys_of, on_one_line
from ..body import Address, Location, path_text
from ..body.locating import L, arriving, pack_members
from ..datasets import META, Dataset
from ..drivers.alike import DatasetStack
from ..errors import explained
from ..views.subset import Path
from .pieces import DatasetPiece, Skip, merge_pieces, no_collection, open_sources, read_pieces, sizes_along
from .reading import contents, datasets

NO_SUFFIX = (
    "left out: its suffix is unknown, and other files in the folder have known ones; `read_many` reads it by its path"
)

START = "fork" if platform.system() == "Linux" else None
"""Start method of processes. With others, scripts that read folders would need a check of `__name__`."""


@overload
def readdir(
    dirname: Path,
    variables: str | Iterable[str] | None = None,
    merge: None = None,
    warnings: list[tuple[str, str]] | None = None,
    recursive: bool = False,
    parallel: bool = False,
    executor: Executor | None = None,
    njobs: int | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **kwargs: Any,
) -> list[Dataset]: ...


@overload
def readdir(
    dirname: Path,
    variables: str | Iterable[str] | None = None,
    *,
    merge: str,
    warnings: list[tuple[str, str]] | None = None,
    recursive: bool = False,
    parallel: bool = False,
    executor: Executor | None = None,
    njobs: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **kwargs: Any,
) -> Dataset: ...


def readdir(
    dirname: Path,
    variables: str | Iterable[str] | None = None,
    merge: str | None = None,
    warnings: list[tuple[str, str]] | None = None,
    recursive: bool = False,
    parallel: bool = False,
    executor: Executor | None = None,
    njobs: int | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **kwargs: Any,
) -> list[Dataset] | Dataset:
    """Read all data files of a folder, sorted by path.

    The folder can be in a bucket, a store or a file system: `s3://bucket/folder`. Web servers do not list files.

    Each dataset gets the variable `filename`. If files have known suffixes, only these are read, as in ds-format 5.0.2.
    If no file has one, files whose content is recognised are read, such as those of WRF. A warning counts recognised
    files that are left out, and in a folder without known suffixes all that are left out. A folder that is a
    dataset, such as a ZDS store, counts as a file.

    Parameters
    ----------
    dirname : str, bytes or PathLike
        A path, or an address.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default.
    merge : str, optional
        Merge all datasets along this dimension, as `ds_format.merge` with `new="n"`. The variables `n`, the file that
        positions are from, and `i`, the position in that file, are added.
    warnings : list, optional
        Gets a pair (message, traceback) for each file that cannot be read. Such files are left out. The message that
        counts files with unknown suffixes has an empty traceback. Without a list, these messages are warnings.
    recursive : bool
        Also read the files of subfolders.
    parallel : bool
        Read in several processes.
    executor : concurrent.futures.Executor, optional
        Reads each file, instead of processes of this function: threads, or a dask client's `get_executor()`.
    njobs : int, optional
        Number of processes; by default the number of processors.
    storage_options, store
        As for `ds_format.read`.
    **kwargs
        For `ds_format.read`: `sel`, `range_`, `at`, `between`, `jd`, `unpack`, ...

    Returns
    -------
    list of Dataset, or Dataset
        One dataset if `merge` is given, as for `ds_format.merge`.

    Raises
    ------
    OSError
        If the folder cannot be listed. FileNotFoundError if nothing is below an address.
    UnsupportedError
        If the files cannot be merged, or the address is one of a web server.

    Examples
    --------
    >>> import os
    >>> from ds_format import write
    >>> os.mkdir("days")
    >>> for day in range(2):
    ...     write(f"days/day{day}.ds", {"t": [day, day + 0.5], ".": {"t": {".dims": ["t"]}}})
    >>> merged = readdir("days", merge="t")
    >>> merged["t"].tolist(), merged["n"].tolist(), merged["filename"].tolist()
    ([0.0, 0.5, 1.0, 1.5], [0, 0, 1, 1], ['days/day0.ds', 'days/day1.ds'])
    """
    paths, fault = list_files(drivers.located(dirname, storage_options, store), recursive)
    if fault is not None and modes.effective() != "soft":
        _say(warnings, fault, stacklevel=3)
    skip = partial(_warn, warnings)
    with no_collection():
        if parallel or executor is not None:
            found = _read_parallel(paths, variables, kwargs, executor, njobs, skip)
        elif not kwargs and merge is not None:
            return _merge_files(paths, variables, merge, skip)
        elif kwargs:
            found = _read_each(arriving(paths), partial(read, variables=variables, **kwargs), skip)
        else:
            keys = None if variables is None else list(keys_of(variables))
            found = list(datasets(contents(paths, None), skip, keys, report_each=True))
        if merge is not None:
            return _merged([DatasetPiece(path, dataset) for path, dataset in found], merge)
    for path, dataset in found:
        dataset["filename"] = path_text(path)
        dataset[META]["filename"] = {".dims": []}
    return [dataset for _, dataset in found]


def index(
    dirname: Path,
    variables: str | Iterable[str] | None = None,
    warnings: list[tuple[str, str]] | None = None,
    **kwargs: Any,
) -> list[Dataset]:
    """Read all data files of a folder into a list; see `readdir`.

    Examples
    --------
    >>> import os
    >>> from ds_format import write
    >>> os.mkdir("stations")
    >>> write("stations/a.ds", {"x": 5})
    >>> [(dataset["filename"], int(dataset["x"])) for dataset in index("stations")]
    [('stations/a.ds', 5)]
    """
    return readdir(dirname, variables, None, warnings, **kwargs)


def list_files(dirname: Path | Address, recursive: bool = False) -> tuple[list[Location], str | None]:
    """Return the sorted paths of the data files of a folder, and a message about those left out; see `readdir`."""
    if isinstance(dirname, Address):
        return _list_elsewhere(dirname, recursive)
    top = path_text(dirname)
    if pack_members(top) is not None:
        return _list_elsewhere(drivers.located(f"{top}/"), recursive)
    if _is_dataset(top):
        return [top], None
    known: list[str] = []
    others: list[str] = []
    for folder, folders, names in os.walk(top, onerror=_raise_error):
        stores = [name for name in folders if _is_dataset(os.path.join(folder, name))]
        known += [os.path.join(folder, name) for name in stores]
        folders[:] = [name for name in folders if recursive and name not in stores]
        for name in names:
            (known if drivers.is_known(name) else others).append(os.path.join(folder, name))
    visible = sorted(path for path in others if not os.path.basename(path).startswith("."))
    recognised, unknown = _recognised(path for path in visible if not drivers.is_sidecar(path))
    if not known:
        return [*recognised], counted(unknown, NOT_RECOGNISED)
    return [*sorted(known)], counted(recognised, NO_SUFFIX)


def _is_dataset(folder: str) -> bool:
    with contextlib.suppress(OSError):  # entering a folder that cannot be read gives the error
        return drivers.of_folder(folder) is not None
    return False


def _list_elsewhere(folder: Address, recursive: bool) -> tuple[list[Location], str | None]:
    """Return the same for a folder that is elsewhere. Contents are only requested if no file has a known suffix."""
    from ..body.remote.listing import divided, files_below

    stores, files = divided(files_below(folder, recursive=recursive), drivers.folder_files())
    paths = {one.path for one in files}
    found = [one.address for one in files if not drivers.is_sidecar(one.path, paths)]
    known = [one for one in (*stores, *files) if one in stores or drivers.is_known(one.address)]
    if known:
        return [one.address for one in sorted(known, key=lambda one: one.path)], None
    recognised, unknown = _recognised(arriving([address for address in found if not _is_hidden(address.name)]))
    return [*recognised], counted([path_text(path) for path in unknown], NOT_RECOGNISED)


def _recognised(paths: Iterable[L]) -> tuple[list[L], list[L]]:
    """Divide files into those whose content is recognised, and others."""
    recognised: list[L] = []
    unknown: list[L] = []
    for path in paths:
        (recognised if _is_recognised(path) else unknown).append(path)
    return recognised, unknown


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".")


def _is_recognised(path: Location) -> bool:
    """Return whether the content of a file is recognised, or the file cannot be read: reading it raises the error."""
    try:
        return drivers.recognise(path) is not None
    except OSError:
        return not isinstance(path, str) or os.path.exists(path)


def _raise_error(error: OSError) -> None:
    raise explained(error) if isinstance(error, FileNotFoundError) else error


def _warn(warnings: list[tuple[str, str]] | None, path: Location, error: Exception) -> None:
    text, name = on_one_line(str(error)), on_one_line(path_text(path))
    message = text if name in text else f"{name}: {text}"
    details = "".join(traceback.format_exception(error))
    _say(warnings, message if warnings is not None else f"left out: {message}", details, stacklevel=6)


def _say(warnings: list[tuple[str, str]] | None, message: str, details: str = "", *, stacklevel: int) -> None:
    if warnings is None:
        warnings_module.warn(on_one_line(message), stacklevel=stacklevel)
    else:
        warnings.append((message, details))


def _read_each(
    paths: Iterable[Location], open_one: Callable[[Location], Any], skip: Skip
) -> list[tuple[Location, Any]]:
    """Return the result of opening each path. If this fails, skip the path."""
    found = []
    for path in paths:
        try:
            found.append((path, open_one(path)))
        except Exception as error:  # noqa: BLE001 - a fault of one file must not prevent reading the others
            skip(path, error)
    return found


def _read_parallel(
    paths: Sequence[Location],
    variables: str | Iterable[str] | None,
    kwargs: dict[str, Any],
    executor: Executor | None,
    njobs: int | None,
    skip: Skip,
) -> list[tuple[Location, Dataset]]:
    names = variables if variables is None or isinstance(variables, str) else list(variables)
    own = ProcessPoolExecutor(njobs, get_context(START)) if executor is None else None
    try:
        futures = {path: (own or executor).submit(read, path, names, **kwargs) for path in paths}  # type: ignore[union-attr]
        return _read_each(paths, lambda path: futures[path].result(), skip)
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)


def _merge_files(paths: Sequence[Location], variables: str | Iterable[str] | None, dim: str, skip: Skip) -> Dataset:
    """Merge files. If the data of one turn out to be damaged, leave it out and merge the others again."""
    keys = None if variables is None else list(keys_of(variables))
    left = list(paths)
    by_name = {path_text(path): path for path in left}

    def leave_out(path: Location, error: Exception) -> None:
        skip(path, error)
        left.remove(path)

    while True:
        with open_sources() as files:
            found = list(read_pieces(contents(left.copy(), None), leave_out, files, keys))
            try:
                return _merged(found, dim, keys, unpack=None)
            except (OSError, ValueError) as error:
                path = by_name.get(getattr(error, "path", None) or getattr(error, "filename", None) or "")
                if path not in left:
                    raise
                leave_out(path, error)


def _merged(
    found: Sequence[DatasetStack], dim: str, keys: Sequence[str] | None = None, unpack: bool | None = False
) -> Dataset:
    """Merge pieces, and add the file and the position in it for each position along `dim`."""
    merged = merge_pieces(found, dim, new="n", keys=keys, unpack=unpack, masks=True)
    paths = [path_text(path) for piece in found for path in piece.paths]
    sizes = sizes_along(found, dim)
    numbers = np.repeat(np.arange(len(paths)), sizes)
    positions = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.arange(0)
    merged.update(filename=np.array(paths, object), n=numbers, i=positions)
    merged[META].update(filename={".dims": ["n"]}, n={".dims": [dim]}, i={".dims": [dim]})
    return merged
