"""Compares two NetCDF files completely, with the netCDF4 library alone. It prints nothing if they are equal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np


class _Raw(str):
    """Makes the library return the bytes of a text attribute, by taking it for the `_FillValue`."""

    real: str

    def __new__(cls, name: str):
        self = super().__new__(cls, "_FillValue")
        self.real = name
        return self

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self.real.encode("utf-8")


def differences(one: Path | str, other: Path | str, *, storage: bool = True, skip: tuple[str, ...] = ()) -> list[str]:
    """Return what differs between two files, one line each; empty if nothing does.

    Dimensions with sizes and whether unlimited, groups, enum types, variables with their dtype, attributes with their
    types, values bit by bit and as the library masks them, and (`storage`) format, byte order, chunks and filters.
    """
    with netCDF4.Dataset(one) as a, netCDF4.Dataset(other) as b, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [] if a.data_model == b.data_model or not storage else [f"format: {a.data_model}, {b.data_model}"]
        return found + list(_groups(a, b, "", storage, skip))


def _groups(a: Any, b: Any, path: str, storage: bool, skip: tuple[str, ...]) -> Iterator[str]:
    yield from _same(f"{path} groups", sorted(a.groups), sorted(b.groups))
    yield from _same(f"{path} dimensions", _dimensions(a), _dimensions(b))
    yield from _same(f"{path} enums", _enums(a), _enums(b))
    yield from _attributes(a, b, path or "/")
    names = [name for name in a.variables if path + name not in skip]
    yield from _same(f"{path} variables", sorted(names), sorted(b.variables))
    for name in names:
        if name in b.variables:
            yield from _variables(a[name], b[name], path + name, storage)
    for name in a.groups:
        if name in b.groups:
            yield from _groups(a[name], b[name], f"{path}{name}/", storage, skip)


def _dimensions(group: Any) -> dict[str, tuple[int, bool]]:
    return {name: (dimension.size, dimension.isunlimited()) for name, dimension in group.dimensions.items()}


def _enums(group: Any) -> dict[str, tuple[str, dict[str, int]]]:
    return {name: (enum.dtype.name, enum.enum_dict) for name, enum in group.enumtypes.items()}


def _attributes(a: Any, b: Any, where: str) -> Iterator[str]:
    yield from _same(f"{where}: attributes", sorted(a.ncattrs()), sorted(b.ncattrs()))
    for name in set(a.ncattrs()) & set(b.ncattrs()):
        yield from _same(f"{where}: attribute {name}", _attribute(a, name), _attribute(b, name))
        yield from _same(f"{where}: attribute {name}, as text", str(a.getncattr(name)), str(b.getncattr(name)))


def _attribute(owner: Any, name: str) -> Any:
    value = owner.getncattr(_Raw(name), encoding="latin-1")
    if isinstance(value, bytes):
        return "characters", value.rstrip(b"\0")
    if isinstance(value, (str, list)):
        return "string", value
    return value.dtype.str, np.shape(value), value.tobytes()


def _variables(a: Any, b: Any, where: str, storage: bool) -> Iterator[str]:
    yield from _same(f"{where}: dimensions", a.dimensions, b.dimensions)
    yield from _same(f"{where}: dtype", _dtype(a), _dtype(b))
    yield from _attributes(a, b, where)
    if storage:
        yield from _same(f"{where}: byte order", a.endian(), b.endian())
        yield from _same(f"{where}: fill", str(a.get_fill_value()), str(b.get_fill_value()))
        yield from _same(f"{where}: chunks", a.chunking(), b.chunking())
        yield from _same(f"{where}: filters", _filters(a), _filters(b))
    if a.shape != b.shape:
        yield f"{where}: shape {a.shape}, {b.shape}"
        return
    a.set_auto_chartostring(False)
    b.set_auto_chartostring(False)
    a.set_auto_maskandscale(True)
    b.set_auto_maskandscale(True)
    one, other = a[...], b[...]
    yield from _same(f"{where}: mask", _bits(np.ma.getmaskarray(one)), _bits(np.ma.getmaskarray(other)))
    a.set_auto_maskandscale(False)
    b.set_auto_maskandscale(False)
    yield from _same(f"{where}: values", _bits(a[...]), _bits(b[...]))


def _filters(variable: Any) -> dict[str, Any]:
    """Return the filters; zlib of level 0, which the library cannot write, is none."""
    filters = variable.filters() or {}
    return {**filters, "zlib": bool(filters.get("zlib") and filters["complevel"])}


def _dtype(variable: Any) -> str:
    return variable.dtype.str if variable.dtype is not str else "string"


def _bits(values: Any) -> Any:
    array = np.asarray(values, dtype=object if isinstance(values, str) else None)
    return array.tolist() if array.dtype == object else array.tobytes()


def _same(where: str, one: Any, other: Any) -> Iterator[str]:
    if one != other:
        yield f"{where}: {str(one)[:200]}, {str(other)[:200]}"
