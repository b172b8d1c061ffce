"""The types: NetCDF ↔ ds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...base.dtypes import TYPES

Kind = Literal["number", "bool", "char", "string"]
"""How values lie in a file: as they are, as 0 and 1 in int8, as characters along a last dimension, as variable-length
strings."""

BOOL_ATTRIBUTE = ("dtype", "bool")
"""Marks int8 values as booleans, as xarray does it."""

BOOL_CODE = "i1"

CLASSIC_CODES = ("i1", "i2", "i4", "f4", "f8")
CDF5_CODES = (*CLASSIC_CODES, "u1", "u2", "u4", "u8", "i8")

CODES: dict[str, tuple[str, ...]] = {
    "NETCDF3_CLASSIC": CLASSIC_CODES,
    "NETCDF3_64BIT_OFFSET": CLASSIC_CODES,
    "NETCDF3_64BIT_DATA": CDF5_CODES,
    "NETCDF4_CLASSIC": CLASSIC_CODES,
    "NETCDF4": CDF5_CODES,
}
"""File formats, and the numbers each can hold, as NumPy kind and item size."""


def file_kind(type_name: str, format: str) -> Kind:
    """Return how values of a ds type lie in a file of a format, unless a record of the variable says otherwise."""
    if type_name == "bool":
        return "bool"
    if type_name == "unicode":
        return "string" if format == "NETCDF4" else "char"
    return "char" if TYPES[type_name].is_string else "number"


def file_dtype(type_name: str) -> np.dtype[Any]:
    """Return the dtype in the file of numbers and booleans."""
    return np.dtype(BOOL_CODE if type_name == "bool" else TYPES[type_name].code)
