"""Many files at once, into a list of datasets or straight into one."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from .. import drivers
from ..api.files import read
from ..base.names import keys_of, unescape
from ..dataset import META, Dataset
from ..drivers import HELD
from ..drivers.small import AlikeFiles, Piece, SmallFiles
from ..errors import explained
from ..kernels.files import batch, files
from ..kernels.files.portable import signed
from ..views.subset import Path, open_group, say_missing
from .opened_files import OpenFiles
from .pieces import SourcePiece, merge_pieces

SMALL_SIZE = 16 * 1024
"""Bytes up to which a file is read together with others."""
BATCH = 256
"""Files that one call reads: so few that their bytes are in the processor's cache when they are decoded."""
AHEAD = 2
"""Batches that each thread may be ahead."""

Content = bytearray | int | None
"""Of a file: its bytes, the errno of the system's refusal, or None if it has to be read by itself."""
Skip = Callable[[str, Exception], None]


@overload
def read_many(
    paths: Iterable[Path],
    variables: str | Iterable[str] | None = None,
    dim: None = None,
    threads: int | None = None,
    *,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> list[Dataset]: ...


@overload
def read_many(
    paths: Iterable[Path],
    variables: str | Iterable[str] | None = None,
    *,
    dim: str,
    threads: int | None = None,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> Dataset: ...


@overload
def read_many(
    paths: Iterable[Path],
    variables: str | Iterable[str] | None,
    dim: str,
    threads: int | None = None,
    *,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> Dataset: ...


def read_many(
    paths: Iterable[Path],
    variables: str | Iterable[str] | None = None,
    dim: str | None = None,
    threads: int | None = None,
    *,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
) -> list[Dataset] | Dataset:
    """Read many files at once, above all many small ds and classic NetCDF files.

    Small files are read in batches by threads that hold no lock of the interpreter, while others are decoded.

    Parameters
    ----------
    paths : iterable of str, bytes or PathLike
        Of any supported format.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default.
    dim : str, optional
        Merge all into one dataset along this dimension, as `ds_format.merge` does. Each array is allocated once. Of
        small files in a row what their headers have in common is looked at once.
    threads : int, optional
        How many threads read; by default as many as there are processors, but no more than four.
    unpack, skip_unsupported : bool, optional
        As `ds_format.read`.

    Returns
    -------
    list of Dataset, or Dataset
        In the order of `paths`; one dataset if `dim` is given.

    Raises
    ------
    OSError, DriverError, FormatError
        As `ds_format.read`, for the first file that cannot be read.
    UnsupportedError
        If the files cannot be merged.

    Examples
    --------
    >>> from ds_format import write
    >>> for day in range(3):
    ...     write(f"day{day}.ds", {"t": [day], "x": [day / 2], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}})
    >>> [dataset["x"].tolist() for dataset in read_many(["day0.ds", "day1.ds"])]
    [[0.0], [0.5]]
    >>> read_many(["day0.ds", "day1.ds", "day2.ds"], "x", dim="t")["x"]
    array([0. , 0.5, 1. ])
    """
    names = [os.fsdecode(path) for path in paths]
    keys = None if variables is None else list(keys_of(variables))
    with no_collection():
        found = contents(names, threads)
        if dim is None:
            return [dataset for _, dataset in datasets(found, _raise, keys, unpack, skip_unsupported)]
        with opened(skip_unsupported) as files:
            every = list(pieces(found, _raise, files, keys, dim))
            return merge_pieces(every, dim, keys=keys, unpack=unpack)


def _raise(path: str, error: Exception) -> None:
    raise explained(error) if isinstance(error, FileNotFoundError) else error


class Batch(NamedTuple):
    """Some files in a row."""

    paths: Sequence[str]
    contents: Iterable[Content]
    read: Any
    """What was read of those that may be held in memory."""

    def stamps(self) -> NDArray[np.int64]:
        """Return which files these are.

        Returns
        -------
        (n, 3) ndarray of int64
            Size in bytes, time of the last change in ns since 1970, and inode; zeros if the system refuses a file.
        """
        found = np.frombuffer(self.read.stamps(), np.int64).reshape(-1, 3)
        if len(found) == len(self.paths):
            return found
        rows = iter(found.tolist())
        each = [next(rows) if path.endswith(HELD) else stamp_of(path) for path in self.paths]
        return np.array(each, np.int64)


def contents(paths: Sequence[str], threads: int | None) -> Iterator[tuple[str, Content]]:
    """Yield each path with the content of the file, in order; see `batches`."""
    for found in batches(paths, threads):
        yield from zip(found.paths, found.contents, strict=True)


def batches(paths: Sequence[str], threads: int | None) -> Iterator[Batch]:
    """Yield the contents of files, in order; batches are read ahead by threads.

    Parameters
    ----------
    paths : sequence of str
    threads : int, optional
        How many; by default as many as there are processors, but no more than four.
    """
    names = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    n_threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if n_threads == 1 or len(names) < 2 or not any(path.endswith(HELD) for path in paths):
        yield from map(_read_batch, names)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        ahead = collections.deque(pool.submit(_read_batch, some) for some in names[: AHEAD * n_threads])
        for i in range(len(names)):
            found = ahead.popleft().result()
            if i + AHEAD * n_threads < len(names):
                ahead.append(pool.submit(_read_batch, names[i + AHEAD * n_threads]))
            yield found


def _read_batch(paths: Sequence[str]) -> Batch:
    if all(path.endswith(HELD) for path in paths):
        found = batch.read_files(list(paths), SMALL_SIZE)
        return Batch(paths, found, found)
    some = [path for path in paths if path.endswith(HELD)]
    read = batch.read_files(some, SMALL_SIZE)
    by_path: dict[str, Content] = dict(zip(some, read, strict=True))
    return Batch(paths, [by_path.get(path) for path in paths], read)


def stamp_of(path: str) -> tuple[int, int, int]:
    """Return of a file that is not read here what `Batch.stamps` returns."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_size, status.st_mtime_ns, signed(status.st_ino)


def datasets(
    found: Iterable[tuple[str, Content]],
    skip: Skip,
    keys: Collection[str] | None = None,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    tells_each: bool = False,
) -> Iterator[tuple[str, Dataset]]:
    """Yield files, each with its dataset.

    Parameters
    ----------
    found : iterable of (path, content)
    skip : callable
        Called with the path of a file that cannot be read, and the error.
    keys : collection of str, optional
        Of the variables that are wanted; all by default.
    unpack, skip_unsupported
        As `ds_format.read`.
    tells_each : bool
        Whether of files in a row that lack the same variables each is told of, and not the first one only.
    """
    names = None if keys is None else [unescape(key) for key in keys]
    told: list[str] = []
    suffix, driver = drivers.UNKNOWN, None
    for path, content in found:
        try:
            if isinstance(content, int):
                raise OSError(content, os.strerror(content), path)
            if content is not None and not path.endswith(suffix):
                suffix, driver = drivers.holder(path)
            held = None if content is None or driver is None else driver.held(path, content)
            if held is None or driver is None or content is None:
                dataset = read(path, names, unpack=unpack, skip_unsupported=skip_unsupported)
            else:
                dataset = driver.from_held(path, held, keys, unpack)
                if keys is not None:
                    missing = [key for key in keys if key not in dataset or key == META]
                    if missing and (missing != told or tells_each):
                        say_missing(path, missing, driver.AlikeFiles(path, driver.held(path, content), ()).meta)
                    told = missing
        except Exception as error:  # noqa: BLE001 - what happens is up to `skip`
            skip(path, error)
        else:
            yield path, dataset


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from searching the datasets that are made, over and over, for what cannot be there."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def opened(skip_unsupported: bool = False, most: int | None = None, group: str | None = None) -> OpenFiles:
    """Return what opens those files of which pieces are more than their bytes, or one group of each."""
    return OpenFiles(functools.partial(open_group, wanted=group, skip_unsupported=skip_unsupported), most)


def whole(path: str, driver: SmallFiles) -> bytearray | None:
    """Return the bytes of a file that was not read together with others; None of one that is not small.

    That is not opened for this.
    """
    limit = driver.WHOLE_SIZE
    return None if os.stat(path).st_size > limit else files.read_file(path, limit)


def pieces(
    found: Iterable[tuple[str, Content]],
    skip: Skip,
    opened_files: OpenFiles,
    keys: Container[str] | None = None,
    dim: str | None = None,
    attributes: Collection[str] = (),
    *,
    one_by_one: bool = False,
) -> Iterator[Piece]:
    """Yield files as pieces of a merged dataset: small ones that are alike in rows, others each by itself.

    Parameters
    ----------
    found : iterable of (path, content)
    skip : callable
        Called with the path of a file that cannot be read, and the error.
    opened_files : OpenFiles
        See `opened`.
    keys : container of str, optional
        Of the variables that are wanted; all by default.
    dim : str, optional
        Dimension to merge along, where variables without it are taken from the first file.
    attributes : collection of str, optional
        Keys of attributes of the dataset that are to be noted of each file.
    one_by_one : bool
        Whether each file is a piece by itself, opened by `opened_files`, also a small one.
    """
    row: AlikeFiles | None = None
    driver_of_row: SmallFiles | None = None
    suffix, driver = drivers.UNKNOWN, None
    for path, content in found:
        try:
            if isinstance(content, int):
                raise OSError(content, os.strerror(content), path)
            if not one_by_one and not path.endswith(suffix):
                suffix, driver = drivers.holder(path)
            held: Any = None
            if driver is not None:
                if content is None:
                    content = whole(path, driver)
                if content is not None:
                    held = driver.held(path, content)
                    if row is not None and held is not None and driver is driver_of_row and row.add(path, held):
                        continue
            piece: Piece
            if driver is None or held is None:
                piece, next_row = SourcePiece(path, opened_files, keys, attributes), None
            else:
                piece = next_row = driver.AlikeFiles(path, held, keys, dim, attributes)
        except Exception as error:  # noqa: BLE001 - what happens is up to `skip`
            skip(path, error)
            continue
        if row is not None:
            yield row
        row, driver_of_row = next_row, driver
        if row is None:
            yield piece
    if row is not None:
        yield row
