"""A series: a folder of segments, which are complete ds files, read as one dataset joined along a dimension.

::

    all.ds/series.json              {"format": "ds-series-1", "dim": "time", "sorted": true}
    all.ds/00000001-00000008.ds     a segment in place of 8, which were compacted
    all.ds/00000009.ds              a segment that one append wrote

The names of segments are the numbers of appends. There is no list of segments, so that each state of the folder is one
dataset: a segment appears by one rename, and one that a wider segment covers does not count.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base.once import once
from ...base.text import unescape
from ...body import path_text
from ...body.stamp import HOST, REPLACED, Stamp
from ...codec.stored import Stored
from ...datasets import META, Dataset, as_array, dims
from ...errors import DsError, FormatError, ReplacedError, VersionError
from ...kernels.files.batch import read_files
from ...kernels.files.files import read_file
from ...model.index import shape_of
from ...model.marks import settled
from ...model.merge_plan import MergeInput, MergePart, MergePlan, Way, converted, plan_merge, size_along
from ...model.merged_arrays import MergedArray
from ...model.packing import unpack_all
from ..base import Handle, Metadata
from ..handle import Indexed, digest
from ..source import BaseSource, HeldSource, finished
from .checksums import MAGIC
from .source import DsSource
from .whole import loads

MARKER = "series.json"
"""The file that makes a folder a series. It is there before the first segment."""
LOCK = ".lock"
"""The empty file that a writer has locked. It is not the marker, because that is replaced by another file."""
FORMAT = "ds-series-1"
MARKER_SIZE = 1 << 16
"""Maximum bytes of it."""
SMALL_SIZE = 64 * 1024
"""Maximum bytes of a segment that is read together with others."""
TRIES = 100
"""How often a folder is listed, if it changes meanwhile."""
SEGMENT = re.compile(r"(\d{8,})(?:-(\d{8,}))?\.ds")


class Marker(NamedTuple):
    """Content of the marker of a series."""

    dim: str
    """Dimension along which segments are joined."""
    is_sorted: bool
    """Whether the coordinate of the dimension increases strictly. False if this is not known."""

    def text(self) -> bytes:
        """Return the bytes of the file."""
        return json.dumps({"format": FORMAT, "dim": self.dim, "sorted": self.is_sorted}).encode() + b"\n"


class Segment(NamedTuple):
    """A segment of a series."""

    first: int
    """Number of the first append that it has the data of."""
    last: int
    """Number of the last one."""
    path: str


def segment_name(first: int, last: int) -> str:
    """Return the file name of a segment."""
    return f"{first:08}.ds" if first == last else f"{first:08}-{last:08}.ds"


def is_series(path: str) -> bool:
    """Return whether a path is a folder with the marker of a series."""
    return os.path.isfile(os.path.join(path, MARKER))


def read_marker(path: str) -> Marker:
    """Return the content of the marker of a series.

    Raises
    ------
    OSError
        If the file cannot be read. IsADirectoryError if the folder has none.
    FormatError
        If it is damaged. VersionError if a newer program wrote it.
    """
    name = os.path.join(path, MARKER)
    try:
        return marker_of(bytes(read_file(name, MARKER_SIZE) or b""), name)
    except FileNotFoundError:
        if not os.path.isdir(path):  # it has just lost its name
            raise
        raise IsADirectoryError(errno.EISDIR, f"a folder without {MARKER}, expected a file or a series", path) from None


@functools.lru_cache(maxsize=64)
def marker_of(data: bytes, name: str) -> Marker:
    """Return the content of the marker, from its bytes; `name` is for messages."""
    try:
        found = json.loads(data)
        if isinstance(found, dict) and found.get("format") != FORMAT and isinstance(found.get("format"), str):
            raise VersionError(f'found format "{found["format"]}", expected "{FORMAT}"', path=name)
        dim, is_sorted = found["dim"], found["sorted"]
        if not isinstance(dim, str) or not isinstance(is_sorted, bool):
            raise TypeError
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FormatError('expected an object with "format", "dim" and "sorted"', path=name) from error
    return Marker(dim, is_sorted)


def listed(path: str) -> tuple[list[Segment], list[str]]:
    """Return the segments of a series, and the paths of files that do not count: covered segments, temporary files.

    The caller holds the lock of the series. Without it, use `SeriesSource`.

    Raises
    ------
    OSError
        If the folder cannot be read.
    FormatError
        If a segment is missing, or there is another file.
    """
    return _resolved(path, os.listdir(path))


@functools.lru_cache(maxsize=1024)
def _numbers_in(name: str) -> tuple[int, int] | None:
    """Return the numbers in the name of a segment; None for other files."""
    found = SEGMENT.fullmatch(name)
    return None if found is None else (int(found[1]), int(found[2] or found[1]))


def _resolved(path: str, names: Sequence[str]) -> tuple[list[Segment], list[str]]:
    every, rest = [], []
    for name in names:
        numbers = _numbers_in(name)
        if numbers is not None:
            every.append(Segment(*numbers, f"{path}/{name}"))
        elif name.startswith(".") and name.endswith(".tmp"):
            rest.append(f"{path}/{name}")
        elif name != MARKER and not name.startswith("."):
            raise FormatError(f'found "{name}" in a series, expected segments as {segment_name(1, 1)}', path=path)
    segments: list[Segment] = []
    end = 0
    for one in sorted(every, key=lambda one: (one.first, -one.last)):
        if one.last <= end:
            rest.append(one.path)
            continue
        if one.first != end + 1 or one.last < one.first:
            problem = "is missing" if one.first > end + 1 else f"overlaps {os.path.basename(one.path)}"
            raise FormatError(f"segment {segment_name(end + 1, end + 1)} {problem}", path=path)
        segments.append(one)
        end = one.last
    if not segments:
        raise FormatError(f"segment {segment_name(1, 1)} is missing", path=path)
    return segments, rest


class AlikeSegments(HeldSource):
    """Consecutive small segments that have equal metadata, as one source, whose values are in memory."""

    def __init__(self, each: Sequence[tuple[str, Dataset]], dim: str):
        path, first = each[0]
        super().__init__(path)
        self.meta = {META: first[META][META]}
        for key, entry in first[META].items():
            if key == META:
                continue
            size = entry[".size"]
            names = [] if size is None else dims(key, entry, len(size))
            values = None if size is None else as_array(first[key])
            if dim in names and len(each) > 1:
                arrays = [dataset[key] for _, dataset in each]
                join = np.concatenate if {*map(type, arrays)} == {np.ndarray} else np.ma.concatenate
                values = join(arrays, names.index(dim))
                size = [*values.shape]
            self.arrays[key] = values
            self.meta[key] = {**entry, ".size": size, ".missing": isinstance(values, np.ma.MaskedArray)}


Sources = list[DsSource | AlikeSegments]


def open_each(paths: Sequence[str], dim: str | None, **options: Any) -> tuple[Sources, bytes]:
    """Open segments, those that are small and alike as one source, unless there are options, or `dim` is None.

    Returns
    -------
    list
    bytes
        Size, time and inode of each, which tell them from other segments with the same names.
    """
    found: list[DsSource | list[tuple[str, Dataset]]] = []
    contents = read_files([*paths], SMALL_SIZE if dim is not None and not any(options.values()) else -1)
    try:
        for path, content in zip(paths, contents, strict=True):
            if isinstance(content, int):
                raise OSError(content, os.strerror(content), path)
            dataset = None
            if content is not None and not content.endswith(MAGIC):
                with contextlib.suppress(DsError):  # each variable that is damaged has an error of its own
                    dataset = loads(path, content, None, False, False, False)
            last = found[-1] if found else None
            if dataset is None:
                found.append(DsSource(path, **options))
            elif isinstance(last, list) and are_equal(dataset[META], last[0][1][META]):
                last.append((path, dataset))
            else:
                found.append([(path, dataset)])
        return [AlikeSegments(one, dim or "") if isinstance(one, list) else one for one in found], contents.stamps()
    except BaseException:
        _close(one for one in found if isinstance(one, DsSource))
        raise


def are_equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether metadata are equal, as far as this is seen at once."""
    with contextlib.suppress(ValueError):  # arrays among attributes
        return one == other
    return False


