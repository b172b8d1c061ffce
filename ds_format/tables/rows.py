"""Which variables of a dataset are columns of one table, and their values in its rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.text import escape, on_one_line, unescape
from ..datasets import as_array, dims
from ..errors import DsWarning, MissingError, UnsupportedError

DIMENSION = "i"
"""The dimension of a table whose rows are only counted."""
EXPLODE = "`explode=True` repeats coordinates, so that all are columns of one table"
Shapes = Mapping[str, tuple[list[str], tuple[int, ...]]]
"""Key of each variable with data → its dimensions and its shape."""


class TableRows(NamedTuple):
    """The rows of a table."""

    sizes: dict[str, int]
    """Dimension → size. Rows are in C order of these."""
    keys: list[str]
    """Variables that are columns, and dimensions without a variable, whose positions are a column."""

    @property
    def number(self) -> int:
        """Number of the rows."""
        return math.prod(self.sizes.values())

    def values(self, key: str, arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]]) -> Any:
        """Return a column as (number,) array or masked array: it is repeated along the dimensions that it lacks."""
        if key not in arrays:
            return self._repeated(np.arange(self.sizes[unescape(key)]), [unescape(key)])
        array = as_array(arrays[key])
        names = dims(key, meta.get(key, {}), array.ndim)
        if names == list(self.sizes):
            return array.reshape(-1)
        mask = np.ma.getmask(array)
        data = self._repeated(np.ma.getdata(array), names)
        return np.ma.MaskedArray(data, self._repeated(mask, names)) if np.any(mask) else data

    def _repeated(self, array: NDArray[Any], names: list[str]) -> NDArray[Any]:
        order = [names.index(dim) for dim in self.sizes if dim in names]
        shape = [size if dim in names else 1 for dim, size in self.sizes.items()]
        return np.broadcast_to(array.transpose(order).reshape(shape), tuple(self.sizes.values())).reshape(-1)


def shapes_of(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]]) -> Shapes:
    """Return the shapes of arrays."""
    with_data = {key: array for key, array in arrays.items() if array is not None}
    return {key: (dims(key, meta.get(key, {}), array.ndim), array.shape) for key, array in with_data.items()}


def shapes_in(meta: Mapping[str, Mapping[str, Any]]) -> Shapes:
    """Return the shapes of the variables of a file."""
    sizes = {key: entry[".size"] for key, entry in meta.items() if entry.get(".size") is not None}
    return {key: (dims(key, meta[key], len(size)), tuple(size)) for key, size in sizes.items()}


def rows_of(shapes: Shapes, dim: str | None, explode: bool) -> TableRows:
    """Return the rows and the columns of a table.

    Parameters
    ----------
    shapes : mapping
    dim : str, optional
        Its dimension. By default, that of all variables with dimensions.
    explode : bool
        Repeat variables along the dimensions that they lack, as `to_dataframe` of xarray does. With `dim`, only those
        whose dimensions are among those of the variables that have it.

    Raises
    ------
    MissingError
        If no variable has the dimension.
    UnsupportedError
        If variables have several dimensions, without `explode`.

    Warns
    -----
    DsWarning
        If variables with `dim` have others, too, and are left out.
    """
    having = {key: row for key, row in shapes.items() if dim in row[0] or (dim is None and row[0])}
    sizes = {name: size for names, shape in having.values() for name, size in zip(names, shape, strict=True)}
    if not having:
        raise MissingError("no variable has a dimension" if dim is None else f'no variable has the dimension "{dim}"')
    if explode:
        keys = [key for key, (names, _) in shapes.items() if sizes.keys() >= set(names)]
        return TableRows(sizes, [*(escape(name) for name in sizes if escape(name) not in keys), *keys])
    keys = [key for key, (names, _) in having.items() if len(names) == 1]
    if not keys or (dim is None and len(sizes) > 1):
        choice = "name one of them as `dim`" if keys else "select one position along all dimensions except one"
        raise UnsupportedError(f"variables have the dimensions {', '.join(sizes)}: {choice}, or {EXPLODE}")
    if left_out := [unescape(key) for key in having if key not in keys]:
        message = f"left out {', '.join(left_out)}, which have more dimensions; {EXPLODE}"
        warnings.warn(on_one_line(message), DsWarning, stacklevel=4)
    name = having[keys[0]][0][0]
    return TableRows({name: sizes[name]}, keys)
