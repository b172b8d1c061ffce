"""Small files in a row that say the same in all that decides how they are merged, as one: only their values are read.

What is remembered from one file to the next is always that which its key, compared with the file that is read, shows to
be the same. So any order of any files gives what a fresh process gives; `tests/many/test_any_order.py` holds it. No key
is a path or a time: nothing is remembered of a file that could be changed.

=======================  ==========================================  ==================================================
remembered in            key                                         what is skipped if it is the same
=======================  ==========================================  ==================================================
`AlikeFiles`             what decides how variables are merged: as   comparing, planning: the values of the file are
                         the header of each format says it           appended to those of the row
`drivers.ds.alike`       the bytes before the attributes of the      reading the header, but for these attributes
                         dataset, and `.dtypes` in them
`kernels.header.memory`  the bytes of an entry, or of its members    reading the entry or these members; copies are made
`codec.line`             the bytes of an unusual header              reading it; copies are made
`kernels.classic`        the bytes of a variable in the header       reading them; equal bytes give the same object
`kernels.hdf5`           the bytes of all attributes of an object    reading them; equal bytes give the same object
`drivers.netcdf`         these objects or equal attributes, the      making metadata; copies are made. Not of text, nor
(`recalled`)             name, type and storage of the variable,     of scalars with missing values: values decide
                         and the names of all dimensions
`many.scanning`          of metadata what decides, and the shape     comparing a variable with that of the first file
=======================  ==========================================  ==================================================
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..base.dtypes import TYPES
from ..codec.decode import DTYPES
from ..codec.header import DTYPES as DTYPES_PROPERTY
from ..dataset import META, as_masked, dims
from ..model.merge_plan import size_along
from .base import Metadata, SmallFiles


class DatasetStack(Protocol):
    """One dataset, or several in a row that are alike in all that decides how they are merged."""

    @property
    def meta(self) -> Metadata:
        """As a Source has it; of several: where later ones override former ones."""
        ...

    @property
    def first(self) -> Metadata:
        """Of the first of several."""
        ...

    @property
    def paths(self) -> list[str]:
        """Of each dataset."""
        ...

    @property
    def noted(self) -> Sequence[Mapping[str, Any]]:
        """What each has of the attributes of the dataset of which this is wanted."""
        ...

    def read(self, key: str) -> Any:
        """Return one variable of all, as an array or MaskedArray of shape `(len(paths), *shape)`."""
        ...


class StackedValues:
    """Values that are collected file by file.

    Parameters
    ----------
    type_name : str or None
        The ds type; None: it shows with the first values.
    size : sequence of int
        The shape in one file.

    Attributes
    ----------
    numbers : bytearray or None
        What plain numbers may be appended to, in native byte order; None: the values are of another type.
    """

    __slots__ = ("_dtype", "_flags", "_size", "_strings", "numbers")

    def __init__(self, type_name: str | None, size: Sequence[int]):
        ds_type = TYPES.get(type_name or "")
        self._size = size
        self._dtype = None if ds_type is None else DTYPES[ds_type.code]
        self._flags = bytearray()  # as many as there are values up to the last missing one
        self._strings: list[Any] | None = [] if ds_type is not None and ds_type.is_string else None
        self.numbers = bytearray() if self._strings is None else None

    def append(self, array: Any) -> None:
        """Append the values of a file: an array or MaskedArray, in native byte order."""
        if self._dtype is None:
            self._dtype = array.dtype
        mask = np.ma.getmask(array)
        if mask is not np.ma.nomask:
            self._flags.extend(bytes(self._count() - len(self._flags)))
            self._flags += mask.tobytes()
        values = np.ma.getdata(array)
        if self._strings is not None:
            self._strings += values.reshape(-1).tolist()
        elif self.numbers is not None:
            self.numbers += values.tobytes()

    def _count(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return len(self.numbers or b"") // (1 if self._dtype is None else self._dtype.itemsize)

    def stack(self, count: int) -> Any:
        """Return the values of `count` files as an array or MaskedArray of shape (count, *size).

        Nothing can be appended afterwards: it may be a view.
        """
        if self._strings is not None:
            values = np.empty(len(self._strings), object)
            values[:] = self._strings
        else:
            values = np.frombuffer(self.numbers or b"", self._dtype)
        shape = (count, *self._size)
        if not self._flags:
            return values.reshape(shape)
        self._flags.extend(bytes(values.size - len(self._flags)))
        return np.ma.MaskedArray(values.reshape(shape), np.frombuffer(self._flags, np.bool_).reshape(shape), copy=False)


class AlikeFiles:
    """Whole small files of one format which have the same variables, alike in all that decides how they are merged.

    The requested part of a file is taken as it comes; nothing else is kept. Metadata and variables are asked for once
    there are no more files; each variable once.

    Parameters
    ----------
    small : SmallFiles
        Of the format.
    path : str
        The first file.
    held : object
        What `small.hold` returned of it. It may be given away.
    keys : container of str, optional
        Which variables to read; all by default.
    dim : str, optional
        Dimension along which files are joined: of variables without it those of the first file are enough, and come as
        those of one file.
    attributes : collection of str, optional
        Keys of attributes of the dataset of which the values of each file are wanted.

    Attributes
    ----------
    paths : list of str
    noted : list of dict
        What each file has of these attributes.

    Raises
    ------
    FormatError
        If the header is wrong, or a variable that is wanted.
    """

    def __init__(
        self,
        small: SmallFiles,
        path: str,
        held: Any,
        keys: Container[str] | None = None,
        dim: str | None = None,
        attributes: Collection[str] = (),
    ):
        row = small.begin(path, held)
        self._row = row
        self._take = row.take
        self._masks = small.masks
        self._first = {key: entry.copy() for key, entry in row.entries.items()}
        wanted = {key: entry for key, entry in row.entries.items() if key != META and (keys is None or key in keys)}
        shaped = {key: entry for key, entry in wanted.items() if entry[".size"] is not None}
        self._stacks = {key: StackedValues(entry[".type"], entry[".size"]) for key, entry in shaped.items()}
        self._once: list[str] = []
        if dim is not None and size_along(wanted, dim) is not None:
            self._once = [key for key, entry in shaped.items() if dim not in dims(key, entry, len(entry[".size"]))]
        own = row.start(path, held, self._stacks, list(wanted), [key for key in wanted if key not in self._once])
        self.paths = [path]
        self.noted: list[dict[str, Any]] = []
        self._attributes = (*attributes, DTYPES_PROPERTY) if attributes else ()
        self._override(own)

    def add(self, path: str, held: Any) -> bool:
        """Take one more file, if it is alike.

        Raises
        ------
        FormatError
            If it is, but damaged; then nothing of it has been taken.
        """
        own = self._take(path, held)
        if own is None:
            return False
        self.paths.append(path)
        if own is not self._last:
            self._override(own)
        elif self._attributes:
            self.noted.append(self.noted[-1])
        return True

    def _override(self, own: dict[str, Any]) -> None:
        """Let the attributes of the dataset in a file override those before, and note those that are asked for."""
        known = self._row.entries[META]
        self._last = own
        if self._attributes:
            for key in self._attributes:
                if key not in own:
                    known.pop(key, None)  # a file without it does not have that of the file before
            asked = {key: own[key] for key in self._attributes if key in own}
            self.noted.append(self._row.typed({META: asked})[META])
        known.update(own)

    @functools.cached_property
    def meta(self) -> Metadata:
        """Of all of them, once there are no more to add."""
        meta = self._row.typed(self._row.entries)
        for key, missing in self._row.missing().items():
            meta[key][".missing"] = missing
        return meta

    @functools.cached_property
    def first(self) -> Metadata:
        """Of the first of them."""
        return self._row.typed(self._first)

    def read(self, key: str) -> Any:
        """Return one variable of all files, or of the first alone, stacked to the shape `(count, *shape)`.

        It can be called once for a key, since the array is given away.
        """
        values = self._stacks.pop(key).stack(1 if key in self._once else len(self.paths))
        return as_masked(values) if self._masks else values
