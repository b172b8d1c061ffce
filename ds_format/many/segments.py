"""Writing to a series, with its lock held: its first segment, further ones, and wider ones in their place."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import drivers
from ..api.creation import created
from ..api.files import prepared
from ..api.writing import without_xarray
from ..base.progress import Progress
from ..base.text import escape, unescape
from ..body import Location
from ..body.target import FolderTarget
from ..codec.encode import describe
from ..datasets import META, as_array, dims
from ..drivers.base import Metadata, check_faults
from ..drivers.ds.composing import composed, write, write_buffers
from ..drivers.ds.series import (
    MARKER,
    Marker,
    Segment,
    SeriesSource,
    are_equal,
    listed,
    open_each,
    read_marker,
    segment_name,
)
from ..drivers.ds.source import DsSource
from ..drivers.ds.whole import WHOLE_SIZE, loads
from ..errors import DriverError, DsError, UnsupportedError
from ..kernels.files import files
from ..kernels.files.names import exists
from ..kernels.header.memory import are_alike
from ..model.merge_plan import DECIDING, size_along
from ..model.selection import Selection
from ..views.subset import Subset, open_subset
from .additions import Additions
from .merging import merge_parts, planned

FANOUT = 8
"""After each append whose number is a multiple of it, the last segments are compacted."""
RATIO = 4
"""A segment is compacted together with later ones, unless it is more than this number of times as large as they are."""
SMALL_SIZE = 4 << 20
"""Maximum bytes of segments that are compacted in memory."""
SAME = frozenset(DECIDING) - {".size"}
"""Metadata, besides sizes along the dimension, that are equal where data can follow others without a plan."""


def start_series(
    path: str, d: Any, dim: str, duplicates: str, progress: Progress | None, options: Mapping[str, Any]
) -> None:
    """Make a series with one segment, which also has the data of the file that has its name; see `ds_format.append`."""
    old = path if exists(path) else None
    if old is not None and drivers.find_existing(old).name != "ds":
        raise DriverError("only a ds file can become a series", path=old)
    new = Additions(old, d, dim, duplicates)
    target = FolderTarget(path, durable=bool(options.get("durable")), replaces=lambda _: False)
    try:
        folder = target.create()
        first = os.path.join(folder, segment_name(1, 1))
        merge_parts(dim, new.paths, first, new.open, progress=progress, appends=True, **options)
        files.write_file(os.path.join(folder, MARKER), [Marker(dim, new.is_sorted).text()])
        target.commit()
    except BaseException:
        target.abort()
        raise


def append_segment(
    path: str, d: Any, dim: str, duplicates: str, progress: Progress | None, options: Mapping[str, Any]
) -> None:
    """Append data to a series; see `ds_format.append`."""
    marker = read_marker(path)
    if marker.dim != dim:
        raise UnsupportedError(f'the series is along the dimension "{marker.dim}", found "{dim}"', path=path)
    segments, rest = listed(path)
    if rest:  # killed processes left it
        for one in segments:
            _check_whole(one)
        _remove(rest)
    if not _append_alike(path, segments[-1], marker, d, options):
        _append_any(path, segments, marker, Additions(path, d, dim, duplicates), progress, options)
    if (segments[-1].last + 1) % FANOUT == 0:
        with contextlib.suppress(OSError, DsError):  # the data are appended; a later append tries it again
            _compact_last(path, bool(options.get("durable")))


def _append_alike(path: str, last: Segment, marker: Marker, d: Any, options: Mapping[str, Any]) -> bool:
    """Append a dataset that is like the last segment, and comes after it. Return False if it may not be so."""
    if not isinstance(d, dict) or not options.keys() <= {"durable"} or not marker.is_sorted:
        return False
    target = os.path.join(path, segment_name(last.last + 1, last.last + 1))
    try:
        arrays, given = prepared(without_xarray(d))
        buffers, size = composed(arrays, given, path=target)
        before = _before(last.path, buffers[0], arrays, given, marker.dim)
    except DsError:
        return False  # the general way says what is wrong
    values: Any = arrays.get(escape(marker.dim))
    if before is None or not _is_axis(values) or not _is_axis(before[0]):
        return False
    if values[0] <= before[0][-1] or not (values[1:] > values[:-1]).all() or not all(map(_equal, *before[1:])):
        return False
    write_buffers(target, buffers, size, durable=bool(options.get("durable")))
    return True


def _before(
    path: str, header: Any, arrays: Mapping[str, Any], given: Mapping[str, Any], dim: str
) -> tuple[Any, list[Any], list[Any]] | None:
    """Return what new data must fit to follow a segment without a plan, or None if their metadata do not.

    Returns
    -------
    values
        The coordinate of the dimension, at least its last value.
    list, list
        Old and new values of variables without the dimension.
    """
    if any(array is None for array in arrays.values()):
        return None
    key = escape(dim)
    constant = [name for name, array in arrays.items() if dim not in dims(name, given.get(name, {}), array.ndim)]
    found = files.read_file(path, WHOLE_SIZE)
    if found is not None and found.startswith(header):  # so that all metadata are the same
        old: dict[str, Any] = loads(path, found, [key, *constant], False, False, False)
    else:
        [source] = open_each([path], dim)[0]
        try:
            meta = describe(arrays, given)
            if not are_alike(meta, source.meta, SAME) or not are_equal(meta[META], source.meta[META]):
                return None
            if _other_sizes(meta, dim) != _other_sizes(source.meta, dim) or key not in meta or key in constant:
                return None
            old = {name: source.read(name) for name in constant}
            if arrays[key].ndim == 1:
                n = source.meta[key][".size"][0]
                old[key] = source.read(key, (range(max(n - 1, 0), n),))
        finally:
            source.close()
    return old.get(key), [as_array(old[name]) for name in constant], [arrays[name] for name in constant]


def _other_sizes(meta: Metadata, dim: str) -> dict[str, list[int] | None]:
    """Return the sizes of all variables along other dimensions."""
    found: dict[str, list[int] | None] = {}
    for key, entry in meta.items():
        if key != META:
            size = entry.get(".size")
            names = [] if size is None else dims(key, entry, len(size))
            found[key] = None if size is None else [n for n, one in zip(size, names, strict=True) if one != dim]
    return found


def _is_axis(values: Any) -> bool:
    """Return whether values can be those of a coordinate that increases."""
    return type(values) is np.ndarray and values.dtype.kind in "iuf" and values.ndim == 1 and values.size > 0


def _equal(left: Any, right: Any) -> bool:
    """Return whether two arrays are equal, as far as this is seen at once."""
    is_plain = type(left) is type(right) is np.ndarray
    return is_plain and left.dtype == right.dtype and bool(np.array_equal(left, right))


def _append_any(
    path: str,
    segments: Sequence[Segment],
    marker: Marker,
    new: Additions,
    progress: Progress | None,
    options: Mapping[str, Any],
) -> None:
    """Append any data by the plan of a merge. If old records are replaced, so are all segments from the first one."""
    dim, first, last = marker.dim, segments[-1].last + 1, segments[-1].last + 1
    with planned(dim, new.paths, new.open, appends=True) as plan:
        unlike = {key for keys in plan.constants.keys for key in keys if plan.constants.is_different(key)}
        metas = dict(zip(new.paths, plan.files.metas, strict=True))
    if marker.is_sorted and not new.is_sorted:
        text = marker._replace(is_sorted=False).text()
        files.write_file(os.path.join(path, MARKER), [text], True, bool(options.get("durable")))
    paths, tail, start = new.paths[1:], 0, 0
    if new.first_replaced is not None:
        lengths = _lengths(segments, dim)
        tail = bisect.bisect_right([*itertools.accumulate(lengths)], new.first_replaced)
        paths, start, first = new.paths, sum(lengths[:tail]), segments[tail].first

    def open_part(one: Location) -> Subset:
        selection = new.selection(one)
        if one == path:
            kept = (selection.sel or {})[dim]
            source = SeriesSource(path, [segment.path for segment in segments[tail:]])
            return Subset(source, path, Selection(sel={dim: kept[kept >= start] - start}), False)
        if unlike:  # the value of the first segment is kept
            names = [unescape(key) for key in metas[one] if key != META and key not in unlike]
            selection = selection._replace(variables=names)
        return open_subset(one, selection)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the plan of all data has given them
        target = os.path.join(path, segment_name(first, last))
        merge_parts(dim, paths, target, open_part, progress=progress, **options)
    if first < last:
        _remove(listed(path)[1])


def _check_whole(one: Segment) -> None:
    """Raise the error of a damaged segment, before those that it covers are removed."""
    source = DsSource(one.path)
    try:
        source.check_sizes(key for key in source.meta if key != META)
    finally:
        source.close()


def _remove(paths: Sequence[str]) -> None:
    """Remove files that do not count. The next append removes the others."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _lengths(segments: Sequence[Segment], dim: str) -> list[int]:
    """Return the number of positions of each segment along the dimension."""
    lengths = []
    for one in segments:
        source = DsSource(one.path)
        lengths.append(size_along(source.meta, dim) or 0)
        source.close()
    return lengths


