"""Several variables of one chunk each, which threads share."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import hdf5
from ds_format.base import threads
from ds_format.body.body import FIRST_SIZE, open_body
from ds_format.errors import FormatError

NAMES = ("a", "b", "c", "d")


@pytest.fixture(params=[1, 4])
def processors(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(threads, "processors", lambda: request.param)
    return int(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    random = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 200)
        file.createDimension("x", 150)
        file.createDimension("t", None)
        for name in NAMES:
            variable = file.createVariable(name, "f4", ("y", "x"), zlib=True, chunksizes=(200, 150), fill_value=-9)
            variable[...] = np.ma.masked_greater(random.normal(size=(200, 150)), 2 if name != "d" else 99)
        file.createVariable("long", "i2", ("t", "x"), zlib=True, chunksizes=(300, 150))[:250] = 7
        file.createVariable("short", "i2", ("t", "x"), zlib=True, chunksizes=(300, 150))[:240] = 8
        file.createVariable("text", str, ("y",))[0] = "a"
        file.createVariable("many", "f8", ("y", "x"), zlib=True, chunksizes=(10, 20))[...] = random.normal(
            size=(200, 150)
        )
        file.createVariable("tiny", "i1", ("x",), zlib=True)[:] = 1
    assert path.stat().st_size > FIRST_SIZE
    return path


@pytest.mark.parametrize("keys", [None, ["b", "short", "many"], ["c"], ["tiny", "a"]])
def test_as_the_library(path: Path, processors: int, keys: list[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    used, values = set(), hdf5.values

    def seen(*given: Any, **how: Any) -> Any:
        used.add(threading.get_ident())
        return values(*given, **how)

    monkeypatch.setattr(hdf5, "values", seen)
    dataset = ds.read(path, keys)
    with netCDF4.Dataset(path) as file:
        for name in keys or file.variables:
            expected = file[name][...]
            assert np.array_equal(np.ma.getmaskarray(dataset[name]), np.ma.getmaskarray(expected))
            assert np.ma.allequal(dataset[name], expected)
    assert {*dataset} == {*(keys or file.variables), "."}
    assert [*dataset] == [name for name in [*file.variables, "."] if name in dataset]
    assert used == {threading.get_ident()} or processors > 1


@pytest.mark.parametrize("damaged", NAMES)
def test_a_damaged_one_is_named(path: Path, processors: int, damaged: str) -> None:
    body = open_body(path)
    dataset = next(each for each in hdf5.read_file(body, netcdf=True).datasets if each.name == damaged)
    chunks = hdf5.stored_of(body, hdf5.place_of(dataset)).chunks
    assert chunks is not None
    offset, content = int(chunks.offsets[0]), bytearray(path.read_bytes())
    content[offset + int(chunks.sizes[0]) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f'"{damaged}"') as error:
        ds.read(path)
    assert str(offset) in str(error.value)
    others = [name for name in NAMES if name != damaged]
    assert [*ds.read(path, others)][:-1] == others
