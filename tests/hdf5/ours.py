"""Files that this package writes, as `files.MAKERS` has those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import ds_format as ds
from ds_format.drivers.netcdf.hdf5 import sink


def dumped(path: Path, data: Any, format: str = "netcdf", **options: Any) -> None:
    """Write a file by this package, whatever its suffix."""
    path.write_bytes(ds.dumps(data, format=format, **options))


def composed(path: Path, **record: Any) -> None:
    """Write a file by this package, without a library: text, groups, scales, chunks, an enum type."""
    n = 30
    entry = {".dims": ["time", "x"], "units": "K", ".netcdf": {"chunks": [7, 2], **record}}
    of_enum = {"name": "level", "type": "int8", "members": {"low": 0, "high": 1}}
    meta: dict[str, Any] = {"time": {".dims": ["time"]}, "v": entry, "g/v": {".dims": ["time"], "list": ["a", "b"]}}
    meta |= {"e": {".dims": ["x"], ".netcdf": {"enum": of_enum}}, ".": {".netcdf": {"unlimited": ["time"]}}}
    data: dict[str, Any] = {"time": np.arange(n), "v": np.arange(n * 3.0).reshape(n, 3)}
    data |= {"g/v": np.array([f"text {i}" for i in range(n)], object), "e": np.zeros(3, "i1")}
    dumped(path, {**data, "label": "ž", ".": meta})


def streamed(path: Path) -> None:
    """Write a file by this package as if it were large: a B-tree of two levels, text, values before metadata."""
    n = 150
    entry = {".dims": ["time"], "units": "K", ".netcdf": {"chunks": [2], "compression": "zlib", "level": 1}}
    data = {"v": np.arange(n, dtype="f4"), "s": np.array(["a", "ž", ""] * 3, object), "x": np.arange(4.0), "n": None}
    meta: dict[str, Any] = {"v": entry, "s": {".dims": ["y"]}, "x": {".dims": ["x"]}, "n": {}}
    meta["."] = {".netcdf": {"unlimited": ["time", "y"]}}
    with mock.patch.object(sink, "MAX_VALUES", -1):
        path.write_bytes(ds.dumps({**data, ".": meta}, format="netcdf"))