def _compact_last(path: str, durable: bool) -> None:
    """Make one of the last segments, so that their number grows as the logarithm of the size of the series.

    The wider segment replaces all of them at the moment when it gets its name.
    """
    segments, _ = listed(path)
    some: list[Segment] = []
    size = 0
    for one in reversed(segments):
        n = os.stat(one.path).st_size
        if some and n > RATIO * size:
            break
        some.insert(0, one)
        size += n
    if len(some) > 1:
        wider = os.path.join(path, segment_name(some[0].first, some[-1].last))
        join(path, some, wider, in_memory=size <= SMALL_SIZE, durable=durable)
        _remove([one.path for one in some])
        if durable:
            files.sync_folder(wider)


def join(
    path: str, segments: Sequence[Segment], target: str, *, in_memory: bool = False, durable: bool = False
) -> None:
    """Write one ds file with the data of some successive segments of a series. It has checksums if all of them have.

    Raises
    ------
    OSError, DsError
        If a segment cannot be read, or the file cannot be written.
    """
    source = SeriesSource(path, [one.path for one in segments])
    has_sums = all(isinstance(one, DsSource) and one.sums is not None for one in reversed(source.sources))
    options: dict[str, Any] = {"durable": durable, "checksum": has_sums}
    try:
        check_faults(source.faults, source.meta)
        keys = [key for key in source.meta if key != META]
        if in_memory:
            write(target, {key: as_array(values) for key, values in source.whole(keys).items()}, source.meta, **options)
            return
        with created(target, dict(source.meta), **options) as sink:
            for key in keys:
                sink.write(key, source.blocks(key))
    finally:
        source.close()
