"""Which files are read by one task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset

from ..base.optional import library

DASK = ("ds-format-cython[dask]", "arrays of dask")
"""What pip installs, and what for."""
MOST_FILES = 1000
"""Files that one task reads, if nobody says how many."""
TEXT_SIZE = 64
"""Bytes that a string is reckoned to take."""


def lengths_of_chunks(opened: Dataset, dim: str, lengths: NDArray[np.int64], chunks: Any) -> Any:
    """Return chunks as `xarray.Dataset.chunk` takes them, which end where files do.

    Parameters
    ----------
    opened : xarray.Dataset
    dim : str
        Along which files lie one behind the other.
    lengths : (n,) ndarray
        How many positions each has.
    chunks : dict, int or "auto"
        See `open_many`.
    """
    others = {name: size for name, size in chunks.items() if name != dim} if isinstance(chunks, Mapping) else {}
    wanted = chunks.get(dim, "auto") if isinstance(chunks, Mapping) else chunks
    if dim not in opened.dims:
        return others
    if isinstance(wanted, (bool, np.bool_)) or not (wanted == "auto" or isinstance(wanted, (int, tuple, np.integer))):
        raise ValueError(f'chunks: found {wanted!r}, expected a number, lengths of chunks, or "auto"')
    if isinstance(wanted, tuple) or wanted == -1:
        return {dim: wanted, **others}
    if wanted == "auto":
        found = _groups(lengths, _positions(opened, dim), MOST_FILES)
    elif wanted < 1:
        raise ValueError(f"chunks: found {wanted}, expected 1 or more, or -1 for all in one")
    elif isinstance(chunks, Mapping):
        found = _groups(lengths, int(wanted), len(lengths))
    else:
        found = _groups(lengths, int(lengths.sum()), int(wanted))
    return {dim: found, **others}


def _positions(opened: Dataset, dim: str) -> int:
    """Return how many positions of a dimension have as many bytes as dask wants in a chunk."""
    config, utils = (library(name, *DASK) for name in ("dask.config", "dask.utils"))
    size = 1
    for variable in opened.variables.values():
        if dim in variable.dims:
            item = TEXT_SIZE if variable.dtype.kind == "O" else variable.dtype.itemsize
            size = max(size, item * variable.size // max(opened.sizes[dim], 1))
    return max(int(utils.parse_bytes(config.get("array.chunk-size"))) // size, 1)


def _groups(lengths: NDArray[np.int64], most: int, most_files: int) -> tuple[int, ...]:
    """Return how many positions groups of files have; a file that has too many is cut into pieces of its own."""
    out = []
    size = files = 0
    for length in lengths.tolist():
        if size and (size + length > most or files == most_files):
            out.append(size)
            size = files = 0
        while length > most:
            out.append(most)
            length -= most
        size += length
        files += 1
    return tuple([*out, size] if size or not out else out)
