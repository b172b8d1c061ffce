"""References of one file: values by all routes, JSON, what is refused, hostile files, requests."""

from __future__ import annotations

import base64
import contextlib
import json
import tomllib
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import ds_format as ds
from ds_format.codec.filters import ZLIB_NUMBER
from ds_format.drivers.base import LossWarning
from ds_format.errors import DsError, FormatError, MissingError, TruncatedError, UnsupportedError
from ds_format.virtual import chunks
from ds_format.virtual.codec import CODEC_ID, ChunkCodec
from ds_format.virtual.registered import Zarr2Codec

from ..remote.server import Server
from .conftest import dataset, kerchunk, masked, plain, require_equal, strict, write

ROOT = Path(__file__).parents[2]


def test_xarray_shows_a_file_and_its_references_alike(path: str) -> None:
    found = kerchunk(ds.references(path))
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected, found)
    assert found["time"].dtype.kind == "M"
    assert found["grid"].attrs["units"] == "K"
    assert found.attrs["title"] == "a title"


def test_zarr_reads_a_file_by_its_references(path: str) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    files = fsspec.filesystem(
        "reference", fo=ds.references(path), asynchronous=True, remote_options={"asynchronous": True}
    )
    group: Any = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r", zarr_format=2)
    expected = ds.read(path)
    for name in ("grid", "zeros", "zero", "scalar", "flags"):
        array = group[name]
        np.testing.assert_array_equal(np.asarray(array[...]), expected[name])
    if group["text"].ndim == 1:  # in a classic file, it is characters
        assert plain(group["text"][...]) == plain(expected["text"])


def test_large_values_are_in_the_file_and_small_ones_in_the_references(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ds", dataset())
    refs = ds.references(path)["refs"]
    assert refs["time/0"].startswith("base64:")
    assert refs["scalar/0"] == "base64:" + base64.b64encode(np.float64(3.5).tobytes()).decode()
    name, offset, size = refs["grid/0.0.0"]
    assert name == path
    with open(path, "rb") as file:
        file.seek(offset)
        assert file.read(size) == dataset()["grid"].tobytes()


def test_large_values_are_chunks_of_about_4_megabytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ds", {"x": np.zeros((12, 500, 500), "f4"), ".": {"x": {".dims": ["a", "b", "c"]}}})
    refs = ds.references(path)["refs"]
    assert json.loads(refs["x/.zarray"])["chunks"] == [4, 500, 500]
    assert [refs[f"x/{i}.0.0"][2] for i in range(3)] == [4_000_000] * 3
    path = write(tmp_path / "b.ds", {"x": np.zeros((3, 7, 2_000_000), "i1"), ".": {"x": {".dims": ["a", "b", "c"]}}})
    assert json.loads(ds.references(path)["refs"]["x/.zarray"])["chunks"] == [1, 1, 2_000_000]


@pytest.mark.parametrize("big", [False, True])
def test_a_masked_variable_of_either_byte_order(tmp_path: Path, big: bool) -> None:
    path = tmp_path / "a.ds"
    names = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
    data: dict[str, Any] = {code: masked(np.arange(4096) % 100).astype(code) for code in names}
    data["b"] = masked(np.arange(20000) % 5 == 0)
    data["t"] = masked(np.array(["x", "yy"] * 400, object))
    data["p"] = np.arange(4096.0)
    ds.write(path, {**data, ".": {key: {".dims": [f"d{len(value)}"]} for key, value in data.items()}})
    if big:
        content = path.read_bytes()
        line = content.split(b"\n", 2)[1]
        header = json.loads(line)
        header["p"][".endian"] = "b"
        text = json.dumps(header, separators=(",", ":")).encode()
        assert len(text) <= len(line)
        swapped = np.arange(4096.0).astype(">f8").tobytes()
        content = content.replace(line, text.ljust(len(line)))
        path.write_bytes(content.replace(np.arange(4096.0).astype("<f8").tobytes(), swapped))
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected, kerchunk(ds.references(path)))


def test_netcdf_variables_are_as_the_engine_shows_them(tmp_path: Path) -> None:
    path = str(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("lat", 900), ("c", 5)):
            file.createDimension(name, size)
        x = file.createVariable(
            "x", "i2", ("time", "lat"), zlib=True, fletcher32=True, chunksizes=(3, 200), fill_value=-9
        )
        x.scale_factor = 0.1
        x[:] = np.ma.masked_equal(np.arange(6300).reshape(7, 900) * 0.1, 0)
        zeros = file.createVariable("zeros", "i4", ("time", "lat"), chunksizes=(2, 900), fill_value=False)
        zeros[2:4] = 7
        zeros[6] = 1
        file.createVariable("text", str, ("lat",))[:] = np.array([f"é{i}" for i in range(900)], object)
        big = file.createVariable("big", ">i4", ("lat",), endian="big")
        big[:] = np.arange(900)
        names = file.createVariable("names", "S1", ("lat", "c"))
        names[:] = netCDF4.stringtochar(np.array([f"a{i}" for i in range(900)], "S5"))
        flags = file.createVariable("flags", "i1", ("lat",))
        flags.setncattr("dtype", "bool")
        flags[:] = np.arange(900) % 2
        file.createGroup("g").createVariable("y", "f8", ("lat",))[:] = 1
    found = ds.references(path)
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected, kerchunk(found))
    assert json.loads(found["refs"]["g/y/.zattrs"])["_ARRAY_DIMENSIONS"] == ["lat"]


