"""Strings and arrays of objects, as xarray has them → what they hold, and where nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import UnsupportedError

DTYPES: dict[type, np.dtype[Any]] = {
    str: np.dtype("O", metadata={"element_type": str}),
    bytes: np.dtype("O", metadata={"element_type": bytes}),
    bool: np.dtype(bool),
}
"""In which the objects of a kind are here: as xarray says of objects what strings they are."""


class Typed(NamedTuple):
    """Values of one type."""

    values: NDArray[Any]
    null: NDArray[np.bool_] | None
    """Where nothing is; None: nowhere."""


def element_of(dtype: np.dtype[Any]) -> type | None:
    """Return `str` or `bytes`, if a dtype says that its values are; None for others."""
    kinds: dict[str, type] = {"U": str, "T": str, "S": bytes}
    if dtype.kind != "O":
        return kinds.get(dtype.kind)
    metadata: Mapping[str, Any] = dtype.metadata or {}
    found = metadata.get("element_type", metadata.get("vlen"))  # the other word is h5py's
    return found if found in (str, bytes) else None


def typed(data: NDArray[Any], element: type | None = None) -> Typed:
    """Return strings or objects as values of one type.

    Parameters
    ----------
    data : ndarray
        Of strings of any kind, or of objects.
    element : type, optional
        `str`, `bytes` or `bool`: what objects are if none is present that would tell it.

    Returns
    -------
    Typed
        Strings and booleans in one of `DTYPES`, empty or false where nothing is; numbers, which
        become floats with NaN there. Times of the library cftime stay objects, some of them there.

    Raises
    ------
    UnsupportedError
        If the objects are of several kinds, or of one that ds does not have.
    """
    element = element_of(data.dtype) or element
    objects = data.astype(object) if data.dtype.kind != "O" else data
    flags = np.asarray(pd.isnull(objects), dtype=bool).reshape(objects.shape)
    null = flags if flags.any() else None
    present = objects[~flags].tolist()
    kinds = set(map(type, present))
    for kind, bases in ((str, (str,)), (bytes, (bytes,)), (bool, (bool, np.bool_))):
        if all(issubclass(one, bases) for one in kinds) and (kinds or element is kind):
            return Typed(_with(objects, null, kind(), DTYPES[kind]), null)
    if any(hasattr(one, "calendar") for one in kinds):
        return Typed(_with(objects, null, present[0], np.dtype(object)), null)
    return Typed(_numbers(objects, null, present, kinds), None)


def _with(objects: NDArray[Any], null: NDArray[np.bool_] | None, nothing: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    values = np.empty(objects.shape, dtype)
    values[...] = objects if null is None else np.where(null, nothing, objects)
    return values


def _numbers(
    objects: NDArray[Any], null: NDArray[np.bool_] | None, present: list[Any], kinds: set[type]
) -> NDArray[Any]:
    found = {np.asarray(value).dtype.kind if np.isscalar(value) else "O" for value in present}
    if not found <= set("iuf"):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedError(f"an object array holds {names}; expected all str, all bytes, all bool or all numbers")
    if null is None:
        return np.array(present, dtype=None if present else float).reshape(objects.shape)
    values = np.full(objects.shape, np.nan)
    values[~null] = present
    return values
