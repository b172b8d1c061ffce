"""A new HDF5 file as the Sink makes it: groups, datasets, attributes, dimension scales.

`library_sink` does so with h5py, `composed_sink` in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from .attributes import Native
from .format import Kind


class NewType(NamedTuple):
    """The type of a new dataset."""

    kind: Kind
    name: str
    """ds type."""
    is_big_endian: bool = False
    members: Mapping[str, int] | None = None
    """Names of numbers."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of numbers and booleans in the file."""
        dtype = np.dtype(TYPES[self.name].code)
        return dtype.newbyteorder(">" if self.is_big_endian else "<")


class NewDataset(ABC):
    """A dataset of a new file."""

    max_shape: tuple[int | None, ...]

    @abstractmethod
    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write values of the shape of the slices; strings as `bytes`."""

    @abstractmethod
    def get(self, slices: tuple[slice, ...]) -> NDArray[Any]:
        """Return what was written."""


class NewFile(ABC):
    """A new file. Its objects and attributes have the order in which they are made."""

    @abstractmethod
    def group(self, path: str) -> None:
        """Make a group, in one that exists."""

    @abstractmethod
    def dataset(self, path: str, shape: tuple[int, ...], type_: NewType, options: Mapping[str, Any]) -> NewDataset:
        """Make a dataset.

        Parameters
        ----------
        path : str
        shape : tuple of int
        type_ : NewType
        options : dict
            As `format.creation_options` returns it.
        """

    @abstractmethod
    def attribute(self, path: str, name: str, value: Native) -> None:
        """Set an attribute of an object; the path of the root group is empty."""

    @abstractmethod
    def scale(self, path: str, name: str) -> None:
        """Make a dataset a dimension scale; netCDF has a name of its own for dimensions without a variable."""

    @abstractmethod
    def attach(self, users: Mapping[str, Sequence[str]]) -> None:
        """Attach scales to the dimensions of datasets: path → paths of the scales of all of its dimensions."""