def test_records_are_chunks(tmp_path: Path) -> None:
    path = str(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        file.createDimension("lat", 701)
        file.createVariable("x", "f4", ("time", "lat"))[:] = np.arange(4907).reshape(7, 701)
        file.createVariable("y", "i2", ("time", "lat"))[:] = np.arange(4907).reshape(7, 701)
    found = ds.references(path)
    assert json.loads(found["refs"]["y/.zarray"])["chunks"] == [1, 701]
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected, kerchunk(found))


def test_values_that_were_never_written_are_missing_with_a_warning(tmp_path: Path) -> None:
    path = str(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("lat", 900)
        file.createVariable("x", "f4", ("time", "lat"), chunksizes=(1, 900))[2] = 7
    with pytest.warns(LossWarning, match='variable "x": values that were never written are shown as missing'):
        found = ds.references(path)
    with xr.open_dataset(path, engine="ds", default_fill="missing") as expected:
        np.testing.assert_array_equal(kerchunk(found)["x"][2], 7)
        assert np.isnan(kerchunk(found)["x"][:2]).all()
        assert expected["x"].shape == (3, 900)


def test_json_has_no_nan(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    ds.write(
        path, {"x": masked(np.arange(4000.0)), ".": {"x": {".dims": ["n"], "limit": np.inf, "raw": b"a".decode()}}}
    )
    with pytest.warns(LossWarning, match='variable "x": attribute "limit": found inf, which is text in references'):
        found = ds.references(path)
    assert json.loads(found["refs"]["x/.zarray"])["fill_value"] == "NaN"
    assert json.loads(found["refs"]["x/.zattrs"])["limit"] == "Infinity"
    strict(found)


def test_addresses_of_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ds", dataset())
    for urls in ("s3://b/c/", {path: "s3://b/c/a.ds"}, lambda name: f"s3://b/c/{Path(name).name}"):
        assert ds.references(path, urls=urls)["refs"]["grid/0.0.0"][0] == "s3://b/c/a.ds"
    with pytest.raises(MissingError, match="not found in `urls`, whose keys are absolute paths"):
        ds.references(path, urls={})
    refs = ds.references(path, variables=["zeros"])["refs"]
    assert {key.partition("/")[0] for key in refs} == {".zgroup", ".zattrs", "zeros"}


def test_what_zarr_cannot_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds.write(tmp_path / "a.csv", {"x": [1, 2]})
    with pytest.raises(UnsupportedError, match=r"a\.csv: references need a ds file, or a NetCDF file"):
        ds.references(tmp_path / "a.csv")
    ds.write(tmp_path / "a.nc", {"x": np.arange(5000), ".": {"x": {".dims": ["n"]}}}, compression="zlib")
    monkeypatch.delitem(chunks.FILTERS, ZLIB_NUMBER)
    with pytest.raises(UnsupportedError, match='variable "x": the filter zlib, for which Zarr has no codec'):
        ds.references(tmp_path / "a.nc")
    data = np.ma.MaskedArray(np.arange(3000, dtype="i2"), np.arange(3000) == 2)
    ds.write(tmp_path / "b.ds", {"x": data, ".": {"x": {".dims": ["n"], "_FillValue": np.int16(7)}}})
    with pytest.raises(UnsupportedError, match="a present value equals 7, which marks missing values in Zarr"):
        np.asarray(kerchunk(ds.references(tmp_path / "b.ds"))["x"])


def test_a_truncated_file_has_no_references(path: str) -> None:
    content = Path(path).read_bytes()
    failed = 0
    for size in (len(content) // 2, len(content) - len(content) // 20):
        Path(path).write_bytes(content[:size])
        try:
            found = ds.references(path)
        except (DsError, OSError):
            failed += 1
            continue
        for value in found["refs"].values():
            assert isinstance(value, str) or value[1] + value[2] <= size
    assert failed


CONFIG = {"type": "float64", "shape": [16], "big": False, "missing": True, "fill": "NaN"}


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "complex"}, {"type": None}, {"shape": [-1]}, {"shape": "16"}, {"shape": None}, {"missing": 1},
        {"fill": [1]}, {"shape": [2**70]},
    ],
)  # fmt: skip
def test_an_invalid_configuration_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        ChunkCodec.of({**CONFIG, **changed})


def test_a_chunk_that_does_not_fit_is_refused_before_memory_is_allocated() -> None:
    with pytest.raises(TruncatedError, match=f"codec {CODEC_ID}"):
        ChunkCodec.of({**CONFIG, "shape": [2**50]}).decode(b"1234")
    with pytest.raises(UnsupportedError, match="references are read-only"):
        Zarr2Codec(**CONFIG).encode(b"")


def test_entry_points_name_the_codecs() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, name in (("numcodecs.codecs", "Zarr2Codec"), ("zarr.codecs", "Zarr3Codec")):
        module, _, found = points[group][CODEC_ID].partition(":")
        assert (module, found) == ("ds_format.virtual.registered", name)
        __import__(module, fromlist=[name])


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_a_slab_over_http_takes_few_requests(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    path = tmp_path / f"a.{suffix}"
    data = dataset()
    data["grid"] = np.arange(64 * 256 * 256, dtype="f4").reshape(64, 256, 256)
    data["time"], data["lat"], data["small"] = np.arange(64.0), np.arange(256.0), np.zeros(64, "i2")
    del data["empty"], data["."]["empty"]
    ds.write(path, data)
    with contextlib.closing(Server({path.name: path.read_bytes()})) as server:
        found = kerchunk(ds.references(path, urls=server.url().rstrip("/")))
        np.testing.assert_array_equal(found["grid"][3].values, data["grid"][3])
        assert len(server.requests) <= 7
        assert server.sent <= 4 << 20
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            of_address = ds.references(server.url(path.name))
        assert of_address["refs"]["grid/0.0.0"][0] == server.url(path.name)
