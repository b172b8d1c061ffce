"""A ds or NetCDF file → datasets of xarray, one for each group."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from xarray import Dataset, DataTree
from xarray.namedarray.daskmanager import DaskManager
from xarray.namedarray.parallelcompat import list_chunkmanagers

from .. import drivers
from ..base.dtypes import TYPES
from ..base.text import unescape
from ..body import Address, path_text, suffix_of
from ..body.body import FIRST_SIZE, Body, open_body
from ..datasets import as_array
from ..drivers.base import OBJECT_SIZE, Readable
from ..drivers.ds.series import SeriesSource, is_series, open_ds
from ..drivers.ds.source import DsSource
from ..drivers.library.kept import close_path
from ..drivers.library.source import LibrarySource
from ..errors import DsError, UnsupportedError
from ..views import groups
from . import lazy_variables
from .coders import OBJECTS, refusal

MIN_CHUNKED = 8 << 20
"""Bytes up to which a variable is one chunk."""
N_CHUNKS = 8
"""Chunks of a variable, if these are neither too small nor too large."""
MIN_CHUNK, MAX_CHUNK = 4 << 20, 16 << 20
"""Bytes of a chunk."""
MIN_STRETCH = 16 << 10
"""Bytes of a chunk that are next to each other in the file. A file is read in smaller steps no faster."""
MAX_ROWS = 16384
"""Stretches of a chunk."""
MAX_HELD = 64 << 10
"""Bytes of a variable of a remote file that is read when the file is opened; `MIN_CHUNKED` for a coordinate."""


class ObjectChunks(DaskManager):
    """The chunk manager of xarray for dask. With `chunks="auto"`, objects are one chunk, since dask refuses them."""

    def normalize_chunks(
        self, chunks: Any, shape: Any = None, limit: Any = None, dtype: Any = None, previous_chunks: Any = None
    ) -> Any:
        """Return the lengths of chunks."""
        return super().normalize_chunks(_whole(chunks, dtype), shape, limit, dtype, previous_chunks)

    def from_array(self, data: Any, chunks: Any, **others: Any) -> Any:
        """Return an array of dask."""
        return super().from_array(data, _whole(chunks, data.dtype), **others)


def _whole(chunks: Any, dtype: Any) -> Any:
    """Return chunks of an array, where no dimension is "auto" if it is of objects of a ds file."""
    if OBJECTS not in (getattr(dtype, "metadata", None) or {}):
        return chunks
    if isinstance(chunks, tuple):
        return tuple(-1 if isinstance(n, str) else n for n in chunks)
    return -1 if isinstance(chunks, str) else chunks


if type(list_chunkmanagers().get("dask")) is DaskManager:
    list_chunkmanagers()["dask"] = ObjectChunks()


def open_dataset(path: Any, options: lazy_variables.DecodingOptions, group: str | None = None) -> Dataset:
    """Open one group of a file.

    Parameters
    ----------
    path : str or PathLike
    options : Options
    group : str, optional
        By default the root, that is the variables without a slash in their names.

    Raises
    ------
    OSError
        If the operating system cannot open the file.
    FormatError
        If it is neither a ds nor a NetCDF file, or a damaged one.
    MissingGroupError
        If it has no such group.
    """
    with _opened(path) as source:
        return _dataset(source, options, group)


def open_groups(path: Any, options: lazy_variables.DecodingOptions, group: str | None = None) -> dict[str, Dataset]:
    """Open all groups of a file, or those in one group, each by its path; see `open_dataset`."""
    with _opened(path) as source:
        top = "/" + (group or "").strip("/")
        below = top.rstrip("/") + "/"
        wanted = [name for name in groups.group_paths(source.meta) if name == top or name.startswith(below)] or [top]
        return {"/" + name[len(below) :]: _dataset(source, options, name) for name in wanted}


def open_datatree(path: Any, options: lazy_variables.DecodingOptions, group: str | None = None) -> DataTree:
    """Open all groups of a file as a tree; see `open_groups`.

    Raises
    ------
    UnsupportedError
        Also if a variable and a group have the same name, or a group has a name that a tree cannot have.
    """
    found = open_groups(path, options, group)
    try:
        tree = DataTree.from_dict(found)
    except (LookupError, ValueError) as error:
        message = f"its groups do not form a tree: {refusal(error)}; use `open_groups`"
        refused = UnsupportedError(message, path=path_text(path))
        refused.keeps_lines = True
        raise refused from error
    for name, dataset in found.items():
        tree[name].set_close(dataset.close)
    return tree


def located_input(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Return the path or address of a file to open; parameters as of `drivers.located`.

    Raises
    ------
    TypeError
        If it is not something to read.
    """
    found = drivers.located(path, storage_options, store)
    return found if isinstance(found, Address) else os.path.expanduser(found)


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[Any]:
    source = _source(path)
    try:
        yield source
    except BaseException as error:
        source.close()
        if isinstance(error, DsError):
            raise error.at(path=source.path)
        raise
    if isinstance(source, LibrarySource):
        source.keep()  # reading a variable would open it again, which takes as long
    else:
        source.close()


def _handle(source: Any, held: Mapping[str, Readable], key: str) -> Readable:
    """Return what reads a variable for xarray."""
    return held[key] if key in held else source.handle(key)


