"""Members of packs on web servers and in buckets: the directory is requested once."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ds_format as ds
from ds_format.body import packs

from .conftest import keys, made, report
from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
N = 20


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    packs._far._packs.clear()


def packed(folder: Path, count: int = N, **options: int) -> bytes:
    (folder / "st").mkdir()
    made(folder / "st", [f"r{i:02}.{'nc' if i == 1 else 'ds'}" for i in range(count)], **options)
    ds.pack(folder / "st", folder / "p.zip")
    return (folder / "p.zip").read_bytes()


def test_a_member_is_one_request_after_the_directory(serve: Serve, tmp_path: Path) -> None:
    server = serve({"p.zip": packed(tmp_path)})
    assert ds.read(server.url("p.zip/r03.ds?token=secret"))["time"] == [3]
    assert len(server.requests) == 2
    assert ds.read(server.url("p.zip/r01.nc?token=secret"))["time"] == [1]
    assert len(server.requests) == 3
    assert {(request.path.strip("/"), request.query) for request in server.requests} == {("p.zip", "token=secret")}
    assert ds.read(server.url("p.zip/r04.ds?token=other"))["time"] == [4]
    assert len(server.requests) == 5


def test_a_large_directory_is_one_request_more(serve: Serve, tmp_path: Path) -> None:
    data = (tmp_path / "a").with_suffix(".ds")
    ds.write(data, report(7))
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for i in range(2000):
            archive.writestr(f"r{i:04}.ds", data.read_bytes())
    server = serve({"p.zip": (tmp_path / "p.zip").read_bytes()})
    assert ds.read(server.url("p.zip/r0003.ds"))["time"] == [7]
    assert len(server.requests) == 3
    assert ds.read(server.url("p.zip/r1003.ds"))["time"] == [7]
    assert len(server.requests) == 4


def test_patterns_on_a_web_server(serve: Serve, tmp_path: Path) -> None:
    server = serve({"p.zip": packed(tmp_path)}, latency=0.005)
    merged = ds.read_many(server.url("p.zip/*.ds"), dim="time")
    assert merged["time"].tolist() == [0, *range(2, N)]
    assert len(server.requests) <= N + 1 and 1 < server.most <= 8
    with pytest.raises(FileNotFoundError):
        ds.read_many(server.url("p.zip/x*.ds"))


def test_parts_of_large_members(serve: Serve, tmp_path: Path) -> None:
    server = serve({"p.zip": packed(tmp_path, 2, n=30_000)})
    address = server.url("p.zip/r00.ds")
    with ds.open(address) as file:
        np.testing.assert_array_equal(file["x"][0, 20_000:20_010], np.arange(20_000, 20_010))
        handle = pickle.loads(pickle.dumps(file["x"].handle()))
    assert len(server.requests) == 3
    np.testing.assert_array_equal(handle[0, 5:9], np.arange(5, 9))
    assert len(server.requests) == 4
    np.testing.assert_array_equal(ds.read(address, "x")["x"][0], np.arange(30_000))
    packs._far._packs.clear()
    np.testing.assert_array_equal(handle[0, 5:9], np.arange(5, 9))


def test_a_folder_of_this_name(serve: Serve, tmp_path: Path) -> None:
    files = made(tmp_path, ["r0.ds"])
    server = serve({"f.zip/r0.ds": files["r0.ds"], "g.zip": b"<html>", "g.zip/r0.ds": files["r0.ds"]})
    for top in ("f.zip", "g.zip"):
        assert ds.read(server.url(f"{top}/r0.ds"))["time"] == [0]
    with pytest.raises(FileNotFoundError, match=r"none\.ds|f\.zip"):
        ds.read(server.url("f.zip/none.ds"))


def test_a_pack_that_is_replaced(serve: Serve, tmp_path: Path) -> None:
    server = serve({"p.zip": packed(tmp_path)})
    with ds.open(server.url("p.zip/r03.ds")) as file:
        handle = file["x"].handle()
    expected = handle.read()
    ds.write(tmp_path / "new.ds", report(9))
    ds.pack(tmp_path / "new.ds", tmp_path / "p.zip", append=True)
    server.files["p.zip"] = (tmp_path / "p.zip").read_bytes()
    assert ds.read(server.url("p.zip/new.ds"))["time"] == [9]
    np.testing.assert_array_equal(handle.read(), expected)
    ds.write(tmp_path / "st" / "r03.ds", report(8))
    ds.pack(tmp_path / "st", tmp_path / "p.zip")
    server.files["p.zip"] = (tmp_path / "p.zip").read_bytes()
    assert ds.read(server.url("p.zip/r03.ds"))["time"] == [8]


@pytest.mark.parametrize("etag", ["strong", "weak", None])
def test_servers_with_and_without_versions(etag: str | None, serve: Serve, tmp_path: Path) -> None:
    data = packed(tmp_path)
    server = serve({"p.zip": data}, etag=etag)
    assert ds.read(server.url("p.zip/r03.ds"))["time"] == [3]
    ds.write(tmp_path / "st" / "r03.ds", report(8))
    ds.pack(tmp_path / "st", tmp_path / "p.zip")
    server.files["p.zip"] = (tmp_path / "p.zip").read_bytes()
    assert ds.read(server.url("p.zip/r03.ds"))["time"] == [8]


def test_damaged_bytes_are_noticed(serve: Serve, tmp_path: Path) -> None:
    data = bytearray(packed(tmp_path))
    data[data.index(b"ds-1.0") + 20] ^= 1
    server = serve({"p.zip": bytes(data)})
    with pytest.raises(ds.IntegrityError, match="CRC-32"):
        ds.read(server.url("p.zip/r00.ds"))


def test_packs_in_buckets(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("folder/p.zip", packed(tmp_path))
    found = ds.read_many(f"s3://{bucket.name}/folder/p.zip/*.ds", dim="time", storage_options=keys(bucket))
    assert found["time"].tolist() == [0, *range(2, N)]
