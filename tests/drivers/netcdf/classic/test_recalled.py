"""Of a file that says what files before it said, the same is read; nobody has a part of what another one has."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.classic import header
from ds_format.drivers.netcdf.classic import recalled

from ....classic.files import Attribute, File, Variable, drawn, encode
from ....classic.same import exact


def fresh(path: Path) -> Any:
    """Read a file as if it were the first one."""
    recalled._idle.clear()
    codec: Any = header
    made = codec.Dimension, codec.Variable, codec.Header, codec.FORMATS, codec.CODES
    codec._parser = type(codec._parser)(*made)
    return read(path)


def read(path: Path) -> Any:
    with ds.open(path) as file:
        meta = {key: dict(file.meta[key]) for key in file.meta}
    dataset = ds.read(path)
    return exact(meta), {key: exact(value) if key == "." else repr(value) for key, value in dataset.items()}


def spoil(value: Any) -> None:
    """Change all that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        value.append("spoiled")
    elif isinstance(value, np.ndarray) and value.size:
        value[...] = 1


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


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_what_was_read_before_changes_nothing(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path, changes in zip(paths, (first, second), strict=True):
        path.write_bytes(encode(station(**changes)))
    expected = [fresh(path) for path in paths]
    fresh(paths[0])
    for path, known in zip(paths + paths[::-1], expected + expected[::-1], strict=True):
        assert read(path) == known


def test_nobody_has_a_part_of_what_another_one_has(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(encode(station()))
    expected = fresh(path)
    for _ in range(3):
        spoil(ds.read(path))
        with ds.open(path) as file:
            spoil(file._source.meta)
        assert read(path) == expected


def test_any_files_in_a_row(tmp_path: Path) -> None:
    random = Random(1)
    paths = []
    for i in range(40):
        paths.append(tmp_path / f"{i}.nc")
        paths[-1].write_bytes(encode(drawn(Random(i // 2))))
    expected = {path: fresh(path) for path in paths}
    for path in random.choices(paths, k=200):
        assert read(path) == expected[path]
