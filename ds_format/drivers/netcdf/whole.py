"""Files that this package reads itself, in one call: a dataset from a file, and series of small files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...body import Location
from ...body.body import Body
from ...dataset import META, Dataset, as_array, as_masked
from ...model import packing
from ...model.missing import settle
from ..alike import StackedValues
from ..base import Metadata, value_size
from ..native import NativeValues
from .recalled import RecalledFile, RecalledVariable


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
        values = self.values
        recalled = self.recall(None if full else keys, True)
        dataset = Dataset()
        kept: Metadata = {}
        packed = packing.entries_to_unpack(recalled.meta, unpack)
        placed: Iterable[tuple[RecalledVariable, Any]] = zip(recalled.variables, recalled.positions, strict=True)
        if self.body.is_far:
            placed = [*placed]
            wanted = [(each, place) for each, place in placed if keys is None or each.key in keys]
            values.announce((each.variable, place, None) for each, place in wanted)
        for each, place in placed:
            key, variable = each.key, each.variable
            if keys is not None and key not in keys:
                if full:
                    kept[key] = without_missing(each.entry())
                continue
            array = None if variable.shape is None else values.read_whole(variable, place)
            entry = None
            if key in packed:
                array = None if array is None else packing.unpack(array, packed[key])
                entry = settle(without_missing(packing.unpacked_meta(packed[key])), array)
            elif array.__class__ is np.ndarray:
                entry = each.complete_entry()
            dataset[key] = as_masked(array)
            kept[key] = settle(without_missing(each.entry()), array) if entry is None else entry
        kept[META] = recalled.entry
        dataset[META] = kept
        return dataset

    def arrays(self, limit: int) -> tuple[dict[str, Any], Metadata, int] | None:
        """Return arrays of all variables, their metadata, and the size of the arrays; see `Driver.read_small`."""
        recalled = self.recall(None, True)
        placed = [*zip(recalled.variables, recalled.positions, strict=True)]
        size = 0
        for each, _ in placed:
            if each.variable.shape is not None:
                size += value_size(each.variable.type) * math.prod(each.variable.shape)
        if size > limit:
            return None
        arrays: dict[str, Any] = {}
        meta: Metadata = {}
        for each, place in placed:
            key, variable, entry = each.key, each.variable, None
            array = None if variable.shape is None else self.values.read_whole(variable, place)
            if array.__class__ is np.ndarray:
                entry = each.complete_entry()
            else:
                array = as_array(array, variable.type)
            arrays[key] = array
            meta[key] = settle(each.entry(), array) if entry is None else entry
        meta[META] = recalled.entry
        return arrays, meta, size


def without_missing(entry: dict[str, Any]) -> dict[str, Any]:
    """Remove the property that only sources have, and return the metadata of a variable."""
    entry.pop(".missing", None)
    return entry


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
        each: Collection[str],
    ) -> dict[str, Any]:
        """Take the values of the first file; see `drivers.base.FileRow`."""
        for key, stack in stacks.items():
            stack.append(as_array(self._known.values.read_variable(self._variables[key], None)))
        places = {key: i for i, key in enumerate(self._variables)}
        self._each = [(key, places[key], stacks[key]) for key in each if key in stacks]
        return self.entries[META].copy()

    def take(self, path: Location, held: WholeFile) -> dict[str, Any] | None:
        """Take another file; see `drivers.base.FileRow`."""
        if self._is_alone or type(held) is not type(self._known) or not held.is_alike(self._known):
            return None
        places, arrays = held.places(), []
        for key, i, _ in self._each:
            arrays.append(as_array(held.values.read_whole(self._variables[key], places[i])))
        for (_, _, stack), array in zip(self._each, arrays, strict=True):
            stack.append(array)
        return held.attributes()

    def typed(self, entries: Metadata) -> Metadata:
        """Return entries unchanged: attributes have their types."""
        return entries

    def missing(self) -> Mapping[str, bool]:
        """Return nothing: entries have it."""
        return {}
