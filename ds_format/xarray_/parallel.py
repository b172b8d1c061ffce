"""Dask arrays into one ds file, without a lock: each task writes its own bytes. Building the graph computes none.

The graph has one task per chunk, which dask fuses with those that compute the chunk. A tree above them counts how much
was written to which file. Text and masked values, whose size is unknown before they are computed, are computed one
variable after another and appended. So are booleans, whose chunks share bytes. Everything is in one graph, so that
nothing is computed twice.

Any task may run again, elsewhere: see `drivers.ds.shared`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..base.text import unescape
from ..body import path_text
from ..codec.encode import properties_of, type_of
from ..drivers.base import Metadata
from ..drivers.ds.shared import Appended, CreatedFile, Region, SharedFile, Slab, are_apart
from ..errors import DsError, UnsupportedError
from ..model import missing
from . import coders

map_blocks: Any = da.map_blocks
"""Typed as nothing by its library."""


def masked_array(values: Any, null: Any) -> Any:
    """Return a dask array whose blocks are masked arrays, from one of values and one of null flags."""
    return map_blocks(_masked_chunk, values, null, dtype=values.dtype, meta=_meta(values))


def masked_where(values: Any, sentinels: missing.Sentinels) -> Any:
    """Return a dask array whose blocks are masked where a value means "missing"."""
    return map_blocks(_masked_chunk_where, values, sentinels, dtype=values.dtype, meta=_meta(values))


def without_null(values: Any, null: Any, name: str) -> Any:
    """Return an array whose blocks raise if they have a null value, since no integer represents it."""
    return map_blocks(_chunk_without_null, values, null, name, dtype=values.dtype, meta=_meta(values).data)


def cast_array(values: Any) -> Any:
    """Return an array whose blocks have its own dtype; blocks from xarray's coder of times may have another one."""
    return map_blocks(_cast_chunk, values, values.dtype, dtype=values.dtype)


def typed_arrays(values: Any, element: type) -> tuple[Any, Any]:
    """Return strings or booleans as a dask array of one type, and one of null flags; see `typed_values`."""
    empty = (0,) * values.ndim
    dtype = coders.OBJECT_DTYPES[element]
    plain = map_blocks(_values, values, element, dtype=dtype, meta=np.empty(empty, dtype))
    return plain, map_blocks(_nothing, values, element, dtype=bool, meta=np.empty(empty, bool))


def rows_of(array: Any) -> Iterator[NDArray[Any]]:
    """Compute an array in consecutive blocks in C order, each made of whole chunks, one after another.

    A block has the chunks of one place along the first axis, or along the first one whose chunks are longer than one.
    """
    axis = 0
    while axis < array.ndim - 1 and all(n == 1 for n in array.chunks[axis]):
        axis += 1
    cuts = [_slices(chunks) for chunks in array.chunks[: axis + 1]]
    for slices in itertools.product(*cuts):
        block = array[slices]
        if block.size:
            yield block.compute()


def delayed_call(function: Callable[[], None]) -> Delayed:
    """Return a delayed call of a function."""
    # objects in the closure must not become part of the graph: all of their data would be computed first
    made: Delayed = delayed(function, traverse=False)()
    return made


def _slices(chunks: tuple[int, ...]) -> list[slice]:
    ends = list(itertools.accumulate(chunks))
    return [slice(end - n, end) for n, end in zip(chunks, ends, strict=True)]


def _meta(values: Any) -> Any:
    empty = (0,) * values.ndim
    return _masked_chunk(np.empty(empty, values.dtype), np.empty(empty, bool))


def _masked_chunk(values: NDArray[Any], null: NDArray[np.bool_]) -> Any:
    # the default one of NumPy is beyond small integers, so that no worker could send them to another
    fill = 0 if values.dtype.kind in "biuf" else None
    return np.ma.MaskedArray(values, mask=null, fill_value=fill)


def _masked_chunk_where(values: NDArray[Any], sentinels: missing.Sentinels) -> Any:
    mask, _ = missing.count(values, sentinels)
    return _masked_chunk(values, np.zeros(np.shape(values), bool) if mask is None else mask)


def _chunk_without_null(values: NDArray[Any], null: NDArray[np.bool_], name: str) -> NDArray[Any]:
    if null.any():
        message = f"found NaN or NaT, which {values.dtype} cannot represent: `encoding` needs a `_FillValue`"
        raise UnsupportedError(message, variable=name)
    return values