def _open_all(path: str, dim: str | None, **options: Any) -> tuple[list[str], tuple[Sources, bytes]]:
    """Open all segments of a series, as they were at one moment, while other processes write to it.

    A segment that is open keeps its data. Two lists of the folder have to be equal: one that was made during a rename
    may lack the new name.

    Returns
    -------
    list of str
        The path of each segment.
    tuple
        The result of `open_each`.

    Raises
    ------
    OSError, DsError
        As `listed` and `DsSource`. ReplacedError if the folder changes faster than it is listed.
    """
    before: tuple[os.stat_result, list[str]] | None = None
    for _ in range(TRIES):
        found = os.stat(path), sorted(os.listdir(path))
        is_same = before is not None and os.path.samestat(before[0], found[0]) and before[1] == found[1]
        before = found
        if not is_same:
            continue
        paths = [one.path for one in _resolved(path, found[1])[0]]
        before = None
        with contextlib.suppress(FileNotFoundError):  # another process compacted it
            opened = open_each(paths, dim, **options)
            if os.path.samestat(found[0], os.stat(path)):  # otherwise some may be those of another series
                return paths, opened
            _close(opened[0])
    raise ReplacedError(f"the folder changed while it was read, {TRIES} times", path=path)


def _close(sources: Iterable[DsSource | AlikeSegments]) -> None:
    for source in sources:
        source.close()


