"""Packed numbers, with a scale and an offset that convert them to the numbers they represent.

The attributes are those of the CF conventions (1.12, section 8.1) and of the NetCDF user's guide. Details follow the
netCDF4 library.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, MutableMapping
from typing import Any

from ..base.dtypes import PACKED, RECORDS, TYPES, TypedNumbers, np
from .conventions import is_unsigned, parents_bounds, with_parents

ATTRIBUTES = ("scale_factor", "add_offset", "_Unsigned")
"""Attributes that define packing."""
OF_PACKED = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
"""Attributes whose values are packed numbers, so that they do not apply to unpacked values."""
SETTINGS_OF_PACKED = (PACKED, "fill", "mark")
"""The same of settings of a NetCDF or HDF5 file."""
MOST_DECIMALS = 9
"""Decimals of a scale that is a chosen number; others are quotients."""


def are_packing(attrs: Mapping[str, Any], type_name: str | None) -> bool:
    """Return whether attributes say that numbers of a NetCDF file are packed.

    Parameters
    ----------
    attrs : dict
        Attributes, or all metadata, of the variable.
    type_name : str or None
        Name of its ds type.
    """
    kind = TYPES[type_name].code[0] if type_name in TYPES else ""
    if kind not in ("i", "u", "f"):
        return False
    given = [attrs[name] for name in ("scale_factor", "add_offset") if name in attrs]
    if given and all(map(_is_number, given)):
        return True
    return kind == "i" and is_unsigned(attrs)


def is_packed(entry: Mapping[str, Any], type_name: str | None) -> bool:
    """Return whether values of a variable are packed.

    Floats are packed only if it is recorded that their file follows the convention of NetCDF: in other files the
    attributes are often left from before the values were unpacked, as in ds files of ds-format 5.0.2.

    Parameters
    ----------
    entry : dict
        Metadata of the variable.
    type_name : str or None
        Name of the ds type of its values.

    Examples
    --------
    >>> is_packed({"scale_factor": 0.01}, "int16"), is_packed({"scale_factor": 0.01}, "float64")
    (True, False)
    >>> is_packed({"scale_factor": 0.01, ".netcdf": {"packed": True}}, "float64")
    True
    """
    return are_packing(entry, type_name) and (TYPES[type_name or ""].code[0] != "f" or _is_recorded(entry))


def is_unpacked_by(unpack: bool | None, entry: Mapping[str, Any]) -> bool:
    """Return whether a variable is packed, and is to be unpacked on reading.

    Parameters
    ----------
    unpack : bool or None
        The option of reading. None: unpack if this is the convention of the original file, NetCDF or HDF5.
    entry : dict
        Metadata of the variable.
    """
    if unpack is False:
        return False
    if unpack is None and not _is_recorded(entry):
        return False
    return is_packed(entry, entry.get(".type"))


def entries_to_unpack(meta: Mapping[str, Mapping[str, Any]], unpack: bool | None) -> dict[str, Mapping[str, Any]]:
    """Return the variables that are unpacked on reading: key → metadata with the attributes of packing.

    Bounds are unpacked if their coordinate is. Its attributes apply if they have none (CF conventions 1.12, section
    7.1).

    Parameters
    ----------
    meta : mapping
        Key → metadata of each variable.
    unpack : bool or None
        See `is_unpacked_by`.

    Examples
    --------
    >>> lat = {".type": "int16", "scale_factor": 0.1, "bounds": "b"}
    >>> entries_to_unpack({"lat": lat, "b": {".type": "int16"}}, True)["b"]
    {'.type': 'int16', 'scale_factor': 0.1}
    """
    if unpack is False:
        return {}
    found = {key: entry for key, entry in meta.items() if key != "." and is_unpacked_by(unpack, entry)}
    named = [key for entry in found.values() for key in parents_bounds(entry) if key in meta and key not in found]
    if named:
        whole = with_parents(meta)
        for key in named:
            entry = {**meta[key], **{name: whole[key][name] for name in ATTRIBUTES if name in whole[key]}}
            if is_packed(entry, entry.get(".type")):
                found[key] = entry
    return found


def unpack_all(
    dataset: MutableMapping[str, Any], meta: MutableMapping[str, dict[str, Any]], unpacks: bool | None
) -> None:
    """Unpack the variables of `entries_to_unpack` in place, in a dataset and its metadata."""
    for key, entry in entries_to_unpack(meta, unpacks).items():
        if key in dataset:
            dataset[key] = None if dataset[key] is None else unpack(dataset[key], entry)
            meta[key] = unpacked_meta(entry)


def unpack(values: Any, attrs: Mapping[str, Any]) -> Any:
    """Return the numbers that packed values represent.

    Parameters
    ----------
    values : ndarray, MaskedArray or scalar of numbers
    attrs : dict
        Attributes for which `is_packed` is true.

    Returns
    -------
    ndarray, MaskedArray or scalar
        With the same shape and mask, in the common dtype of values, scale and offset: float64, unless both have a
        narrower type. Python's numbers count as int64 and float64, because NetCDF files store them as such.

    Examples
    --------
    >>> unpack(np.array([400, 450], "i2"), {"scale_factor": 0.01, "add_offset": 273.15})
    array([277.15, 277.65])
    """
    data = np.ma.getdata(values)
    if is_unsigned(attrs) and data.dtype.kind == "i":
        data = data.view(f"u{data.itemsize}")
    scale, offset = attrs.get("scale_factor"), attrs.get("add_offset")
    if (scale is None or _is_number(scale)) and (offset is None or _is_number(offset)):
        with np.errstate(over="ignore"):
            data = _linear(data, scale, offset)
    out = data
    if isinstance(values, np.ma.MaskedArray):
        out = np.ma.MaskedArray(data, np.ma.getmask(values), fill_value=values.fill_value)
    return out if np.ndim(values) or isinstance(values, np.ndarray) else out[()]


def unpack_decimal(values: Any, attrs: Mapping[str, Any]) -> Any:
    """Return unpacked numbers: those of integers are the nearest ones to their decimals.

    They are if scale and offset have few decimals.

    Parameters
    ----------
    values : ndarray or MaskedArray
    attrs : dict
        As of `unpack`.

    Examples
    --------
    >>> attrs = {"scale_factor": 0.01, "add_offset": 273.15}
    >>> packed = np.array([858], "i2")
    >>> unpack(packed, attrs).tolist(), unpack_decimal(packed, attrs).tolist()
    ([281.72999999999996], [281.73])
    """
    out = unpack(values, attrs)
    given = [attrs[name] for name in ("scale_factor", "add_offset") if name in attrs and _is_number(attrs[name])]
    decimals = max(map(_decimals, given), default=0)
    is_decimal = np.ma.getdata(values).dtype.kind in "iu" and decimals <= MOST_DECIMALS
    return out.round(decimals) if is_decimal and out.dtype.kind == "f" else out


def _decimals(number: Any) -> int:
    digits, _, power = str(number).partition("e")
    return max(0, len(digits.partition(".")[2].rstrip("0")) - int(power or 0))


@functools.cache
def _kernel() -> Any:
    """Return a function of a kernel that needs NumPy, which listing a header does not."""
    from ..kernels.common.masked import linear

    return linear


def _linear(data: Any, scale: Any, offset: Any) -> Any:
    """Return `data * scale + offset`, with types promoted in this order. Steps that change nothing are skipped."""
    found = _kernel()(data, scale, offset)
    if found is not None:
        return found
    if scale is not None and offset is not None and scale == 1 and offset == 0:
        return data.astype(np.asarray(scale).dtype)
    if scale is not None and (scale != 1 or offset is not None):
        data = _combined(np.multiply, data, scale)
    if offset is not None and (offset != 0 or scale is not None):
        data = _combined(np.add, data, offset)
    return data


def _combined(function: Any, data: Any, number: Any) -> Any:
    """Return `function(data, number)` in the common type of both.

    NumPy adapts Python's numbers to the type of arrays, and NumPy 1 also its own scalars: uint8 * 2 would be uint8. The
    numbers that files have are int64 or float64 in all formats.
    """
    return function(data, number, dtype=np.result_type(data.dtype, np.asarray(number).dtype))


def unpacked_meta(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a packed variable after its values were unpacked.

    Parameters
    ----------
    entry : dict
        With `.type`. Attributes of packing, and those with packed values, are removed.
    """
    kept = {name: value for name, value in entry.items() if name not in ATTRIBUTES + OF_PACKED + RECORDS}
    for name in RECORDS:
        record = {
            setting: value for setting, value in _record(entry, name).items() if setting not in SETTINGS_OF_PACKED
        }
        if record:
            kept[name] = record
    return {**kept, ".type": unpacked_type(entry)}


def unpacked_type(entry: Mapping[str, Any]) -> str:
    """Return the name of the ds type of unpacked values, from the metadata of a packed variable."""
    name: str = unpack(np.zeros(1, TYPES[entry[".type"]].code), entry).dtype.name
    return name


def _is_recorded(entry: Mapping[str, Any]) -> bool:
    """Return whether the variable was packed in a file of NetCDF or HDF5."""
    return any(name in entry and _record(entry, name).get(PACKED) is True for name in RECORDS)


def _record(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    record = entry.get(name)
    return record if isinstance(record, dict) else {}


def _is_number(value: Any) -> bool:
    """Return whether an attribute is a number that NumPy has a type for."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -(1 << 63) <= value < 1 << 64
    if isinstance(value, TypedNumbers):
        return not isinstance(value.values, list)
    if isinstance(value, (float, str)):  # what needs no NumPy
        return isinstance(value, float)
    return isinstance(value, (np.integer, np.floating))
