"""The model: a dataset is a dict of data, with its metadata under the key `"."`.

::

    {"x": array, ..., ".": {"x": {".dims": [...], attribute: value, ...}, ..., ".": {attribute: value, ...}}}

Keys are escaped names, see `ds_format.base.text`. Data are arrays, masked arrays, Python or NumPy scalars, lists, or
None. Values of datetime64, and other objects that are times, are written as numbers with `units`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import shown_as_html, shown_as_text
from .base.dtypes import TYPES
from .base.text import escape, unescape
from .errors import DsError, UnsupportedError
from .kernels.common.masked import masked_view
from .kernels.ds.plain import plain_arrays
from .kernels.ds.strings import has_none

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Dataset", "as_array", "attrs", "dims", "escape", "unescape", "validate", "variables"]

TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
"""Types of objects that are times. Those of pandas are subclasses."""
META = "."
"""Key of the metadata in a dataset, and of the attributes of the dataset in the metadata."""


class Dataset(dict[str, Any]):
    """A dict of data and, under `"."`, metadata; what `ds_format.read` returns.

    It is shown as a table of its variables; `dict.__repr__` shows the dict.

    Examples
    --------
    >>> Dataset({
    ...     "x": np.arange(3.0),
    ...     ".": {"x": {".dims": ["t"], "units": "m"}, ".": {"title": "Three"}},
    ... })
    <ds_format.Dataset: 1 variable, 24 B>
    dims: t: 3
      name  type     dims  size  units
      x     float64  t: 3  24 B  m
    attributes:
      title: Three
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return shown_as_text(self)

    def _repr_html_(self) -> str:
        return shown_as_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


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


def validate(d: Mapping[str, Any]) -> None:
    """Check that the metadata of a dataset fit its data.

    Raises
    ------
    ValueError
        If the dataset or its metadata are not dicts, the number of dimension names of a variable is not that of its
        dimensions, or two variables disagree on the size of a dimension.

    Examples
    --------
    >>> validate({"x": [1, 2], ".": {"x": {".dims": ["t"]}}})
    >>> validate({"x": [1, 2], ".": {"x": {".dims": ["t", "i"]}}})
    Traceback (most recent call last):
    ...
    ds_format.errors.UnsupportedError: variable "x": found 2 dimension names ['t', 'i'], expected 1 as the data have
    """
    checked(d)


def checked(dataset: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return the arrays and the metadata of a dataset, which fit each other; errors as `validate`, `arrays_of`."""
    if type(dataset) is dict or type(dataset) is Dataset:
        arrays = plain_arrays(dataset)
        if arrays is not None:
            return arrays, dataset[META]
    arrays, meta = arrays_of(dataset)
    check_dims(arrays, meta)
    return arrays, meta


def metadata_of(dataset: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the metadata of a dataset.

    Raises
    ------
    UnsupportedError
        If the dataset or its metadata are no dicts.
    """
    if not isinstance(dataset, dict):
        raise UnsupportedError(f"a dataset must be a dict, found an object of type {type(dataset).__name__}")
    meta = dataset.get(META, {})
    if not isinstance(meta, dict):
        raise UnsupportedError('the metadata "." of a dataset must be a dict')
    for key, entry in meta.items():
        if not isinstance(entry, dict):
            raise UnsupportedError(f'the metadata of "{unescape(key)}" must be a dict')
        check_key(key)
    return meta


def check_key(key: Any) -> None:
    """Check that a key of a dataset is one of a variable, or of the metadata.

    Raises
    ------
    UnsupportedError
        If it begins with a dot that is not escaped: such keys are those of properties, which readers skip.
    """
    if key != META and isinstance(key, str) and key.startswith("."):
        raise UnsupportedError(f'found the key "{key}", expected "{escape(key)}": a leading dot of a name is escaped')


def check_dims(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]]) -> None:
    """Check the dimension names in metadata against data, which are arrays or None; see `validate`."""
    sizes: dict[str, int] = {}
    for key, array in arrays.items():
        names = meta[key].get(".dims") if key in meta else None
        if names is None or array is None:
            continue
        shape = array.shape
        if len(names) != len(shape):
            raise UnsupportedError(
                f"found {len(names)} dimension names {list(names)}, expected {len(shape)} as the data have",
                variable=unescape(key),
            )
        for name, n in zip(names, shape):  # noqa: B905 - as many, see above; this is on the way of small files
            if sizes.setdefault(name, n) != n:
                raise UnsupportedError(
                    f'dimension "{name}" has size {n}, but {sizes[name]} in another variable', variable=unescape(key)
                )


def as_masked(values: Any) -> Any:
    """Return numbers in an array as a MaskedArray, a view where nothing is missing; anything else as it is."""
    if values.__class__ is not np.ndarray:
        is_plain = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
        return values.view(np.ma.MaskedArray) if is_plain and values.dtype.kind in "biuf" else values
    return masked_view(values) if values.dtype.kind in "biuf" else values


