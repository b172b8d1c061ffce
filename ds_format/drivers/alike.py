"""Consecutive small files with the same structure, treated as one: only their values are read.

A value that is remembered between files is only reused if its key equals that of the file being read. So any order of
any files gives the same results as a fresh process; `tests/many/test_any_order.py` checks this. No key is a path or a
time, because files can change.

=======================  ==========================================  ==================================================
remembered in            key                                         skipped if the key is the same
=======================  ==========================================  ==================================================
`AlikeFiles`             properties on which merging depends, as     comparing, planning: the values of the file are
                         the header of each format has them          appended to those of the row
`drivers.ds.alike`       the bytes before the attributes of the      reading the header, except these attributes
                         dataset, and `.dtypes` in them
`kernels.header.parser`  the entry of the file before, positions     making and comparing the metadata of this entry
                         aside
`kernels.header.memory`  the bytes of an entry, or of its members    reading the entry or these members; copies are made
`kernels.classic`        the bytes of a variable in the header       reading them; equal bytes give the same object
`kernels.hdf5`           the bytes of all attributes of an object    reading them; equal bytes give the same object
`drivers.netcdf.hdf5`    these objects, everything else in the       relating variables to dimensions
(`description`)          records of datasets but addresses, and the
                         datasets that references name
`drivers.netcdf`         these objects or equal attributes, the      making metadata; copies are made. Not for scalars
(`recalled`)             name, type and storage of the variable,     that several numbers mark as missing: values decide
                         the names of all dimensions, and along
                         which of them characters are joined
`many.scanning`          the properties on which merging depends,    comparing a variable with that of the first file
                         and the shape
=======================  ==========================================  ==================================================
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..base.dtypes import TYPES
from ..body import Location
from ..codec.decode import DTYPES
from ..codec.header import DTYPES as DTYPES_PROPERTY
from ..datasets import META, as_masked, dims
from ..model.constants import equal_rows
from ..model.merge_plan import size_along
from .base import Metadata, SmallFiles

MANY_ARRAYS, MANY_VALUES = 256, 1 << 16
"""Arrays of a variable, and values in them, that are put together at once."""


class DatasetStack(Protocol):
    """One dataset, or several consecutive ones that are alike: merging gives the same plan for them."""

    @property
    def meta(self) -> Metadata:
        """Metadata, as those of a Source. If there are several datasets, later ones override earlier ones."""
        ...

    @property
    def first(self) -> Metadata:
        """Metadata of the first dataset."""
        ...

    @property
    def paths(self) -> list[Location]:
        """Path of each dataset."""
        ...

    @property
    def dataset_attributes(self) -> Sequence[Mapping[str, Any]]:
        """The requested attributes of each dataset."""
        ...

    @property
    def unlike(self) -> Mapping[str, tuple[Location, Any]]:
        """Variables of which only the first value is read, but a later one differs: path and `(1, *shape)` value."""
        ...

    def read(self, key: str) -> Any:
        """Return one variable of all datasets, as an array or MaskedArray of shape `(len(paths), *shape)`."""
        ...


class StackedValues:
    """Collects the values of a variable, file by file.

    Parameters
    ----------
    type_name : str or None
        The ds type; None: determined by the first values.
    size : sequence of int
        The shape in one file.
    """

    __slots__ = ("_dtype", "_flags", "_most", "_numbers", "_pending", "_size", "_strings")

    def __init__(self, type_name: str | None, size: Sequence[int]):
        ds_type = TYPES.get(type_name or "")
        self._size = size
        self._dtype = None if ds_type is None else DTYPES[ds_type.code]
        self._flags = bytearray()  # mask of the values up to the last missing one
        self._strings: list[Any] | None = [] if ds_type is not None and ds_type.is_string else None
        self._numbers = bytearray()
        self._pending: list[Any] = []
        self._most = max(1, min(MANY_ARRAYS, MANY_VALUES // max(math.prod(size), 1)))

    @property
    def column(self) -> tuple[bytearray | None, bytearray, list[Any] | None] | None:
        """The buffers to which a kernel may append, until `append` is called; None for values of other types."""
        self._put_pending()
        if self._strings is None and self._dtype is None:
            return None
        return self._numbers if self._strings is None else None, self._flags, self._strings

    def append(self, array: Any) -> None:
        """Append the values of a file: an array or MaskedArray, in native byte order, which does not change."""
        self._pending.append(array)
        if len(self._pending) >= self._most:
            self._put_pending()

    def _put_pending(self) -> None:
        """Put arrays together, which takes less time for many of them at once."""
        arrays, self._pending = self._pending, []
        if not arrays:
            return
        masks = [getattr(array, "_mask", np.ma.nomask) for array in arrays]  # faster than the functions of numpy.ma
        if any(mask is not np.ma.nomask for mask in masks):
            n = arrays[0].size
            self._flags.extend(bytes(self._count() - len(self._flags)))
            for mask in masks:
                self._flags += bytes(n) if mask is np.ma.nomask else mask.tobytes()
        values = np.concatenate(arrays, axis=None).view(np.ndarray)
        if self._strings is not None:
            self._strings += values.tolist()
            return
        if self._dtype is None:
            self._dtype = values.dtype
        self._numbers += values.tobytes()

    def _count(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return len(self._numbers) // (1 if self._dtype is None else self._dtype.itemsize)

    def stack(self, count: int) -> Any:
        """Return the values of `count` files as an array or MaskedArray of shape (count, *size).

        Nothing can be appended afterwards, because the array may be a view.
        """
        self._put_pending()
        if self._strings is not None:
            values = np.fromiter(self._strings, object, len(self._strings))
        else:
            values = np.frombuffer(self._numbers, self._dtype)
        shape = (count, *self._size)
        if not self._flags:
            return values.reshape(shape)
        self._flags.extend(bytes(values.size - len(self._flags)))
        return np.ma.MaskedArray(values.reshape(shape), np.frombuffer(self._flags, np.bool_).reshape(shape), copy=False)


class Constant:
    """A variable of which only the value in the first file is kept. Later files are compared with it.

    Attributes
    ----------
    other : (path, array) or None
        The first file that has another value, and its (1, *shape) value.
    """

    __slots__ = ("_bytes", "_first", "_stack", "other")

    def __init__(self, stack: StackedValues):
        self._stack = stack
        self._first: Any = None
        self._bytes = b""
        self.other: tuple[Location, Any] | None = None

    def compare(self, path: Location, array: Any) -> bool:
        """Compare the value of a file, whose bytes may differ although the value is the same. Return if it differs."""
        if self._first is None:
            self._first = self._stack.stack(1)
            self._bytes = self._first.tobytes() if self._first.__class__ is np.ndarray else b""
        if array.__class__ is np.ndarray and array.dtype != object and array.tobytes() == self._bytes:
            return False  # faster than comparing numbers
        if self.other is None and not equal_rows(array[None], self._first).all():
            self.other = path, array[None]
        return self.other is not None


class AlikeFiles:
    """Small files of one format that are alike: they have the same variables, and merging gives the same plan.

    The requested values of a file are decoded when it is added; nothing else is kept. Metadata and variables are read
    after the last file is added, each variable once.

    Parameters
    ----------
    small : SmallFiles
        The functions of the format.
    path : str
        The first file.
    held : object
        Result of `small.hold` for this file. It may be consumed.
    keys : container of str, optional
        Keys of the variables to read; all by default.
    dim : str, optional
        Dimension along which files are joined. Variables without it are only read from the first file, and have the
        shape for one file. Their values in other files are compared.
    attributes : collection of str, optional
        Keys of attributes of the dataset to record for each file.
    stack : collection of str, optional
        Keys of variables without `dim` that are read from each file nevertheless.
    compare : callable, optional
        Called with the path of each file, and its attributes of the dataset unless they are those of the file before,
        until it returns True.

    Attributes
    ----------
    paths : list of str or Address
    dataset_attributes : list of dict
        These attributes of each file.

    Raises
    ------
    FormatError
        If the header, or a requested variable, is invalid.
    """

    def __init__(
        self,
        small: SmallFiles,
        path: Location,
        held: Any,
        keys: Container[str] | None = None,
        dim: str | None = None,
        attributes: Collection[str] = (),
        stack: Collection[str] = (),
        compare: Callable[[Location, dict[str, Any]], bool] | None = None,
    ):
        row = small.begin(path, held)
        self._row = row
        self._take = row.take
        self._masks = small.masks
        self._first = {key: entry.copy() for key, entry in row.entries.items()}
        wanted = {key: entry for key, entry in row.entries.items() if key != META and (keys is None or key in keys)}
        shaped = {key: entry for key, entry in wanted.items() if entry[".size"] is not None}
        self._stacks = {key: StackedValues(entry[".type"], entry[".size"]) for key, entry in shaped.items()}
        self._once: dict[str, Constant] = {}
        if dim is not None and size_along(wanted, dim) is not None:
            self._once = {
                key: Constant(self._stacks[key])
                for key, entry in shaped.items()
                if dim not in dims(key, entry, len(entry[".size"])) and key not in stack
            }
        own = row.start(path, held, self._stacks, list(wanted), self._once)
        self.paths = [path]
        self.dataset_attributes: list[dict[str, Any]] = []
        self._compare = compare
        self._attributes = (*attributes, DTYPES_PROPERTY) if attributes else ()
        self._override(own)

    def add(self, path: Location, held: Any) -> bool:
        """Add a file, and return True, if it is like the others.

        Raises
        ------
        FormatError
            If it is alike, but damaged. Then none of its values is added.
        """
        own = self._take(path, held)
        if own is None:
            return False
        self.paths.append(path)
        if own is not self._last:
            self._override(own)
        elif self._attributes:
            self.dataset_attributes.append(self.dataset_attributes[-1])
        return True

    def _override(self, own: dict[str, Any]) -> None:
        """Override the attributes of the dataset by those of a file, and record the requested ones."""
        known = self._row.entries[META]
        self._last = own
        if self._compare is not None:
            typed = self._row.typed({META: own.copy()})[META] if DTYPES_PROPERTY in own else own
            if self._compare(self.paths[-1], typed):
                self._compare = None
        if self._attributes:
            for key in self._attributes:
                if key not in own:
                    known.pop(key, None)  # otherwise the file would get the attribute of the one before
            asked = {key: own[key] for key in self._attributes if key in own}
            self.dataset_attributes.append(self._row.typed({META: asked})[META])
        known.update(own)

    @functools.cached_property
    def meta(self) -> Metadata:
        """Metadata of all files, after the last one was added."""
        meta = self._row.typed(self._row.entries)
        for key, missing in self._row.missing().items():
            meta[key][".missing"] = missing
        return meta

    @property
    def unlike(self) -> Mapping[str, tuple[Location, Any]]:
        """Variables of which only the first value is read, but a later one differs: path and `(1, *shape)` value."""
        masked = as_masked if self._masks else np.asanyarray
        found = {key: constant.other for key, constant in self._once.items() if constant.other is not None}
        return {key: (path, masked(value)) for key, (path, value) in found.items()}

    @functools.cached_property
    def first(self) -> Metadata:
        """Metadata of the first file."""
        return self._row.typed(self._first)

    def read(self, key: str) -> Any:
        """Return one variable of all files, or of the first one only, stacked to the shape `(count, *shape)`.

        It can be called once for each key, because the array is not kept.
        """
        values = self._stacks.pop(key).stack(1 if key in self._once else len(self.paths))
        return as_masked(values) if self._masks else values
