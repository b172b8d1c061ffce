"""Variables → columns of Arrow, for every library that takes its streams. None is needed to make them.

==================================  ==================================================================================
numbers, booleans                   the same types; booleans are bits
text; byte strings in UTF-8         large_string; other byte strings are large_binary
times of real calendars             timestamp: integers in the coarsest of s, ms, us and ns that is exact, floats in us
other times, durations              numbers, with their units as metadata
missing values                      null; NaN stays a number
packed numbers                      as `ds_format.read` returns them
==================================  ==================================================================================

Text attributes are metadata of the field, those of the dataset of the schema. Other attributes, and what a type of
Arrow does not tell, are JSON in the key `ds_format`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.text import unescape
from ..codec.attributes import to_json
from ..codec.decode import Strings
from ..codec.encode import type_of
from ..codec.header import PRIVATE
from ..datasets import META, attrs
from ..errors import DsError, UnsupportedError
from ..kernels.ds.strings import encode_strings
from ..kernels.table.arrow import Batch, Column, is_text
from ..timeaxis import JD_CALENDAR, JD_UNITS
from ..timeaxis.datetimes import timestamps
from .rows import TableRows

KEY = "ds_format"
"""Key of metadata that are not text."""
TECHNICAL = PRIVATE | {".dims", ".size", ".type"}
"""Properties that a table has in another way, or needs no longer."""
JULIAN = {"units": JD_UNITS, "calendar": JD_CALENDAR}
FORMATS = {
    "int8": "c", "uint8": "C", "int16": "s", "uint16": "S", "int32": "i", "uint32": "I", "int64": "l", "uint64": "L",
    "float16": "e", "float32": "f", "float64": "g",
}  # fmt: skip
"""Type → format string of the C data interface."""


class Table:
    """Columns of variables, which libraries take as an Arrow stream: `polars.DataFrame(table)`.

    It has the method `__arrow_c_stream__` of the PyCapsule interface, which may be called any number of times:
    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """

    def __init__(self, batch: Batch):
        self._batch = batch

    def __len__(self) -> int:
        return self._batch.length

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [column.name.decode() for column in self._batch.columns]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._batch.stream()

    def __repr__(self) -> str:
        return f"<ds_format.Table of {len(self)} rows: {', '.join(self.columns)}>"


def table_of(rows: TableRows, values: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return variables as a table.

    Parameters
    ----------
    rows : TableRows
    values : mapping
        Key → array, masked array or Strings, of all variables that are columns.
    meta : mapping
        Their metadata, and those of the dataset.

    Raises
    ------
    UnsupportedError
        If the name of a variable or an attribute cannot be written in UTF-8 or has a NUL, or a time is not one.
    """
    columns = []
    for key in rows.keys:
        entry, name = meta.get(key, {}), unescape(key)
        try:
            found = values.get(key)
            if not isinstance(found, Strings):
                found = rows.values(key, values, meta)
            if "\0" in name:
                raise UnsupportedError("a NUL ends the name of a column in Arrow")
            columns.append(column_of(name, found, entry))
        except DsError as error:
            raise error.at(variable=name)
    dimension = {".dim": next(iter(rows.sizes))} if len(rows.sizes) == 1 else {}
    return Table(Batch(columns, rows.number, _packed(metadata_of(meta.get(META, {}), dimension))))


def column_of(name: str, values: Any, entry: Mapping[str, Any]) -> Column:
    """Return a variable as a column.

    Parameters
    ----------
    name : str
    values : (n,) ndarray, MaskedArray or Strings
    entry : mapping
        Its metadata.

    Raises
    ------
    UnsupportedError
        If its name, an attribute or text cannot be written in UTF-8, or a time is not one.
    """
    facts: dict[str, Any] = {}
    data: Any = values if isinstance(values, Strings) else np.ma.getdata(values)
    mask: Any = values.mask if isinstance(values, Strings) else np.ma.getmask(values)
    if isinstance(data, np.ndarray):
        row = type_of(values, entry.get(".type"))
        if np.any(mask):  # missing values may be anything
            data = np.where(mask, {"str": b"", "unicode": ""}.get(row.name, data.dtype.type(0)), data)
        if row.is_string:
            data = _strings(data, row.name == "str")
            facts |= {".type": "str"} if row.name == "str" else {}
    if isinstance(data, Strings):
        is_bytes = not is_text(data.offsets, np.frombuffer(data.data, np.uint8))
        if entry.get(".type", facts.get(".type")) == "str":
            facts[".type"] = "str"
        elif is_bytes:
            raise UnsupportedError("found text that is not UTF-8")
        format, buffers = "Z" if is_bytes else "U", [data.offsets, data.data]
    elif data.dtype == np.bool_:
        format, buffers = "b", [np.packbits(data, bitorder="little")]
    elif (times := timestamps(data, JULIAN if entry.get(".time") is True else attrs(entry))) is not None:
        absent = np.isnat(times)
        mask = np.ma.mask_or(mask, absent if absent.any() else np.ma.nomask)
        facts[".type"] = type_of(data).name
        format, buffers = f"ts{np.datetime_data(times.dtype)[0][0]}:", [times.view(np.int64)]
    else:
        numbers = np.ascontiguousarray(data, data.dtype.newbyteorder("="))
        format, buffers = FORMATS[type_of(numbers).name], [numbers]
    nulls = 0 if mask is None else int(np.count_nonzero(mask))
    validity = np.packbits(~mask, bitorder="little") if nulls else None
    length = len(data.offsets) - 1 if isinstance(data, Strings) else len(data)
    metadata = _packed(metadata_of(entry, facts))
    return Column(_utf8(name), format.encode(), metadata, length, nulls, [validity, *buffers])


def _strings(data: NDArray[Any], is_bytes: bool) -> Strings:
    """Return the bytes of strings."""
    try:
        lengths, joined = encode_strings(np.ascontiguousarray(data.astype(object)), not is_bytes)
    except UnicodeEncodeError as error:
        raise UnsupportedError(f"found text that is not UTF-8: {error}") from None
    except TypeError as error:
        raise UnsupportedError(str(error)) from None
    return Strings.of(lengths, False, joined)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnsupportedError(f"found {text!r}, which is not UTF-8") from None


def metadata_of(entry: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a field or a schema.

    Parameters
    ----------
    entry : mapping
        The metadata of a variable or of the dataset. Attributes that are text are so in Arrow.
    facts : mapping
        Properties that the types of Arrow do not tell.
    """
    pairs: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, value in entry.items():
        if key[:1] != "." and type(value) is str and is_free(unescape(key)) and _is_utf8(key + value):
            pairs[unescape(key)] = value
        elif key not in TECHNICAL:
            rest[key] = value
    rest = {**facts, **to_json(rest)}
    return {**pairs, KEY: json.dumps(rest)} if rest else pairs


def is_free(name: str) -> bool:
    """Return whether an attribute of this name means nothing to Arrow, Parquet or pandas."""
    return bool(name) and not name.startswith(("ARROW:", "PARQUET:")) and name not in (KEY, "pandas", "PANDAS_ATTRS")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _packed(pairs: Mapping[str, str]) -> bytes:
    """Return metadata as the C data interface has them."""
    parts = [text.encode() for pair in pairs.items() for text in pair]
    packed = b"".join(struct.pack("=i", len(part)) + part for part in parts)
    return struct.pack("=i", len(pairs)) + packed if pairs else b""
