"""Arrays and datasets to write, and comparing arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Data = dict[str, Any]
"""A dataset, as accepted by `ds_format.write`."""


def dataset(dims: list[str] | None = None, **arrays: Any) -> Data:
    """Return a dataset of arrays with one attribute each, and dimensions `n`, or `dims`."""
    meta = {name: {".dims": dims or ["n"], "units": "m"} for name in arrays}
    return {**arrays, ".": {**meta, ".": {}}}


def floats(n: int) -> NDArray[np.float64]:
    """Return n distinct values."""
    return np.random.default_rng(1).random(n)


def masked_floats(n: int) -> Any:
    """Return n values, 30 % of them missing."""
    return np.ma.MaskedArray(floats(n), np.random.default_rng(2).random(n) < 0.3)


def flags(n: int, share: float = 0.5) -> NDArray[np.bool_]:
    """Return n booleans, of which a share is true."""
    return np.random.default_rng(3).random(n) < share


def words(n: int) -> list[str]:
    """Return n short strings, some of them not ASCII, no two the same object."""
    return [f"{'žluť' if i % 10 == 0 else 'name'}{i % 9973}" for i in range(n)]


def text(n: int) -> NDArray[Any]:
    """Return n short strings as an object array."""
    return np.array(words(n), object)


def same(found: Any, expected: Any) -> bool:
    """Return whether shape, mask and present values of two arrays are equal; dtypes may differ."""
    found, expected = np.ma.asanyarray(found), np.ma.asanyarray(expected)
    if found.shape != expected.shape:
        return False
    gone = np.ma.getmaskarray(expected)
    if not np.array_equal(np.ma.getmaskarray(found), gone):
        return False
    there, wanted = np.ma.getdata(found), np.ma.getdata(expected)
    if gone.any():
        there, wanted = there[~gone], wanted[~gone]
    if there.dtype.kind in "OTUS":
        return bool(there.tolist() == wanted.tolist())
    return bool(np.array_equal(there, wanted))


class UnequalError(Exception):
    """Two ways of doing the same work gave different values."""


def expect(way: str, found: Any, expected: Any) -> None:
    """Compare arrays, or all variables of datasets.

    Raises
    ------
    UnequalError
        If they are not the same.
    """
    if isinstance(expected, Mapping):
        for name, value in expected.items():
            if name != ".":
                expect(f"{way}: {name}", found[name], value)
    elif not same(found, expected):
        raise UnequalError(f"{way}: found {found!r}, expected {expected!r}")


def expect_whole(way: str, found: Mapping[str, Any], expected: Data) -> None:
    """Compare two datasets: variables, their dimensions and attributes, attributes of the dataset.

    Numeric attributes may have another precision, which the program may have changed.

    Raises
    ------
    UnequalError
        If they are not the same.
    """
    expect(f"{way}: variables", sorted(found), sorted(expected))
    expect(way, found, expected)
    for name, wanted in expected["."].items():
        there = found["."][name]
        if name != ".":
            expect(f"{way}: dimensions of {name}", list(there[".dims"]), wanted[".dims"])
        keys = [key for key in there if not key.startswith(".")]
        expect(f"{way}: attributes of {name}", sorted(keys), sorted(key for key in wanted if not key.startswith(".")))
        for key in keys:
            value, other = np.asarray(there[key]), np.asarray(wanted[key])
            in_kind = other.astype(value.dtype) if value.dtype.kind == other.dtype.kind == "f" else other
            expect(f"{way}: {name}: {key}", value, in_kind)


def stored(data: Data) -> Data:
    """Return a report as other programs get it: missing values as fill values, texts of NumPy, plain attributes."""
    meta = {
        name: {key: _python(value) for key, value in entry.items() if key != ".netcdf"}
        for name, entry in data["."].items()
    }
    return of_arrays({name: _stored(value, meta[name]) for name, value in data.items() if name != "."}, meta)


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value  # JSON has no others


def _stored(value: Any, entry: Mapping[str, Any]) -> NDArray[Any]:
    array = value.filled(entry["_FillValue"]) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    return np.strings.decode(array.astype("S")) if array.dtype.kind in "OS" else array


def settled(found: Mapping[str, Any]) -> Data:
    """Return a report with masks, unpacked numbers and texts, without their attributes, whichever program read it."""
    arrays, meta = {}, {name: dict(entry) for name, entry in found["."].items()}
    for name, value in found.items():
        if name != ".":
            array, entry = np.ma.asanyarray(value), meta[name]
            fill, scale, offset = (entry.pop(key, None) for key in ("_FillValue", "scale_factor", "add_offset"))
            if array.dtype == "S1":  # characters, the last dimension for those of a text
                array = np.ascontiguousarray(array.filled(b"")).view(f"S{array.shape[-1]}")[..., 0]
                entry[".dims"] = entry[".dims"][:-1]
            if array.dtype.kind in "OSTU":
                texts = [one.decode() if isinstance(one, bytes) else str(one) for one in array.ravel()]
                array = np.array(texts, object).reshape(array.shape)
            elif fill is not None:
                array = np.ma.masked_equal(array, fill)
            if array.dtype.kind == "f":
                array = np.ma.masked_invalid(array)
            elif scale is not None:
                array = array * scale + offset
            arrays[name] = array
    return of_arrays(arrays, meta)


def expect_report(way: str, found: Mapping[str, Any], expected: Data) -> None:
    """Compare two reports, whichever programs read them.

    Raises
    ------
    UnequalError
        If they are not the same.
    """
    expect_whole(way, settled(found), settled(expected))


def of_arrays(arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> Data:
    """Return a dataset of arrays, with the metadata of these and of the whole dataset."""
    return {**arrays, ".": {**{name: meta[name] for name in arrays}, ".": meta["."]}}
