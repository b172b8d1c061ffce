"""Fields and columns of pyarrow → metadata and values of variables: for tables in memory, and for files of tables."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as arrow
from numpy.typing import NDArray
from pyarrow import types

from ..base.dtypes import TYPES
from ..base.text import escape, on_one_line
from ..codec.attributes import from_json
from ..datasets import as_array
from ..errors import DsWarning, FormatError, UnsupportedError
from ..timeaxis.axes import convert
from ..timeaxis.datetimes import encode, units_attributes
from .columns import KEY, TECHNICAL, is_free
from .libraries import check_names
from .rows import DIMENSION

NUMBERS = frozenset(name for name, row in TYPES.items() if row.code[0] in "iuf")
"""Types of numbers that may count times."""
NOTED = frozenset({".dims", ".type"})
"""Properties that metadata of a column may have."""


def described(schema: Any) -> tuple[dict[str, Any], str]:
    """Return the attributes of a table, and the name of its dimension.

    Parameters
    ----------
    schema : pyarrow.Schema

    Raises
    ------
    UnsupportedError
        If two columns have the same name.
    FormatError
        If the metadata in the key `ds_format` are not those of this package.
    """
    check_names(schema.names)
    about = attributes_of(schema.metadata)
    dim = about.pop(".dim", None)
    return about, dim if isinstance(dim, str) else _index_of(schema)


def _index_of(schema: Any) -> str:
    """Return the name of the index of the data frame from which pandas made a table."""
    try:
        found = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError):
        return DIMENSION
    names = [one.get("name") if isinstance(one, dict) else one for one in found] if isinstance(found, list) else []
    return names[0] if len(names) == 1 and isinstance(names[0], str) else DIMENSION


def entry_of(field: Any) -> dict[str, Any]:
    """Return the metadata of a column: its attributes, and `.type` of its values as numbers or strings.

    Parameters
    ----------
    field : pyarrow.Field

    Raises
    ------
    UnsupportedError
        If ds does not have its type.
    FormatError
        As `described`.
    """
    kind, entry = field.type, attributes_of(field.metadata)
    kind = kind.value_type if types.is_dictionary(kind) else kind
    noted, names = entry.pop(".type", None), entry.get(".dims")
    if not (isinstance(names, list) and len(names) == 1 and isinstance(names[0], str)):
        entry.pop(".dims", None)
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        if "units" not in entry:
            times = "m8" if types.is_duration(kind) else "M8"
            entry |= units_attributes(np.dtype(f"{times}[{'s' if types.is_date(kind) else kind.unit}]"))
            noted = "int64"
        name = noted if noted in NUMBERS else "float64"
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        name = "str" if noted == "str" else "unicode"
    elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        name = "str"
    elif types.is_null(kind):
        name = "float64"
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        name = np.dtype(kind.to_pandas_dtype()).name
    else:
        raise UnsupportedError(f"found the type {kind}, which ds does not have: cast it to numbers, text or timestamps")
    return {".type": name, **entry}


def attributes_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return the attributes in metadata of Arrow. Bytes that are not UTF-8 become escapes."""
    texts = {key.decode(errors="surrogateescape"): value for key, value in (metadata or {}).items()}
    try:
        rest = json.loads(texts.pop(KEY, b"{}"))
    except ValueError:
        rest = None
    if not isinstance(rest, dict):
        raise FormatError(f"the metadata {KEY} are not a JSON object")
    given = {escape(key): value.decode(errors="backslashreplace") for key, value in texts.items() if is_free(key)}
    return {**given, **from_json({key: value for key, value in rest.items() if key not in TECHNICAL - NOTED})}


def values_of(column: Any, type_name: str) -> Any:
    """Return the values of a column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    type_name : str
        As `entry_of` found it.

    Returns
    -------
    ndarray or MaskedArray
        Those of numbers may be read-only. Times and durations are datetime64 and timedelta64, see `numbers_of`.
    """
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        if getattr(kind, "tz", None) not in (None, "UTC"):
            warnings.warn(on_one_line(f"times in the zone {kind.tz} become UTC"), DsWarning, stacklevel=5)
        column = column.cast(arrow.timestamp("s" if types.is_date(kind) else kind.unit))
    if types.is_timestamp(column.type) or types.is_duration(kind):
        return column.combine_chunks().to_numpy(zero_copy_only=False)
    if type_name in ("unicode", "str"):
        texts = column.cast(arrow.large_binary()) if type_name == "str" else column
        objects = np.empty(len(column), object)
        objects[:] = texts.to_pylist()
        return as_array(objects, type_name)
    if types.is_null(kind):
        return np.ma.MaskedArray(np.zeros(len(column)), True)
    absent = column.is_null().combine_chunks().to_numpy(zero_copy_only=False) if column.null_count else None
    if absent is not None and not types.is_floating(kind):  # those are NaN, which the mask hides
        column = column.fill_null(False if types.is_boolean(kind) else 0)
    data = column.to_numpy()
    return data if absent is None else np.ma.MaskedArray(np.where(absent, data.dtype.type(0), data), absent)


def numbers_of(times: NDArray[Any], entry: Mapping[str, Any]) -> Any:
    """Return datetime64 or timedelta64 as numbers in the units of the metadata; NaT is masked.

    Raises
    ------
    UnsupportedError
        If the units are wrong, or integers of them do not hold the times exactly.
    """
    dtype, absent = np.dtype(TYPES[entry[".type"]].code), np.isnat(times)
    counts = np.where(absent, times.dtype.type(0, np.datetime_data(times.dtype)[0]), times)
    if dtype.kind == "f" and times.dtype.kind == "M":
        own = units_attributes(times.dtype)
        numbers = convert(counts.view(np.int64), own["units"], own["calendar"], entry["units"], entry.get("calendar"))
    else:
        numbers = encode(counts, entry)[0]
    found = numbers.astype(dtype)
    return np.ma.MaskedArray(found, absent) if absent.any() else found
