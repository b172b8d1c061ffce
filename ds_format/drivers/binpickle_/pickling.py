"""The pickle of an object that is not in memory as a whole."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...binpickle.writer import PROTOCOL


class Texts:
    """Stands for an array of strings, which come one by one.

    Parameters
    ----------
    shape : tuple of int
    blocks : iterable of ndarray
        Of objects, together as many as the shape says.
    """

    def __init__(self, shape: tuple[int, ...], blocks: Iterable[Any]):
        self.shape, self.blocks = shape, blocks


class Masked:
    """Stands for a masked array, of an array or `Texts` and of an array of booleans."""

    def __init__(self, data: Any, mask: Any):
        self.data, self.mask = data, mask


class _Items:
    """Stands for the list of the items of blocks."""

    def __init__(self, blocks: Iterable[Any]):
        self.blocks = blocks


def dump(obj: Any, file: Any, is_in_band: Callable[[pickle.PickleBuffer], bool]) -> None:
    """Pickle an object.

    Parameters
    ----------
    obj : object
        Of plain containers and values, arrays, `Texts` and `Masked`.
    file : object
        With `write`.
    is_in_band : callable
        Takes each buffer, in order, and says whether it is to be in the pickle.
    """
    pickler = _Pickler(file, PROTOCOL, buffer_callback=is_in_band)
    pickler.fast = True  # else it would remember each string
    pickler.dump(obj)


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Masked:
            return np.ma.MaskedArray, (obj.data, obj.mask)
        if type(obj) is Texts:
            reduced: Any = np.empty(0, object).__reduce__()
            function, args, (version, _, dtype, is_fortran, _) = reduced
            return function, args, (version, obj.shape, dtype, is_fortran, _Items(obj.blocks))
        if type(obj) is _Items:
            return list, (), None, (item for block in obj.blocks for item in block.reshape(-1).tolist())
        return NotImplemented
