"""What ds cannot hold: refused with a word on how to leave it out, or left out, in all ways of reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.errors import UnsupportedError

RECORD = np.dtype([("re", "f8"), ("im", "f8")])
WAYS: list[Callable[..., Any]] = [
    ds.read,
    lambda path, **options: ds.read_many([path], **options)[0],
    lambda path, **options: ds.read_many([path], dim="t", **options),
    lambda path, **options: ds.readdir(path.parent, **options)[0],
    lambda path, **options: dict(ds.open(path, **options)),
]


@pytest.fixture(params=["nc", "h5"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"x.{request.param}"
    if request.param == "h5":
        with h5py.File(path, "w") as file:
            file["x"] = np.arange(2.0)
            file["c"] = np.zeros(2, RECORD)
    else:
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("t", 2)
            file.createVariable("x", "f8", ("t",))[:] = [0, 1]
            file.createVariable("c", file.createVLType("f8", "ragged"), ("t",))
    return path


@pytest.mark.parametrize("way", [0, 1, 2])
def test_the_error_names_the_way_out(path: Path, way: int) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedError, match=r'variable "c": .*skip_unsupported=True') as caught:
            WAYS[way](path)
        assert str(caught.value).count("skip_unsupported") == 1
    assert ds.read(path, "x")["x"].tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_what_is_skipped(path: Path, way: int) -> None:
    with pytest.warns(match="left out"):
        found = WAYS[way](path, skip_unsupported=True)
    assert "x" in found
    assert "c" not in found


def test_formats_without_such_types_take_it(tmp_path: Path) -> None:
    for suffix in ("ds", "json"):
        ds.write(tmp_path / f"x.{suffix}", {"x": 1})
        assert ds.read(tmp_path / f"x.{suffix}", skip_unsupported=True)["x"] == 1
