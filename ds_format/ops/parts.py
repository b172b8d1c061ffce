"""Functions that create a dataset from a part of another one, from a whole one, or from several."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ..base import modes
from ..base.text import keys_of, unescape
from ..codec.encode import describe
from ..datasets import META, Dataset, arrays_of
from ..model.dataset_attributes import AttributeComparison, as_variables
from ..model.index import normalize, shape_of, take
from ..model.merge_plan import MergeInput, lengths_along
from ..model.merged_arrays import assemble
from ..model.selection import Selection, resolve
from .values import (
    all_keys,
    array_of,
    check,
    created_entry,
    entry_of,
    name_list,
    normal,
    put,
    shape_of as shape_of_variable,
    stored,
)
from .variables import all_sizes, names_of


def copy(d: dict[str, Any]) -> Dataset:
    """Return a new dataset with the same arrays and a copy of the metadata.

    Parameters
    ----------
    d : dict
        Dataset.

    Returns
    -------
    Dataset
        Arrays are shared with `d`; lists become arrays. Metadata are copied deeply.

    Raises
    ------
    ValueError
        If `d` is not a dict.
    UnsupportedError
        If data are of a type that no ds type can hold.

    Examples
    --------
    >>> d = {"x": [1, 2], ".": {"x": {"units": "m"}}}
    >>> other = copy(d)
    >>> other["."]["x"]["units"] = "km"
    >>> d["."]["x"]["units"]
    'm'
    """
    check(d, "d", dict)
    out = Dataset((key, normal(data, key)) for key, data in d.items() if key != META)
    out[META] = deepcopy(d.get(META, {}))
    return out


def select(
    d: dict[str, Any],
    sel: Mapping[str, Any] | None = None,
    range_: Mapping[str, Any] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Any] | None = None,
) -> None:
    """Keep only a part of a dataset along its dimensions.

    If several selectors are about one dimension, the positions that all of them select are kept. Selectors of several
    dimensions select a grid.

    Parameters
    ----------
    d : dict
        Dataset, changed in place. If something raises, it is as it was.
    sel : dict, optional
        Dimension name → index: an int (which removes the dimension), slice, or list or (n,) array of int or bool.
    range_ : dict, optional
        Dimension name → (first, end): positions from `first` to `end`, without `end`; None is open.
    at : dict, optional
        Name of a 1-d variable → value: the position along its dimension where it is nearest. A list of values keeps the
        dimension. Text for a variable of numbers is a time in ISO 8601.
    between : dict, optional
        Name of a 1-d variable → (low, high): the positions where low ≤ value < high; None is open.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    IndexError
        If a position is out of bounds.
    UnsupportedError
        If a selector is invalid, or cannot select from its variable.
    MissingError
        For a dimension or variable that does not exist, except in soft mode.

    Examples
    --------
    >>> d = {
    ...     "t": [1, 2, 3],
    ...     "x": [16.0, 18.0, 21.0],
    ...     ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}},
    ... }
    >>> select(d, between={"t": (2, None)})
    >>> d["x"]
    array([18., 21.])
    >>> select(d, {"t": 0})
    >>> d["x"]
    np.float64(18.0)
    """
    check(d, "d", dict)
    for name, selector in (("sel", sel), ("range_", range_), ("at", at), ("between", between)):
        if selector is not None:
            check(selector, name, Mapping)
    indexes = resolve(Selection(None, sel, range_, at, between), _described(d), _reader(d))
    parts = {key: _part(d, key, indexes) for key in all_keys(d)}
    for key, part in parts.items():
        if part is not None:
            _put_part(d, key, *part)


def split(d: dict[str, Any], dims: str | list[str] | tuple[str, ...]) -> list[Dataset]:
    """Return one dataset for each position along dimensions.

    Parameters
    ----------
    d : dict
        Dataset.
    dims : str, or list or tuple of str
        Names of the dimensions. The position along the last one changes fastest.

    Returns
    -------
    list of Dataset
        Datasets without these dimensions. Other variables are copied to each.

    Raises
    ------
    ValueError
        If an argument is of a wrong type.
    MissingError
        If no variable has a dimension, in strict mode. In moderate mode it is a warning, and the dimension left out.

    Examples
    --------
    >>> d = {"x": [1, 2, 3], "y": 5, ".": {"x": {".dims": ["t"]}}}
    >>> [dict.__repr__(part) for part in split(d, "t")][1]
    "{'x': np.int64(2), 'y': np.int64(5), '.': {'x': {'.dims': []}}}"
    """
    check(d, "d", dict)
    names = dict.fromkeys(name_list(dims, "dims"))
    sizes = all_sizes(d, full=False)
    for name in names:
        if name not in sizes:
            modes.missing(f"{name}: dimension not found")
    found = {name: range(sizes[name] or 0) for name in names if name in sizes}
    return [_piece(d, dict(zip(found, at, strict=True))) for at in itertools.product(*found.values())]


def _piece(d: dict[str, Any], indexes: Mapping[str, int]) -> Dataset:
    """Return the dataset at one position of some dimensions."""
    out = copy(d)
    for key in all_keys(d):
        part = _part(d, key, indexes)
        if part is not None:
            _put_part(out, key, *part)
        elif isinstance(out.get(key), np.ndarray):
            out[key] = out[key].copy()
    return out


def _part(d: dict[str, Any], key: str, indexes: Mapping[str, Any]) -> tuple[Any, list[str], list[int] | None] | None:
    """Return data, names of dimensions and shape of a part of a variable; None for the whole variable."""
    names = names_of(d, key)
    if indexes.keys().isdisjoint(names):
        return None
    wanted = tuple(indexes.get(name, slice(None)) for name in names)
    shape = shape_of_variable(d, key)
    if shape is None:
        return None, [name for name, item in zip(names, wanted, strict=True) if not _is_position(item)], None
    try:
        index = normalize(wanted, shape, names)
    except IndexError as error:
        raise IndexError(f'variable "{unescape(key)}": {error}') from None
    kept = [name for name, item in zip(names, index, strict=True) if not isinstance(item, int)]
    data = None
    if d.get(key) is not None:
        array = array_of(d, key)
        data = stored(_own(take(array, index)), key)
    return data, kept, list(shape_of(index))


def _is_position(item: Any) -> bool:
    return isinstance(item, (int, np.integer))


def _own(part: Any) -> Any:
    """Return a copy of a part of an array, with the same type."""
    if not part.ndim and not isinstance(part, np.ma.MaskedArray):
        return part[()]
    return part.copy() if part.base is not None else part


def _put_part(d: dict[str, Any], key: str, data: Any, names: list[str], size: list[int] | None) -> None:
    if key in d:
        put(d, key, data)
    entry = created_entry(d, key)
    entry[".dims"] = names
    if ".size" in entry:
        entry[".size"] = size


def _described(d: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the metadata of all variables, with `.dims` and `.size` of the data."""
    out = {}
    for key in all_keys(d):
        shape = shape_of_variable(d, key)
        size = None if shape is None else list(shape)
        out[key] = {**entry_of(d, key), ".dims": names_of(d, key), ".size": size}
    return out


