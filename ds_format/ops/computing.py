"""Functions that compute new data along dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import modes
from ..base.text import escape, unescape
from ..codec.encode import type_of
from ..datasets import META, as_array, as_masked
from ..errors import UnsupportedError
from .values import all_keys, array_of, check, check_callable, checked, created_entry, name_list, put, stored
from .variables import all_sizes, names_of


def apply(
    d: dict[str, Any],
    func: Callable[..., Any],
    dims: str | Sequence[str] | None = None,
    newdims: str | Sequence[str] | None = None,
    vars: str | Sequence[str] | None = None,
    with_sel: bool = False,
) -> None:
    """Apply a function to the slices of each variable, and replace the variable by the results.

    If the variable has integers and all results are floats with integer values, the results become integers, of the
    type of the variable if it can hold them. Otherwise results keep their type.

    Parameters
    ----------
    d : dict
        Dataset, changed in place. If something raises, it is as it was.
    func : callable
        Called as `func(x)` or `func(x, sel)`. `x` is an array of the dimensions `dims`, in the order of the variable,
        masked if the variable is. It returns an array or scalar, of the same shape for all slices of a variable.
    dims : str or sequence of str, optional
        Names of the dimensions; by default all of each variable. Variables without all of them are unchanged.
    newdims : str or sequence of str, optional
        Names of the dimensions of the result, which replace the first of `dims`. If there are more names than
        dimensions, the first names are used. By default the names of `dims`.
    vars : str or sequence of str, optional
        Names of the variables; all by default.
    with_sel : bool
        Whether to pass also the position of the slice to `func`, as a dict of dimension name → position.

    Raises
    ------
    TypeError
        If `func` cannot be called.
    ValueError
        If an argument is of a wrong type, results differ in shape, or have more dimensions than there are names.
    UnsupportedError
        If a result is of a type that no ds type can hold, or there is no slice to call `func` with.
    MissingError
        If a variable of `vars` does not exist, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> import numpy as np
    >>> d = {"x": [[1, 2], [3, 5]], ".": {"x": {".dims": ["t", "i"]}}}
    >>> apply(d, np.mean, "t")
    >>> d
    {'x': array([2. , 3.5]), '.': {'x': {'.dims': ['i']}}}
    >>> apply(d, np.max)
    >>> d["x"]
    np.float64(3.5)
    """
    check(d, "d", dict)
    check_callable(func)
    along = None if dims is None else name_list(dims, "dims")
    names = None if newdims is None else name_list(newdims, "newdims")
    results = {}
    for key in _chosen(d, vars):
        own = names_of(d, key)
        if along is None or set(along) <= set(own):
            axes = [axis for axis, name in enumerate(own) if along is None or name in along]
            results[key] = _apply(func, array_of(d, key), own, axes, names, with_sel, key)
    for key, (data, own) in results.items():
        put(d, key, data)
        created_entry(d, key)[".dims"] = own


def _chosen(d: dict[str, Any], names: Any) -> list[str]:
    """Return the keys of all variables with data, or of those that have one of some names."""
    if names is None:
        keys = all_keys(d, full=False)
    else:
        keys = [escape(name) for name in name_list(names, "vars")]
        for key in keys:
            if key not in d:
                modes.missing(f"{unescape(key)}: variable not found")
    return [key for key in keys if d.get(key) is not None]


def _apply(
    func: Callable[..., Any],
    array: Any,
    own: list[str],
    axes: list[int],
    names: list[str] | None,
    with_sel: bool,
    key: str,
) -> tuple[Any, list[str]]:
    """Return the new data of one variable, and the names of its dimensions."""
    array = _without_unset_flags(array)
    outer = [axis for axis in range(array.ndim) if axis not in axes]
    slices = array.transpose(outer + axes)
    shape = slices.shape[: len(outer)]
    others = [own[axis] for axis in outer]
    parts = []
    for at in np.ndindex(*shape):
        part = slices[at]
        parts.append(func(part, dict(zip(others, at, strict=True))) if with_sel else func(part))
    out = _stacked(parts, 0, key, array)
    new = [own[axis] for axis in axes] if names is None else names
    n = out.ndim - 1
    if n > len(new):
        raise ValueError(f'variable "{unescape(key)}": the result has {n} dimensions, but there are names {new}')
    first = axes[0] if axes else len(outer)
    out = np.moveaxis(out.reshape(shape + out.shape[1:]), range(len(outer), len(outer) + n), range(first, first + n))
    return stored(out, key), others[:first] + new[:n] + others[first:]


def group_by(d: dict[str, Any], dim: str, group: Any, func: Callable[..., Any]) -> None:
    """Combine the positions along a dimension that belong to one group.

    Results for integers become integers as in `apply`.

    Parameters
    ----------
    d : dict
        Dataset, changed in place. If something raises, it is as it was.
    dim : str
        Name of the dimension. Variables without it are unchanged.
    group : (n,) array or list
        The group of each of the `n` positions. The new positions are the groups, sorted.
    func : callable
        Called as `func(x, axis=axis)` with the values of one group, masked if the variable is; returns an array
        without that axis.

    Raises
    ------
    TypeError
        If `func` cannot be called.
    ValueError
        If an argument is of a wrong type, there are not as many groups as positions, or a result has a wrong shape.
    UnsupportedError
        If a result is of a type that no ds type can hold.
    MissingError
        If no variable has the dimension, in strict mode. In moderate mode it is a warning.

    Examples
    --------
    >>> import numpy as np
    >>> d = {"x": [1, 2, 3, 5], ".": {"x": {".dims": ["t"]}}}
    >>> group_by(d, "t", ["b", "a", "b", "a"], np.mean)
    >>> d["x"]
    array([3.5, 2. ])
    >>> d = {"year": [2001, 2001, 2002, 2002], ".": {"year": {".dims": ["t"]}}}
    >>> group_by(d, "t", [0, 0, 1, 1], np.mean)
    >>> d["year"]
    array([2001, 2002])
    """
    check(d, "d", dict)
    check(dim, "dim", str)
    check(group, "group", np.ndarray, list, tuple)
    check_callable(func)
    sizes = all_sizes(d, full=True)
    if dim not in sizes:
        modes.missing(f"{dim}: dimension not found")
        return
    positions = _positions(as_array(group))
    n = sum(map(len, positions))
    results = {}
    for key in all_keys(d, full=False):
        names = names_of(d, key)
        if dim in names and d[key] is not None:
            axis = names.index(dim)
            array = array_of(d, key)
            if array.shape[axis] != n:
                raise ValueError(f'group: found {n} values, expected {array.shape[axis]}, the size of "{dim}"')
            results[key] = _group(func, array, positions, axis, key)
    for key, data in results.items():
        put(d, key, data)
    _resize(d, dim, len(positions))


def _positions(group: Any) -> list[NDArray[np.intp]]:
    """Return the positions of each group, in the order of the groups."""
    if group.ndim != 1 or np.ma.getmaskarray(group).any():
        raise ValueError("group: expected one value for each position, none missing")
    groups, inverse, counts = np.unique(np.ma.getdata(group), return_inverse=True, return_counts=True)
    return np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1]) if groups.size else []


def _group(
    func: Callable[..., Any],
    array: Any,
    positions: list[NDArray[np.intp]],
    axis: int,
    key: str,
) -> Any:
    """Return the new data of one variable."""
    if not positions:
        return array
    array = _without_unset_flags(array)
    out = _stacked([func(array.take(chosen, axis=axis), axis=axis) for chosen in positions], axis, key, array)
    expected = (*array.shape[:axis], len(positions), *array.shape[axis + 1 :])
    if out.shape != expected:
        raise ValueError(f'variable "{unescape(key)}": results make the shape {out.shape}, expected {expected}')
    return stored(out, key)


def _without_unset_flags(array: Any) -> Any:
    """Return a masked array without a full mask if nothing is missing, for which NumPy would return float64."""
    mask = np.ma.getmask(array)
    return array if mask is np.ma.nomask or mask.any() else as_masked(np.ma.getdata(array))


def _stacked(results: list[Any], axis: int, key: str, array: Any) -> Any:
    """Return results of a function as one array, possibly masked, of a type that can hold them all."""
    type_name = type_of(array).name
    arrays = [checked(result, key, type_name) for result in results]
    if not arrays or any(array is None for array in arrays):
        what = "the function returned None" if arrays else "there is nothing to call the function with"
        raise UnsupportedError(what, variable=unescape(key))
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ValueError(f'variable "{unescape(key)}": the function returned different shapes: {sorted(shapes)}')
    masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
    out = np.ma.stack(arrays, axis) if masked else np.stack(arrays, axis)
    return _integers(out, array.dtype) if array.dtype.kind in "iu" and out.dtype.kind == "f" else out


def _integers(out: Any, dtype: np.dtype[Any]) -> Any:
    """Return floats with integer values as integers, of a given type if it can hold them; other values unchanged."""
    values = np.ma.filled(out, 0)
    # from here on all floats are integers, also those that were rounded
    exact = 2.0 ** (np.finfo(out.dtype).nmant + 1)
    if not ((np.abs(values) < exact) & (values == np.trunc(values))).all():
        return out
    info = np.iinfo(dtype)
    held = ((values >= info.min) & (values <= info.max)).all()
    integers = values.astype(dtype.newbyteorder("=") if held else np.int64)
    return np.ma.MaskedArray(integers, np.ma.getmask(out)) if isinstance(out, np.ma.MaskedArray) else integers


def _resize(d: dict[str, Any], dim: str, n: int) -> None:
    """Update the size of a dimension in variables that have only metadata."""
    for key, entry in d.get(META, {}).items():
        if d.get(key) is None and entry.get(".size") and dim in names_of(d, key):
            names = names_of(d, key)
            entry[".size"] = [n if name == dim else size for name, size in zip(names, entry[".size"], strict=True)]
