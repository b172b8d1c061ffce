"""The content hash, written from the text of docs/format.md alone: slowly, from datasets in memory."""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np

import ds_format as ds

OF_VALUES = {"missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"}
NAN = {2: "7e00", 4: "7fc00000", 8: "7ff8000000000000"}


def H(message: bytes) -> bytes:
    return blake2b(message, digest_size=32).digest()


def count(n: int) -> bytes:
    return struct.pack("<Q", n)


def text(t: str) -> bytes:
    return count(len(t.encode("utf-8", "surrogatepass"))) + t.encode("utf-8", "surrogatepass")


def bits(flags: list[bool]) -> bytes:
    digits = "".join("01"[bool(flag)] for flag in flags)
    return bytes(int(digits[i : i + 8].ljust(8, "0"), 2) for i in range(0, len(digits), 8))


def body(items: list[Any], dtype: np.dtype[Any]) -> bytes:
    if dtype.kind in "OUT":
        raw = [item if isinstance(item, bytes) else item.encode() for item in items]
        return b"".join(count(len(one)) for one in raw) + b"".join(raw)
    if dtype.kind == "b":
        return bits(items)
    little = dtype.newbyteorder("<")
    nan = bytes.fromhex(NAN[dtype.itemsize])[::-1] if dtype.kind == "f" else b""
    return b"".join(nan if item != item else np.array(item, little).tobytes() for item in items)


def leaf(values: Any, mask: Any) -> bytes:
    present = list(values[~mask])
    return bytes([int(mask.any())]) + (bits(mask) if mask.any() else b"") + body(present, values.dtype)


def type_name(data: Any, meta: dict[str, Any]) -> str:
    if data.dtype.kind in "OUT":
        present = np.ma.MaskedArray(data).compressed()
        guess = meta.get(".type", "unicode" if data.size else "str")
        return ("str" if isinstance(present[0], bytes) else "unicode") if present.size else guess
    return str(data.dtype.newbyteorder("=").name)


def variable(name: str, data: Any, meta: dict[str, Any]) -> bytes:
    data = None if data is None else np.ma.MaskedArray(data)
    shape = () if data is None else data.shape
    dims = meta.get(".dims", [f"{name}_{i + 1}" for i in range(len(shape))])
    of_type = meta.get(".type", "float64") if data is None else type_name(data, meta)
    message = b"ds variable 1\n" + text("" if data is None else of_type) + count(len(dims))
    for i, dim in enumerate(dims):
        message += text(dim) + count(0 if data is None else shape[i])
    found = {ds.unescape(key): value for key, value in meta.items() if not key.startswith(".")}
    if meta.get(".time") is True:
        found |= {"units": "days since -4713-11-24 12:00 UTC", "calendar": "proleptic_gregorian"}
    found.pop("_FillValue", None)
    message += attributes({key: in_type(key, value, of_type) for key, value in found.items()})
    if data is not None:
        values, mask = np.ma.getdata(data).reshape(-1), np.ma.getmaskarray(data).reshape(-1)
        n = 65536 if of_type in ("str", "unicode") else 4194304 // data.itemsize
        message += b"".join(H(leaf(values[i : i + n], mask[i : i + n])) for i in range(0, values.size, n))
    return H(message)


def in_type(name: str, value: Any, of_type: str) -> Any:
    """Return plain numbers in the type of the variable, if that represents them."""
    is_plain = not isinstance(value, (np.generic, np.ndarray))
    items = value if isinstance(value, list) else [value]
    if name not in OF_VALUES or of_type in ("str", "unicode") or not is_plain or not items:
        return value
    if not all(isinstance(item, (int, float)) for item in items):
        return value
    dtype = np.dtype("int8" if of_type == "bool" else of_type)
    out = []
    for item in items:
        with np.errstate(over="ignore"):
            if dtype.kind == "f":
                if not np.iinfo("i8").min <= (item if abs(item) < np.inf else 0) < 1 << 64 and isinstance(item, int):
                    return value
                out.append(np.float64(item).astype(dtype))
                if np.isinf(out[-1]) and abs(item) < np.inf:
                    return value
            else:
                if not abs(item) < np.inf or int(item) != item:
                    return value
                if not np.iinfo(dtype).min <= item <= np.iinfo(dtype).max:
                    return value
                out.append(dtype.type(int(item)))
    return np.array(out) if isinstance(value, list) else out[0]


def attributes(found: dict[str, Any]) -> bytes:
    return count(len(found)) + b"".join(text(name) + value(found[name]) for name in sorted(found))


def value(v: Any) -> bytes:
    if isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in "UT":
        v = v.tolist()
    if isinstance(v, (np.ndarray, np.generic)):
        v = np.asarray(v)
        shape = [] if v.shape == (1,) else v.shape
        sizes = b"".join(map(count, (len(shape), *shape)))
        return b"#" + text(v.dtype.newbyteorder("=").name) + sizes + body(list(v.flat), v.dtype)
    if v is None:
        return b"n"
    if isinstance(v, str):
        return b"t" + text(v)
    if isinstance(v, dict):
        return b"{" + count(len(v)) + b"".join(text(key) + value(v[key]) for key in sorted(v))
    items = v if isinstance(v, list) else [v]
    kinds = set(map(type, items))
    if kinds == {bool}:
        return value(np.array(items))
    if kinds == {int}:
        for code in ("int64", "uint64"):
            if all(np.iinfo(code).min <= item <= np.iinfo(code).max for item in items):
                return value(np.array(items, code))
    elif kinds <= {int, float} and all(is_float(item) for item in items):
        return value(np.array(items, "f8"))
    if not isinstance(v, list):
        return b"i" + text(str(v))
    if len(v) == 1 and isinstance(v[0], str):
        return value(v[0])
    return b"[" + count(len(v)) + b"".join(map(value, v))


def is_float(item: Any) -> bool:
    return isinstance(item, float) or (abs(item) < 1 << 1023 and int(float(item)) == item)


def digest(d: dict[str, Any]) -> str:
    """Return the hash of a dataset in memory."""
    meta = d.get(".", {})
    names = sorted(ds.unescape(key) for key in d if key != ".")
    dataset = {ds.unescape(key): one for key, one in meta.get(".", {}).items() if not key.startswith(".")}
    parts = ((text(name), variable(name, d[ds.escape(name)], meta.get(ds.escape(name), {}))) for name in names)
    message = H(b"ds attributes 1\n" + attributes(dataset)) + count(len(names)) + b"".join(chain(*parts))
    return H(b"ds dataset 1\n" + message).hex()
