"""Large netCDF-4 files: what is chosen for them, and what is left to the library."""

from __future__ import annotations

import errno
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.body.body import OutputBody
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf.format import chunk_of
from ds_format.drivers.netcdf.hdf5 import sink
from ds_format.hdf5.composing import NotCovered

from ..files import var

SIZES = (1, 2, 3, 7, 48, 100, 365, 720, 1441, 5000, 99_991)


def test_chunks_of_the_library(tmp_path: Path) -> None:
    random = Random(1)
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for size in SIZES:
            file.createDimension(f"d{size}", size)
        for i in range(6):
            file.createDimension(f"u{i}", None)
        for i in range(500):
            rank = random.randint(1, 4)
            dims = [random.choice([f"d{random.choice(SIZES)}", f"u{axis}"]) for axis in range(rank)]
            code = random.choice(["i1", "i2", "f4", "f8"])
            shape = tuple(0 if dim[0] == "u" else int(dim[1:]) for dim in dims)
            if np.prod([n or 1 for n in shape], dtype=float) > 2**40 or (rank > 1 and not any(shape)):
                continue  # 16 MiB of several unlimited dimensions, for few values, are not worth imitating
            made = file.createVariable(f"v{i}", code, dims, zlib=True, fill_value=False)
            is_unlimited = tuple(dim[0] == "u" for dim in dims)
            assert chunk_of(None, shape, is_unlimited, made.dtype.itemsize, True) == tuple(made.chunking()), dims


@pytest.fixture
def by_library(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the library creates."""
    from ds_format.drivers.netcdf import by_library as module  # noqa: PLC0415

    create, found = module.create_by_library, []

    def noted(path: Any, *given: Any, **options: Any) -> Any:
        found.append(Path(path).name)
        return create(path, *given, **options)

    monkeypatch.setattr(module, "create_by_library", noted)
    return found


LARGE = np.arange(150_000.0)


@pytest.mark.parametrize(
    "entry",
    [
        {"long": "x" * 70_000},
        {"long": np.zeros(9000)},
        {"long": ["a"] * 5000},
        {"long": [[1], ["a" * 70_000]]},
        {"long": np.array(["a"] * 5000)},
        {"long": np.zeros((100, 200))},
        {f"a{i:03}" * 50: {"b": i} for i in range(400)},
    ],
    ids=["text", "numbers", "texts", "nested", "array of texts", "two dimensions", "names"],
)
@pytest.mark.filterwarnings("ignore:.* is written as JSON text")
def test_large_attributes(entry: dict[str, Any], tmp_path: Path, by_library: list[str]) -> None:
    data = {"x": LARGE, ".": {"x": {".dims": ["n"], **entry}, ".": {"title": "large"}}}
    ds.write(tmp_path / "a.nc", data)
    ds.write(tmp_path / "b.nc", {**data, ".": {"x": {".dims": ["n"]}, ".": entry}})
    assert by_library == ["a.nc", "b.nc"]
    assert np.array_equal(ds.read(tmp_path / "a.nc")["x"], LARGE)


def test_attributes_that_just_fit(tmp_path: Path, by_library: list[str]) -> None:
    entry = {
        "history": "ž" * 30_000,
        "numbers": np.arange(1500.0),
        "texts": ["ž"] * 1000,
        "array": np.array(["ž"] * 3000),
        "lines": "a\nb" * 10_000,
        **{f"n{i:03}" * 50: i for i in range(400)},
        **{f"a{i}": {"ž": ["ž" * 100]} for i in range(100)},
    }
    data = {"x": LARGE, ".": {"x": {".dims": ["n"], **entry}, ".": entry}}
    with pytest.warns(ds.DsWarning, match="is written as JSON text"):
        ds.write(tmp_path / "a.nc", data)
    assert by_library == []
    found = ds.read(tmp_path / "a.nc")
    for key in (".", "x"):
        assert found["."][key]["history"] == entry["history"] and found["."][key]["a19"] == entry["a19"]
        assert found["."][key]["texts"] == entry["texts"]
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file.history == file["x"].history == entry["history"]


def test_many_variables(tmp_path: Path, by_library: list[str]) -> None:
    for n in (4000, 4001):
        data = {f"v{i}": np.arange(40.0) for i in range(n)}
        ds.write(tmp_path / f"{n}.nc", {**data, ".": {name: {".dims": ["x"]} for name in data}})
        with netCDF4.Dataset(tmp_path / f"{n}.nc") as file:
            assert len(file.variables) == n and file["v7"][3] == 3
    assert by_library == ["4001.nc"]


def test_large_rows(tmp_path: Path, by_library: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "ROW_SIZE", 100_000)
    for chunks in ([2, 30], [10, 30], [1, 300]):
        entry = {".dims": ["y", "x"], ".netcdf": {"chunks": chunks}}
        ds.write(tmp_path / f"{chunks[0]}.nc", {"x": LARGE.reshape(-1, 3000), ".": {"x": entry}})
    assert by_library == ["10.nc"]


def test_the_library_would_be_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def objects_of(*given: Any) -> Any:
        raise NotCovered("something")

    monkeypatch.setattr(sink, "objects_of", objects_of)
    with pytest.raises(ds.errors.UnsupportedError, match="the netCDF library would have to write it: something"):
        ds.write(tmp_path / "a.nc", {"x": LARGE, ".": {}})
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: OutputBody, offset: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.nc").write_text("before")
    monkeypatch.setattr(OutputBody, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        ds.write(tmp_path / "a.nc", {"x": LARGE, ".": {}}, compression="zlib")
    assert caught.value.filename == str(tmp_path / "a.nc")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_text_is_not_kept(tmp_path: Path) -> None:
    n, words = 200, 2000
    meta = {"s": var(["a", "b"], [n, words], "unicode", missing=False, netcdf={"char": None}), ".": {}}

    def blocks() -> Iterator[Any]:
        for i in range(n):
            yield np.array([[f"{i} word {j}" for j in range(words)]], object)

    meta["s"][".netcdf"] = {}
    target = netcdf.create(tmp_path / "a.nc", {**meta, "x": var(["x"], [300_000], "float64", missing=False)})
    tracemalloc.start()
    target.write("s", blocks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    target.write("x", [np.zeros(300_000)])
    target.commit()
    assert peak < 24 << 20
    found = ds.read(tmp_path / "a.nc", ["s"])["s"]
    assert found.shape == (n, words) and found[199, 1999] == "199 word 1999" and found[0, 0] == "0 word 0"


def test_a_file_object_and_an_address(tmp_path: Path) -> None:
    data = {"x": LARGE, ".": {"x": {".dims": ["x"]}}}
    ds.write(tmp_path / "a.nc", data, compression="zlib")
    assert ds.dumps(data, format="nc", compression="zlib") == (tmp_path / "a.nc").read_bytes()
