"""Files in buckets, in other file systems, and in file objects."""

from __future__ import annotations

import io
import itertools
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body import Address
from ds_format.body.remote.filesystems import SystemStore

from .server import Answer, Next, Request, Server, without_ranges

if TYPE_CHECKING:
    from .bucket import Bucket

Serve = Callable[..., Server]
GRID = np.arange(200_000.0).reshape(20, 10_000)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("files") / "x.ds"
    ds.write(path, {"x": GRID, "n": np.arange(20), ".": {"x": {".dims": ["t", "n"]}, "n": {".dims": ["t"]}}})
    return path.read_bytes()


def check(path: Any, **options: Any) -> None:
    """Read a file in all ways."""
    np.testing.assert_array_equal(ds.read(path, **options)["x"], GRID)
    np.testing.assert_array_equal(ds.read(path, "x", {"t": 3}, **options)["x"], GRID[3])
    with ds.open(path, **options) as file:
        np.testing.assert_array_equal(file["x"][5:7], GRID[5:7])
        handle: Any = file["x"].handle()
    np.testing.assert_array_equal(handle[4], GRID[4])


def keys(bucket: Bucket, **others: str) -> dict[str, str]:
    return {"key": bucket.key_id, "secret": bucket.secret, "endpoint_url": bucket.endpoint, **others}


def test_s3(bucket: Bucket, data: bytes) -> None:
    pytest.importorskip("obstore")
    bucket.put("folder/x.ds", data)
    check("s3://bucket/folder/x.ds", storage_options=keys(bucket, region_name=bucket.region))
    own = {"access_key_id": bucket.key_id, "secret_access_key": bucket.secret, "endpoint": bucket.endpoint}
    check("s3a://bucket/folder/x.ds", storage_options=own)