def _reader(d: dict[str, Any]) -> Callable[[str], Any]:
    def read(key: str) -> Any:
        if d.get(key) is None:
            return np.zeros(0)
        array = array_of(d, key)
        return array.astype(object) if array.dtype.kind in "US" else array

    return read


def merge(
    dd: Sequence[Mapping[str, Any]],
    dim: str,
    new: str | None = None,
    variables: Sequence[str] | None = None,
    jd: bool | None = True,
    *,
    stack: str | Sequence[str] = (),
    attributes: str | Sequence[str] = (),
) -> Dataset:
    """Merge datasets along a dimension.

    Variables with the dimension are joined along it. If no dataset has it, variables are stacked along it as a new
    first dimension. Variables that a dataset lacks are filled with missing values. Types are promoted by the rules of
    NumPy. Attributes of later datasets override earlier ones.

    Parameters
    ----------
    dd : sequence of dict
        Datasets.
    dim : str
        Name of the dimension.
    new : str, optional
        Name of a new dimension along which variables without `dim` are stacked. Without it they are taken from the
        first dataset that has them.
    variables : sequence of str, optional
        Names of the variables that are stacked along a new dimension; all by default. Others are taken from the first
        dataset that has them.
    jd : bool or None
        Whether time variables with different units become Julian dates, see `ds_format.read`; None: only if their
        calendars differ, too, as `ds_format.read_many` does it. Otherwise, and if all have the calendar 360_day or all
        have all_leap, they are converted to the units of the first.
    stack : str or sequence of str
        Names of variables without `dim` that get it: values of each dataset are repeated along it. By default they are
        taken from the first dataset, with a `DsWarning` if they differ.
    attributes : str or sequence of str
        Names of attributes of the dataset that become variables along `dim`, missing where a dataset lacks them. By
        default those of the last dataset that has them are kept, with a `DsWarning` if they differ.

    Returns
    -------
    Dataset
        Merged numbers are masked arrays with a full mask, even if nothing is missing.

    Raises
    ------
    ValueError
        If an argument has a wrong type, or the dimensions, sizes or types of values of a variable differ. In strict
        mode also if variables that are taken from the first dataset, or attributes of the dataset, differ.

    Examples
    --------
    >>> d1 = {
    ...     "time": [1, 2],
    ...     "x": [16.0, 18.0],
    ...     ".": {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}},
    ... }
    >>> d2 = {"time": [3], "x": [None], ".": {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}}}
    >>> merged = merge([d1, d2], "time")
    >>> merged["time"].tolist()
    [1, 2, 3]
    >>> print(merged["x"])
    [16.0 18.0 --]
    """
    if not isinstance(dd, (list, tuple)) or not all(isinstance(d, dict) for d in dd):
        raise ValueError("dd: invalid type")
    for name, value in (("dim", dim), ("new", new)):
        if not (isinstance(value, str) or (name == "new" and value is None)):
            raise ValueError(f"{name}: invalid type")
    if not dd:
        return Dataset({META: {META: {}}})
    pairs = [arrays_of(d) for d in dd]
    inputs = [MergeInput(describe(*pair)) for pair in pairs]
    reads = [lambda key, found=found: found[key][None] for found, _ in pairs]
    merged = assemble(inputs, reads, dim, new, variables, jd, name_list(stack, "stack"), masks=True)
    asked, each = keys_of(name_list(attributes, "attributes")), [given.meta[META] for given in inputs]
    comparison = AttributeComparison(dim, asked)
    for i, one in enumerate(each):
        comparison.add(f"dataset {i + 1}", one)
    comparison.report("last")
    merged.update(as_variables(asked, each, lengths_along(inputs, dim), dim, merged[META]))
    return merged
