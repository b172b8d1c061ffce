"""Files that this package reads itself, in one call: a dataset from a file, and series of small files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...body import Location
from ...body.body import Body
from ...datasets import META, Dataset, as_array, as_masked
from ...kernels.common.finishing import Finisher
from ...model import packing
from ...model.marks import settle
from ..alike import Constant, StackedValues
from ..base import Metadata, value_size
from ..native import NativeValues
from .recalled import Memory, RecalledFile, RecalledVariable, without_missing


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
    memory: ClassVar[type[Memory[Any]]]
    """Remembers the metadata of such files."""
    header: Any
    values: NativeValues

    def __init__(self, body: Body, header: Any, values: NativeValues):
        self.body = body
        self.header = header
        self.values = values

    def recall(self, keys: Collection[str] | None, lends: bool) -> RecalledFile:
        """Return variables and metadata; see `recalled.Memory.recall`."""
        return self.memory.recall(self.header, self.values.scalar, keys, lends)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the dataset by their keys."""
        return self.memory.attributes(self.header)

    def places(self) -> Sequence[Any]:
        """Return the places of all variables, for `NativeValues.read_whole`."""
        return self.memory.positions(self.header)

    def stored(self, i: int) -> bytes | None:
        """Return the bytes of a variable, if equal bytes in another file mean equal values; None if it must be read."""
        return None

    def has(self, i: int, stored: bytes) -> bool:
        """Return whether the bytes of a variable are those of a file that is alike."""
        return self.stored(i) == stored

    def is_alike(self, known: Any) -> bool:
        """Return whether only attributes of the dataset and values may differ from another file."""
        return self.memory.are_alike(self.header, known.header)

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
        asked = variables if keys is None else [each for each in variables if each.key in keys]
        places = recalled.positions
        if keys is not None:
            places = [place for each, place in zip(variables, places, strict=True) if each.key in keys]
        forms = [each.stored if unpack is False else each.unpacked or each.stored for each in asked]
        finishers = [form.finisher for form in forms]
        packed: Mapping[str, Any] = {}
        if any(each.names_bounds and each.unpacked for each in variables):  # their packing applies to others, too
            packed = packing.entries_to_unpack({each.key: each.entry() for each in variables}, unpack)
            finishers = [
                None if each.key in packed else finisher for each, finisher in zip(asked, finishers, strict=True)
            ]
        values, left = self.read(asked, places, finishers, True)
        dataset, entries = Dataset(), {}
        for i, (each, form, value) in enumerate(zip(asked, forms, values, strict=True)):
            key = each.key
            entry = form.entry(each, value, i not in left)
            dataset[key] = value
            if i in left:
                if key in packed:
                    entry = without_missing(packing.unpacked_meta(packed[key]))
                    value = None if value is None else packing.unpack(value, packed[key])
                elif form is each.unpacked and value is not None:
                    value = packing.unpack(value, each.properties.copy())
                dataset[key] = as_masked(value)
            entries[key] = entry
        if full and keys is not None:
            entries = {each.key: entries.get(each.key) or without_missing(each.entry()) for each in variables}
        entries[META] = recalled.entry
        dataset[META] = entries
        return dataset

    def read(
        self, asked: list[RecalledVariable], places: Any, finishers: list[Finisher | None], masked: bool
    ) -> tuple[list[Any], Collection[int]]:
        """Return the values of variables; some as finishers make them, and those of the returned numbers as stored."""
        variables = [each.variable for each in asked]
        values: list[Any] = [None] * len(asked)
        left: Sequence[int] = range(len(asked))
        if self.body.memory is not None:
            values, left = self.values.read_small(variables, places, finishers, masked)
        if left:
            others = self.values.read_each([variables[i] for i in left], [places[i] for i in left])
            for i, value in zip(left, others, strict=True):
                values[i] = value
        return values, left

    def arrays(self, limit: int) -> tuple[dict[str, Any], Metadata, int] | None:
        """Return arrays of all variables, their metadata, and the size of the arrays; see `Driver.read_small`."""
        recalled = self.recall(None, True)
        described, places = recalled.variables, recalled.positions
        size = 0
        for each in described:
            if each.variable.shape is not None:
                size += value_size(each.variable.type) * math.prod(each.variable.shape)
        if size > limit:
            return None
        values, _ = self.read(described, places, [each.stored.finisher for each in described], False)
        arrays: dict[str, Any] = {}
        meta: Metadata = {}
        for each, value in zip(described, values, strict=True):
            is_plain = value.__class__ is np.ndarray
            arrays[each.key] = array = value if is_plain else as_array(value, each.variable.type)
            meta[each.key] = each.stored.entry(each, value, True) if is_plain else settle(each.entry(), array)
        meta[META] = recalled.entry
        return arrays, meta, size


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
        self._variables = [*recalled.variables]
        self._places = {each.key: i for i, each in enumerate(self._variables)}
        self.entries: Metadata = {**{each.key: each.entry() for each in self._variables}, META: recalled.entry}
        # the metadata of these depend on their values
        self._is_alone = any(not each.variable.shape and len(each.variable.sentinels) > 1 for each in self._variables)

    def start(
        self,
        path: Location,
        held: WholeFile,
        stacks: Mapping[str, StackedValues],
        wanted: Collection[str],
        once: Mapping[str, Constant],
    ) -> dict[str, Any]:
        """Take the values of the first file; see `drivers.base.FileRow`."""
        for stack, array in zip(stacks.values(), self._arrays(held, [*stacks]), strict=True):
            stack.append(array)
        self._stacks = {key: stacks[key] for key in wanted if key in stacks and key not in once}
        self._once = {key: (one, held.stored(self._places[key])) for key, one in once.items()}
        return self.entries[META].copy()

    def take(self, path: Location, held: WholeFile) -> dict[str, Any] | None:
        """Take another file; see `drivers.base.FileRow`."""
        if self._is_alone or type(held) is not type(self._known) or not held.is_alike(self._known):
            return None
        once = [
            key for key, (_, known) in self._once.items() if known is None or not held.has(self._places[key], known)
        ]
        arrays = self._arrays(held, [*self._stacks, *once])
        for stack, array in zip(self._stacks.values(), arrays, strict=False):
            stack.append(array)
        for key, array in zip(once, arrays[len(self._stacks) :], strict=True):
            if self._once[key][0].compare(path, array):
                del self._once[key]
        return held.attributes()

    def _arrays(self, held: WholeFile, keys: list[str]) -> list[Any]:
        """Return the values of variables of a file that is alike."""
        numbers = [self._places[key] for key in keys]
        asked, places = [self._variables[i] for i in numbers], held.places()
        values, _ = held.read(asked, [places[i] for i in numbers], [each.stored.finisher for each in asked], False)
        return [*map(as_array, values)]

    def typed(self, entries: Metadata) -> Metadata:
        """Return entries unchanged: attributes have their types."""
        return entries

    def missing(self) -> Mapping[str, bool]:
        """Return nothing: entries have it."""
        return {}
