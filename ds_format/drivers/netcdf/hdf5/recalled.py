"""The metadata of a netCDF-4 file, reused from earlier files whose objects say the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ....hdf5 import DatasetPlace
from ...library.catalog import DescribedFile, DescribedVariable, FileVariable
from ..catalog import ReadScalar
from ..format import take_marker
from ..recalled import Memory, RecalledFile, escaped
from .description import FileOutline, OutlinedVariable

IDLE = 8
"""Most memories that are kept for others."""
CHANGEABLE = frozenset((list, np.ndarray))
"""Types of values of attributes that users may change."""


class NetCDF4Memory(Memory[OutlinedVariable]):
    """Metadata of the file before; see `Memory`."""

    outline: FileOutline
    """Outline of the file that is being read."""

    def is_same(self, place: OutlinedVariable, known: OutlinedVariable) -> bool:
        """Compare what the objects say; see `Memory`."""
        return is_same(place, known)

    def dims(self, place: OutlinedVariable) -> list[str]:
        """See `Memory`."""
        return place.dims

    def positions(self, header: FileOutline) -> Sequence[DatasetPlace]:
        """See `Memory`."""
        return header.places

    def described(self, place: OutlinedVariable, position: DatasetPlace) -> DescribedVariable:
        """See `Memory`."""
        return self.outline.described(place, position)

    def moved(self, variable: FileVariable, place: OutlinedVariable, position: DatasetPlace) -> FileVariable:
        """See `Memory`."""
        shape = place.shape if variable.length is None else place.shape[:-1]
        return FileVariable(
            variable.name, variable.type, variable.kind, shape, variable.length, variable.size, variable.chunk,
            variable.sentinels, variable.mark, variable.is_decoded, position, variable.sought, variable.growing,
        )  # fmt: skip

    def settings(self, header: FileOutline) -> Any:
        """See `Memory`."""
        return header.format, [(group.prefix, group.strings) for group in header.groups], header.enums.records

    def file(self, header: FileOutline) -> DescribedFile:
        """See `Memory`."""
        return DescribedFile(header.format, header.dimensions, header.groups, [], list(header.enums.records.items()))

    def attributes(self, header: FileOutline) -> dict[str, Any]:
        """See `Memory`."""
        return attributes_of(header)


def is_same(variable: OutlinedVariable, known: OutlinedVariable) -> bool:
    """Return whether two files say the same of a variable, except for its shape and position."""
    if variable is known:
        return True
    if variable.name != known.name or variable.dims != known.dims:
        return False
    one, other = variable.dataset, known.dataset
    return (
        one.type == other.type
        and one.layout.chunk == other.layout.chunk
        and one.filters == other.filters
        and (one.fill is None) is (other.fill is None)
        and one.strings == other.strings
        and _are_same(variable.attributes, known.attributes)
    )


def _are_same(attributes: dict[str, Any], known: dict[str, Any]) -> bool:
    """Return whether attributes have the same values, to the last bit, in the same order."""
    if attributes is known:
        return True
    return [*attributes] == [*known] and all(map(_is_same_value, attributes.values(), known.values()))


def _is_same_value(value: Any, known: Any) -> bool:
    if value is known:
        return True
    if type(value) is not type(known):
        return False
    if type(value) is str or type(value) is list:
        return bool(value == known)
    return bool(value.dtype == known.dtype and value.shape == known.shape and value.tobytes() == known.tobytes())


def attributes_of(outline: FileOutline) -> dict[str, Any]:
    """Return the attributes of the dataset by their keys, which may be changed; those of groups lose the marker."""
    found: dict[str, Any] = {}
    for prefix, attributes, _ in outline.groups:
        own = attributes.copy()
        if not CHANGEABLE.isdisjoint(map(type, own.values())):
            own = {name: value.copy() if type(value) in CHANGEABLE else value for name, value in own.items()}
        take_marker(own)
        found |= escaped(own, prefix)
    return found


_idle: list[NetCDF4Memory] = []


def recall(
    outline: FileOutline, read_scalar: ReadScalar, keys: Collection[str] | None = None, lends: bool = False
) -> RecalledFile:
    """Return the variables of a file and their metadata; parameters as of `Memory.recall`."""
    try:
        memory = _idle.pop()
    except IndexError:
        memory = NetCDF4Memory()
    memory.outline = outline
    recalled = memory.recall(outline, read_scalar, keys, lends)
    del memory.outline
    if len(_idle) < IDLE:  # after an error it may remember parts of two files
        _idle.append(memory)
    return recalled
