"""Compressed writing: chunks that are compressed here are those that the library would have written."""

from __future__ import annotations

import importlib
import itertools
import re
import shutil
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray

import ds_format as ds
from ds_format.cli import main
from ds_format.codec import filters
from ds_format.drivers import netcdf
from ds_format.drivers.library.options import ROW_SIZE
from ds_format.drivers.netcdf import library_sink
from ds_format.drivers.netcdf.definition import plan_file
from ds_format.drivers.netcdf.hdf5 import sink
from ds_format.drivers.netcdf.options import StorageOptions
from ds_format.errors import DriverError, DsError, MissingError, UnsupportedError
from ds_format.hdf5 import streaming

from .files import read_all, same, var

h5py = pytest.importorskip("h5py")

FIELD = np.round(np.sin(np.arange(120_000.0) / 900).reshape(4, 150, 200) * 20 + 280, 2).astype(np.float32)
MASKED = np.ma.masked_greater(FIELD, 295)
DATASET: dict[str, Any] = {
    "time": np.arange(4.0),
    "x": MASKED,
    "n": np.arange(600_000).reshape(4, -1),
    "flag": FIELD > 280,
    "name": np.array(["a", "bc"]),
    "small": np.arange(3),
    "scalar": np.float32(1.5),
    ".": {
        "time": {".dims": ["time"], "units": "days since 2000-01-01"},
        "x": {".dims": ["time", "lat", "lon"], "_FillValue": np.float32(-9), "units": "K"},
        "n": {".dims": ["time", "cell"]},
        "flag": {".dims": ["time", "lat", "lon"]},
        "name": {".dims": ["station"]},
        "small": {".dims": ["level"]},
    },
}


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write files of any size as if they were large."""
    monkeypatch.setattr(sink, "MAX_VALUES", -1)


@pytest.fixture
def chunks_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of variables whose chunks are compressed here."""
    names: list[str] = []
    finish = sink.StreamingWriter.finish

    def noted(self: sink.StreamingWriter) -> list[str]:
        if isinstance(self._values, streaming.StreamedChunks):
            names.append(self.plan.name)
        return finish(self)

    monkeypatch.setattr(sink.StreamingWriter, "finish", noted)
    return names


def raw(path: Path) -> dict[str, NDArray[Any]]:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return {name: variable[...] for name, variable in file.variables.items()}


def storage(path: Path, name: str) -> dict[str, Any]:
    """Return how a variable is stored, as the library says it."""
    with netCDF4.Dataset(path) as file:
        found = file[name].filters() or {}
        return {**{key: value for key, value in found.items() if value}, "chunks": file[name].chunking()}


def library_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "is_covered", lambda planned: False)


# --- the same as the library ---


@pytest.mark.parametrize("library", ["isal", "libdeflate", "zlib"])
@pytest.mark.parametrize("level", [1, 2, 3, 4, 9])
def test_libraries_and_levels(
    library: str, level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks_of: list[str]
) -> None:
    if library != "zlib" and getattr(filters, library)() is None:
        pytest.skip(f"not installed: {library}")
    for other in {"isal", "libdeflate"} - {library}:
        monkeypatch.setattr(filters, other, lambda: None)
    path = tmp_path / "a.nc"
    ds.write(path, DATASET, compression="zlib", level=level)
    assert chunks_of == ["x", "n", "flag"]
    assert storage(path, "x") == {"zlib": True, "shuffle": True, "complevel": level, "chunks": [4, 150, 200]}
    found = ds.read(path)
    for name in DATASET:
        assert name == "." or np.ma.allequal(found[name], DATASET[name])
    assert np.array_equal(found["x"].mask, MASKED.mask)
    library_alone(monkeypatch)
    ds.write(tmp_path / "b.nc", DATASET, compression="zlib", level=level)
    for name, values in raw(tmp_path / "b.nc").items():
        assert np.array_equal(raw(path)[name], values)
    if level < 9:
        assert path.stat().st_size < 1.2 * (tmp_path / "b.nc").stat().st_size


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    unlimited = draw(st.none() | st.integers(0, len(shape) - 1))
    chunk = [draw(st.integers(1, n + 2 * (axis == unlimited))) for axis, n in enumerate(shape)]
    dtype = draw(st.sampled_from(["i1", "i2", "u4", "i8", "f4", "f8"]))
    record: dict[str, Any] = {"compression": "zlib", "level": 1, "chunks": chunk}
    record |= {name: True for name in ("shuffle", "fletcher32") if draw(st.booleans())}
    record |= {"endian": "big"} if draw(st.booleans()) else {}
    seed = draw(st.integers(0, 99))
    cuts = sorted(draw(st.sets(st.integers(1, shape[0]), max_size=3)))
    return shape, unlimited, dtype, record, np.random.default_rng(seed), cuts, draw(st.booleans())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(case=cases())
