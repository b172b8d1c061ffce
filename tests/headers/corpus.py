"""Small files to mutate, in families that can be read in a row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ds_format as ds
from benchmarks.stations import report
from ds_format.codec import line
from ds_format.codec.header import VERSION_LINE
from ds_format.errors import DsError
from tests.golden_ds import FOLDER
from tests.strategies import NUMBERS

LONGEST = 16_000
"""Bytes: longer headers only take longer."""


class File(NamedTuple):
    """The bytes of a small file of the 1.0 layout."""

    head: bytes
    """Up to the end of the header."""
    body: bytes


def families() -> list[list[File]]:
    """Return files, those together that are alike."""
    golden = [list(_of_files(sorted(folder.glob("*.ds")))) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]
    stations = [list(_of_datasets(report(i, headers) for i in range(20))) for headers in ("equal", "own", "all own")]
    kinds = [list(_of_datasets(_every_kind(i, which) for i in range(12))) for which in range(4)]
    return [family for family in (*golden, *stations, *kinds) if family]


def _of_files(paths: Iterable[Path]) -> Iterator[File]:
    for path in paths:
        data = path.read_bytes()
        try:
            end = line.find_end(data, whole=True)
        except DsError:
            end = min(len(data), 200)
        if data.startswith(VERSION_LINE) and end <= LONGEST:
            yield File(data[: end + 1], data[end + 1 : end + 1 + LONGEST])


def _of_datasets(datasets: Iterable[Any]) -> Iterator[File]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ds"
        for dataset in datasets:
            ds.write(path, dataset)
            yield from _of_files([path])


def _every_kind(i: int, which: int) -> dict[str, Any]:
    """Return a dataset with a part of all kinds of variables and attributes; some of them are those of all `i`."""
    n = 2 + i % 3
    values: dict[str, Any] = {code: np.arange(n).astype(code) for code in NUMBERS}
    values |= {
        "big": np.arange(n, dtype=">f8"),
        "flag": np.arange(n) % 2 == 0,
        "text": np.array(["é", "x"] * n, object)[:n],
        "bytes": np.array([b"a", b""] * n, object)[:n],
        "scalar": np.float64(i),
        "empty": np.zeros((0, n)),
        "none": None,
        "žluť": np.ones((n, 1, 2), "f4"),
        "a" * 60: np.zeros(1, "u1"),
        **{
            f"masked {name}": np.ma.MaskedArray(np.arange(n).astype(name), np.arange(n) % 2 == 1)
            for name in ("f8", "i2", "?")
        },
        "masked text": np.ma.MaskedArray(np.array(["a", "é"] * n, object)[:n], np.arange(n) % 3 == 1),
        "masked bytes": np.ma.MaskedArray(np.array([b"a", b"\xff"] * n, object)[:n], np.arange(n) % 3 == 0),
        "one text": "é" * i,
        "one string of bytes": b"station %d" % i,
        "nothing": np.ma.MaskedArray(np.arange(n), True),
        "packed": np.ma.MaskedArray(np.arange(n, dtype="i2"), np.arange(n) % 2 == 0),
    }
    attributes: list[dict[str, Any]] = [
        {"units": "K", "valid_range": [0.5, i], "n": i},
        {"long_name": f'quote " backslash \\ tab \t é € \U0001f600 {i}', "flag": bool(i % 2), "nothing": None},
        {"f4": np.float32(0.1), "i2": np.int16(i), "array": np.arange(3, dtype="u1"), "many": np.ones((2, 2))},
        {"small": -(2**40) - i, "tiny": 5e-324, "list": ["a", 1, None, [], [[i]]], "_FillValue": -999.0},
        {"deep": {"a": [1, {"b": [None, i]}], "": {}}, "empty": []},
        {},
    ]
    if i % 6 == 5:
        attributes[5] = {"big": 2**63 + i, "inf": float("inf"), "nan": float("nan"), "\\.odd": 1}
        values["\\.hidden"] = np.arange(2)
    chosen = {name: value for k, (name, value) in enumerate(values.items()) if k % 4 == which}
    meta: dict[str, Any] = {}
    for k, (name, value) in enumerate(chosen.items()):
        dims = [f"d{axis}_{size}" for axis, size in enumerate(np.shape(value))]
        meta[name] = {**attributes[(k + i // 6) % len(attributes)], ".dims": dims}
        if name == "packed":
            meta[name] |= {"scale_factor": np.float64(0.5), "add_offset": 1.0, ".netcdf": {"packed": True}}
    return {**chosen, ".": {**meta, ".": attributes[i % len(attributes)]}}