def as_array(data: Any, type_name: str | None = None) -> Any:
    """Return data of any allowed kind as an array.

    Parameters
    ----------
    data : object
        ndarray or MaskedArray, number, bool, str, bytes, None, or a nested list of these, where None is missing.
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
        return _from_objects(data) if data.dtype.kind == "O" else data
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
    if isinstance(data, TIMES):
        return _from_objects(np.array(data, object))
    if hasattr(data, "__array__"):
        return as_array(_from_pandas(data), type_name)
    raise UnsupportedError(f"data of type {type(data).__name__} are not possible")


def _from_pandas(data: Any) -> Any:
    """Return an object that NumPy converts as an array; values of a nullable type of pandas as a MaskedArray.

    Raises
    ------
    UnsupportedError
        If it is a table, whose columns and index an array cannot have.
    """
    if hasattr(data, "columns") and hasattr(data, "index"):
        name = type(data).__name__
        message = f"found a {name}, expected an array; `ds.write(path, frame)` writes its columns and index"
        raise UnsupportedError(message)
    dtype = getattr(getattr(data, "dtype", None), "numpy_dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" or not hasattr(data, "isna"):
        return np.asarray(data)
    values = data.to_numpy(dtype=dtype, na_value=dtype.type(0))
    mask = np.asarray(data.isna())
    return np.ma.MaskedArray(values, mask) if mask.any() else values


def _from_objects(array: NDArray[Any]) -> Any:
    """Return an object array with None as missing values; times as an array of datetime64 or timedelta64."""
    if isinstance(next((one for one in np.ma.getdata(array).reshape(-1) if one is not None), None), TIMES):
        from .timeaxis import datetimes

        return datetimes.from_objects(array)
    return _mask_none(array)


def _mask_none(array: NDArray[Any]) -> NDArray[Any]:
    """Return an object array with None as missing values."""
    data = np.ma.getdata(array)
    if not has_none(np.require(data, requirements=["C", "W"]).reshape(-1)):
        return array
    mask = np.ma.getmaskarray(array)
    none = np.fromiter((value is None for value in data.flat), np.bool_, data.size)
    return np.ma.MaskedArray(data, mask | none.reshape(data.shape))


def _from_list(data: int | Sequence[Any]) -> NDArray[Any]:
    if not isinstance(data, int) and any(isinstance(item, np.ndarray) for item in data):
        return _from_arrays(data)
    objects = np.array(data, object)
    masked: NDArray[Any] = _from_objects(objects)
    if masked.dtype.kind in "mM":
        return masked
    mask = np.ma.getmask(masked)
    present = objects[~mask] if mask is not np.ma.nomask else objects.reshape(-1)
    values = present.tolist()
    kinds = set(map(type, values))
    if not kinds:
        zeros = np.zeros(objects.shape)
        return zeros if mask is np.ma.nomask else np.ma.MaskedArray(zeros, mask)
    if any(all(issubclass(kind, base) for kind in kinds) for base in (str, bytes)):
        return masked
    typed = _numbers(values, kinds)
    if mask is np.ma.nomask:
        return typed.reshape(objects.shape)
    out = np.zeros(objects.shape, typed.dtype)
    out[~mask] = typed
    return np.ma.MaskedArray(out, mask)


def _from_arrays(data: Sequence[Any]) -> NDArray[Any]:
    """Return a list of arrays as one of their common type; in a list of 0-d arrays None and `masked` are missing."""
    if any(item is None or item is np.ma.masked for item in data):
        if any(np.ndim(item) for item in data):
            raise UnsupportedError("a list holds arrays and missing values; expected arrays of one shape")
        return _from_list([None if item is np.ma.masked or item is None else np.asarray(item)[()] for item in data])
    arrays = [as_array(item) for item in data]
    masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
    stacked: NDArray[Any] = np.ma.stack(arrays) if masked else np.stack(arrays)
    return stacked


def _numbers(values: list[Any], kinds: set[type]) -> NDArray[Any]:
    if kinds & {list, tuple}:
        raise UnsupportedError("lists of different lengths")
    if not all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedError(f"a list holds {names}; expected values of one type")
    if kinds <= {bool} or not any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        array = np.array(values)
        if kinds <= {int} and array.dtype.kind not in "iu":
            if min(values) < 0 or max(values) >= 1 << 64:
                raise UnsupportedError("integers that neither int64 nor uint64 can hold")
            array = np.array(values, np.uint64)
        if array.dtype.kind in "biuf" and not _loses(values, array):
            return array
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise UnsupportedError(f"a list holds {names} that no one type can hold exactly")


def _loses(values: list[Any], array: NDArray[Any]) -> bool:
    """Whether an integer among the values changed in an array of floats."""
    if array.dtype.kind != "f":
        return False
    return any(int(got) != value for value, got in zip(values, array.tolist(), strict=True) if isinstance(value, int))


def arrays_of(dataset: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return all data of a dataset as arrays, and its metadata. Times become numbers with units in their metadata.

    Raises
    ------
    UnsupportedError
        If the dataset or its metadata are no dicts, or data cannot be made an array; the message names the variable.
    """
    meta = metadata_of(dataset)
    arrays, coded = {}, {}
    for key, data in dataset.items():
        if key == META:
            continue
        check_key(key)
        if type(data) is np.ndarray and data.dtype.kind not in "OmM":
            arrays[key] = data
            continue
        entry = meta.get(key, {})
        try:
            array = as_array(data, entry.get(".type"))
            if array is not None and array.dtype.kind in "mM":
                from .timeaxis import datetimes

                array, coded[key] = datetimes.encode(array, entry)
            arrays[key] = array
        except DsError as error:
            raise error.at(variable=unescape(key))
        except ValueError as error:
            raise UnsupportedError(str(error), variable=unescape(key)) from None
    return arrays, {**meta, **coded} if coded else meta