def test_random_layouts_and_blocks(case: tuple[Any, ...], tmp_path: Path, chunks_of: list[str]) -> None:
    shape, unlimited, dtype, record, random, cuts, is_masked = case
    values = random.integers(0, 100, shape).astype(dtype)
    mask = random.random(shape) < 0.3
    array = np.ma.MaskedArray(values, mask=mask) if is_masked else values
    dims = [f"d{i}" for i in range(len(shape))]
    fill = {"_FillValue": np.dtype(dtype).type(101)} if is_masked else {}
    meta = {
        "x": var(dims, list(shape), np.dtype(dtype).name, missing=is_masked, netcdf=record, **fill),
        ".": {} if unlimited is None else {".netcdf": {"unlimited": [dims[unlimited]]}},
    }
    chunks_of.clear()
    target = netcdf.create(tmp_path / "a.nc", meta)
    edges = [0, *cuts, shape[0]]
    target.write("x", [array[a:b] for a, b in itertools.pairwise(edges) if a < b])
    target.commit()
    assert chunks_of == ["x"]
    found, data = read_all(tmp_path / "a.nc")
    assert same(np.ma.asarray(data["x"]), np.ma.asarray(array))
    assert found["x"][".netcdf"]["chunks"] == record["chunks"]
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert np.ma.allequal(file["x"][...], array) and file["x"].endian() == record.get("endian", "little")


@pytest.mark.parametrize("compression", ["zlib", "zstd", "bzip2", "szip", "blosc_lz4", "blosc_zstd"])
def test_compressions(compression: str, tmp_path: Path, chunks_of: list[str]) -> None:
    path = tmp_path / "a.nc"
    if not is_known(compression):
        pytest.skip(f"not in this netCDF library: {compression}")
    ds.write(path, DATASET, compression=compression)
    available = {"zlib", "bzip2"} | ({"zstd"} if filters.HDF5[filters.ZSTD].is_available() else set())
    assert bool(chunks_of) == (compression in available)
    assert same(np.ma.asarray(raw(path)["x"]), np.ma.asarray(MASKED.filled(-9)))
    assert storage(path, "x")[compression.partition("_")[0]]


BLOSC = ["blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd"]
SHAPES: list[tuple[tuple[int, ...], list[str], list[int] | None]] = [
    ((3,), [], None),
    ((0,), [], None),
    ((), [], None),
    ((200,), [], None),
    ((200,), [], [1]),
    ((200,), ["d0"], None),
    ((200,), ["d0"], [15]),
    ((200,), ["d0"], [16]),
    ((4, 5), ["d0"], None),
    ((4, 40), ["d0"], None),
    ((4, 5), ["d0", "d1"], None),
    ((40, 4), ["d1"], None),
]
"""Shape, unlimited dimensions, chunks."""


def is_known(compression: str) -> bool:
    with netCDF4.Dataset("x", "w", diskless=True) as file:
        return netcdf.format.is_available(file, compression)


