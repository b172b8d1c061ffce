"""What writing does with arrays of dask, none of which is computed by it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import dask.array
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..drivers.library import missing
from ..errors import UnsupportedError
from . import objects

map_blocks: Any = dask.array.map_blocks
"""Typed as nothing by its library."""


def masked(values: Any, null: Any) -> Any:
    """Return a dask array whose blocks are masked arrays, from one of values and one of where nothing is."""
    return map_blocks(_masked, values, null, dtype=values.dtype, meta=_meta(values))


def masked_where(values: Any, sentinels: missing.Sentinels) -> Any:
    """Return a dask array whose blocks are masked where a value means "missing"."""
    return map_blocks(_masked_where, values, sentinels, dtype=values.dtype, meta=_meta(values))


def without_null(values: Any, null: Any, name: str) -> Any:
    """Return an array whose blocks raise if there is a null value in them, for no integer stands for it."""
    return map_blocks(_without_null, values, null, name, dtype=values.dtype, meta=_meta(values).data)


def cast(values: Any) -> Any:
    """Return an array whose blocks are of the dtype that it says; those of xarray's coder of times may be others."""
    return map_blocks(_cast, values, values.dtype, dtype=values.dtype)


def typed(values: Any, element: type) -> tuple[Any, Any]:
    """Return strings or booleans as a dask array of one type, and one of where nothing is; see `objects.typed`."""
    empty = (0,) * values.ndim
    dtype = objects.DTYPES[element]
    plain = map_blocks(_values, values, element, dtype=dtype, meta=np.empty(empty, dtype))
    return plain, map_blocks(_nothing, values, element, dtype=bool, meta=np.empty(empty, bool))


def rows(array: Any) -> Iterator[NDArray[Any]]:
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


def later(function: Callable[[], None]) -> Delayed:
    """Return what calls a function when it is computed."""
    # the objects that a function holds are none of the graph: else all of their data would be computed first
    made: Delayed = delayed(function, traverse=False)()
    return made


def _slices(chunks: tuple[int, ...]) -> list[slice]:
    ends = list(itertools.accumulate(chunks))
    return [slice(end - n, end) for n, end in zip(chunks, ends, strict=True)]


def _meta(values: Any) -> Any:
    empty = (0,) * values.ndim
    return _masked(np.empty(empty, values.dtype), np.empty(empty, bool))


def _masked(values: NDArray[Any], null: NDArray[np.bool_]) -> Any:
    # the default one of NumPy is beyond small integers, so that no worker could send them to another
    fill = 0 if values.dtype.kind in "biuf" else None
    return np.ma.MaskedArray(values, mask=null, fill_value=fill)


def _masked_where(values: NDArray[Any], sentinels: missing.Sentinels) -> Any:
    mask, _ = missing.count(values, sentinels)
    return _masked(values, np.zeros(np.shape(values), bool) if mask is None else mask)


def _without_null(values: NDArray[Any], null: NDArray[np.bool_], name: str) -> NDArray[Any]:
    if null.any():
        message = f"found NaN or NaT, for which no value of type {values.dtype} stands: `encoding` needs a `_FillValue`"
        raise UnsupportedError(message, variable=name)
    return values


def _cast(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.asarray(values).astype(dtype, copy=False)


def _values(values: NDArray[Any], element: type) -> NDArray[Any]:
    return objects.typed(np.asarray(values), element).values


def _nothing(values: NDArray[Any], element: type) -> NDArray[np.bool_]:
    null = objects.typed(np.asarray(values), element).null
    return np.zeros(np.shape(values), bool) if null is None else null
