"""Files for the tests of many files as one dataset."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds
from ds_format.many.opening import ManyFiles, open_files
from ds_format.many.scanning import JoinOptions
from ds_format.model.index import take

NAMES = ("t", "x", "s", "flag", "k")
SIZES = [2, 3, 3, 0, 1, 2, 2, 2]


def make(i: int, n: int) -> dict[str, Any]:
    """Make a dataset with a bit of everything, `n` positions along `t`."""
    mask = np.arange(3 * n).reshape(3, n) % 4 == i % 5
    return {
        "t": np.arange(n) + 10.0 * i,
        "x": np.ma.MaskedArray(np.arange(3 * n, dtype="i2").reshape(3, n) + 100 * i, mask),
        "s": np.array([f"ž{i}" * k for k in range(n)], object),
        "flag": np.arange(n) % 2 == i % 2,
        "k": np.arange(2 * n, dtype=">f4").reshape(n, 2) + i,
        "y": np.array([1.0, np.nan, 3.0]),
        "site": "here",
        ".": {
            "t": {".dims": ["t"], "units": "s"},
            "x": {".dims": ["y", "t"]},
            "s": {".dims": ["t"]},
            "flag": {".dims": ["t"]},
            "k": {".dims": ["t", "z"]},
            "y": {".dims": ["y"]},
            ".": {"number": i, "name": f"file {i}", "title": "all"},
        },
    }


def write(folder: Path, *datasets: dict[str, Any], suffix: str = ".ds") -> list[str]:
    paths = [str(folder / f"f{i:02}{suffix}") for i in range(len(datasets))]
    for path, dataset in zip(paths, datasets, strict=True):
        ds.write(path, dataset)
    return paths


def opened(paths: list[str], dim: str = "t", sortby: str | None = None, **options: Any) -> ManyFiles:
    return open_files(paths, JoinOptions(dim, **options), sortby=sortby)


def values(found: ManyFiles, name: str, index: tuple[Any, ...] | None = None) -> Any:
    """Return a variable or a part of it, whether it was read at once or is read now."""
    if name in found.lazy:
        return pickle.loads(pickle.dumps(found.lazy[name])).read(index)
    array = found.arrays[name] if index is None else take(found.arrays[name], index)
    return array if array.ndim or isinstance(array, np.ma.MaskedArray) else array[()]


def read_all(found: ManyFiles) -> dict[str, Any]:
    return {name: values(found, name) for name in NAMES}


def expected(paths: list[str], name: str, axis: int = 0) -> Any:
    return np.ma.concatenate([ds.read(path, unpack=False)[name] for path in paths], axis)