@pytest.mark.skipif(not is_known("blosc_lz"), reason="not in this netCDF library: blosc")
@pytest.mark.parametrize("compression", [*BLOSC, "zlib", "zstd"])
def test_tiny_chunks_are_written_without_blosc(compression: str, tmp_path: Path) -> None:
    for number, (shape, unlimited, chunks) in enumerate(SHAPES):
        for code in ("i1", "i2", "f4", "f8", "?", "S4"):
            path, dims = (
                tmp_path / f"{number}{code[0]}{code[1:]}.nc".replace("?", "b"),
                [f"d{i}" for i in range(len(shape))],
            )
            record = {"compression": compression, "level": 4, "char": {"dim": "c", "size": 4} if code == "S4" else None}
            record["chunks"] = chunks and [*chunks, *([4] if code == "S4" else [])]
            meta = {"x": {".dims": dims, ".netcdf": {k: v for k, v in record.items() if v is not None}}}
            dataset: dict[str, Any] = {
                "x": np.zeros(shape, code),
                ".": {**meta, ".": {".netcdf": {"unlimited": unlimited}}},
            }
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                ds.write(path, dataset)
            with netCDF4.Dataset(path) as file:
                x = file["x"]
                sizes = x.chunking()
                size = np.prod(x.shape if sizes == "contiguous" else sizes) * np.dtype(x.dtype).itemsize
                is_tiny = bool(x.shape) and compression in BLOSC and size < 128
                filters_ = x.filters()
                assert bool(filters_[compression.partition("_")[0]]) == (bool(x.shape) and not is_tiny), (shape, code)
            expected = [f'variable "x": compression {compression} needs chunks of at least 128 bytes, found {size}: ']
            assert len(caught) == is_tiny and all(expected[0] in str(each.message) for each in caught), (shape, code)
            assert np.array_equal(ds.read(path)["x"], dataset["x"])


@pytest.mark.skipif(not is_known("blosc_lz"), reason="not in this netCDF library: blosc")
@pytest.mark.parametrize("compression", BLOSC)
def test_tiny_chunks_that_were_never_written(compression: Any, tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("empty", None)
        file.createVariable("x", "f4", ("time",), compression=compression, chunksizes=(2,))
        file.createVariable("none", "f4", ("empty",), compression=compression, chunksizes=(2,))
        file.createVariable("y", "f4", ("time",))[:] = np.arange(5)
    with pytest.warns(ds.DsWarning, match=f'"(x|none)": compression {compression} needs chunks .* found 8: written wi'):
        ds.convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert ds.read(tmp_path / "b.nc")["x"].mask.all()
    assert "blosc" not in storage(tmp_path / "b.nc", "x")


@pytest.mark.skipif(not is_known("blosc_lz"), reason="not in this netCDF library: blosc")
def test_an_incompressible_chunk_is_named(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 2**63, 5000)
    message = r'a\.nc: variable "x": NetCDF: HDF error: blosc_lz cannot write chunks that it does not make smaller'
    with pytest.raises(ds.DsError, match=message):
        ds.write(tmp_path / "a.nc", {"x": values}, compression="blosc_lz")
    assert not [*tmp_path.iterdir()]


def test_without_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_sink, "is_available", lambda file, compression: False)
    dataset = {"x": np.zeros(3), ".": {"x": {".dims": ["d"], ".netcdf": {"compression": "blosc_lz"}}}}
    with pytest.warns(ds.DsWarning, match="blosc_lz is not available in this netCDF library: written without it"):
        ds.write(tmp_path / "a.nc", dataset)
    assert "blosc" not in storage(tmp_path / "a.nc", "x")


