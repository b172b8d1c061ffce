"""Datasets of xarray with arrays of dask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")


def example() -> Any:
    """Return a dataset with something of all that writing changes."""
    rain = np.arange(12.0).reshape(4, 3)
    rain[1, 2] = np.nan
    packing = {"dtype": np.dtype("i2"), "scale_factor": 0.5, "_FillValue": np.int16(-9)}
    return xr.Dataset(
        {
            "rain": (("time", "x"), rain, {"units": "mm"}, packing),
            "wet": ("time", [True, False, True, True]),
            "note": ("time", np.array(["a", None, "", "d"], dtype=object)),
            "plain": (("time", "x"), rain.astype("f4")),
        },
        {"time": np.array(["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"], "M8[ns]"), "mean": 1.5},
        {"title": "Rain"},
    )


def chunked(dataset: Any) -> Any:
    """Return a dataset in chunks of dask, but for objects, which would be computed at once."""
    return dataset.assign({name: dataset[name].chunk({"time": 2}) for name in ("rain", "wet", "plain")})


da = pytest.importorskip("dask.array", reason="dask is optional")

delayed_ = pytest.importorskip("dask.delayed", reason="dask is optional")

parallel = pytest.importorskip("ds_format.xarray_.parallel", reason="dask is optional")

NUMBERS = np.arange(20)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, arrays: dict[str, Any], *, compute: bool = True, meta: Any = None, **options: Any) -> None:
    """Write a file, at once or as something delayed."""
    before = names(path.parent) if path.parent.exists() else None
    delayed = parallel.write(path, meta or {}, arrays, compute=compute, **options)
    if compute:
        assert delayed is None
    else:
        assert type(delayed) is delayed_.Delayed
        assert before is None or names(path.parent) == before
        assert delayed.compute() is None


def many_kinds() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return metadata, arrays, and these as NumPy arrays."""
    grid = np.arange(600.0).reshape(6, 10, 10)
    text = np.array(["", "a", "žluť", "long " * 20, "b", "c"], object).reshape(2, 3)
    masked = np.ma.MaskedArray(NUMBERS, NUMBERS % 3 == 0)
    flags = NUMBERS % 2 == 0
    meta = {
        "rows": {".dims": ["t", "y", "x"], "units": "K"},
        "masked": {".missing": True, "valid_max": np.int16(7)},
        ".": {"title": "many kinds"},
    }
    arrays = {
        "rows": da.from_array(grid, chunks=(2, 10, 10)),
        "tiles": da.from_array(grid.astype(">f4"), chunks=(4, 3, 7)),
        "columns": da.from_array(grid[0], chunks=(10, 1)),
        "one": da.from_array(np.array(3, "i2")),
        "empty": da.zeros((3, 0, 2), dtype="u1"),
        "masked": da.from_array(masked, chunks=7),
        "whole": da.from_array(np.ma.MaskedArray(grid[0]), chunks=(3, 4)),
        "text": da.from_array(text, chunks=(1, 2)),
        "words": da.from_array(np.array(["x", "yyy", "zz"]), chunks=2),
        "bytes": da.from_array(np.array([b"x", b"yyy", b"zz"]), chunks=1),
        "flags": da.from_array(flags, chunks=8),
        "odd": da.from_array(flags, chunks=3),
        "eager": NUMBERS * 2,
        "eager text": text,
        "nothing": None,
    }
    expected = {key: array.compute() if isinstance(array, da.Array) else array for key, array in arrays.items()}
    return {**meta, **{key: {} for key in arrays if key not in meta}}, arrays, expected
