"""Fixtures for tests of many files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.ds import alike
from ds_format.many import reading

from .files_as_one import SIZES, make, write


@pytest.fixture(params=["batch", "whole", "large"])
def paths(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that are read together, one by one, and by parts."""
    monkeypatch.setattr(reading, "BATCH", 3)
    if request.param != "batch":
        monkeypatch.setattr(reading, "SMALL_SIZE", 8)
    if request.param == "large":
        monkeypatch.setattr(alike, "SMALL", alike.SMALL._replace(size=8))
    return write(tmp_path, *(make(i, n) for i, n in enumerate(SIZES)))


KINDS = ("a.ds", "b.nc", "c.nc4", "d.h5", "e.json", "f.msgpack")

"""Suffixes of files that are read in different ways."""

FORMATS = {"b.nc": "NETCDF3_CLASSIC", "c.nc4": "NETCDF4"}


def written(folder: Path, kind: str, datasets: Sequence[dict[str, Any]]) -> list[str]:
    paths = [str(folder / f"{i}{kind[1:]}") for i in range(len(datasets))]
    options: Any = {"format": FORMATS[kind]} if kind in FORMATS else {}
    for path, dataset in zip(paths, datasets, strict=True):
        ds.write(path, dataset, **options)
    return paths


def into_memory(paths: list[str], **options: Any) -> Any:
    return ds.read_many(paths, dim="time", **options)


def into_a_file(paths: list[str], **options: Any) -> Any:
    output = Path(paths[0]).with_name("out.ds")
    ds.merge_files("time", paths, output, **options)
    return ds.read(output)


def of_datasets(paths: list[str], **options: Any) -> Any:
    return ds.merge([ds.read(path) for path in paths], "time", **options)


def a_bit_of_everything(i: int) -> dict[str, Any]:
    """Make a dataset with a bit of everything, two positions along `t`."""
    return {
        "t": np.array([2.0 * i, 2.0 * i + 1]),
        "x": np.ma.MaskedArray(
            np.arange(6, dtype="i2").reshape(2, 3) + i, [[bool(i % 2), False, False], [False, False, False]]
        ),
        "s": np.array([f"ž{i}", ""], object),
        "flag": np.array([True, i % 2 == 0]),
        "site": i,
        ".": {
            "t": {".dims": ["t"], "units": "s"},
            "x": {".dims": ["t", "y"]},
            "s": {".dims": ["t"]},
            "flag": {".dims": ["t"]},
        },
    }
