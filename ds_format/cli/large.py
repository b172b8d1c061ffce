"""Large datasets read and written in blocks, so that somebody who watches sees how far it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..api.creation import created
from ..base.progress import Advance
from ..codec.encode import describe
from ..dataset import META, Dataset, checked
from ..drivers.base import BLOCK_SIZE, Source, block_slices
from ..views.subset import STRING_SIZE, Path, Subset, item_size, memory_size

SIZE = 1 << 26
"""Bytes of all values in memory from which on it takes so long that somebody might wonder."""


def size_of(meta: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the bytes of all values of a dataset in memory."""
    return sum(memory_size(entry) for key, entry in meta.items() if key != META)


def size_of_data(dataset: Mapping[str, Any]) -> int:
    """Return the same of data in memory, as far as they are arrays."""
    arrays = [value for key, value in dataset.items() if key != META and isinstance(value, np.ndarray)]
    return sum(array.size * (STRING_SIZE if array.dtype.kind == "O" else array.itemsize) for array in arrays)


def read(part: Subset, advance: Advance) -> Dataset:
    """Return a dataset as `files.read` does."""
    dataset = Dataset()
    for key, entry in part.meta.items():
        if key != META:
            size = entry.get(".size")
            dataset[key] = _gathered(part, key, size, advance) if size and 0 not in size else part.read(key)
    dataset[META] = {
        key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in part.meta.items()
    }
    return dataset


def _gathered(source: Source, key: str, size: list[int], advance: Advance) -> Any:
    """Return a variable, block by block."""
    values: Any = None
    mask: Any = None
    start = 0
    for block in advance.over_arrays(source.blocks(key), item_size(source.meta[key])):
        data = np.ma.getdata(block).reshape(-1)
        if values is None:
            values = np.empty(math.prod(size), data.dtype)
        stop = start + data.size
        values[start:stop] = data
        if np.ma.getmask(block) is not np.ma.nomask:
            mask = np.zeros(values.size, np.bool_) if mask is None else mask
            mask[start:stop] = np.ma.getmaskarray(block).reshape(-1)
        start = stop
    values = values.reshape(size)
    return values if mask is None else np.ma.MaskedArray(values, mask.reshape(size))


def write(path: Path, dataset: dict[str, Any], advance: Advance, **options: Any) -> None:
    """Write a dataset as `files.write` does."""
    arrays, given = checked(dataset)
    meta = describe(arrays, given)
    with created(path, meta, **options) as sink:
        for key, array in arrays.items():
            width = item_size(meta[key])
            sink.write(key, () if array is None or array.size == 0 else advance.over_arrays(_cut(array, width), width))


def _cut(array: Any, width: int) -> Iterator[Any]:
    return (array[slices] for slices in block_slices(array.shape, width, BLOCK_SIZE))
