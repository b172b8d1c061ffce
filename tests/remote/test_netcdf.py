"""Reading NetCDF files from a web server: how many requests it takes, and what they return."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import hdf5
from ds_format.body.body import MemoryBody
from ds_format.views.subset import open_subset

from ..same import same_dataset
from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")
netCDF4 = pytest.importorskip("netCDF4")

Serve = Callable[..., Server]
N = 24
SHAPE = (N, 60, 90)
RANDOM = np.random.default_rng(27)
NAMES = [f"grid{i}" for i in range(4)]
CHUNKS = {"time": 1, "lat": 30, "lon": 45}
FILES: dict[str, dict[str, Any]] = {
    "classic.nc": {"format": "NETCDF3_CLASSIC"},
    "records.nc": {"format": "NETCDF3_64BIT_OFFSET", "unlimited": "time"},
    "netcdf4.nc": {},
    "chunked.nc": {"compression": "zlib", "chunks": CHUNKS},
    "growing.nc": {"unlimited": "time"},
}
OPENING = 2
"""Requests for the metadata: the first and the last bytes, side by side."""
INDEX = {"chunked.nc": 2, "growing.nc": 1}
"""At most this many rounds for the indexes of chunks of all variables: one for each level that is not at hand."""


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    found: dict[str, Any] = {name: RANDOM.normal(size=SHAPE).astype("f4") for name in NAMES}
    found["masked"] = np.ma.MaskedArray(RANDOM.normal(size=SHAPE).astype("f4"), RANDOM.random(SHAPE) < 0.2)
    found |= {"time": np.arange(float(N)), "lat": np.linspace(-90, 90, 60), "lon": np.arange(0, 360, 4.0)}
    meta: dict[str, Any] = {key: {".dims": [key] if array.ndim == 1 else [*CHUNKS]} for key, array in found.items()}
    return {**found, ".": meta}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    for name, options in FILES.items():
        own = {key: value for key, value in options.items() if key != "unlimited"}
        meta = {**content["."], ".": {".netcdf": {"unlimited": ["time"]}}} if "unlimited" in options else content["."]
        ds.write(folder / name, {**content, ".": meta}, **own)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def local(files: dict[str, bytes], tmp_path: Path) -> Callable[..., Any]:
    def read(name: str, *args: Any, **options: Any) -> Any:
        (tmp_path / name).write_bytes(files[name])
        return ds.read(tmp_path / name, *args, **options)

    return read


def rounds(server: Server, read: Callable[[], Any]) -> tuple[Any, int]:
    """Return what a function reads, and the number of rounds: ranges that are announced together are one request."""
    del server.requests[:]
    with ds.remote(gap=1 << 30, piece=1 << 30):
        found = read()
    return found, len(server.requests)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("variables", "selected"),
    [
        (["grid1"], {}),
        (NAMES, {}),
        (None, {}),
        (["grid1"], {"time": 5}),
        (["masked"], {"time": 5}),
        (NAMES, {"time": 5}),
        (NAMES, {"time": [1, 9, 20], "lon": [80, 3]}),
        (NAMES, {"lat": 3, "lon": 7}),
    ],
)
def test_all_variables_come_together(
    name: str, variables: Any, selected: Any, files: dict[str, bytes], local: Callable[..., Any], serve: Serve
) -> None:
    server = serve(files)
    found, n = rounds(server, lambda: ds.read(server.url(name), variables, selected))
    assert same_dataset(found, local(name, variables, selected))
    assert n <= OPENING + INDEX.get(name, 0) + 1


@pytest.mark.parametrize("name", FILES)
def test_an_index_is_read_once(name: str, files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    with ds.open(server.url(name)) as file:
        handle: Any = file["grid2"].handle()
        first, n = rounds(server, lambda: file["grid2"][3])
        assert n <= 1 + INDEX.get(name, 0)
        second, n = rounds(server, lambda: file["grid2"][[7, 2, 20], 4:6])
        assert n == 1
        third, n = rounds(server, lambda: handle[5])
        assert n == 1
    assert (first.shape, second.shape, third.shape) == (SHAPE[1:], (3, 2, SHAPE[2]), SHAPE[1:])


def test_records_are_read_once_for_all_variables(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    ds.read(server.url("records.nc"))
    assert len(server.requests) == 3  # the first and the last bytes, and everything between them
    assert server.sent <= 2 * 65536 + len(files["records.nc"])


def test_a_damaged_index_does_not_keep_others_from_coming_together(
    files: dict[str, bytes], content: dict[str, Any], serve: Serve
) -> None:
    data = bytearray(files["chunked.nc"])
    objects = hdf5.read_file(MemoryBody("x.nc", bytes(data)), netcdf=True).datasets
    address = next(each.layout.address for each in objects if each.name == "grid1")
    assert address is not None
    data[address : address + 4] = b"\0\0\0\0"
    server = serve({"x.nc": bytes(data)})
    with pytest.raises(ds.FormatError, match=r"x\.nc.*grid1"):
        ds.read(server.url("x.nc"), NAMES)
    whole = [name for name in NAMES if name != "grid1"]

    def read() -> Any:
        with open_subset(server.url("x.nc")) as subset:
            subset.announce(dict.fromkeys(NAMES))
            return {name: subset.read(name) for name in whole}

    found, n = rounds(server, read)
    assert n <= OPENING + INDEX["chunked.nc"] + 1
    for name in whole:
        np.testing.assert_array_equal(found[name], content[name])
