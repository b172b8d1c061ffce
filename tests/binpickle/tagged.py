"""Values as the JSON of the golden files has them, to be compared with what was loaded."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import hashlib
import math
import pathlib
import uuid
from typing import Any

import numpy as np

IGNORED = {"layout_before_pickling", "writeable_before_pickling", "class"}


def tag(value: Any) -> Any:
    """Return the JSON that stands for a value."""
    kind = type(value)
    if kind in TAGS:
        return TAGS[kind](value)
    if isinstance(value, np.ma.MaskedArray):
        parts = {"data": array(value.data), "mask": array(np.ma.getmaskarray(value))}
        return {"$masked": {**parts, "fill_value": tag(value.fill_value.item())}}
    if isinstance(value, np.ndarray):
        return {"$ndarray": array(value)}
    if isinstance(value, np.dtype):
        return {"$dtype": dtype(value)}
    if isinstance(value, np.generic):
        return {"$npscalar": {"dtype": dtype(value.dtype), "bytes_hex": value.tobytes().hex()}}
    if isinstance(value, pathlib.PurePath):
        return {"$path": {"class": kind.__name__, "str": str(value)}}
    if kind.__module__.startswith("scipy."):
        return {"$sparse": sparse(value)}
    if kind.__module__.startswith("pandas"):
        return pandas(value)
    raise TypeError(f"no tag for {kind}")


def integer(value: int) -> Any:
    return value if abs(value) < 1 << 53 else {"$int": str(value)}


def real(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def text(value: str) -> Any:
    if len(value) <= 1000:
        return value
    return {"$longstr": {"length": len(value), "utf8_sha256": hashlib.sha256(value.encode()).hexdigest()}}


def mapping(value: dict[Any, Any]) -> list[Any]:
    return [[tag(key), tag(entry)] for key, entry in value.items()]


TAGS: dict[type, Any] = {
    type(None): lambda value: value,
    bool: lambda value: value,
    int: integer,
    float: real,
    str: text,
    complex: lambda value: {"$complex": [real(value.real), real(value.imag)]},
    bytes: lambda value: {"$bytes": value.hex()},
    bytearray: lambda value: {"$bytearray": value.hex()},
    list: lambda value: [tag(entry) for entry in value],
    tuple: lambda value: {"$tuple": [tag(entry) for entry in value]},
    dict: lambda value: {"$dict": mapping(value)},
    datetime.datetime: lambda value: {"$datetime": value.isoformat()},
    datetime.date: lambda value: {"$date": value.isoformat()},
    datetime.time: lambda value: {"$time": value.isoformat()},
    datetime.timedelta: lambda value: {"$timedelta": [value.days, value.seconds, value.microseconds]},
    decimal.Decimal: lambda value: {"$decimal": str(value)},
    fractions.Fraction: lambda value: {"$fraction": [value.numerator, value.denominator]},
    uuid.UUID: lambda value: {"$uuid": str(value)},
    collections.OrderedDict: lambda value: {"$ordereddict": mapping(value)},
    collections.defaultdict: lambda value: {
        "$defaultdict": {"factory": value.default_factory.__name__, "items": mapping(value)}
    },
    collections.Counter: lambda value: {"$counter": mapping(value)},
    collections.deque: lambda value: {"$deque": {"maxlen": value.maxlen, "items": [tag(entry) for entry in value]}},
}


def dtype(value: np.dtype[Any]) -> Any:
    if value.kind == "T":
        return "StringDType"
    if value.subdtype is not None:
        return {"subarray": [dtype(value.base), list(value.shape)]}
    if value.names is None:
        return value.str
    assert value.fields is not None
    fields = [(name, *value.fields[name][:2]) for name in value.names]
    listed = [{"name": name, "dtype": dtype(part), "offset": offset} for name, part, offset in fields]
    return {"fields": listed, "itemsize": value.itemsize, "align": value.isalignedstruct}


def array(value: Any) -> dict[str, Any]:
    """Return what is compared of an array: its bytes in C order, or if it has none of its own, its items."""
    parts: dict[str, Any] = {"dtype": dtype(value.dtype), "shape": list(value.shape)}
    if value.dtype.hasobject:
        return {**parts, "data": nested(value, value.ndim)}
    raw = np.ascontiguousarray(value).tobytes()
    if value.size <= 300:
        return {**parts, "c_order_bytes_hex": raw.hex()}
    return {**parts, "c_order_bytes_sha256": hashlib.sha256(raw).hexdigest()}


def nested(value: Any, ndim: int) -> Any:
    return [nested(part, ndim - 1) for part in value] if ndim else tag(value)


def sparse(value: Any) -> dict[str, Any]:
    parts = {"class": type(value).__name__, "format": value.format, "shape": list(value.shape)}
    return {**parts, "dtype": value.dtype.str, "dense": array(value.toarray()), "data": array(value.data)}


def pandas(value: Any) -> Any:
    kind = type(value).__name__
    if kind == "DataFrame":
        columns = [[tag(entry) for entry in value.iloc[:, i].tolist()] for i in range(value.shape[1])]
        axes = {"columns": tag(value.columns), "index": tag(value.index)}
        return {"$dataframe": {**axes, "dtypes": [str(one) for one in value.dtypes], "column_data": columns}}
    if hasattr(value, "names"):
        entries = {"names": [tag(name) for name in value.names], "data": [tag(entry) for entry in value.tolist()]}
        return {"$index": {"class": kind, "dtype": str(value.dtype), **entries}}
    return {"$pandas_scalar": [kind, str(value)]}


def assert_same(found: Any, stored: Any) -> None:
    """Compare two tagged values, in what both of them say."""
    if isinstance(found, dict) and isinstance(stored, dict):
        known = set(found) & set(stored) - IGNORED
        assert known or not found
        for key in known:
            assert_same(found[key], stored[key])
    elif isinstance(found, list) and isinstance(stored, list):
        assert len(found) == len(stored)
        for one, other in zip(found, stored, strict=True):
            assert_same(one, other)
    else:
        assert found == stored and type(found) is type(stored)
