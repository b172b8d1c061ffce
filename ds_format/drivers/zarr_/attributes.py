"""Attributes of arrays and groups: JSON in the file, with NumPy types in the dataset.

Other programs see each attribute under its name. Everything that they have no use for is in the
attribute `ds_format`, an object:

============ ==========================================================================================================
`attributes` those that Zarr or xarray have for themselves, as ds-1.0 writes them
`dtypes`     NumPy types of the others, as `.dtypes` of ds-1.0
`properties` properties of the variable, such as `.time`
`order`      of a group: the names of all arrays in the file, in the order of the variables
`name`       of the variable, if an array cannot have it
`dims`       its dimensions, if they are not those that the array names
`type`       ds type, if the array has another one
`empty`      true: the variable has no data
`missing`    the text that means "missing"
`fill`       true: this package added the attribute `_FillValue`
============ ==========================================================================================================
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.text import escape, unescape
from ...codec.attributes import from_json, to_json
from ...codec.header import DTYPES, PRIVATE, TOO_DEEP, is_too_deep
from ...errors import FormatError
from ...model import missing
from ...model.settings import setting
from ..library.catalog import lineage

MARKER = "ds_format"
DIMENSIONS = "_ARRAY_DIMENSIONS"
"""Names of the dimensions of an array in version 2, as xarray writes them."""
FILL = missing.FILL_ATTRIBUTE
TAKEN = frozenset({MARKER, DIMENSIONS, FILL})
STORED = PRIVATE | {".dims", ".size", ".type", DTYPES}
"""Properties that have another place in the file."""

Marker = dict[str, Any]


def stored_attributes(entry: dict[str, Any], dtype: np.dtype[Any] | None) -> tuple[dict[str, Any], Marker]:
    """Return the attributes of an array or group as the file has them, and their part of the marker.

    Parameters
    ----------
    entry : dict
        Metadata of a variable, or of the dataset.
    dtype : dtype, optional
        Dtype of the array, if it has numbers.

    Raises
    ------
    UnsupportedError
        If a value has a type that JSON cannot represent.
    """
    taken = {key for key in entry if unescape(key) in TAKEN}
    found = to_json({key: value for key, value in entry.items() if not key.startswith(".")}, taken)
    properties = to_json({key: value for key, value in entry.items() if key.startswith(".")}, STORED)
    marker = {
        "attributes": to_json({key: entry[key] for key in entry if key in taken}),
        "dtypes": found.pop(DTYPES, {}),
        "properties": properties,
    }
    raw = {unescape(key): value for key, value in found.items()}
    form = fill_form(entry.get(FILL), dtype)
    if form is not None:
        raw[FILL] = form
    return raw, {name: value for name, value in marker.items() if value}


def fill_form(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return a `_FillValue` as xarray writes it: floats as base64 of a double. None: xarray could not read it."""
    if dtype is None or np.ndim(value) or isinstance(value, (str, bytes, dict)) or value is None:
        return None
    fits = missing.fitting(value, dtype)
    if not fits:
        return None
    return base64.b64encode(struct.pack("<d", fits[0])).decode() if dtype.kind == "f" else fits[0].item()


def _fill_of(form: Any, dtype: np.dtype[Any]) -> Any:
    """Return the `_FillValue` of a file as a number of the array, if it is one."""
    value = form
    if dtype.kind == "f" and isinstance(form, str):
        try:
            value = struct.unpack("<d", base64.b64decode(form))[0]
        except (binascii.Error, struct.error):
            return form
    fits = [] if isinstance(value, (str, dict)) or np.ndim(value) else missing.fitting(value, dtype)
    return fits[0] if fits else form


def shown_attributes(raw: dict[str, Any], dtype: np.dtype[Any] | None) -> tuple[dict[str, Any], Marker]:
    """Return attributes and properties of a dataset, and the rest of the marker.

    Parameters
    ----------
    raw : dict
        All attributes of the file by name: JSON values.
    dtype : dtype, optional
        Dtype of the array, if it has numbers.

    Raises
    ------
    FormatError
        If lists or objects are nested too deeply.
    """
    for name, value in raw.items():
        if is_too_deep(value):
            raise FormatError(f'attribute "{name}": {TOO_DEEP}')
    marker = setting(raw, MARKER, dict) or {}
    entry = {escape(name): value for name, value in raw.items() if name not in (MARKER, DIMENSIONS)}
    if FILL in entry and dtype is not None:
        entry[FILL] = _fill_of(entry[FILL], dtype)
    entry = from_json({**entry, DTYPES: setting(marker, "dtypes", dict) or {}})
    hidden = from_json(dict(setting(marker, "attributes", dict) or {}))
    if FILL in hidden and fill_form(hidden[FILL], dtype) != raw.get(FILL):
        del hidden[FILL]  # another program changed it, and did not change the marker
    properties = from_json(dict(setting(marker, "properties", dict) or {}))
    kept = {key: value for key, value in properties.items() if key.startswith(".") and key not in STORED}
    return {**kept, **entry, **hidden}, marker


class DimensionNames:
    """The dimensions of arrays. The file names them without a group, so that each group is a dataset of xarray.

    A name is that of a coordinate in the group of the array, or in one around it. Otherwise it is the same dimension in
    all groups where it has the same size.

    Parameters
    ----------
    given : dict
        Name of an array → names of its dimensions in the file; None for those without a name.
    shapes : dict
        Name of an array → its shape.
    """

    def __init__(self, given: Mapping[str, Sequence[str | None]], shapes: Mapping[str, Sequence[int]]):
        self._given = given
        self._sizes: dict[str | None, set[int]] = {}
        for name, dims in given.items():
            for dim, size in zip(dims, shapes[name], strict=True):
                self._sizes.setdefault(dim, set()).add(size)

    def of(self, name: str) -> list[str]:
        """Return the names of the dimensions of an array, with their groups."""
        groups = ["", *lineage(name)][::-1]
        found = []
        for axis, dim in enumerate(self._given[name]):
            if dim is None:
                found.append(f"{name}_{axis + 1}")
                continue
            paths = [f"{group}/{dim}".removeprefix("/") for group in groups]
            own = next((path for path in paths if [*self._given.get(path, ())] == [dim]), None)
            found.append(own or (dim if len(self._sizes[dim]) == 1 else paths[0]))
        return found