def _cast_chunk(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.asarray(values).astype(dtype, copy=False)


def _values(values: NDArray[Any], element: type) -> NDArray[Any]:
    return coders.typed_values(np.asarray(values), element).values


def _nothing(values: NDArray[Any], element: type) -> NDArray[np.bool_]:
    null = coders.typed_values(np.asarray(values), element).null
    return np.zeros(np.shape(values), bool) if null is None else null


STRINGS = "OUST"
"""Kinds of dtypes that text may have."""
NOTHING = np.empty((), object)
"""Type of results that are not arrays, for dask."""


def write(
    path: Any,
    meta: Metadata,
    arrays: Mapping[str, Any],
    *,
    compute: bool = True,
    durable: bool = False,
    version: str = "1.0",
    checksum: bool = False,
) -> Any:
    """Write a ds file with dask arrays.

    This works with all schedulers of dask. With `dask.distributed`, all workers must see the same folder, and with
    `compute` this process, too. The file is created atomically.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        `.missing` is true for variables whose values may be missing.
    arrays : dict
        Key → dask array, ndarray, MaskedArray, or None for a variable without data.
    compute : bool
        Whether to write now. Then nothing is left after an error or an interrupt.
    durable : bool
        Flush file and folder to the disk at the end.
    version : str
        Version of the format: `1.0` or `2.0.1`.
    checksum : bool
        Add a trailer with checksums.

    Returns
    -------
    Delayed or None
        Without `compute`, an object that writes the file when it is computed. It contains the arrays that are not dask
        arrays. Nothing is on the disk before. If it fails, a hidden file may remain in the folder: a dot, the name of
        the file, a number and `.tmp`. You can remove it when no process writes any more.

    Raises
    ------
    UnsupportedError
        If the format cannot hold an array, or sizes of chunks are unknown; it names file and variable.
    DsError
        If a task returns another shape or type than its array declares.
    OSError
        If the file cannot be written, or a worker does not see it.

    Examples
    --------
    >>> import dask.array as da
    >>> import ds_format as ds
    >>> from ds_format.xarray_.parallel import write
    >>> write("squares.ds", {"x": {".dims": ["i"]}}, {"x": da.arange(1000, chunks=100) ** 2})
    >>> ds.read("squares.ds")["x"][-1]
    np.int64(998001)
    """
    described = _described(path, meta, arrays)
    eager, lazy = {}, {}
    for key, array in arrays.items():
        if not isinstance(array, da.Array):
            eager[key] = array
        elif 0 in array.shape:
            eager[key] = np.empty(array.shape, array.dtype)
        else:
            lazy[key] = _without_empty(array)
    in_place = [key for key, array in lazy.items() if _is_in_place(described[key], array)]
    file = SharedFile(path, described, in_place, version=version, durable=durable, checksum=checksum)
    if not compute:
        created = dask.delayed(create_file, pure=False)(file, eager)
        first = da.from_delayed(created, (), meta=NOTHING)
        steps = _steps(file, lazy, first)
        return _called(partial(finish_file, file, list(steps)), first, *steps.values()).to_delayed().item()
    try:
        made = file.create(eager)
        steps = _steps(file, lazy, da.from_delayed(dask.delayed(made, traverse=False), (), meta=NOTHING))
        finish_file(file, list(steps), made, *dask.compute(*steps.values()))
    except BaseException:
        file.remove()
        raise
    return None


def _described(path: Any, meta: Metadata, arrays: Mapping[str, Any]) -> Metadata:
    """Return the metadata of all variables with the properties that a plan needs."""
    out: Metadata = {}
    for key, array in arrays.items():
        entry = meta.get(key, {})
        properties = _promised if isinstance(array, da.Array) else properties_of
        try:
            out[key] = {**entry, **properties(array, entry.get(".type"))}
        except DsError as error:
            raise error.at(path=path_text(path), variable=unescape(key))
        if isinstance(array, da.Array):
            out[key][".missing"] = entry.get(".missing") is True
    out["."] = dict(meta.get(".", {}))
    return out


def _promised(array: da.Array, hint: str | None) -> dict[str, Any]:
    """Return the properties of a dask array."""
    if any(math.isnan(n) for n in array.shape):
        raise UnsupportedError("found chunks of unknown size; call `compute_chunk_sizes` of the array first")
    return {".size": list(array.shape), ".type": type_of(np.empty(0, array.dtype), hint).name}


def _without_empty(array: da.Array) -> da.Array:
    """Return an array without chunks that have no values, which dask itself drops in some places."""
    chunks = tuple(tuple(n for n in lengths if n) for lengths in array.chunks)
    return array if chunks == array.chunks else array.rechunk(chunks)


def _is_in_place(entry: Mapping[str, Any], array: da.Array) -> bool:
    """Whether every chunk of an array can be written by itself."""
    is_string = TYPES[entry[".type"]].is_string
    return not is_string and not entry[".missing"] and are_apart(entry[".type"], array.shape, array.chunks)


def _steps(file: SharedFile, lazy: Mapping[str, da.Array], made: da.Array) -> dict[str, da.Array]:
    """Return the tasks that write each array, one or many, as one result without dimensions.

    Parameters
    ----------
    file : SharedFile
    lazy : dict of dask array
        By key.
    made : dask array
        Result of `SharedFile.create`, without dimensions.
    """
    steps = {}
    before = made
    for key, array in lazy.items():
        if key in file.regions:
            steps[key] = _written(file.regions[key], array, made)
        else:
            whole = partial(append_variable, file, key, array.chunks, array.dtype)
            steps[key] = before = _called(whole, made, before, blocks=array)
    return steps


def _written(region: Region, array: da.Array, made: da.Array) -> da.Array:
    """Return tasks that write each chunk of an array to its position, and count its values by file in a Counter."""
    each = partial(write_chunk, region, [(0, *accumulate(lengths)) for lengths in array.chunks])
    if not array.ndim:
        return _called(each, array, made)
    counts = array.map_blocks(
        each, made, chunks=tuple((1,) * n for n in array.numblocks), meta=np.empty((0,) * array.ndim, object)
    )
    return da.reduction(counts, np.sum, np.sum, dtype=object, name="write_chunk", meta=NOTHING)


def _called(function: Callable[..., Any], *results: da.Array, blocks: da.Array | None = None) -> da.Array:
    """Return one call of a function with results without dimensions, and all chunks of an array as nested lists."""
    pairs: list[Any] = [item for result in results for item in (result, ())]
    if blocks is not None:
        pairs += [blocks, tuple(range(blocks.ndim))]
    return da.blockwise(function, (), *pairs, dtype=object, meta=NOTHING)


def create_file(file: SharedFile, arrays: Mapping[str, Any]) -> CreatedFile:
    """Run the first task: see `SharedFile.create`."""
    return file.create(arrays)


def write_chunk(
    region: Region, edges: Sequence[Sequence[int]], block: Any, made: Any, block_id: tuple[int, ...] = ()
) -> NDArray[Any]:
    """Run the task of one chunk, and return a Counter, in an array of one value.

    Parameters
    ----------
    region : Region
    edges : sequence
        Starts of the chunks along each dimension, and the end of the last one.
    block : array_like
        The chunk.
    made : CreatedFile
    block_id : tuple of int
        Which chunk it is, along each dimension.
    """
    part: Slab = tuple(slice(along[i], along[i + 1]) for along, i in zip(edges, block_id, strict=True))
    identity = _item(made).identity
    return _as_array(Counter({identity: region.write(part, block, identity)}), len(edges))


def append_variable(
    file: SharedFile,
    key: str,
    chunks: Sequence[Sequence[int]],
    dtype: np.dtype[Any],
    made: Any,
    before: Any,
    blocks: Any,
) -> NDArray[Any]:
    """Run the task of one whole variable, and return an Appended, in an array without dimensions.

    Parameters
    ----------
    file : SharedFile
    key : str
    chunks : sequence
        Lengths along each dimension.
    dtype : dtype
        As promised.
    made : CreatedFile
    before : CreatedFile or Appended
        Result of the task before it.
    blocks : nested lists of array_like
    """
    try:
        array = _assembled(blocks, chunks, dtype)
    except DsError as error:
        raise error.at(path=file.path, variable=unescape(key))
    return _as_array(file.append(_item(made), _item(before).end, key, array))


def finish_file(file: SharedFile, keys: Sequence[str], made: Any, *results: Any) -> None:
    """Run the last task: see `SharedFile.finish`.

    Parameters
    ----------
    file : SharedFile
    keys : sequence of str
        Variables that tasks have written.
    made : CreatedFile
    *results : Counter or Appended
        Results of the tasks, one for each key.
    """
    found = dict(zip(keys, map(_item, results), strict=True))
    written = {key: result for key, result in found.items() if key in file.regions}
    appended: dict[str, Appended] = {key: result for key, result in found.items() if key not in file.regions}
    file.finish(_item(made), appended, written)


def _as_array(value: Any, ndim: int = 0) -> NDArray[Any]:
    """Return an array that holds one value, of any kind."""
    out = np.empty((1,) * ndim, object)
    out[(0,) * ndim] = value
    return out


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) else value


