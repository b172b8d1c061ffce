"""The dimension names of datasets, from what scales, labels and the netCDF library tell."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from ..library.guard import ERRORS
from ..settings import LABELS
from .attributes import is_scale, read_attribute
from .calls import Node, address_of
from .names import PURE_DIMENSION

DIMENSION_LIST = "DIMENSION_LIST"
NETCDF_ID = "_Netcdf4Dimid"
NETCDF_COORDINATES = "_Netcdf4Coordinates"


class Dimensions:
    """What all datasets of a file tell about dimensions.

    Parameters
    ----------
    file : h5py.File
    datasets : list of (name, h5py.Dataset)
    """

    def __init__(self, file: Node, datasets: list[tuple[str, Node]]):
        self._file = file
        self._names: dict[tuple[int, int], str] = {}
        """Of dimension scales, by their addresses: the library itself searches the whole file for a name."""
        self._ids: dict[int, str] = {}
        self.pure: dict[str, int] = {}
        """Dimensions that are no variables, and their sizes."""
        for name, dataset in datasets:
            if not is_scale(dataset) or not dataset.shape:
                continue
            self._names.setdefault(address_of(dataset.id), name)
            number = read_attribute(dataset, NETCDF_ID)
            if isinstance(number, np.integer):
                self._ids[int(number)] = name
            if str(read_attribute(dataset, "NAME")).startswith(PURE_DIMENSION) and dataset.ndim == 1:
                self.pure[name] = int(dataset.shape[0])

    @property
    def are_numbered(self) -> bool:
        """Whether a dimension has a number, as the netCDF library gives them."""
        return bool(self._ids)

    def of(self, name: str, dataset: Node) -> list[str] | None:
        """Return the dimension names of a dataset; None if it tells none.

        A label goes before a scale. An axis that has neither is called as a variable without dimensions would be.
        """
        if is_scale(dataset):
            return self._of_scale(name, dataset)
        scales = self._scales(dataset)
        labels = read_attribute(dataset, LABELS)
        if not isinstance(labels, list) or len(labels) != dataset.ndim:
            labels = [""] * int(dataset.ndim)
        if not any(labels) and not any(scales):
            return None
        return [
            label or scale or f"{name}_{axis + 1}"
            for axis, (label, scale) in enumerate(zip(labels, scales, strict=True))
        ]

    def _of_scale(self, name: str, dataset: Node) -> list[str] | None:
        if dataset.ndim == 1:
            return [name]
        numbers = read_attribute(dataset, NETCDF_COORDINATES)
        is_list = isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu"
        found = [self._ids.get(number) for number in numbers.tolist()] if is_list else []
        names = [name for name in found if name is not None]
        return names if len(names) == len(found) == dataset.ndim else None

    def _scales(self, dataset: Node) -> list[str]:
        """Return the path of the first scale of each axis, `""` without one."""
        if DIMENSION_LIST not in dataset.attrs:
            return [""] * int(dataset.ndim)
        lists = dataset.attrs[DIMENSION_LIST]
        if np.shape(lists) != (dataset.ndim,):
            return [""] * int(dataset.ndim)
        return [self._scale(references) for references in lists]

    def _scale(self, references: Any) -> str:
        if not len(references) or not isinstance(references[0], h5py.Reference) or not references[0]:
            return ""
        try:
            return self._names.get(address_of(h5py.h5r.dereference(references[0], self._file.id)), "")
        except ERRORS:
            # it is there no more
            return ""