class SeriesSource(BaseSource):
    """An open series; see `drivers.base.Source`.

    Parameters
    ----------
    path : str, bytes or PathLike
    segments : list of str, optional
        Paths of successive segments; by default all of the series.
    apart : bool
        Open each segment on its own, also small ones that are alike.
    **options
        As `DsSource`.

    Attributes
    ----------
    dim : str
        Dimension along which segments are joined.
    segments : list of str
    sources : list
        The open segments.
    stamps : bytes
        See `open_each`.
    plans : dict
        Key of a variable → how its parts are joined.

    Raises
    ------
    OSError, DsError
        As `read_marker`, `listed` and `DsSource`; UnsupportedError if the segments cannot be joined. ReplacedError if
        the folder changes faster than it is listed.
    """

    def __init__(self, path: Any, segments: list[str] | None = None, *, apart: bool = False, **options: Any):
        self.path = path_text(path)
        self.where = self.path
        self.dim = read_marker(self.path).dim
        dim = None if apart else self.dim
        if segments is None:
            self.segments, opened = _open_all(self.path, dim, **options)
        else:
            self.segments, opened = segments, open_each(segments, dim, **options)
        self.sources, self.stamps = opened
        try:
            self._join()
        except BaseException as error:
            self.close()
            if isinstance(error, DsError):
                raise error.at(path=self.path)
            raise

    def _join(self) -> None:
        metas = [source.meta for source in self.sources]
        self.faults: dict[str, DsError] = {}
        for source in self.sources:
            self.faults = {**source.faults, **self.faults}
            if size_along(source.meta, self.dim) is None:
                raise FormatError(f'a segment of a series without its dimension "{self.dim}"', path=source.path)
        planned = _plan_alike(metas, self.dim)
        if planned is None:
            inputs = [MergeInput(one.meta, name=one.path) for one in self.sources]
            planned = plan_merge(inputs, self.dim, jd=None)
        plans, self.meta = planned
        self.plans = {plan.key: plan for plan in plans}

    @once
    def apart(self) -> SeriesSource:
        """The same series, with each segment opened on its own."""
        if all(isinstance(source, DsSource) for source in self.sources):
            return self
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found = SeriesSource(self.path, self.segments, apart=True)
            if found.stamps == self.stamps:
                return found
            found.close()
        raise ReplacedError(f"{REPLACED}; open it again", path=self.path)

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        if index is None:
            return self.whole([name])[name]
        return self._part(name, index)

    def _part(self, name: str, index: tuple[Any, ...] | None) -> Any:
        return part_of(self.plans[name], index, lambda i, local: self.sources[i].read(name, local))

    def whole(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return whole variables. Numbers of a file are read into their places, all of them by one call."""
        found: dict[str, Any] = {}
        targets: dict[str, MergedArray] = {}
        pending: dict[DsSource, list[tuple[Stored, Any]]] = {}
        for key in keys:
            self._check(key)
            plan = self.plans[key]
            if plan.way is Way.FIRST or plan.axis:
                found[key] = self._part(key, None)
                continue
            found[key] = None
            target = targets[key] = _target(plan, plan.shape or ())
            for part in plan.parts:
                source, at = self.sources[part.input], slice(part.start, part.start + part.n)
                if isinstance(source, AlikeSegments):
                    target.put(at, converted(plan, part, source.arrays[key]))
                    continue
                stored = None if part.convert is not None or target.mask is not None else source.stored(key)
                if stored is not None and stored.dtype == target.values.dtype and stored.size:
                    pending.setdefault(source, []).append((stored, target.values[at]))
                else:
                    target.put(at, converted(plan, part, as_array(source.read(key))))
        for source, some in pending.items():
            source.read_into(some)
        return found | {key: _values(target) for key, target in targets.items()}

    def handle(self, name: str) -> SeriesHandle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""
        self._check(name)
        plan, sources = self.apart.plans[name], self.apart.sources
        handles = {part.input: sources[part.input].handle(name) for part in plan.parts}
        if not handles:
            handles = {i: source.handle(name) for i, source in enumerate(sources) if name in source.meta}
        return SeriesHandle(os.path.abspath(self.path), name, plan, handles)

    def close(self) -> None:
        """Release the files."""
        _close(self.sources)
        apart = vars(self).get("apart", self)
        if apart is not self:
            apart.close()


def _plan_alike(metas: Sequence[Metadata], dim: str) -> tuple[list[MergePlan], Metadata] | None:
    """Return what `plan_merge` does, for metadata in which only the size of the dimension differs; None for others."""
    lengths = [size_along(one, dim) or 0 for one in metas]
    starts = [0, *itertools.accumulate(lengths)]
    parts = [MergePart(i, start, n, None) for i, (start, n) in enumerate(zip(starts, lengths, strict=False))]
    plans = []
    meta: dict[str, dict[str, Any]] = {META: metas[0][META]}
    if any(one.keys() != metas[0].keys() or not are_equal(one[META], meta[META]) for one in metas[1:]):
        return None
    for key, entry in metas[0].items():
        if key == META:
            continue
        size: Any = entry.get(".size")
        missing = any(one[key].get(".missing", True) for one in metas)
        names = [] if size is None else dims(key, entry, len(size))
        axis = names.index(dim) if dim in names else None
        sizes = [size if axis is None else [*size[:axis], n, *size[axis + 1 :]] for n in (*lengths, starts[-1])]
        if size != sizes[0] or not all(
            are_equal(one[key], {**entry, ".size": n, ".missing": one[key].get(".missing")})
            for one, n in zip(metas[1:], sizes[1:], strict=False)
        ):
            return None
        meta[key] = {**entry, ".size": sizes[-1], ".missing": missing}
        if axis is not None:
            meta[key][".dims"] = names
        way, own = (Way.JOIN, parts) if axis is not None else (Way.FIRST, [] if size is None else parts[:1])
        shape = None if size is None else tuple(sizes[-1])
        plans.append(MergePlan(key, way, axis or 0, shape, entry.get(".type"), own, missing))
    return plans, meta


@dataclass(frozen=True, slots=True)
class SeriesHandle(Indexed):
    """A variable of a series; see `drivers.base.Handle`. It reads the segments that were there when it was made.

    Attributes
    ----------
    path, key
        See `drivers.base.Handle`.
    plan : MergePlan
    handles : dict
        Position of a segment → the handle of its variable.
    """

    path: str
    key: str
    plan: MergePlan
    handles: Mapping[int, Handle]

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape; None if there are no data."""
        return self.plan.shape

    @property
    def type(self) -> str | None:
        """Name of the ds type."""
        return self.plan.type

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.plan.missing

    @property
    def stamp(self) -> Stamp:
        """Stamp of all segments, to tell this series from another one."""
        stamps = [handle.stamp for handle in self.handles.values()]
        size, time = sum(stamp.size for stamp in stamps), max(stamp.mtime for stamp in stamps)
        return Stamp(size, time, digest(repr(stamps).encode()), HOST, 0)

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; see `drivers.base.Handle`."""
        try:
            return part_of(self.plan, index, lambda i, local: self.handles[i].read(local))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(self.key))


Read = Callable[[int, tuple[Any, ...] | None], Any]
"""Position of a segment, and an index into its variable → values."""


def part_of(plan: MergePlan, index: tuple[Any, ...] | None, read: Read) -> Any:
    """Return a joined variable, or a part of it, as `drivers.base.Source.read` does.

    Only the segments that have a part of it are read.
    """
    if plan.shape is None:
        return None
    if plan.way is Way.FIRST or (len(plan.parts) == 1 and plan.parts[0][1:] == (0, plan.shape[plan.axis], None)):
        return read(plan.parts[0].input, index)
    axis = plan.axis
    whole = tuple(map(range, plan.shape or ())) if index is None else index
    along = whole[axis]
    positions = np.atleast_1d(np.asarray(along, np.int64))
    target = _target(plan, shape_of([*whole[:axis], positions, *whole[axis + 1 :]]))
    before = (slice(None),) * len(shape_of(whole[:axis]))
    for part in plan.parts:
        where: Any = np.flatnonzero((positions >= part.start) & (positions < part.start + part.n))
        if not where.size:
            continue
        local: Any = positions[where] - part.start
        if where[-1] - where[0] == where.size - 1:
            where = slice(where[0], where[-1] + 1)
        if local[-1] - local[0] == local.size - 1 and (np.diff(local) == 1).all():
            local = range(int(local[0]), int(local[-1]) + 1)
        values = as_array(read(part.input, (*whole[:axis], local, *whole[axis + 1 :])))
        target.put((*before, where), converted(plan, part, values))
    values = _values(target)
    return finished(values[(*before, 0, ...)]) if isinstance(along, int) else values


def _target(plan: MergePlan, shape: Sequence[int]) -> MergedArray:
    total = (plan.shape or ())[plan.axis]
    return MergedArray(shape, plan.type, is_gappy=sum(part.n for part in plan.parts) < total, is_blank=False)


def _values(target: MergedArray) -> Any:
    if target.mask is not None and target.mask.any():
        return np.ma.MaskedArray(target.values, target.mask, copy=False)
    return target.values


def open_ds(path: Any, **options: Any) -> DsSource | SeriesSource:
    """Open a ds file, or a series; parameters and errors as `DsSource` and `SeriesSource`."""
    try:
        return DsSource(path, **options)
    except IsADirectoryError:
        return open_series(path, **options)


def open_series(path: Any, **options: Any) -> DsSource | SeriesSource:
    """Open a series as `open_ds` does, which may have become a file meanwhile."""
    for _ in range(TRIES):
        with contextlib.suppress(NotADirectoryError):  # it was compacted to a file
            return SeriesSource(path, **options)
        with contextlib.suppress(IsADirectoryError):
            return DsSource(path, **options)
    raise ReplacedError(f"it changed while it was opened, {TRIES} times", path=path_text(path))


def read(path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset | None:
    """Read a dataset from a series, as `whole.read` does from a file; None if it became one meanwhile."""
    with contextlib.closing(open_series(path, strings=strings)) as source:
        if isinstance(source, DsSource):
            return None
        found = [key for key in source.meta if key != META and (keys is None or key in keys)]
        dataset = Dataset(source.whole(found))
        given = source.meta if full else {key: source.meta[key] for key in (*found, META)}
    meta = {
        key: {name: value for name, value in entry.items() if name != ".missing"}
        for key, entry in settled(given, dataset).items()
    }
    unpack_all(dataset, meta, unpack)
    dataset[META] = meta
    return dataset