def dated(request: Request, answer: Next) -> Answer:
    """Tell a time of modification, without which buckets of Google and Azure are not read."""
    return answer(request).having(Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT")


@pytest.mark.parametrize(
    ("address", "path", "options"),
    [
        ("gs://b/x.ds", "b/x%2Eds", {"token": "anon", "project": "p", "endpoint_url": "HOST"}),
        ("gcs://b/x.ds", "b/x%2Eds", {"skip_signature": True, "base_url": "HOST"}),
        ("az://b/x.ds", "me/b/x.ds", {"anon": True, "account_name": "me", "endpoint": "HOST/me"}),
        ("abfs://b/x.ds", "me/b/x.ds", {"connection_string": "AccountName=me;AccountKey=a2V5;BlobEndpoint=HOST/me"}),
    ],
)
def test_google_and_azure(address: str, path: str, options: dict[str, Any], data: bytes, serve: Serve) -> None:
    pytest.importorskip("obstore")
    server = serve({path: data}, dated)
    host = server.url().rstrip("/")
    given = {name: value.replace("HOST", host) if isinstance(value, str) else value for name, value in options.items()}
    check(address, storage_options=given)
    is_signed = bool(server.received("Authorization", "127.0.0.1"))
    assert is_signed == ("connection_string" in options)


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("s3://b/x.ds", {"nonsense": 1}, "nonsense"),
        ("gs://b/x.ds", {"token": "/absent.json"}, "/absent.json"),
        ("gs://b/x.ds", {"token": {"type": "service_account"}}, "service account"),
        ("az://b/x.ds", {"anon": True}, "[Aa]ccount"),
        ("nonsense://b/x.ds", {}, "nonsense"),
    ],
)
def test_refused_options_are_not_tried_again(
    address: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    pytest.importorskip("obstore")
    ds.write(tmp_path / "x.ds", {"x": np.arange(3)})
    for call in (
        lambda: ds.read(address, storage_options=options),
        lambda: ds.readdir(address.removesuffix("/x.ds"), storage_options=options),
        lambda: ds.convert(tmp_path / "x.ds", address, storage_options=options),
    ):
        with pytest.raises(OSError, match=rf"{message}.*{address.removesuffix('/x.ds')}") as caught:
            call()
        assert type(caught.value) in (OSError, FileNotFoundError) and "attempts" not in str(caught.value)


def test_s3_without_rights_or_object(bucket: Bucket, data: bytes) -> None:
    pytest.importorskip("obstore")
    bucket.put("x.ds", data)
    with pytest.raises(PermissionError, match=r"s3://bucket/x\.ds"):
        ds.read("s3://bucket/x.ds", storage_options={"anon": True, "endpoint_url": bucket.endpoint})
    with pytest.raises(PermissionError, match=r"s3://bucket/x\.ds"):
        ds.read("s3://bucket/x.ds", storage_options={**keys(bucket), "secret": "wrong"})
    with pytest.raises(FileNotFoundError, match=r"s3://bucket/absent\.ds"):
        ds.read("s3://bucket/absent.ds", storage_options=keys(bucket))
    with pytest.raises(FileNotFoundError, match=r"s3://absent/x\.ds"):
        ds.read("s3://absent/x.ds", storage_options=keys(bucket))
    with pytest.raises(OSError, match="nonsense"):
        ds.read("s3://bucket/x.ds", storage_options={"nonsense": "1"})


def test_an_object_that_is_replaced(bucket: Bucket, data: bytes) -> None:
    pytest.importorskip("obstore")
    bucket.put("x.ds", data)
    with ds.open("s3://bucket/x.ds", storage_options=keys(bucket)) as file:
        handle = pickle.loads(pickle.dumps(file["x"].handle()))
        assert bucket.secret not in repr(handle)
        bucket.put("x.ds", data[:-8] + bytes(8))
        with pytest.raises(ds.ReplacedError, match=r"s3://bucket/x\.ds.*version"):
            file["x"][5]
    with pytest.raises(ds.ReplacedError, match="version"):
        handle.read()


def test_stores_of_obstore(data: bytes, tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    memory = obstore.store.MemoryStore()
    obstore.put(memory, "a/x.ds", data)
    obstore.put(memory, "empty.ds", b"")
    check("a/x.ds", store=memory)
    (tmp_path / "x.ds").write_bytes(data)
    check(Path("x.ds"), store=obstore.store.LocalStore(str(tmp_path)))
    with pytest.raises(FileNotFoundError, match="absent"):
        ds.read("absent.ds", store=memory)
    with pytest.raises(ds.FormatError, match="empty"):
        ds.read("empty.ds", store=memory)
    with pytest.raises(TypeError, match="a store has its own options"):
        ds.read("a/x.ds", store=memory, storage_options={})


class Get:
    """The least that the interface of obspec asks for."""

    def __init__(self, data: bytes):
        self.data = data
        self.version = '"1"'
        self.spans: list[tuple[int, int]] = []
        self.failures: list[Exception] = []

    def get(self, path: str, *, options: Any = None) -> Any:
        if self.failures:
            raise self.failures.pop()
        first, end = options["range"]
        self.spans.append((first, end))
        data, meta = self.data[first:end], {"size": len(self.data), "e_tag": self.version, "path": path}

        class Result:
            def __init__(self) -> None:
                self.meta = meta

            def bytes(self) -> bytes:
                return data

        return Result()


class GenericError(Exception):
    """An error as obstore has it, which is no OSError."""


class PreconditionError(Exception):
    """Likewise."""


def test_any_store_with_get(data: bytes) -> None:
    store = Get(data)
    check("x.ds", store=store)
    del store.spans[:]
    ds.read("x.ds", "x", {"t": 3}, store=store)
    assert len(store.spans) == 2
    store.failures = [GenericError("reset\nDebug source: secrets")]
    check("x.ds", store=store)
    store.failures = [GenericError("reset\nDebug source: secrets")] * 9
    with ds.remote(retries=1), pytest.raises(OSError, match=r"bytes 0 to 65536: reset \(2 attempts\): 'x\.ds'"):
        ds.read("x.ds", store=store)
    store.failures = [NotImplementedError("no")]
    with pytest.raises(OSError, match=r"no.*x\.ds"):
        ds.read("x.ds", store=store)


def test_memory_of_fsspec(data: bytes) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe_file("/tests/x.ds", data)
    check("memory://tests/x.ds")
    check("/tests/x.ds", store=system)
    with fsspec.open("memory://tests/x.ds") as file:
        check(file)
    check(fsspec.open("memory://tests/x.ds"))
    with pytest.raises(FileNotFoundError, match="memory://tests/absent"):
        ds.read("memory://tests/absent.ds")
    with ds.open("memory://tests/x.ds") as opened:
        system.pipe_file("/tests/x.ds", data + b" ")
        with pytest.raises(ds.ReplacedError, match=r"x\.ds"):
            opened["x"][5]


def test_chains_of_fsspec(data: bytes, tmp_path: Path, serve: Serve) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    zipfile = pytest.importorskip("zipfile")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a/x.ds", data)
        archive.writestr("a/raw", data)
    (tmp_path / "p.zip").write_bytes(packed.getvalue())
    server = serve({"p.zip": packed.getvalue(), "x.ds": data})
    check(f"zip://a/x.ds::file://{tmp_path}/p.zip")
    check(f"zip://a/raw::{server.url('p.zip')}")
    options = {"simplecache": {"cache_storage": str(tmp_path / "cache")}}
    check(f"simplecache::{server.url('x.ds')}", storage_options=options)
    del server.requests[:]
    assert os.listdir(tmp_path / "cache")
    ds.read(f"simplecache::{server.url('x.ds')}", "n", storage_options=options)
    assert all(request.method == "HEAD" or request.range == (0, 1) for request in server.requests), server.ranges


def test_a_file_system_that_ignores_ranges(data: bytes, serve: Serve) -> None:
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    system = fsspec.filesystem("http", skip_instance_cache=True)
    np.testing.assert_array_equal(ds.read(serve({"x.ds": data}).url("x.ds"), store=system)["x"], GRID)
    server = serve({"x.ds": data}, without_ranges)
    np.testing.assert_array_equal(ds.read(server.url("x.ds"), store=system)["x"], GRID)
    with pytest.raises(OSError, match=rf"found {len(data)} bytes, expected 100: the server may not support ranges"):
        SystemStore(system, server.url("x.ds")).get(100, 200)


def test_a_bucket_whose_answers_do_not_end(data: bytes, serve: Serve) -> None:
    obstore = pytest.importorskip("obstore")

    def endless(request: Request, answer: Next) -> Answer:
        given = dated(request, answer)
        return replace(given, more=itertools.repeat(bytes(1 << 16))).having(Content_Length=str(10**12))

    server = serve({"x.ds": data}, endless)
    store = obstore.store.from_url(server.url(), client_options={"allow_http": True})
    np.testing.assert_array_equal(ds.read("x.ds", store=store)["x"], GRID)
    assert server.sent < 64 << 20


def test_an_unknown_scheme() -> None:
    with pytest.raises(OSError, match="nonsense"):
        ds.read("nonsense://x.ds")


def test_upath(data: bytes, tmp_path: Path) -> None:
    upath = pytest.importorskip("upath")
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe_file("/u/x.ds", data)
    check(upath.UPath("memory://u/x.ds"))
    (tmp_path / "x.ds").write_bytes(data)
    check(upath.UPath(tmp_path / "x.ds"))
    check(upath.UPath(f"file://{tmp_path}/x.ds"))


def test_upath_on_a_web_server(data: bytes, serve: Serve) -> None:
    upath = pytest.importorskip("upath")
    pytest.importorskip("aiohttp")
    server = serve({"x.ds": data})
    check(upath.UPath(server.url("x.ds")))
    assert all(request.range for request in server.requests)


def test_file_addresses_are_paths(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a b.ds").write_bytes(data)
    check(f"file://{tmp_path}/a%20b.ds")
    assert drivers.located(f"local://{tmp_path}/a b.ds") == f"{tmp_path}/a b.ds"


def test_paths_stay_paths(tmp_path: Path) -> None:
    for path in ("x.ds", b"x.ds", tmp_path, "c:\\x.ds", "a::b.ds", "./s3://x.ds", "x:y.ds"):
        assert drivers.located(path) is path
    assert isinstance(drivers.located("S3://bucket/x.ds"), Address)
    with pytest.raises(TypeError, match="found int, expected a path"):
        ds.read(5)  # type: ignore[arg-type]


def test_file_objects(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.ds").write_bytes(data)
    for buffering in (0, -1):
        with open(tmp_path / "x.ds", "rb", buffering) as file:
            check(file)
    for made in (io.BytesIO(data), memoryview(data), bytearray(data), np.frombuffer(data, np.uint8).data):
        check(made)
    with open(tmp_path / "x.ds") as text, pytest.raises(TypeError, match='open it with the mode "rb"'):
        ds.read(text)  # type: ignore[arg-type]


def test_compressed_file_objects(data: bytes, tmp_path: Path) -> None:
    gzip = pytest.importorskip("gzip")
    (tmp_path / "x.ds.gz").write_bytes(gzip.compress(data, 1))
    with gzip.open(tmp_path / "x.ds.gz") as file:
        check(file)


def test_a_pipe_is_read_once(data: bytes) -> None:
    read, write = os.pipe()
    with open(read, "rb") as reader, open(write, "wb") as writer:
        writer.write(data[: 1 << 15])
        writer.close()
        with pytest.raises(ds.TruncatedError):
            ds.read(reader)


def test_arrays_of_a_buffer_are_copies(data: bytes) -> None:
    buffer = bytearray(data)
    found = ds.read(buffer)["x"]
    found[:] = -1
    assert bytes(buffer) == data


def test_file_objects_cannot_travel(data: bytes) -> None:
    with (
        ds.open(io.BytesIO(data)) as file,
        pytest.raises(TypeError, match=r"a file object cannot be sent .*give the path"),
    ):
        pickle.dumps(file["x"].handle())
