"""Files that this package reads itself, in one call: a dataset from a file, and series of small files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress, tee
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.ma import nomask

from ...body import Location
from ...body.body import Body
from ...dataset import META, Dataset, as_array, as_masked
from ...kernels.common.finishing import Finisher
from ...model import packing
from ...model.marks import settle
from ..alike import Constant, StackedValues
from ..base import Metadata, value_size
from ..native import NativeValues
from .recalled import RecalledFile, RecalledVariable, without_missing

UNREAD = object()
"""In place of an array."""
_variable = attrgetter("variable")


class WholeFile:
    """A file that is read in one call. Each kind of files has a subclass.

    Attributes
    ----------
    body : Body
        The bytes of the file.
    header
        With `format`, `dimensions` and `variables`. Making metadata from its attributes changes these.
    values : NativeValues
        Reads values.
    """

    __slots__ = ("body", "header", "values")
    header: Any
    values: NativeValues

    def __init__(self, body: Body, header: Any, values: NativeValues):
        self.body = body
        self.header = header
        self.values = values

    @abstractmethod
    def recall(self, keys: Collection[str] | None, lends: bool) -> RecalledFile:
        """Return variables and metadata; see `recalled.Memory.recall`."""

    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the dataset by their keys."""

    @abstractmethod
    def places(self) -> Sequence[Any]:
        """Return the places of all variables, for `NativeValues.read_whole`."""

    def stored(self, i: int) -> bytes | None:
        """Return the bytes of a variable, if equal bytes in another file mean equal values; None if it must be read."""
        return None

    def has(self, i: int, stored: bytes) -> bool:
        """Return whether the bytes of a variable are those of a file that is alike."""
        return self.stored(i) == stored

    @abstractmethod
    def is_alike(self, known: Any) -> bool:
        """Return whether only attributes of the dataset and values may differ from another file."""

    @abstractmethod
    def digest(self) -> int:
        """Return a checksum that tells the header from others."""

    @abstractmethod
    def has_marker(self) -> bool:
        """Return whether attributes of the dataset say what NetCDF cannot store."""

    def dataset(self, keys: Collection[str] | None, full: bool, unpack: bool | None) -> Dataset:
        """Read a dataset.

        Parameters
        ----------
        keys : collection of str, optional
            Which variables to read, by their keys; those that do not exist are left out.
        full : bool
            Whether to return the metadata of the other variables, too.
        unpack : bool or None
            As `packing.is_unpacked_by`.
        """
        recalled = self.recall(None if full else keys, True)
        variables = recalled.variables
        if not isinstance(variables, list) or any(each.names_bounds and each.unpacked for each in variables):
            return self._dataset_in_turn(recalled, keys, full, unpack)
        asked = variables if keys is None else [each for each in variables if each.key in keys]
        places = recalled.positions
        if keys is not None:
            places = [place for each, place in zip(variables, places, strict=True) if each.key in keys]
        forms = [each.form(unpack) for each in asked]
        values, left = self._values(asked, places, [form.finisher for form in forms], True)
        dataset, entries = Dataset(), {}
        for i, (each, form, value) in enumerate(zip(asked, forms, values, strict=True)):
            key = each.key
            entry = None if value is None else form.entry(each.variable, getattr(value, "_mask", nomask) is not nomask)
            if i in left and form is each.unpacked and value is not None:
                value = packing.unpack(value, each.properties.copy())
            dataset[key] = as_masked(value) if i in left else value
            entries[key] = settle(without_missing(each.entry()), value) if entry is None else entry
        if full and keys is not None:
            entries = {each.key: entries.get(each.key) or without_missing(each.entry()) for each in variables}
        entries[META] = recalled.entry
        dataset[META] = entries
        return dataset

    def _values(
        self, asked: list[RecalledVariable], places: Any, finishers: list[Finisher | None], masked: bool
    ) -> tuple[list[Any], Collection[int]]:
        """Return the values of variables; some as finishers make them, and those of the returned numbers as stored."""
        variables = [each.variable for each in asked]
        found = self.values.read_small(variables, places, finishers, masked)
        if found is None:
            return [*self.values.read_each(variables, places)], range(len(variables))
        values, left = found
        if left:
            others = self.values.read_each([variables[i] for i in left], [places[i] for i in left])
            for i, value in zip(left, others, strict=True):
                values[i] = value
        return values, left

    def _dataset_in_turn(
        self, recalled: RecalledFile, keys: Collection[str] | None, full: bool, unpack: bool | None
    ) -> Dataset:
        """Read a dataset variable by variable: of very many, or if the packing of one applies to another one."""
        packed = recalled.to_unpack(unpack)
        dataset = Dataset()
        kept: Metadata = {}
        for each, array in self._arrays(recalled, keys):
            key = each.key
            if array is UNREAD:
                if full:
                    kept[key] = without_missing(each.entry())
                continue
            if key in packed:
                array = None if array is None else packing.unpack(array, packed[key])
                kept[key] = without_missing(packing.unpacked_meta(packed[key]))
            else:
                kept[key] = settle(without_missing(each.entry()), array)
            dataset[key] = as_masked(array)
        kept[META] = recalled.entry
        dataset[META] = kept
        return dataset

    def arrays(self, limit: int) -> tuple[dict[str, Any], Metadata, int] | None:
        """Return arrays of all variables, their metadata, and the size of the arrays; see `Driver.read_small`."""
        recalled = self.recall(None, True)
        described, places = recalled.variables, recalled.positions
        if not isinstance(described, list):
            described, places = [*described], [*places]
        size = 0
        for each in described:
            if each.variable.shape is not None:
                size += value_size(each.variable.type) * math.prod(each.variable.shape)
        if size > limit:
            return None
        values, _ = self._values(described, places, [each.stored.finisher for each in described], False)
        arrays: dict[str, Any] = {}
        meta: Metadata = {}
        for each, value in zip(described, values, strict=True):
            is_plain = value.__class__ is np.ndarray
            arrays[each.key] = array = value if is_plain else as_array(value, each.variable.type)
            entry = each.stored.entry(each.variable, False) if is_plain else None
            meta[each.key] = settle(each.entry(), array) if entry is None else entry
        meta[META] = recalled.entry
        return arrays, meta, size

    def _arrays(self, recalled: RecalledFile, keys: Collection[str] | None) -> Iterable[tuple[RecalledVariable, Any]]:
        """Return variables and their values; `UNREAD` are those of variables that are not asked for."""
        variables, places = recalled.variables, recalled.positions
        if keys is None:
            variables, read = tee(variables)  # they may exist only one at a time
            return zip(variables, self.values.read_each(map(_variable, read), places), strict=True)
        variables = [*variables]
        asked = [each.key in keys for each in variables]
        read = compress(variables, asked)
        arrays = iter(self.values.read_each([*map(_variable, read)], [*compress(places, asked)]))
        return [(each, next(arrays) if is_asked else UNREAD) for each, is_asked in zip(variables, asked, strict=True)]


