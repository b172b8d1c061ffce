"""The parser for VirtualiZarr: values through its store, and through icechunk where that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ds_format as ds
from ds_format.drivers.base import LossWarning
from ds_format.errors import DsError, MissingGroupError

from ..remote.server import Server
from .conftest import require_equal

pytest.importorskip("virtualizarr", reason="virtualizarr is not installed")
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import HTTPStore, LocalStore

from ds_format.zarr import Parser

pytestmark = [
    pytest.mark.filterwarnings("ignore:The data type.*does not have a Zarr V3 specification"),
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification"),
]


def store_of(url: str, **options: Any) -> Any:
    """Return the store of a file."""
    root = url.rpartition("/")[0]
    store = LocalStore() if url.startswith("file://") else HTTPStore.from_url(root, client_options={"allow_http": True})
    registry = ObjectStoreRegistry({"file://" if url.startswith("file://") else root: store})
    return Parser(**options)(url, registry)


def opened(store: Any) -> xr.Dataset:
    """Open a store as xarray does."""
    return xr.open_zarr(store, consolidated=False, zarr_format=3, chunks=None)


def test_values_are_those_of_the_engine(path: str) -> None:
    skip = () if path.endswith("ds") or _is_classic(path) else ("text", "word")
    store = store_of(f"file://{path}", skip_variables=skip)
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected.drop_vars(skip), opened(store))


def _is_classic(path: str) -> bool:
    return Path(path).read_bytes()[:3] == b"CDF"


def test_text_of_netcdf4_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = str(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", 3)
        file.createVariable("t", str, ("n",))[:] = np.array(["a", "b", "c"], object)
        file.createGroup("g").createVariable("x", "f8", ("n",))[:] = 2
    with pytest.warns(LossWarning, match='variable "t": left out: its values are not in chunks'):
        assert not [*opened(store_of(f"file://{path}"))]
    found = opened(store_of(f"file://{path}", group="g", skip_variables="t"))
    np.testing.assert_array_equal(found["x"], [2, 2, 2])
    with pytest.raises(MissingGroupError, match='group "h" not found'):
        store_of(f"file://{path}", group="h", skip_variables="t")


def test_a_file_of_a_web_server(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    values = np.arange(64 * 256 * 256, dtype="f4").reshape(64, 256, 256)
    ds.write(path, {"x": values, ".": {"x": {".dims": ["a", "b", "c"]}}})
    server = Server({path.name: path.read_bytes()})
    try:
        store = store_of(server.url(path.name))
        np.testing.assert_array_equal(opened(store)["x"][3], values[3])
        assert len(server.requests) <= 7
        assert server.sent <= 4 << 20 | 1 << 17
    finally:
        server.close()


def test_icechunk(tmp_path: Path, path: str) -> None:
    icechunk = pytest.importorskip("icechunk", reason="icechunk is not installed")
    skip = ("empty",) if path.endswith("ds") or _is_classic(path) else ("empty", "text", "word")
    store = store_of(f"file://{path}", skip_variables=skip)
    config = icechunk.RepositoryConfig.default()
    prefix = f"file://{Path(path).parent}/"
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(Path(path).parent)))
    )
    allowed = icechunk.containers_credentials({prefix: None})
    storage = icechunk.in_memory_storage()
    repository = icechunk.Repository.create(storage, config, authorize_virtual_chunk_access=allowed)
    session = repository.writable_session("main")
    virtual = store.to_virtual_dataset()
    (virtual.vz if hasattr(virtual, "vz") else virtual.virtualize).to_icechunk(session.store)
    session.commit("all")
    found = xr.open_zarr(repository.readonly_session("main").store, consolidated=False, zarr_format=3, chunks=None)
    with xr.open_dataset(path, engine="ds") as expected:
        require_equal(expected.drop_vars([*skip], errors="ignore"), found)


def test_a_file_without_chunks_is_refused(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.csv", {"x": [1, 2]})
    with pytest.raises(DsError, match="references need a ds file, or a NetCDF file"):
        store_of(f"file://{tmp_path / 'a.csv'}")
