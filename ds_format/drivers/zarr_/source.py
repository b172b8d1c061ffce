"""Reading: the arrays of all groups as a Source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.dtype import VariableLengthBytes

from ...base.dtypes import PACKED, TYPE_OF_CODE, TYPES
from ...base.text import escape, unescape
from ...body import path_text
from ...errors import UnsupportedError
from ...model import missing, packing
from ...model.settings import NETCDF, names, setting
from ...timeaxis.datetimes import UNITS, units_attributes
from ..base import OBJECT_SIZE, LossWarning, warn
from ..library.catalog import Catalog, FileVariable, take_bool
from ..library.source import SlabSource
from ..slabs import Slices
from .attributes import DIMENSIONS, FILL, DimensionNames, shown_attributes
from .stores import StoreWatch, guarded, open_group

TIMES = "mM"
"""NumPy kinds of times, which are read as integers with units of CF."""


class ZarrSource(SlabSource):
    """An open dataset; see `ds_format.drivers.base.Source`.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    skip_unsupported : bool
        Leave out arrays of types that ds does not have, with a warning.

    Raises
    ------
    OSError
        If it does not exist.
    FormatError
        If it is not a group of Zarr, or is damaged.
    """

    category = LossWarning
    is_watched_by_path = False

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = path_text(path)
        self.watch = StoreWatch.of(path)
        group = open_group(path)
        with guarded(self.path):
            nodes = {"": group, **dict(group.members(max_depth=None))}
            entries = {name: dict(node.attrs) for name, node in nodes.items()}
        arrays = {name: node for name, node in nodes.items() if hasattr(node, "shape")}
        given = {name: _dims_of(array, entries[name]) for name, array in arrays.items()}
        self._dims = DimensionNames(given, {name: array.shape for name, array in arrays.items()})
        catalog = Catalog(self.path, skip_unsupported, warn)
        of_dataset: dict[str, Any] = {}
        order: list[str] = []
        with guarded(self.path):
            for name in [name for name in nodes if name not in arrays]:
                entry, marker = shown_attributes(entries[name], None)
                order += names(marker, "order")
                prefix = f"{name}/" if name else ""
                of_dataset |= {
                    key if key[:1] == "." else escape(prefix + unescape(key)): value for key, value in entry.items()
                }
        for name in dict.fromkeys(each for each in (*order, *arrays) if each in arrays):
            try:
                with guarded(self.path, name):
                    catalog.add(*self._described(name, arrays[name], entries[name]))
            except UnsupportedError as error:
                catalog.refuse(name, error)
                continue
        catalog.meta["."] = of_dataset
        self._take(catalog)

    def _described(self, name: str, array: Any, raw: dict[str, Any]) -> tuple[FileVariable, dict[str, Any]]:
        """Return what reading an array needs, and its metadata."""
        dtype = array.dtype
        number = dtype.newbyteorder("=") if dtype.kind in "iuf" else None
        if array.metadata.zarr_format == 2 and array.fill_value is not None and number is not None:
            raw = {**raw, FILL: raw.get(FILL, array.fill_value)}  # xarray does the same in version 2 alone
        entry, marker = shown_attributes(raw, number)
        stored = _type_of(array)
        if dtype.kind in TIMES:
            number = np.dtype("i8")
            entry = {**entry, **units_attributes(dtype), FILL: np.int64(np.iinfo("i8").min)}
        type_name = stored
        if stored == "int8" and take_bool(entry):
            type_name = "bool"
        elif marker.get("type") == "str" and stored == "unicode":
            type_name = "str"
        given = setting(marker, "name", str)
        kind = "string" if TYPES[stored].is_string else "number"
        is_empty = marker.get("empty") is True
        found = [] if number is None else missing.sentinels(entry, number, False)
        if marker.get("fill") is True:
            entry.pop(FILL, None)
        mark = setting(marker, "missing", str) if TYPES[type_name].is_string else None
        variable = FileVariable(
            name=name if given is None else given,
            place=array,
            type=type_name,
            kind=kind,
            shape=None if is_empty else tuple(map(int, array.shape)),
            length=None,
            size=dtype.itemsize if kind == "number" else OBJECT_SIZE,
            chunk=tuple(map(int, array.chunks)) or None,
            sentinels=found,
            mark=mark,
            is_decoded=stored == "unicode",
        )
        properties: dict[str, Any] = {
            ".dims": names(marker, "dims") if "dims" in marker else self._dims.of(name),
            ".size": None if is_empty else list(array.shape),
            ".type": marker.get("type") if is_empty and marker.get("type") in (*TYPES, None) else type_name,
            ".missing": variable.may_be_missing,
        }
        if array.ndim and not properties[".dims"]:
            del properties[".dims"]  # the dataset that was written names none
        record = setting(entry, NETCDF, dict) or {}
        if array.shape and array.chunks != array.shape and "chunks" not in record and array.size:
            record = {**record, "chunks": list(map(int, array.chunks))}
        if packing.are_packing(entry, type_name):
            record = {**record, PACKED: True}
        return variable, {**properties, **entry, **({NETCDF: record} if record else {})}

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        with guarded(self.path, variable.name):
            raw = variable.place[slices if slices else ()]
        if variable.kind == "number":
            array = np.asarray(raw)
            array = array.view(array.dtype.str[0] + "i8") if array.dtype.kind in TIMES else array
            return array.astype(array.dtype.newbyteorder("="), copy=False), True
        array = np.asarray(raw, object)
        if variable.type == "str" and variable.is_decoded:
            array = np.array([text.encode() for text in array.reshape(-1)], object).reshape(array.shape)
        return array, True

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _dims_of(array: Any, raw: dict[str, Any]) -> list[str | None]:
    """Return the names of the dimensions of an array in the file; None for those without a name."""
    given = array.metadata.dimension_names if array.metadata.zarr_format == 3 else raw.get(DIMENSIONS)
    if not isinstance(given, (list, tuple)) or len(given) != array.ndim:
        return [None] * array.ndim
    return [dim if isinstance(dim, str) else None for dim in given]


def _type_of(array: Any) -> str:
    """Return the ds type of the values of an array.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    dtype = array.dtype
    if dtype.kind in TIMES and np.datetime_data(dtype)[0] in UNITS and np.datetime_data(dtype)[1] == 1:
        return "int64"
    if dtype.kind in "TU":
        return "unicode"
    if dtype.kind in "SO":
        return "str" if dtype.kind == "S" or isinstance(array.metadata.dtype, VariableLengthBytes) else "unicode"
    code = dtype.char if dtype.kind == "b" else dtype.str[1:]
    if code not in TYPE_OF_CODE:
        raise UnsupportedError(f"values of type {dtype} are not supported")
    return TYPE_OF_CODE[code].name
