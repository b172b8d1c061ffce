"""Many files at once, into a list of datasets or straight into one."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, overload

from .. import drivers
from ..dataset import META, Dataset
from ..files import read
from ..kernels.files import batch
from ..names import unescape
from ..subset import Path, keys_of, open_subset, say_missing
from .opened_files import OpenFiles
from .pieces import Piece, SourcePiece, merge_pieces

SMALL_SIZE = 16 * 1024
"""Bytes up to which a ds file is read together with others."""
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
    """Read many files at once, above all many small ds files.

    Small ds files are read in batches by threads that hold no lock of the interpreter, while others are decoded.

    Parameters
    ----------
    paths : iterable of str, bytes or PathLike
        Of any supported format.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default.
    dim : str, optional
        Merge all into one dataset along this dimension, as `ds_format.merge` does. Each array is allocated once. Of
        small ds files in a row headers are read as far as they differ.
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
            return merge_pieces(list(pieces(found, _raise, files, keys, dim)), dim, keys=keys, unpack=unpack)


def _raise(path: str, error: Exception) -> None:
    raise error


def contents(paths: Sequence[str], threads: int | None) -> Iterator[tuple[str, Content]]:
    """Yield each path with the content of the file, in order; batches are read ahead by threads.

    Parameters
    ----------
    paths : sequence of str
    threads : int, optional
        How many; by default as many as there are processors, but no more than four.
    """
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    n_threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if n_threads == 1 or len(batches) < 2:
        for names in batches:
            yield from zip(names, _read_batch(names), strict=True)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        ahead = collections.deque(pool.submit(_read_batch, names) for names in batches[: AHEAD * n_threads])
        for i, names in enumerate(batches):
            batch_contents = ahead.popleft().result()
            if i + AHEAD * n_threads < len(batches):
                ahead.append(pool.submit(_read_batch, batches[i + AHEAD * n_threads]))
            yield from zip(names, batch_contents, strict=True)


def _read_batch(names: Sequence[str]) -> Iterable[Content]:
    if all(name.endswith(".ds") for name in names):
        return batch.read_files(list(names), SMALL_SIZE)
    some = [name for name in names if name.endswith(".ds")]
    found = dict(zip(some, batch.read_files(some, SMALL_SIZE), strict=True))
    return [found.get(name) for name in names]


def datasets(
    files: Iterable[tuple[str, Content]],
    skip: Skip,
    keys: Collection[str] | None = None,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    tells_each: bool = False,
) -> Iterator[tuple[str, Dataset]]:
    """Yield files, each with its dataset.

    Parameters
    ----------
    files : iterable of (path, content)
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
    driver = drivers.load(drivers.DRIVERS["ds"])
    told: list[str] = []
    for path, content in files:
        try:
            if isinstance(content, int):
                raise OSError(content, os.strerror(content), path)
            if content is None:
                dataset = read(path, names, unpack=unpack, skip_unsupported=skip_unsupported)
            else:
                dataset = driver.from_bytes(path, content, keys, unpack)
                if keys is not None:
                    missing = [key for key in keys if key not in dataset or key == META]
                    if missing and (missing != told or tells_each):
                        say_missing(path, missing, driver.AlikeFiles(path, content, ()).meta)
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


def opened(skip_unsupported: bool = False) -> OpenFiles:
    """Return what opens those files of which pieces are more than their bytes."""
    return OpenFiles(functools.partial(open_subset, skip_unsupported=skip_unsupported))


def pieces(
    files: Iterable[tuple[str, Content]],
    skip: Skip,
    opened_files: OpenFiles,
    keys: Collection[str] | None = None,
    dim: str | None = None,
) -> Iterator[Piece]:
    """Yield files as pieces of a merged dataset: ds files that are read in one piece in runs, others each by itself.

    Parameters
    ----------
    files : iterable of (path, content)
    skip : callable
        Called with the path of a file that cannot be read, and the error.
    opened_files : OpenFiles
        See `opened`.
    keys : collection of str, optional
        Of the variables that are wanted; all by default.
    dim : str, optional
        Dimension to merge along, where variables without it are taken from the first file.
    """
    run: Any = None
    for path, content in files:
        try:
            if run is not None and content.__class__ is bytearray and run.add(path, content):
                continue
            if isinstance(content, int):
                raise OSError(content, os.strerror(content), path)
            driver = drivers.of_existing(path)
            data = driver.read_file(path) if content is None and hasattr(driver, "read_file") else content
            if run is not None and content is None and data is not None and run.add(path, data):
                continue
            piece = SourcePiece(path, opened_files, keys) if data is None else driver.AlikeFiles(path, data, keys, dim)
        except Exception as error:  # noqa: BLE001 - what happens is up to `skip`
            skip(path, error)
            continue
        if run is not None:
            yield run
        run = None if data is None else piece
        if run is None:
            yield piece
    if run is not None:
        yield run
