"""The model: a dataset is a dict of data, with its metadata under the key `"."`.

::

    {"x": array, ..., ".": {"x": {".dims": [...], attribute: value, ...}, ..., ".": {attribute: value, ...}}}

Keys are escaped names, see `ds_format.names`. Data are arrays, masked arrays, Python or NumPy scalars, lists, or None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import TYPES
from .errors import DsError, UnsupportedError
from .names import escape, unescape

__all__ = ["Dataset", "as_array", "attrs", "dims", "escape", "unescape", "validate", "variables"]

META = "."
"""Key of the metadata in a dataset, and of the attributes of the dataset in the metadata."""


class Dataset(dict[str, Any]):
    """A dict of data and, under `"."`, metadata; what `ds_format.read` returns."""

    __slots__ = ()


def variables(dataset: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of all variables with data, in their order."""
    return (key for key in dataset if key != META)


def dims(key: str, meta: Mapping[str, Any], ndim: int) -> list[str]:
    """Return the dimension names of a variable: those given in its metadata, else `NAME_1`, `NAME_2`, ..."""
    given = meta.get(".dims")
    return [f"{unescape(key)}_{i + 1}" for i in range(ndim)] if given is None else list(given)


def attrs(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes in the metadata of a variable or of a dataset, by their names."""
    return {unescape(key): value for key, value in meta.items() if not key.startswith(".")}


def validate(dataset: Mapping[str, Any]) -> None:
    """Check that the metadata of a dataset fit its data.

    Raises
    ------
    ValueError
        If the dataset or its metadata are no dicts, a variable has not as many dimension names as dimensions, or two
        variables disagree on the size of a dimension.
    """
    meta = _metadata(dataset)
    shapes = {key: None if dataset[key] is None else np.shape(dataset[key]) for key in variables(dataset)}
    check_dims(shapes, meta)


def _metadata(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(dataset, Mapping):
        raise UnsupportedError("a dataset must be a dict")
    meta = dataset.get(META, {})
    if not isinstance(meta, Mapping):
        raise UnsupportedError('the metadata "." of a dataset must be a dict')
    for key, entry in meta.items():
        if not isinstance(entry, Mapping):
            raise UnsupportedError(f'the metadata of "{unescape(key)}" must be a dict')
    return meta


def check_dims(shapes: Mapping[str, tuple[int, ...] | None], meta: Mapping[str, Any]) -> None:
    """Check dimension names and sizes of variables of known shapes, None for those without data; see `validate`."""
    sizes: dict[str, tuple[int, str]] = {}
    for key, shape in shapes.items():
        names = meta.get(key, {}).get(".dims")
        if names is None or shape is None:
            continue
        if len(names) != len(shape):
            raise UnsupportedError(
                f"found {len(names)} dimension names {list(names)}, expected {len(shape)} as the data have",
                variable=unescape(key),
            )
        for name, n in zip(names, shape, strict=True):
            other = sizes.setdefault(name, (n, key))
            if other[0] != n:
                raise UnsupportedError(
                    f'dimension "{name}" has size {n}, but {other[0]} in variable "{unescape(other[1])}"',
                    variable=unescape(key),
                )


def as_array(data: Any, type_name: str | None = None) -> Any:
    """Return data of any allowed kind as an array.

    Parameters
    ----------
    data : object
        ndarray or MaskedArray, number, bool, str, bytes, None, or a nested list of these, where None is a missing value.
    type_name : str, optional
        The ds type of a missing scalar, which cannot tell it.

    Returns
    -------
    ndarray, MaskedArray or None
        None if there are no data. Strings in lists are kept in object arrays, which do not cut trailing NULs.

    Raises
    ------
    UnsupportedError
        If a list mixes kinds, or a number does not fit a type.
    """
    if isinstance(data, np.ndarray):
        if data is np.ma.masked:
            code = TYPES[type_name].code if type_name in TYPES else "f8"
            return np.ma.MaskedArray(np.zeros((), code), mask=True)
        return _mask_none(data) if data.dtype.kind == "O" else data
    if data is None:
        return None
    if isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, (bool, float)):
        return np.array(data)
    if isinstance(data, (str, bytes)):
        return np.array(data, object)
    if isinstance(data, (int, list, tuple)):
        return _from_list(data)
    if hasattr(data, "__array__"):
        return as_array(np.asarray(data), type_name)
    raise UnsupportedError(f"data of type {type(data).__name__} are not possible")


def _mask_none(array: NDArray[Any]) -> NDArray[Any]:
    """Return an object array with None as missing values."""
    data, mask = np.ma.getdata(array), np.ma.getmaskarray(array)
    none = np.fromiter((value is None or value is np.ma.masked for value in data.flat), np.bool_, data.size)
    if not none.any():
        return array
    return np.ma.MaskedArray(data, mask | none.reshape(data.shape))


def _from_list(data: int | Sequence[Any]) -> NDArray[Any]:
    objects = np.array(data, object)
    masked = _mask_none(objects)
    mask = np.ma.getmask(masked)
    present = objects[~mask] if mask is not np.ma.nomask else objects.reshape(-1)
    values = present.tolist()
    kinds = set(map(type, values))
    if not kinds:
        zeros = np.zeros(objects.shape)
        return zeros if mask is np.ma.nomask else np.ma.MaskedArray(zeros, mask)
    if kinds <= {str} or kinds <= {bytes}:
        return masked
    typed = _numbers(values, kinds)
    if mask is np.ma.nomask:
        return typed.reshape(objects.shape)
    out = np.zeros(objects.shape, typed.dtype)
    out[~mask] = typed
    return np.ma.MaskedArray(out, mask)


def _numbers(values: list[Any], kinds: set[type]) -> NDArray[Any]:
    if not all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedError(f"a list holds {names}; expected values of one kind")
    if kinds <= {bool} or not any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        array = np.array(values)
        if kinds <= {int} and array.dtype.kind not in "iu":
            try:
                array = np.array(values, np.uint64)
            except OverflowError:
                raise UnsupportedError("integers that neither int64 nor uint64 can hold") from None
        if array.dtype.kind in "biuf" and not _loses(values, array):
            return array
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise UnsupportedError(f"a list holds {names} that no one type can hold exactly")


def _loses(values: list[Any], array: NDArray[Any]) -> bool:
    """Whether an integer among the values changed in an array of floats."""
    if array.dtype.kind != "f":
        return False
    return any(int(got) != value for value, got in zip(values, array.tolist(), strict=True) if isinstance(value, int))


def metadata_of(dataset: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the metadata of a dataset for writing: of the variables that have data, checked against these.

    Parameters
    ----------
    dataset : dict
    arrays : dict
        Key → what `as_array` made of the data.

    Raises
    ------
    ValueError
        As `validate`.
    """
    meta = _metadata(dataset)
    check_dims({key: None if array is None else array.shape for key, array in arrays.items()}, meta)
    out = {key: dict(meta.get(key, {})) for key in arrays}
    out[META] = dict(meta.get(META, {}))
    return out


def arrays_of(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return all data of a dataset as arrays.

    Raises
    ------
    UnsupportedError
        If data cannot be made an array; the message names the variable.
    """
    meta = _metadata(dataset)
    arrays = {}
    for key in variables(dataset):
        data = dataset[key]
        if type(data) is np.ndarray and data.dtype.kind != "O":
            arrays[key] = data
            continue
        try:
            arrays[key] = as_array(data, meta.get(key, {}).get(".type"))
        except DsError as error:
            raise error.at(variable=unescape(key))
        except ValueError as error:
            raise UnsupportedError(str(error), variable=unescape(key)) from None
    return arrays
