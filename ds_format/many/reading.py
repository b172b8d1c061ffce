"""Reading many files: in batches, into a list of datasets or a merged one; and files that are read again."""

from __future__ import annotations

import collections
import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from .. import drivers
from ..api.files import read
from ..base.text import keys_of, unescape
from ..body import Address, Location, path_text
from ..body.body import Body
from ..body.locating import first_bytes, version_number
from ..body.remote.settings import current
from ..body.stamp import HOST, REPLACED, Stamp
from ..datasets import META, Dataset
from ..drivers import SMALL_SUFFIXES
from ..errors import ReplacedError
from ..kernels.files import batch
from ..kernels.files.names import signed
from ..model.dataset_attributes import AttributeComparison
from ..views.subset import Input, say_missing
from .patterns import matches
from .pieces import Content, Skip, bytes_of, fail, merge_pieces, no_collection, open_sources, read_pieces

SMALL_SIZE = 16 * 1024
"""Maximum size, in bytes, of a file that is read together with others."""
BATCH = 256
"""Number of files that one call reads, so that their bytes are in the processor's cache when they are decoded."""
AHEAD = 2
"""Number of batches that each thread may read ahead."""


@overload
def read_many(
    paths: Iterable[Input],
    variables: str | Iterable[str] | None = None,
    dim: None = None,
    threads: int | None = None,
    *,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> list[Dataset]: ...


@overload
def read_many(
    paths: Iterable[Input],
    variables: str | Iterable[str] | None = None,
    *,
    dim: str,
    threads: int | None = None,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> Dataset: ...


@overload
def read_many(
    paths: Iterable[Input],
    variables: str | Iterable[str] | None,
    dim: str,
    threads: int | None = None,
    *,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> Dataset: ...


def read_many(
    paths: Iterable[Input],
    variables: str | Iterable[str] | None = None,
    dim: str | None = None,
    threads: int | None = None,
    *,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> list[Dataset] | Dataset:
    """Read many files at once, especially small ds and classic NetCDF files.

    Threads read small files in batches, without the lock of the interpreter, while others are decoded. Files that are
    elsewhere are requested side by side, a small one by one request; see `ds_format.remote`.

    Parameters
    ----------
    paths : iterable of str, bytes, PathLike or file object
        Files of any supported formats: paths or addresses. A single path can be a pattern, as for `open_many`.
    variables : str or iterable of str, optional
        Names of the variables to read; all by default.
    dim : str, optional
        Merge all into one dataset along this dimension, as `ds_format.merge_files` does. Each array is allocated once.
        Consecutive small files with the same header are checked once.
    threads : int, optional
        Number of threads; by default the number of processors, at most four.
    stack : str or iterable of str
        Names of variables without `dim` that get it: values of each file are repeated along it. By default they are
        taken from the first file, with a `DsWarning` if they differ.
    attributes : str or iterable of str
        Names of attributes of the dataset that become variables along `dim`, missing where a file lacks them. By
        default those of the last file that has them are kept, with a `DsWarning` if they differ.
    unpack, skip_unsupported, storage_options, store
        As for `ds_format.read`.

    Returns
    -------
    list of Dataset, or Dataset
        In the order of `paths`; one dataset if `dim` is given.

    Raises
    ------
    OSError, DriverError, FormatError
        As for `ds_format.read`, for the first file that cannot be read.
    UnsupportedError
        If the files cannot be merged. In strict mode also if variables that are taken from the first file differ, or
        attributes of the dataset.

    Examples
    --------
    >>> from ds_format import write
    >>> for day in range(3):
    ...     write(
    ...         f"day{day}.ds",
    ...         {"t": [day], "x": [day / 2], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}},
    ...     )
    >>> [dataset["x"].tolist() for dataset in read_many(["day0.ds", "day1.ds"])]
    [[0.0], [0.5]]
    >>> read_many(["day0.ds", "day1.ds", "day2.ds"], "x", dim="t")["x"]
    array([0. , 0.5, 1. ])
    """
    is_one = drivers.is_one_file(paths)
    names = drivers.located_each([paths] if is_one else paths, storage_options, store)
    if is_one:
        names = matches(names[0])
    keys = None if variables is None else list(keys_of(variables))
    with no_collection():
        found = contents(names, threads)
        if dim is None:
            return [dataset for _, dataset in datasets(found, fail, keys, unpack, skip_unsupported)]
        with open_sources(skip_unsupported) as files:
            repeated = keys_of(stack)
            asked = keys_of(attributes)
            comparison = AttributeComparison(dim, asked)
            every = list(read_pieces(found, fail, files, keys, dim, asked, stack=repeated, compare=comparison.add))
            names_of = [*map(unescape, repeated)]
            merged = merge_pieces(every, dim, jd=None, keys=keys, unpack=unpack, stack=names_of, attributes=asked)
            comparison.report("last")
            return merged


StampRow = tuple[int, int, int]
"""Values that identify a file: its size in bytes, modification time in ns since 1970, and inode. For a file that is
elsewhere its size, a hash of its version, and 0. Zeros if it cannot be read."""


class Batch(NamedTuple):
    """Consecutive files."""

    paths: Sequence[Location]
    contents: Iterable[Content]
    read: Any
    """Result of `kernels.files.batch` for the local files with a suffix of small files."""
    fetched: Sequence[StampRow] | NDArray[np.int64] = ()
    """The rows of files that are elsewhere, or of members of a pack."""

    def stamps(self) -> NDArray[np.int64]:
        """Return the rows of all files, as an (n, 3) ndarray of int64; see `StampRow`."""
        found = np.frombuffer(self.read.stamps(), np.int64).reshape(-1, 3)
        if len(found) == len(self.paths):
            return found
        rows, fetched = iter(found.tolist()), iter(self.fetched)
        each = [
            (next(rows) if path.endswith(SMALL_SUFFIXES) else stamp_of(path))
            if isinstance(path, str)
            else next(fetched)
            for path in self.paths
        ]
        return np.array(each, np.int64)


def contents(paths: Sequence[Location], threads: int | None) -> Iterator[tuple[Location, Content]]:
    """Iterate over paths and contents of files, in order; see `batches`."""
    for found in batches(paths, threads):
        yield from zip(found.paths, found.contents, strict=True)


def batches(paths: Sequence[Location], threads: int | None) -> Iterator[Batch]:
    """Iterate over batches of files and their contents, in order. Threads read batches ahead.

    Parameters
    ----------
    paths : sequence of str or Address
    threads : int, optional
        Number of threads for local files; by default the number of processors, at most four.
    """
    local = [path for path in paths if isinstance(path, str)]
    if len(local) < len(paths):
        for pack, some in itertools.groupby(paths, _pack_of):
            yield from (_batches_elsewhere if pack is None else _batches_of_members)([*some])
        return
    names = [local[i : i + BATCH] for i in range(0, len(local), BATCH)]
    n_threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if n_threads == 1 or len(names) < 2 or not any(path.endswith(SMALL_SUFFIXES) for path in paths):
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
    if all(path.endswith(SMALL_SUFFIXES) for path in paths):
        found = batch.read_files(list(paths), SMALL_SIZE)
        return Batch(paths, found, found)
    some = [path for path in paths if path.endswith(SMALL_SUFFIXES)]
    read = batch.read_files(some, SMALL_SIZE)
    by_path: dict[str, Content] = dict(zip(some, read, strict=True))
    return Batch(paths, [by_path.get(path) for path in paths], read)


def _pack_of(path: Location) -> Any:
    """Return the local pack that has a file; None for other files."""
    return getattr(path, "pack", None) if not isinstance(path, str) and path.is_near else None


def _batches_of_members(paths: Sequence[Any]) -> Iterator[Batch]:
    """Iterate over batches of members of one local pack."""
    from ..body.packs import read_members

    for i in range(0, len(paths), BATCH // 2):
        some = paths[i : i + BATCH // 2]
        found, rows = read_members(some, SMALL_SIZE)
        if not {path.suffix for path in some}.issubset(SMALL_SUFFIXES):
            found = [each if path.suffix in SMALL_SUFFIXES else None for path, each in zip(some, found, strict=True)]
        yield Batch(some, found, batch.read_files([], SMALL_SIZE), rows)


def _batches_elsewhere(paths: Sequence[Location]) -> Iterator[Batch]:
    """Iterate over batches of files of which some are elsewhere. They are so small that decoding begins soon."""
    bodies = first_bytes(path for path in paths if isinstance(path, Address))
    size = current().lanes
    for some in (paths[i : i + size] for i in range(0, len(paths), size)):
        local = _read_batch([path for path in some if isinstance(path, str)])
        near = iter(local.contents)
        found: list[Content] = []
        rows: list[StampRow] = []
        for path in some:
            if isinstance(path, str):
                found.append(next(near))
                continue
            body = next(bodies)
            rows.append(_row_of(body))
            found.append(_content_of(path, body))
        yield Batch(some, found, local.read, rows)
        for path in some:
            if isinstance(path, Address):
                path.keep(None)


def _content_of(path: Address, body: Body | Exception) -> Content:
    """Return the bytes of a small file, or the error. If it must be opened nevertheless, that takes the body."""
    if isinstance(body, Exception):
        may_be_folder = isinstance(body, FileNotFoundError) and not drivers.is_known(path)
        return None if may_be_folder else body
    path.keep(body)
    if body.is_in_memory and path.endswith(SMALL_SUFFIXES):
        return body.memory if isinstance(body.memory, bytearray) else bytearray(body.memory)
    return None


def _row_of(body: Body | Exception) -> StampRow:
    if isinstance(body, Exception):
        return 0, 0, 0
    return body.size, version_number(body.watch.stamp), 0


def stamp_of(path: str) -> StampRow:
    """Return the row of a local file that is not read in a batch."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_size, status.st_mtime_ns, signed(status.st_ino)


def datasets(
    found: Iterable[tuple[Location, Content]],
    skip: Skip,
    keys: Collection[str] | None = None,
    unpack: bool | None = None,
    skip_unsupported: bool = False,
    report_each: bool = False,
) -> Iterator[tuple[Location, Dataset]]:
    """Iterate over files and their datasets.

    Parameters
    ----------
    found : iterable of (path, content)
    skip : callable
        Called with the path of a file that cannot be read, and the error.
    keys : collection of str, optional
        Keys of the requested variables; all by default.
    unpack, skip_unsupported
        As for `ds_format.read`.
    report_each : bool
        Report missing variables for each file. If false, consecutive files that lack the same ones are reported once.
    """
    names = None if keys is None else [unescape(key) for key in keys]
    reported: list[str] = []
    suffix, driver = drivers.UNKNOWN, None
    for path, content in found:
        try:
            content = bytes_of(path, content)
            if content is not None and not path.endswith(suffix):
                suffix, driver = drivers.small_files_of(path)
            held = None if content is None or driver is None else driver.hold(path, content)
            if held is None or driver is None or content is None:
                dataset = read(path, names, unpack=unpack, skip_unsupported=skip_unsupported)
            else:
                dataset = driver.read(path, held, keys, unpack)
                if keys is not None:
                    missing = [key for key in keys if key not in dataset or key == META]
                    if missing and (missing != reported or report_each):
                        say_missing(path, missing, driver.begin(path, driver.hold(path, content)).entries)
                    reported = missing
        except Exception as error:  # noqa: BLE001 - `skip` decides
            skip(path, error)
        else:
            yield path, dataset


class WatchedFiles:
    """Files that are read several times. The first time they are recorded, later they are compared with the record.

    The record is so small that there may be hundreds of thousands of files. It can be pickled.

    Parameters
    ----------
    paths : sequence of str or Address
        Absolute paths, and addresses.
    group : str, optional
        Path of the group that is read in each file; None: the whole file.

    Attributes
    ----------
    paths : list of str or Address
    group : str or None
    stamps : (n, 3) ndarray of int64
        See `StampRow`.
    digests : (n,) ndarray of uint32
        Digests of the headers; 0 for formats without one.
    host : str
        The machine where they were opened.
    """

    __slots__ = ("digests", "group", "host", "paths", "stamps")

    def __init__(self, paths: Sequence[Location], group: str | None = None):
        self.paths = list(paths)
        self.group = group
        self.stamps = np.zeros((len(self.paths), 3), np.int64)
        self.digests = np.zeros(len(self.paths), np.uint32)
        self.host = HOST

    def record(self, threads: int | None) -> Iterator[tuple[Location, Content]]:
        """Iterate over paths and contents, as `contents` does, and record size, time and inode.

        Parameters
        ----------
        threads : int, optional
            As for `batches`.
        """
        start = 0
        for some in batches(self.paths, threads):
            self.stamps[start : start + len(some.paths)] = some.stamps()
            start += len(some.paths)
            yield from zip(some.paths, some.contents, strict=True)

    def again(self, which: Sequence[int], threads: int | None) -> Iterator[tuple[Location, Content]]:
        """Read some of the files again, and check that they are the same.

        Parameters
        ----------
        which : sequence of int
            Their indices.
        threads : int, optional
            As for `batches`.

        Raises
        ------
        ReplacedError
            If a file was replaced or modified.
        """
        start = 0
        for some in batches([self.paths[i] for i in which], threads):
            positions = which[start : start + len(some.paths)]
            start += len(some.paths)
            same = (some.stamps()[:, : self._columns] == self.stamps[positions, : self._columns]).all(1).tolist()
            for i, path, content, is_same in zip(positions, some.paths, some.contents, same, strict=True):
                if not is_same:
                    self._fail(i, content)
                yield path, content

    @property
    def _columns(self) -> int:
        """Number of columns of stamps to compare: inodes are not valid on another host."""
        return 3 if self.host == HOST else 2

    def note(self, i: int, digest: int, is_late: bool = False) -> None:
        """Record the digest of the header of a file."""
        self.digests[i] = digest

    def check(self, i: int, digest: int, is_late: bool = True) -> None:
        """Check the header of a file that was read again. If `is_late`, it was read after its stamp was checked.

        Raises
        ------
        ReplacedError
            If the file was replaced or modified.
        """
        path, n = self.paths[i], self._columns
        # a file that is elsewhere is read through the body whose stamp was checked, which compares each answer
        if is_late and isinstance(path, str) and stamp_of(path)[:n] != tuple(self.stamps[i, :n].tolist()):
            self._fail(i, None)
        if digest != self.digests[i]:
            stamp = self._stamp(i)
            stamp.compare(stamp._replace(digest=b""), path_text(path))

    def some(self, which: Sequence[int]) -> WatchedFiles:
        """Return some of the files, by their indices."""
        out = WatchedFiles([self.paths[i] for i in which], self.group)
        out.stamps, out.digests, out.host = self.stamps[which], self.digests[which], self.host
        return out

    def token(self) -> tuple[Any, ...]:
        """Return a value that is the same for the same files on any host."""
        return tuple(self.paths), self.group, self.stamps[:, :2].tobytes(), self.digests.tobytes()

    def _stamp(self, i: int) -> Stamp:
        size, mtime, inode = self.stamps[i].tolist()
        return Stamp(size, mtime, self.digests[i].tobytes(), self.host, inode)

    def _fail(self, i: int, content: Content) -> None:
        """Raise the error for a file that was replaced, modified or removed."""
        path, stamp = self.paths[i], self._stamp(i)
        if isinstance(path, Address):
            if isinstance(content, OSError):
                raise stamp.gone(content, path.name) from content
            bytes_of(path, content)
            raise ReplacedError(f"{REPLACED}: its size or version differs; open it again", path=path.name)
        try:
            status = os.stat(path)
        except OSError as error:
            raise stamp.gone(error, path) from None
        bytes_of(path, content)
        stamp.compare(Stamp.of(status, stamp.digest), path)
        stamp.compare(stamp._replace(mtime=-1), path)  # it had changed when it was read, and was changed back
