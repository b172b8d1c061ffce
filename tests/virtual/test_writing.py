"""Files of references: JSON, and folders of Parquet files, read by fsspec with both of its engines."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ds_format as ds
from ds_format.errors import DriverError, UnsupportedError
from ds_format.virtual import writing
from ds_format.virtual.datasets import virtual_dataset

from ..conftest import small_disk
from .conftest import dataset, kerchunk, require_equal, write

pytest.importorskip("kerchunk", reason="kerchunk is not installed")
pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra tables")
pytestmark = pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")


def by_pyarrow(path: str) -> Any:
    reference = importlib.import_module("fsspec.implementations.reference")
    return reference.LazyReferenceMapper(
        path, fs=importlib.import_module("fsspec").filesystem("file"), engine="pyarrow"
    )


def by_fastparquet(path: str) -> Any:
    pytest.importorskip("fastparquet", reason="needs fastparquet")
    return path


Engine = Callable[[str], Any]
both = pytest.mark.parametrize("engine", [by_pyarrow, by_fastparquet])


def opened(folder: Path, engine: Engine, *, consolidated: bool = False, group: str | None = None) -> xr.Dataset:
    """Open a folder of references by zarr."""
    options = {"fo": engine(str(folder)), "remote_protocol": "file"}
    found: xr.Dataset = xr.open_dataset(
        "reference://", engine="zarr", group=group, consolidated=consolidated, storage_options=options
    )
    return found


@both
def test_references_in_parquet_show_what_the_file_shows(path: str, engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "refs.parquet"
    ds.virtualize(path, folder)
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected, opened(folder, engine))
        if engine is by_fastparquet:
            require_equal(expected, opened(folder, engine, consolidated=True))
            require_equal(expected, xr.open_dataset(str(folder), engine="kerchunk"))


@both
def test_many_files_of_references(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "RECORD_SIZE", 7)
    paths = []
    for i in range(40):
        grid = np.random.default_rng(i).random((1, 30, 40)).astype("f4")
        meta = {"x": {".dims": ["time", "lat", "lon"]}, "time": {".dims": ["time"]}}
        paths.append(write(tmp_path / f"{i:02}.ds", {"x": grid, "time": [float(i)], ".": meta}))
    folder = tmp_path / "refs.parquet"
    ds.virtualize(paths, folder, "time")
    assert len(os.listdir(folder / "x")) == 6 and os.listdir(folder / "time") == ["refs.0.parq"]
    found = opened(folder, engine)
    np.testing.assert_array_equal(found["x"], ds.read_many(paths, "x", dim="time")["x"])
    json_found = ds.references(paths, "time")
    require_equal(kerchunk(json_found), found)


@both
def test_groups_and_chunks_that_were_never_written(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RECORD_SIZE", 4)
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("g").createGroup("h")
        group.createDimension("n", 900)
        x = group.createVariable("x", "i4", ("n",), chunksizes=(100,), zlib=True, fill_value=-1)
        x[400:500] = np.arange(100)  # chunk 4: those of the first file are missing
        x[800:] = 7
        y = group.createVariable("y", "i4", ())
        y[...] = 5
    folder = tmp_path / "refs.parquet"
    ds.virtualize(path, folder)
    assert sorted(os.listdir(folder / "g/h/x")) == ["refs.1.parq", "refs.2.parq"]
    expected = ds.read(path)["g/h/x"]
    found = opened(folder, engine, group="g/h", consolidated=True)
    assert found["y"] == 5
    if engine is by_fastparquet:
        np.testing.assert_array_equal(found["x"].fillna(-1), expected.filled(-1))
    else:  # it has NaN in place of missing addresses; see the documents
        np.testing.assert_array_equal(found["x"][800:], expected[800:])


@both
def test_values_that_look_encoded(engine: Engine, tmp_path: Path) -> None:
    values = np.frombuffer(b"base64:no", "u1")
    path = write(tmp_path / "a.ds", {"x": values, ".": {"x": {".dims": ["n"]}}})
    ds.virtualize(path, tmp_path / "refs.parquet")
    np.testing.assert_array_equal(opened(tmp_path / "refs.parquet", engine)["x"], values)


def test_records_are_those_of_the_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "RECORD_SIZE", 5)
    path = str(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "w") as file:
        for name in "ab":
            file.createDimension(name, 60)
        x = file.createVariable("x", "i4", ("a", "b"), chunksizes=(20, 30), fill_value=False)
        x[...] = np.arange(3600).reshape(60, 60)
    [(name, array)] = virtual_dataset([path]).arrays()
    refs = ds.references(path)["refs"]
    records = dict(writing._records(array, [path]))
    assert name == "x" and [len(one["path"]) for one in records.values()] == [5, 1]
    rows = [row for one in records.values() for row in zip(*one.values(), strict=True)]
    expected = [refs[f"x/{i}.{j}"] for i in range(3) for j in range(2)]
    assert [[path, int(at), int(n)] for path, at, n in rows] == expected


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a.ds", dataset())
    ds.virtualize(path, "refs.json", urls="s3://bucket", variables="grid")
    assert json.loads(Path("refs.json").read_text()) == ds.references(path, urls="s3://bucket", variables="grid")


def test_outputs_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.ds", dataset())
    Path("data.parquet").write_bytes(b"PAR1")
    os.makedirs("folder.parquet/x")
    for output, error, message in (
        ("refs", UnsupportedError, "another suffix"),
        ("data.parquet", NotADirectoryError, "data.parquet"),
        ("folder.parquet", FileExistsError, "not empty"),
        ("memory://refs.parquet", UnsupportedError, "local path"),
    ):
        with pytest.raises(error, match=message):
            ds.virtualize("a.ds", output)
    assert Path("data.parquet").read_bytes() == b"PAR1" and os.listdir("folder.parquet") == ["x"]
    assert sorted(os.listdir()) == ["a.ds", "data.parquet", "folder.parquet"]


def test_an_older_folder_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a.ds", dataset())
    ds.virtualize(path, "refs.parquet")
    before = sorted(os.listdir("refs.parquet"))
    write_file = writing._write

    def fail(name: str, data: Any) -> None:
        if name.endswith(".zmetadata"):
            raise OSError(28, "No space left on device", name)
        write_file(name, data)

    monkeypatch.setattr(writing, "_write", fail)
    with pytest.raises(OSError, match=r"refs\.parquet"):
        ds.virtualize(path, "refs.parquet", variables="grid")
    assert sorted(os.listdir("refs.parquet")) == before and sorted(os.listdir()) == ["a.ds", "refs.parquet"]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    ds.virtualize(path, "refs.parquet", variables="grid")
    assert sorted(os.listdir("refs.parquet")) == [".zmetadata", "grid"]


def test_a_full_disk(tmp_path: Path) -> None:
    values = np.arange(2_000_000, dtype="f4").reshape(-1, 8)
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("a", len(values))
        file.createDimension("b", 8)
        file.createVariable("x", "f4", ("a", "b"), chunksizes=(2, 8))[...] = values
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk"), warnings.catch_warnings():
        (tmp_path / "disk/large").write_bytes(bytes(1_900_000))
        with pytest.raises(OSError, match=r"refs\.parquet"):
            ds.virtualize(path, tmp_path / "disk/refs.parquet")
        assert os.listdir(tmp_path / "disk") == ["large"]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.ds", dataset())
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(DriverError, match="tables"):
        ds.virtualize(path, tmp_path / "refs.parquet")
    assert os.listdir(tmp_path) == ["a.ds"]