def _assembled(blocks: Any, chunks: Sequence[Sequence[int]], dtype: np.dtype[Any]) -> Any:
    """Return one array, masked if a chunk is, from all chunks in nested lists."""
    values = np.empty([sum(lengths) for lengths in chunks], object if dtype.kind in STRINGS else dtype)
    flags: NDArray[np.bool_] | None = None
    for part, block in _parts(blocks, [list(pairwise((0, *accumulate(lengths)))) for lengths in chunks]):
        wanted = tuple(item.stop - item.start for item in part)
        if block.shape != wanted:
            raise DsError(f"found a chunk of shape {block.shape}, expected {wanted}")
        is_text = dtype.kind in STRINGS
        if block.dtype.kind not in STRINGS if is_text else block.dtype.newbyteorder("=") != dtype.newbyteorder("="):
            raise DsError(f"found a chunk of dtype {block.dtype}, expected {dtype}")
        values[part] = np.ma.getdata(block)
        if isinstance(block, np.ma.MaskedArray):
            flags = np.zeros(values.shape, np.bool_) if flags is None else flags
            flags[part] = np.ma.getmaskarray(block)
    return values if flags is None else np.ma.MaskedArray(values, flags, copy=False)


def _parts(blocks: Any, bounds: Sequence[Sequence[tuple[int, int]]]) -> Iterator[tuple[Slab, Any]]:
    """Yield each chunk with its place."""
    if not bounds:
        yield (), np.asanyarray(blocks)
        return
    for (start, stop), inner in zip(bounds[0], blocks, strict=True):
        for part, block in _parts(inner, bounds[1:]):
            yield (slice(start, stop), *part), block
