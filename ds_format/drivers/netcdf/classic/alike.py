"""Small classic files in a row that say the same of all variables, as one: only their values are read."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import classic
from ....dataset import META, as_array, as_masked, escape
from ....model.merge_plan import size_along
from ...base import Metadata
from .small import Held
from .source import ClassicSource
from .values import ClassicValues


class AlikeFiles:
    """Whole small files whose headers differ in attributes of the dataset, and in where things lie, at most.

    See `drivers.small.AlikeFiles`.

    Parameters
    ----------
    path : str
        The first file.
    held : Held
    keys : container of str, optional
        Which variables to read; all by default.
    dim : str, optional
        Dimension along which files are joined: of variables without it those of the first file are enough.
    attributes : collection of str, optional
        Keys of attributes of the dataset of which the values of each file are wanted.

    Attributes
    ----------
    meta, first : Metadata
        Of all: what later files say instead of former ones; of the first.
    paths : list of str
    noted : list of dict
        What each file has of these attributes.
    """

    def __init__(
        self,
        path: str,
        held: Held,
        keys: Container[str] | None = None,
        dim: str | None = None,
        attributes: Collection[str] = (),
    ):
        source = ClassicSource(*held)
        self._header = held.header
        self._variables = source.variables
        self._attributes = attributes
        self.meta: Metadata = dict(source.meta)
        self.first: Metadata = {key: entry.copy() for key, entry in source.meta.items()}
        wanted = [key for key in self.meta if key != META and (keys is None or key in keys)]
        self._parts: dict[str, list[Any]] = {
            key: [as_array(source.read(key))] for key in wanted if self._variables[key].shape is not None
        }
        entries = {key: self.meta[key] for key in wanted}
        joins = dim is not None and size_along(entries, dim) is not None
        self._each = [key for key in self._parts if not joins or dim in self.meta[key][".dims"]]
        self._places = {key: i for i, key in enumerate(self._variables)}
        # of these the values decide what is said of them
        self._is_alone = any(not variable.shape and variable.sentinels for variable in self._variables.values())
        self.paths = [path]
        self.noted = [self._noted(self.meta[META])]

    def _noted(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return {key: attributes[key] for key in self._attributes if key in attributes}

    def add(self, path: str, held: Held) -> bool:
        """Take one more file, if it is alike.

        Raises
        ------
        FormatError
            If it is alike, but cut; then nothing of it has been taken.
        """
        header = held.header
        known = self._header
        if self._is_alone or header.format != known.format or header.dimensions != known.dimensions:
            return False
        if len(header.variables) != len(known.variables):
            return False
        for new, old in zip(header.variables, known.variables, strict=True):
            if new.attributes is not old.attributes or new.name != old.name:
                return False
        values = ClassicValues(held.body)
        parts = [self._read(values, key, header.variables[self._places[key]]) for key in self._each]
        for key, part in zip(self._each, parts, strict=True):
            self._parts[key].append(part)
        own = {escape(name): value for name, value in header.attributes.items()}
        for key in self._attributes:
            self.meta[META].pop(key, None)  # what the file lacks is not that of the one before
        self.meta[META].update(own)
        self.paths.append(path)
        self.noted.append(self._noted(own))
        return True

    def _read(self, values: ClassicValues, key: str, place: classic.Variable) -> Any:
        variable = self._variables[key]
        variable.place = place
        return as_array(values.read_variable(variable, None))

    def read(self, key: str) -> Any:
        """Return one variable of all files, or of the first alone, as an array or MaskedArray of shape (count, *shape).

        Once, since it is given away.
        """
        parts = self._parts.pop(key)
        values = _stack([np.ma.getdata(part) for part in parts])
        if all(np.ma.getmask(part) is np.ma.nomask for part in parts):
            return as_masked(values)
        return np.ma.MaskedArray(values, _stack([np.ma.getmaskarray(part) for part in parts]))


def _stack(parts: list[NDArray[Any]]) -> NDArray[Any]:
    stack = np.empty((len(parts), *parts[0].shape), parts[0].dtype)
    for place, part in zip(stack, parts, strict=True) if parts[0].ndim else ():
        place[...] = part
    if not parts[0].ndim:
        stack[:] = [part[()] for part in parts]
    return stack