def _held(source: Any, found: groups.Group, dropped: Collection[str]) -> dict[str, Readable]:
    """Return variables of a remote file that xarray reads while it opens the file, read together.

    These are coordinates of dimensions, times and bounds (their first and last value), and text (its first value).
    """
    if not getattr(source, "is_far", False):
        return {}
    bounds = {entry.get("bounds") for entry in found.meta.values()}
    wanted = []
    for name, entry in found.meta.items():
        key = found.keys.get(name)
        if key is None or key in source.faults or unescape(name) in dropped or entry.get(".size") is None:
            continue
        dtype = np.dtype(TYPES[entry[".type"]].code)
        size = math.prod(entry[".size"]) * (OBJECT_SIZE if dtype.hasobject else dtype.itemsize)
        is_read = dtype.hasobject or name in bounds or "since" in str(entry.get("units"))
        if size <= (MIN_CHUNKED if entry[".dims"] == [name] else MAX_HELD if is_read else 0):
            wanted.append(key)
    source.announce(dict.fromkeys(wanted))
    held: dict[str, Readable] = {}
    for key in wanted:
        with contextlib.suppress(DsError):  # the handle raises it again if xarray reads the variable
            values, entry = source.read(key), source.meta[key]
            held[key] = lazy_variables.CopiedArray(as_array(values), entry[".type"], bool(entry.get(".missing")))
    return held


def _source(path: Any) -> Any:
    """Return an open ds or NetCDF file, which its content decides unless it has the suffix of ds files."""
    suffix, own, netcdf = suffix_of(path), drivers.FORMATS["ds"], drivers.FORMATS["netcdf"]
    if suffix not in own.suffixes and not (isinstance(path, str) and is_series(path)):
        body = open_body(path, FIRST_SIZE, FIRST_SIZE if suffix else 0)
        if not _is(body, own, own) and (suffix in netcdf.suffixes or _is(body, netcdf, drivers.FORMATS["hdf5"])):
            return drivers.open_source(path, netcdf, body=body, skip_unsupported=True, structured=True)
        if isinstance(path, Address):
            path.keep(body)
    return open_ds(path)


def _is(body: Body, marked: drivers.Format, recognised: drivers.Format) -> bool:
    """Return whether a file has the first bytes of one format, or another one recognises its content."""
    is_marked = body.head(FIRST_SIZE).startswith(marked.marks)
    return is_marked or (recognised.recognises is not None and recognised.recognises(body))


def _dataset(source: Any, options: lazy_variables.DecodingOptions, path: str | None) -> Dataset:
    found = groups.group_of(source.meta, path, source.path)
    is_ds = isinstance(source, (DsSource, SeriesSource))
    where = source.where if is_ds else source.origin.path
    is_near = not isinstance(where, Address)
    name = os.path.abspath(source.path) if is_near else source.path
    held = _held(source, found, options.dropped)
    opened = lazy_variables.opened_dataset(found, partial(_handle, source, held), options, name, keeps_marks=not is_ds)
    opened.encoding["source"] = source.path
    if isinstance(source, LibrarySource):
        opened.set_close(partial(close_path, source.origin.path))
    for variable in opened.variables.values():
        stored = None if is_ds else variable.encoding.get("chunksizes")
        chunks = stored or (preferred_chunks if is_near else remote_chunks)(variable.shape, variable.dtype)
        if chunks is not None:
            # characters that xarray joins are an axis of the chunks, not of the variable
            names = (*variable.dims, variable.encoding.get("char_dim_name"))
            variable.encoding["preferred_chunks"] = dict(zip(names, chunks, strict=False))
    return opened


def preferred_chunks(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """Return the chunks of a large variable that suit both its layout in a ds file and series at one point.

    Values are in C order. Chunks are cut along the inner axes, so that a chunk is a stretch of bytes at each position
    of the first axis. The first axis is cut only if it is very long, or if the inner axes are small.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Returns
    -------
    tuple of int or None
        None: the variable is one chunk, because it is small or text.
    """
    size = math.prod(shape) * dtype.itemsize
    if size <= MIN_CHUNKED or dtype.hasobject:
        return None
    chunk = min(max(size // N_CHUNKS, MIN_CHUNK), MAX_CHUNK)
    rows = min(shape[0], MAX_ROWS)
    stretch = max(chunk // rows, MIN_STRETCH)
    lengths: list[int] = []
    inner = dtype.itemsize
    for n in reversed(shape[1:]):
        lengths.insert(0, _even(n, stretch // inner))
        inner *= n
    if inner <= stretch:
        rows = _even(shape[0], chunk // inner)
    return (rows, *lengths)


def remote_chunks(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """Return the chunks of a large variable of a remote file: each is one range of bytes, and so one request.

    Parameters and result are those of `preferred_chunks`.
    """
    size = math.prod(shape) * dtype.itemsize
    if size <= MIN_CHUNKED or dtype.hasobject:
        return None
    lengths: list[int] = []
    inner = dtype.itemsize
    for n in reversed(shape):
        lengths.insert(0, _even(n, MIN_CHUNKED // inner) if inner * n > MIN_CHUNKED else n)
        inner = inner * n
    return tuple(lengths)


def _even(n: int, most: int) -> int:
    """Return the length of equal pieces of `n` positions, at most `most` each, and at least 1."""
    return math.ceil(n / math.ceil(n / max(most, 1)))
