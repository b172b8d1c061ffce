"""Headers to begin with: families of those that files in a row could have."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds
from benchmarks.stations import report
from ds_format.codec import line
from ds_format.errors import DsError
from tests.golden_ds import FOLDER
from tests.strategies import NUMBERS

LONGEST = 16_000
"""Bytes: longer headers only take longer."""


def families() -> list[list[bytes]]:
    """Return the first bytes of files, up to the end of the header, in groups of files that are alike."""
    golden = [list(_of_files(sorted(folder.glob("*.ds")))) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]
    stations = [list(_of_datasets(report(i, headers) for i in range(20))) for headers in ("equal", "own", "all own")]
    kinds = list(_of_datasets(map(_every_kind, range(12))))
    return [family for family in (*golden, *stations, kinds) if family]


def _of_files(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        data = path.read_bytes()
        try:
            end = line.find_end(data, whole=True)
        except DsError:
            end = min(len(data), 200)
        if end <= LONGEST:
            yield data[: end + 1]


def _of_datasets(datasets: Iterable[Any]) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ds"
        for dataset in datasets:
            ds.write(path, dataset)
            yield from _of_files([path])


def _every_kind(i: int) -> dict[str, Any]:
    """Return a dataset of variables and attributes of every kind, some of which are those of this one."""
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
        "\\.hidden": np.arange(i % 4),
        "a" * 60: np.zeros(1, "u1"),
    }
    for name in ("f8", "i2", "flag", "text", "bytes"):
        values[f"masked {name}"] = np.ma.MaskedArray(values[name], np.arange(n) % 2 == 1)
    attributes: list[dict[str, Any]] = [
        {"units": "K", "valid_range": [0.5, i], "n": i},
        {"long_name": f'quote " backslash \\ tab \t é € \U0001f600 {i}', "flag": bool(i % 2), "nothing": None},
        {"f4": np.float32(0.1), "i2": np.int16(i), "array": np.arange(3, dtype="u1"), "many": np.ones((2, 2))},
        {"big": 2**63 + i, "small": -(2**70), "tiny": 5e-324, "inf": float("inf"), "nan": float("nan")},
        {"deep": {"a": [1, {"b": [None, i]}], "": {}}, "empty": [], "_FillValue": -999.0},
        {},
    ]
    meta: dict[str, Any] = {}
    for k, (name, value) in enumerate(values.items()):
        dims = [f"d{axis}_{size}" for axis, size in enumerate(np.shape(value))] if value is not None else []
        meta[name] = {**attributes[(k + i // 6) % len(attributes)], ".dims": dims}
    return {**values, ".": {**meta, ".": attributes[i % len(attributes)]}}
