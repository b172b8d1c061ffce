"""The cache of chunks that the library keeps for each variable of a netCDF-4 file until the file is closed."""

from __future__ import annotations

import math

import numpy as np

from .calls import Variable

MAX_SIZE = 32 * 1024 * 1024
"""Bytes of one cache at most; the library's own default may be more."""


def fit(variable: Variable) -> None:
    """Make room for all chunks that one position of the first dimension crosses, and no more.

    Blocks go through them several times if they are shorter than a chunk; without room each time would decompress, or
    compress, all of them anew.
    """
    chunks = variable.chunking()
    if isinstance(chunks, list) and chunks and variable.dtype is not str and not _is_renamed(variable):
        row = chunks[0] * math.prod(variable.shape[1:]) * np.dtype(variable.dtype).itemsize
        _, slots, preemption = variable.get_var_chunk_cache()
        variable.set_var_chunk_cache(min(row, MAX_SIZE), slots, preemption)


def release(variable: Variable) -> None:
    """Give back the memory of the cache."""
    if isinstance(variable.chunking(), list) and not _is_renamed(variable):
        size, slots, preemption = variable.get_var_chunk_cache()
        variable.set_var_chunk_cache(0, slots, preemption)
        variable.set_var_chunk_cache(size, slots, preemption)


def _is_renamed(variable: Variable) -> bool:
    """Return whether the library stores a variable under another name, since a dimension that is not its own has it.

    To change a cache, the library opens the variable anew, and by a mistake (netCDF-C 4.9) that dimension instead.
    """
    return variable.name in variable.group().dimensions and variable.dimensions[:1] != (variable.name,)