@pytest.mark.parametrize("code", ["i2", "f4", "i8", "f8"])
def test_szip_with_checksums_can_be_read(code: str, tmp_path: Path) -> None:
    path, values = tmp_path / "a.nc", np.arange(5000).astype(code)
    encoding = {"x": {"compression": "szip", "fletcher32": True}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ds.write(path, {"x": values}, encoding=encoding)
    is_left_out = values.itemsize == 8
    assert storage(path, "x").get("fletcher32", False) is not is_left_out
    assert ["Fletcher-32 is left out" in str(each.message) for each in caught] == [True] * is_left_out
    with netCDF4.Dataset(path) as file:
        assert np.array_equal(file["x"][...], values)
    assert np.array_equal(ds.read(path)["x"], values)


def test_edges_are_filled(tmp_path: Path) -> None:
    # another program that makes the dimension longer finds fill values there
    meta = {
        "x": var(["t", "y"], [3, 5], "float32", missing=False, _FillValue=np.float32(-9)),
        ".": {".netcdf": {"unlimited": ["t"]}},
    }
    meta["x"][".netcdf"] = {"chunks": [2, 4], "compression": "zlib"}
    target = netcdf.create(tmp_path / "a.nc", meta)
    target.write("x", [np.ones((3, 5), np.float32)])
    target.commit()
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        file.createVariable("t", "f8", ("t",))[:] = np.arange(4)
        assert file["x"][3].mask.all() and (file["x"][:3] == 1).all()
    with h5py.File(tmp_path / "a.nc", "r+") as file:
        file["x"].resize((4, 5))
        assert (file["x"][3] == -9).all()


def test_other_programs_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds.write(path, DATASET, compression="zlib", level=1)
    with h5py.File(path) as file:
        assert np.array_equal(file["x"][...], MASKED.filled(-9)) and np.array_equal(file["n"][...], DATASET["n"])
    xarray = importlib.import_module("xarray")
    for engine in ("netcdf4", "h5netcdf"):
        if importlib.util.find_spec(engine.replace("netcdf4", "netCDF4")) is None:
            continue
        with xarray.open_dataset(path, engine=engine) as dataset:
            assert np.array_equal(dataset["x"].values, MASKED.filled(np.nan), equal_nan=True)
            assert np.array_equal(dataset["flag"].values, DATASET["flag"])


@pytest.mark.parametrize("words", [["ncdump", "-v", "small,n"], ["h5dump", "-d", "/n"]], ids=lambda words: words[0])
def test_programs_print_the_same(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"not installed: {words[0]}")
    monkeypatch.chdir(tmp_path)
    printed = []
    for alone in (False, True):
        if alone:
            library_alone(monkeypatch)
        ds.write("a.nc", DATASET, compression="zlib", level=1)
        text = subprocess.run([*words, "a.nc"], capture_output=True, text=True, check=True).stdout
        printed.append(re.sub(r"DATASET \d+", "DATASET", text))  # an address
    assert printed[0] == printed[1] and "599999" in printed[0]


# --- blocks ---


def test_variables_in_any_order(tmp_path: Path, chunks_of: list[str]) -> None:
    # of text, and of numbers whose marks of missing values are searched first, the values decide the definition
    big = np.arange(40_000, dtype="i4")
    masked = np.ma.masked_equal(np.arange(-100, 100, dtype="i1").repeat(100), 7)
    data = {"a": big, "s": np.array(["one", "two"]), "b": big + 1, "m": masked, "c": np.arange(9.0), "t": np.array("x")}
    data |= {"d": big + 2, "e": masked}
    dims = {"a": "n", "s": "k", "b": "n", "m": "m", "c": "c", "d": "n", "e": "m"}
    meta = {name: {".dims": [dims[name]] if name in dims else []} for name in data}
    ds.write(tmp_path / "a.nc", {**data, ".": meta}, compression="zlib")
    assert chunks_of == ["a", "b", "m", "d", "e"]
    found = ds.read(tmp_path / "a.nc")
    assert all(np.ma.allequal(np.ma.asarray(found[name]), np.ma.asarray(data[name])) for name in data)
    assert np.array_equal(found["m"].mask, masked.mask)


def test_groups_and_variables_named_as_dimensions(tmp_path: Path, chunks_of: list[str]) -> None:
    data = {"g/x": FIELD, "time": FIELD[0], "lat": np.arange(2000.0)}
    dims = {"g/x": ["time", "lat", "g/lon"], "time": ["y", "z"], "lat": ["other"]}
    meta = {name: {".dims": dims[name]} for name in data}
    ds.write(tmp_path / "a.nc", {**data, ".": meta}, compression="zlib")
    assert chunks_of == [*data]
    found = ds.read(tmp_path / "a.nc")
    assert all(np.array_equal(found[name], data[name]) for name in data)


@pytest.mark.parametrize("after", range(4))
def test_a_writer_that_fails_leaves_no_file(after: int, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_text("before")

    def blocks() -> Iterator[Any]:
        for i in range(after):
            yield FIELD[i : i + 1]
        raise ValueError("no more")

    meta = {"x": var(["t", "y", "x"], [4, 150, 200], "float32", missing=False)}
    target = netcdf.create(tmp_path / "a.nc", meta, compression="zlib", chunks={"t": 2})
    with pytest.raises(ValueError, match="no more"):
        target.write("x", blocks())
    target.abort()
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"] and (tmp_path / "a.nc").read_text() == "before"


@pytest.mark.parametrize("n", [3, 5])
def test_too_few_or_too_many_values(n: int, tmp_path: Path) -> None:
    meta = {"x": var(["t", "y", "x"], [4, 150, 200], "float32", missing=False)}
    target = netcdf.create(tmp_path / "a.nc", meta, compression="zlib")
    with pytest.raises(DsError, match=r'variable "x": found (more|90000) values'):
        target.write("x", [FIELD[:1]] * n)
    target.abort()
    assert [*tmp_path.iterdir()] == []


def test_memory_is_bounded(tmp_path: Path) -> None:
    rows, row = 64, np.zeros((1, 65536), np.float64)
    meta = {"x": var(["t", "y"], [rows, 65536], "float64", missing=False)}
    target = netcdf.create(tmp_path / "a.nc", meta, compression="zlib", level=1, chunks={"t": 4, "y": 16384})
    tracemalloc.start()
    target.write("x", (row + i for i in range(rows)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    target.commit()
    assert peak < 16 << 20 < rows * row.nbytes
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file["x"][:, 5].tolist() == [*range(rows)]


def test_no_library_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for name in ("h5py", "netCDF4"):
            patch.setitem(sys.modules, name, None)
        ds.write(tmp_path / "a.nc", DATASET, compression="zlib", level=2, digits=3)
    stored = {"zlib": True, "shuffle": True, "complevel": 2, "chunks": [4, 150, 200]}
    assert storage(tmp_path / "a.nc", "x") == stored
    assert abs(ds.read(tmp_path / "a.nc")["x"] - MASKED).max() <= 0.5


# --- options ---


def test_options_override_what_is_recorded(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.nc", DATASET, compression="zlib", level=9, chunks={"time": 2, "lat": 30})
    assert storage(tmp_path / "a.nc", "x") == {"zlib": True, "shuffle": True, "complevel": 9, "chunks": [2, 30, 200]}
    assert storage(tmp_path / "a.nc", "small")["chunks"] == "contiguous"
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert storage(tmp_path / "b.nc", "x") == storage(tmp_path / "a.nc", "x")
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc", compression="zlib", level=1, shuffle=False)
    assert storage(tmp_path / "b.nc", "x") == {"zlib": True, "complevel": 1, "chunks": [2, 30, 200]}
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc", compression="none")
    assert storage(tmp_path / "b.nc", "x") == {"chunks": [2, 30, 200]}
    own = {"x": {"zlib": True, "complevel": 3, "chunksizes": (1, 150, 200)}, "n": {"zlib": False}}
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc", compression="bzip2", encoding=own)
    assert storage(tmp_path / "b.nc", "x") == {"zlib": True, "shuffle": True, "complevel": 3, "chunks": [1, 150, 200]}
    assert "zlib" not in storage(tmp_path / "b.nc", "n") and storage(tmp_path / "b.nc", "flag")["bzip2"]


def test_a_small_variable_keeps_its_compression(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.nc", DATASET, encoding={"small": {"zlib": True, "complevel": 2}})
    assert storage(tmp_path / "a.nc", "small")["complevel"] == 2
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc", compression="zlib", level=1)
    assert storage(tmp_path / "b.nc", "small")["complevel"] == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"compression": "zlb"}, DriverError, "a.nc: compression: found 'zlb', .*: did you mean zlib?"),
        ({"compresion": "zlib"}, DriverError, 'has no option "compresion", .*: did you mean compression?'),
        ({"compression": "zlib", "level": 10}, DriverError, "level: found 10, expected 0 to 9 for zlib"),
        ({"compression": "szip", "level": 1}, DriverError, "level: found 1, expected none for szip"),
        ({"compression": "zlib", "level": True}, DriverError, "level: found True, expected 0 to 9"),
        ({"level": 1}, DriverError, "level: expected with the option `compression`"),
        ({"shuffle": True}, DriverError, "shuffle: expected with the option `compression`"),
        ({"compression": "zstd", "shuffle": True}, DriverError, "shuffle: is possible with zlib and blosc, found zstd"),
        ({"compression": "zlib", "shuffle": 2}, DriverError, "shuffle: found 2, expected true or false"),
        ({"chunks": {"tme": 1}}, MissingError, 'found no dimension "tme": did you mean time?'),
        ({"chunks": {"time": 0}}, DriverError, 'chunks: found 0 for the dimension "time", expected 1 or more'),
        ({"chunks": 3}, DriverError, "chunks: found 3, expected a dict"),
        ({"digits": 3, "bits": 4}, DriverError, "found both `digits` and `bits`"),
        ({"digits": 16}, DriverError, "digits: found 16, expected 1 to 15"),
        ({"bits": 0}, DriverError, "bits: found 0, expected 1 to 52"),
        ({"encoding": {"y": {}}}, MissingError, 'variable "y": no such variable, which is in `encoding`'),
        (
            {"encoding": {"x": {"zlb": 1}}},
            DriverError,
            'encoding of "x": there is no setting "zlb": did you mean zlib?',
        ),
        ({"encoding": {"x": {"zlib": True, "complevel": 12}}}, DriverError, 'encoding of "x": level: found 12'),
        ({"encoding": {"x": {"digits": 7}}}, UnsupportedError, 'variable "x": found 7 digits, expected at most 6'),
        ({"encoding": {"n": {"digits": 3}}}, UnsupportedError, 'variable "n": values of type int64 are not rounded'),
        ({"encoding": {"time": {"bits": 3}}}, UnsupportedError, 'variable "time": coordinates are not rounded'),
        (
            {"encoding": {"x": {"significant_digits": 3, "quantize_mode": "BitGroom"}}},
            DriverError,
            "quantize_mode: found 'BitGroom', expected GranularBitRound or BitRound",
        ),
        ({"compression": "zlib", "format": "NETCDF3_CLASSIC"}, UnsupportedError, "cannot hold"),
        (
            {"encoding": {"x": {"chunksizes": (1,)}}},
            DriverError,
            'variable "x": chunksizes: found 1 lengths, expected 3',
        ),
        ({"encoding": {"x": {"chunksizes": 3}}}, DriverError, "chunksizes: found 3, expected 1 or more for each"),
        (
            {"encoding": {"x": {"compression": "szip", "szip_pixels_per_block": 7}}},
            DriverError,
            "szip_pixels_per_block: found 7, expected an even number from 2 to 32",
        ),
        ({"encoding": {"x": {"szip_coding": "mm"}}}, DriverError, "szip_coding: found 'mm', expected nn or ec"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path) -> None:
    data = {**DATASET, ".": {**DATASET["."]}}
    with pytest.raises(error, match=message):
        ds.write(tmp_path / "a.nc", data, **options)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("classic", "expected"), [("NETCDF3_CLASSIC", "NETCDF4_CLASSIC"), ("NETCDF3_64BIT_DATA", "NETCDF4")]
)
def test_what_came_from_a_classic_file(classic: str, expected: str, tmp_path: Path, chunks_of: list[str]) -> None:
    ds.write(tmp_path / "a.nc", {"x": FIELD, "s": np.array(["a"])}, format=classic)
    ds.convert(tmp_path / "a.nc", tmp_path / "b.nc", compression="zlib")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file.data_model == expected and (file["x"][:] == FIELD).all()
    assert chunks_of == ["x"]
    with pytest.raises(UnsupportedError, match="the format NETCDF3_CLASSIC cannot hold compressed variables"):
        ds.convert(tmp_path / "a.nc", tmp_path / "c.nc", compression="zlib", format="NETCDF3_CLASSIC")


def test_chunks_of_large_variables_are_few_at_a_time() -> None:
    # the library would have chosen [674, 52, 103], of which 2.8 GB are open at a time
    meta = {"x": var(["t", "y", "x"], [8760, 721, 1440], "float32")}
    plan = plan_file(meta)
    StorageOptions(compression="zlib").apply(plan, meta)
    chunks = plan.variables["x"].record["chunks"]
    assert chunks[0] * 721 * 1440 * 4 <= ROW_SIZE and 1 << 20 <= np.prod(chunks) * 4 <= 8 << 20
    for size in ([100, 500, 500], [2**40], [4, 3]):
        meta = {"x": var([f"d{i}" for i in range(len(size))], size, "float32")}
        plan = plan_file(meta)
        StorageOptions(compression="zlib").apply(plan, meta)
        assert "chunks" not in plan.variables["x"].record


def test_rows_that_are_too_large_are_left_to_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks_of: list[str]
) -> None:
    monkeypatch.setattr(sink, "ROW_SIZE", 200_000)
    ds.write(tmp_path / "a.nc", DATASET, compression="zlib", chunks={"time": 2})
    assert chunks_of == []
    assert np.array_equal(raw(tmp_path / "a.nc")["x"], MASKED.filled(-9))


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks_of: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    ds.write("a.ds", DATASET)
    stored = {"zlib": True, "shuffle": True, "complevel": 1, "chunks": [4, 150, 200]}
    how = ["compression:", "zlib", "level:", "1"]
    for words, output in (
        (["select", "a.ds", "b.nc", *how], "b.nc"),
        (["convert", "a.ds", "out/", "to:", "nc", *how], "out/a.nc"),
        (["merge", "time", "a.ds", "c.nc", *how], "c.nc"),
        (["select", "a.ds", "d.nc", "encoding:", "{ x: { zlib: true complevel: 1 } }"], "d.nc"),
        (["select", "a.ds", "e.nc", *how, "chunks:", "{ time: 4 }"], "e.nc"),
    ):
        assert main(words) == 0
        assert storage(tmp_path / output, "x") == stored
    assert main(["select", "b.nc", "f.nc", "compression:", "none"]) == 0
    assert "zlib" not in storage(tmp_path / "f.nc", "x")


def test_what_is_rounded_is_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ds.write(tmp_path / "a.ds", DATASET)
    words = ["convert", "--verify", str(tmp_path / "a.ds"), str(tmp_path / "a.nc"), "digits:", "3"]
    assert main(words) == 1
    assert "verify: is not possible with digits, which changes values" in capsys.readouterr().err
    encoding = {"x": {"bits": 3}}
    with pytest.raises(DriverError, match="not possible with bits"):
        ds.convert_many([tmp_path / "a.ds"], tmp_path / "out", to="nc", verify=True, encoding=encoding)
    assert not (tmp_path / "a.nc").exists()


def test_many_and_merged(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", DATASET)
    [one] = ds.convert_many([tmp_path / "a.ds"], tmp_path / "out", to="nc", compression="zlib", digits=3)
    assert storage(Path(str(one.output)), "x")["zlib"]
    ds.merge_files("time", [tmp_path / "a.ds"] * 2, tmp_path / "b.nc", compression="zlib", chunks={"time": 3})
    assert storage(tmp_path / "b.nc", "x")["chunks"] == [3, 150, 200]
    assert np.array_equal(raw(tmp_path / "b.nc")["x"], np.concatenate([MASKED.filled(-9)] * 2))


@pytest.mark.parametrize("is_lazy", [False, True], ids=["arrays", "dask"])
def test_datasets_of_xarray(is_lazy: bool, tmp_path: Path, chunks_of: list[str]) -> None:
    xr = pytest.importorskip("xarray")
    coords = {"time": np.array(["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"], "M8[ns]")}
    x = xr.Dataset({"x": (("time", "lat", "lon"), FIELD), "y": (("time", "lat", "lon"), FIELD)}, coords)
    if is_lazy:
        pytest.importorskip("dask")
        x = x.chunk({"time": 3, "lat": 40})
    path, own = tmp_path / "a.nc", {"y": {"zlib": True, "complevel": 7, "chunksizes": (2, 150, 200)}}
    ds.write(path, x, compression="zlib", level=1, encoding=own)
    assert storage(path, "x") == {"zlib": True, "shuffle": True, "complevel": 1, "chunks": [4, 150, 200]}
    assert storage(path, "y") == {"zlib": True, "shuffle": True, "complevel": 7, "chunks": [2, 150, 200]}
    assert chunks_of == ["x", "y"]
    with xr.open_dataset(path) as back:
        assert x.identical(back.load())
    ds.write(path, x, encoding={"x": {"zlib": True, "significant_digits": 3, "quantize_mode": "GranularBitRound"}})
    with netCDF4.Dataset(path) as file:
        assert file["x"].quantization() == (3, "GranularBitRound") and file["y"].quantization() is None
    with pytest.raises(DriverError, match='no option "encoding"'):
        ds.write(tmp_path / "a.ds", x, encoding={"x": {"digits": 3}})
    tree = xr.DataTree.from_dict({"/": xr.Dataset(), "/g": x})
    ds.write(path, tree, encoding={"/g": {"x": {"zlib": True, "digits": 3}}})
    assert storage(path, "g/x")["zlib"] and "zlib" not in storage(path, "g/y")


def test_a_journal_knows_the_options(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", DATASET)
    how: dict[str, Any] = {"compression": "zlib", "encoding": {"x": {"zlib": True, "chunksizes": (1, 150, 200)}}}
    for level, status in ((1, "converted"), (1, "skipped"), (2, "converted")):
        [one] = ds.convert_many([tmp_path / "a.ds"], tmp_path / "out", to="nc", resume=True, level=level, **how)
        assert one.status == status
