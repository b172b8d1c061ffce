"""Functions for tests of the NetCDF driver: whole reads and writes by way of Source and Sink."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import netCDF4
import numpy as np

from ds_format.drivers import netcdf

from ...classic.files import Attribute, File, Variable
from ...same import same_data

Data = dict[str, Any]


def leave_to_library(path: Any) -> None:
    """Make the netCDF4 library read a file of its own: the package refuses to tell two equal types from each other."""
    with netCDF4.Dataset(path, "a") as file:
        for name in ("one", "same"):
            file.createEnumType("i1", name, {"a": 0})


def read_all(path: Any, budget: int | None = None, **options: Any) -> tuple[dict[str, dict[str, Any]], Data]:
    """Return metadata and values; by blocks if a budget is given."""
    source = netcdf.open(path, **options)
    try:
        names = [name for name in source.meta if name != "."]
        if budget is None:
            return dict(source.meta), {name: source.read(name) for name in names}
        return dict(source.meta), {name: list(source.blocks(name, budget)) for name in names}
    finally:
        source.close()


def write_all(path: Any, meta: dict[str, dict[str, Any]], data: Data, **options: Any) -> None:
    """Write a dataset, each variable as one block."""
    sink = netcdf.create(path, meta, **options)
    try:
        for name, value in data.items():
            if value is not None:
                sink.write(name, [value])
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def convert(source: Any, target: Any, budget: int = 1 << 20, **options: Any) -> None:
    """Convert a file to another one with nothing beneath masks."""
    reader = netcdf.open(source)
    try:
        writer = netcdf.create(target, dict(reader.meta), **options)
        try:
            for name in reader.meta:
                if name != ".":
                    writer.write(name, blanked(reader.blocks(name, budget)))
            writer.commit()
        except BaseException:
            writer.abort()
            raise
    finally:
        reader.close()


def blanked(blocks: Iterator[Any]) -> Iterator[Any]:
    """Clear the values beneath masks."""
    for block in blocks:
        if isinstance(block, np.ma.MaskedArray):
            data = block.data.copy()
            data[block.mask] = b"" if data.dtype == object else 0
            yield np.ma.MaskedArray(data, mask=block.mask)
        else:
            yield block


def make(path: Path, format: str = "NETCDF4", **dimensions: int | None) -> netCDF4.Dataset:
    """Return a new file with dimensions, to be filled and closed."""
    file = netCDF4.Dataset(path, "w", format=cast("Any", format))
    file.set_auto_maskandscale(False)
    for name, size in dimensions.items():
        file.createDimension(name, size)
    return file


def same(one: Any, other: Any) -> bool:
    """Whether two results are of one type, shape, mask and value, and both or none are a MaskedArray."""
    return isinstance(one, np.ma.MaskedArray) == isinstance(other, np.ma.MaskedArray) and same_data(one, other)


def var(dims: list[str], size: list[int] | None, type: str | None, **attributes: Any) -> dict[str, Any]:
    """Return the metadata of a variable."""
    properties = {".dims": dims, ".size": size, ".type": type}
    properties |= {f".{name}": attributes.pop(name) for name in ("missing", "netcdf") if name in attributes}
    return {**properties, **attributes}


def numbers(*values: float) -> bytes:
    return struct.pack(f">{len(values)}f", *values)


DEFAULTS: dict[str, Any] = {
    "dims": (b"time", b"station"), "units": b"K", "fill": -9.0, "n": 3, "version": 1, "unlimited": True, "scalar": True,
}  # fmt: skip


def station(day: int = 1, **changes: Any) -> File:
    """Return a file of an archive; `changes` are of what it says."""
    said = dict(DEFAULTS)
    said.update(changes)
    t: bytes = said["dims"][0]
    x: bytes = said["dims"][1]
    attributes = [
        Attribute(b"units", 2, said["units"]),
        Attribute(b"valid_range", 5, numbers(-9, 50)),
        Attribute(b"_FillValue", 5, numbers(said["fill"])),
    ]
    data = [numbers(day + i, -9, 5) for i in range(said["n"])]
    data = data if said["unlimited"] else [b"".join(data)]
    return File(
        said["version"],
        [(t, 0 if said["unlimited"] else said["n"]), (x, 3)],
        [Attribute(b"title", 2, b"day %d" % day), Attribute(b".odd", 4, struct.pack(">i", day))],
        [
            Variable(b"x", [1], 3, [struct.pack(">3h", 1, 2, 3)], [Attribute(b"n", 3, struct.pack(">2h", 7, 8))]),
            Variable(b"temperature", [0, 1], 5, data, attributes),
            Variable(b"name", [1], 2, [b"abc"]),
            *([Variable(b"scalar", [], 4, [struct.pack(">i", day)])] if said["scalar"] else []),
        ],
    )


CHANGES: list[dict[str, Any]] = [
    {},
    {"day": 2},
    {"n": 1},
    {"n": 5},
    {"dims": (b"t", b"s")},
    {"units": b"degC"},
    {"fill": 5.0},
    {"version": 2},
    {"version": 5},
    {"unlimited": False},
]