class WholeFileRow:
    """A series of files; see `drivers.base.FileRow`.

    Successive files may differ only in attributes of the dataset and in positions of values.

    Parameters
    ----------
    path : str
    held : WholeFile
        The first file.
    """

    def __init__(self, path: Location, held: WholeFile):
        self._known = held
        recalled = held.recall(None, False)
        every = [*recalled.variables]
        self._variables = {each.key: each.variable for each in every}
        self.entries: Metadata = {**{each.key: each.entry() for each in every}, META: recalled.entry}
        # the metadata of these depend on their values
        self._is_alone = any(not variable.shape and variable.sentinels for variable in self._variables.values())

    def start(
        self,
        path: Location,
        held: WholeFile,
        stacks: Mapping[str, StackedValues],
        wanted: Collection[str],
        once: Mapping[str, Constant],
    ) -> dict[str, Any]:
        """Take the values of the first file; see `drivers.base.FileRow`."""
        for key, stack in stacks.items():
            stack.append(as_array(self._known.values.read_variable(self._variables[key], None)))
        places = {key: i for i, key in enumerate(self._variables)}
        each = [key for key in wanted if key in stacks and key not in once]
        self._each = [(self._variables[key], places[key], stacks[key]) for key in each]
        self._once = [(self._variables[key], places[key], one, held.stored(places[key])) for key, one in once.items()]
        return self.entries[META].copy()

    def take(self, path: Location, held: WholeFile) -> dict[str, Any] | None:
        """Take another file; see `drivers.base.FileRow`."""
        if self._is_alone or type(held) is not type(self._known) or not held.is_alike(self._known):
            return None
        places = held.places()
        once = [each for each in self._once if each[3] is None or not held.has(each[1], each[3])]
        variables, wanted = [each[0] for each in self._each], [places[each[1]] for each in self._each]
        if once:
            variables += [each[0] for each in once]
            wanted += [places[each[1]] for each in once]
        arrays = [*map(as_array, held.values.read_each(variables, wanted))]
        for (_, _, stack), array in zip(self._each, arrays, strict=False):
            stack.append(array)
        for each, array in zip(once, arrays[len(self._each) :], strict=True):
            if each[2].compare(path, array):
                self._once.remove(each)
        return held.attributes()

    def typed(self, entries: Metadata) -> Metadata:
        """Return entries unchanged: attributes have their types."""
        return entries

    def missing(self) -> Mapping[str, bool]:
        """Return nothing: entries have it."""
        return {}
