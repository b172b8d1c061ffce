"""Files of all formats, from a web server and from memory."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from ..same import same_dataset
from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
GRID = np.random.default_rng(1).normal(size=(30, 91, 180)).astype("f4")
LARGE = {
    "grid": GRID,
    "time": np.arange(30.0),
    ".": {"grid": {".dims": ["time", "y", "x"]}, "time": {".dims": ["time"]}},
}
SMALL = {"x": np.arange(3.0), "y": np.array([1, 2, 3]), ".": {"x": {".dims": ["i"]}, "y": {".dims": ["i"]}}}
FILES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "large.ds": (LARGE, {}),
    "classic.nc": (LARGE, {"format": "NETCDF3_CLASSIC"}),
    "netcdf4.nc": (LARGE, {}),
    "chunked.nc": (LARGE, {"compression": "zlib", "chunks": {"time": 1, "y": 91, "x": 180}}),
    "large.bpk": (LARGE, {"mappable": True}),
    "large.h5": (LARGE, {}),
    "small.ds": (SMALL, {}),
    "small.nc": (SMALL, {}),
    "small.json": (SMALL, {}),
    "small.csv": (SMALL, {}),
    "small.tsv": (SMALL, {}),
    "small.bpk": (SMALL, {}),
    "small.h5": (SMALL, {}),
}
REQUESTS = {
    "large.ds": (2, 1),
    "classic.nc": (3, 1),
    "netcdf4.nc": (4, 1),
    "chunked.nc": (4, 1),
    "large.bpk": (3, 1),
}
"""Of a large file: at most this many requests for all of it; for a slab of an open one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("files")
    for name, (dataset, options) in FILES.items():
        if name.endswith(".h5"):
            pytest.importorskip("h5py")
        ds.write(folder / name, dataset, **options)
    return folder


@pytest.mark.parametrize("name", FILES)
def test_a_file_on_a_web_server_is_as_a_local_one(name: str, folder: Path, serve: Serve) -> None:
    server = serve({name: (folder / name).read_bytes()})
    local = ds.read(folder / name)
    assert same_dataset(ds.read(server.url(f"{name}?token=a.b#c.d")), local)
    if name in REQUESTS:
        assert len(server.requests) <= REQUESTS[name][0]
    key = next(iter(local))
    with ds.open(server.url(name)) as file:
        del server.requests[:]
        np.testing.assert_array_equal(file[key][1], local[key][1])
        if name in REQUESTS:
            assert len(server.requests) <= REQUESTS[name][1]
        handle = pickle.loads(pickle.dumps(file[key].handle()))
    np.testing.assert_array_equal(handle[1], local[key][1])
    server.files[name] += b" "
    if name not in ("small.ds", "large.ds", "small.nc", "small.h5"):  # its bytes came with the first request
        with pytest.raises(ds.DsError, match=name):
            handle[1]


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(("json", "csv", "tsv"))])
@pytest.mark.parametrize("kind", ["BytesIO", "memoryview", "bytearray", "file", "stream", "server"])
def test_content_tells_the_format(name: str, kind: str, folder: Path, serve: Serve) -> None:
    data = (folder / name).read_bytes()
    if kind != "file":
        (folder / f"copy of {name}".replace(".", " ")).write_bytes(data)
    local = ds.read(folder / (name if kind == "file" else f"copy of {name}".replace(".", " ")))
    if kind == "server":
        assert same_dataset(ds.read(serve({"data": data}).url("data")), local)
    elif kind == "file":
        with (folder / name).open("rb") as file:
            file.seek(10)
            assert same_dataset(ds.read(file), local)
            assert file.tell() == 10
    else:
        made = {"BytesIO": io.BytesIO, "memoryview": memoryview, "bytearray": bytearray, "stream": Seeking}[kind]
        assert same_dataset(ds.read(made(data)), local)


class Seeking:
    """A file object without a descriptor."""

    def __init__(self, data: bytes):
        self._file = io.BytesIO(data)
        self.read, self.seek, self.tell = self._file.read, self._file.seek, self._file.tell

    def seekable(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["small.json", "small.csv", "small.tsv"])
def test_text_needs_its_format(name: str, folder: Path) -> None:
    data = (folder / name).read_bytes()
    assert same_dataset(ds.read(io.BytesIO(data), format=name.partition(".")[2]), ds.read(folder / name))
    with pytest.raises(ds.DriverError, match="<BytesIO>: unknown file format"):
        ds.read(io.BytesIO(data))


def test_metadata_of_netcdf4_take_two_rounds(folder: Path, serve: Serve) -> None:
    server = serve({"x.nc": (folder / "chunked.nc").read_bytes()})
    with ds.open(server.url("x.nc")) as file:
        assert file["grid"].shape == GRID.shape
    assert len(server.requests) <= 3
    size = len(server.files["x.nc"])
    assert {*server.ranges[:2]} == {(0, 65536), (None, 65536)} and size > 1 << 20


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(("csv", "tsv", "json", "h5"))])
def test_a_file_that_is_cut(name: str, folder: Path, serve: Serve) -> None:
    server = serve({name: (folder / name).read_bytes()[:-100]})
    with pytest.raises(ds.FormatError, match=name):
        ds.read(server.url(name))


def test_a_file_that_only_the_library_reads_is_refused_with_the_reason(tmp_path: Path, serve: Serve) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as file:
        compound = file.createCompoundType(np.dtype([("a", "f8"), ("b", "i4")]), "pair")
        file.createDimension("n", 3)
        file.createVariable("pairs", compound, ("n",))
    server = serve({"x.nc": (tmp_path / "x.nc").read_bytes()})
    with pytest.raises(ds.UnsupportedError, match=r"x\.nc: .*only netCDF4 reads such files.*local path"):
        ds.read(server.url("x.nc"))


def test_another_format_than_the_suffix_says(serve: Serve) -> None:
    server = serve({"x.nc": b"<!doctype html><title>Sign in</title>", "x.ds": b"<html>"})
    for name in server.files:
        with pytest.raises(ds.FormatError, match="HTML page"):
            ds.read(server.url(name))
