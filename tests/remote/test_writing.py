"""Files that are written to file objects and stores: exactly the bytes of a file, all or none."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import pickle
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body.remote import uploads
from ds_format.drivers import located
from ds_format.errors import DriverError, UnsupportedError

from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket

DATASET: dict[str, Any] = {
    "x": np.arange(12.0).reshape(3, 4),
    "masked": np.ma.MaskedArray(np.array([1, 2, 3], "i4"), [False, True, False]),
    "text": np.array(["a", "bc", "ž"], object),
    ".": {"x": {".dims": ["t", "i"], "units": "m"}},
}
LARGE = {"x": np.arange(3_000_000.0)}
FORMATS = ["ds", "json", "nc", "NETCDF3_CLASSIC", "bpk"]


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary file is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert os.listdir(folder) == []


class Failing(io.BytesIO):
    """Fails when it has got so many bytes."""

    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self.n:
            raise OSError("it is full")
        return super().write(data)


class Slow(io.RawIOBase):
    """Takes at most seven bytes at a time; not all objects can be read or have a position."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def write(self, data: Any) -> int:
        self.taken += bytes(data[:7])
        return min(7, len(data))


class Minimal:
    """Has nothing but a method `write`, which returns None."""

    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: Any) -> None:
        self.taken += bytes(data)


# file objects


@pytest.mark.parametrize("format", FORMATS)
def test_file_object_gets_the_bytes_of_the_file(format: str) -> None:
    file = io.BytesIO(b"before")
    file.seek(0, io.SEEK_END)
    ds.write(file, DATASET, format=format)
    assert not file.closed
    assert file.getvalue() == b"before" + ds.dumps(DATASET, format=format)


def test_open_file_has_a_name(tmp_path: Path) -> None:
    for name in ("x.ds", "x.nc", "x.json"):
        with open(tmp_path / name, "wb") as file:
            ds.write(file, DATASET)
        ds.write(tmp_path / f"own.{name}", DATASET)
        assert (tmp_path / name).read_bytes() == (tmp_path / f"own.{name}").read_bytes()


@pytest.mark.parametrize("library", [gzip, bz2])
def test_compressed_files(tmp_path: Path, library: Any) -> None:
    with library.open(tmp_path / "x.ds.z", "wb") as file:
        ds.write(file, DATASET, format="ds")
    with library.open(tmp_path / "x.ds.z") as file:
        assert file.read() == ds.dumps(DATASET)


def test_file_of_a_socket() -> None:
    ours, theirs = socket.socketpair()
    taken: list[bytes] = []
    with theirs, theirs.makefile("rb") as reading:
        thread = threading.Thread(target=lambda: taken.append(reading.read()))
        thread.start()
        with ours, ours.makefile("wb") as writing:
            ds.write(writing, LARGE, format="ds")
            writing.close()
            ours.shutdown(socket.SHUT_WR)
        thread.join()
    assert taken == [ds.dumps(LARGE)]


def test_objects_that_take_few_bytes_or_have_one_method() -> None:
    slow, minimal = Slow(), Minimal()
    for file in (slow, minimal):
        ds.write(file, DATASET, format="ds")
        assert file.taken == ds.dumps(DATASET)


def test_file_object_is_untouched_by_an_invalid_dataset() -> None:
    for format in FORMATS:
        file = io.BytesIO()
        with pytest.raises((UnsupportedError, DriverError), match="<BytesIO>"):
            ds.write(file, {"x": np.array([1 + 2j])}, format=format)
        assert file.getvalue() == b""


def test_file_object_that_fails() -> None:
    for format in ("ds", "json"):
        with pytest.raises(OSError, match="it is full"):
            ds.write(Failing(100), DATASET, format=format)


def test_what_a_file_object_has_not() -> None:
    with pytest.raises(DriverError, match=r"<BytesIO>: unknown file format: .*`format` must name it"):
        ds.write(io.BytesIO(), DATASET)
    with pytest.raises(TypeError, match="open for text"):
        ds.write(io.StringIO(), DATASET, format="json")
    with pytest.raises(TypeError, match="expected a file object that is open for writing"):
        ds.write(memoryview(b""), DATASET, format="ds")  # type: ignore[arg-type]
    options: list[dict[str, Any]] = [{"atomic": False}, {"durable": True}]
    for option in options:
        for format in ("ds", "json"):
            with pytest.raises(UnsupportedError, match="is one for files with a path or address"):
                ds.write(io.BytesIO(), DATASET, format=format, **option)
    with pytest.raises(DriverError, match="ZDS datasets consist of several files"):
        ds.write(io.BytesIO(), DATASET, format="zds")


def test_written_file_object_cannot_be_read() -> None:
    with pytest.raises(TypeError, match="expected a file object that is open for reading"):
        ds.read(Minimal())  # type: ignore[arg-type]


def test_conversion_to_a_file_object(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.nc", DATASET)
    ds.convert(tmp_path / "x.nc", tmp_path / "x.json")
    file = io.BytesIO()
    ds.convert(tmp_path / "x.nc", file, format="json")
    assert file.getvalue() == (tmp_path / "x.json").read_bytes()


# stores


def options_of(bucket: Bucket, **others: str) -> dict[str, str]:
    """Return `storage_options` as s3fs has them."""
    given = {"endpoint_url": bucket.endpoint, "region": bucket.region, "key": bucket.key_id, "secret": bucket.secret}
    return {**given, **others}


@pytest.mark.parametrize("format", FORMATS)
def test_bucket_gets_the_bytes_of_the_file(bucket: Bucket, format: str) -> None:
    suffix = "nc" if format.isupper() else format
    ds.write(f"s3://bucket/a/x.{suffix}", DATASET, storage_options=options_of(bucket), format=format)
    assert bucket.keys() == [f"a/x.{suffix}"]
    assert bucket.get(f"a/x.{suffix}") == ds.dumps(DATASET, format=format)


@pytest.mark.parametrize("atomic", [True, False])
def test_large_file_in_a_bucket(bucket: Bucket, atomic: bool) -> None:
    ds.write("s3://bucket/large.ds", LARGE, storage_options=options_of(bucket), atomic=atomic)
    assert bucket.get("large.ds") == ds.dumps(LARGE)
    assert bucket.unfinished() == []


def test_file_must_not_exist(bucket: Bucket) -> None:
    bucket.put("x.ds", b"before")
    for dataset in (DATASET, LARGE):
        with pytest.raises(FileExistsError, match=r"'s3://bucket/x.ds'"):
            ds.write("s3://bucket/x.ds", dataset, storage_options=options_of(bucket), atomic=False)
    assert bucket.get("x.ds") == b"before"
    ds.write("s3://bucket/x.ds", DATASET, storage_options=options_of(bucket))
    assert bucket.get("x.ds") == ds.dumps(DATASET)


def test_bucket_that_does_not_exist(bucket: Bucket) -> None:
    with pytest.raises(FileNotFoundError, match=r"'s3://missing/x.ds'"):
        ds.write("s3://missing/x.ds", DATASET, storage_options=options_of(bucket))


def test_wrong_credentials(bucket: Bucket) -> None:
    with pytest.raises(PermissionError, match=r"'s3://bucket/x.ds'") as info:
        ds.write("s3://bucket/x.ds", DATASET, storage_options=options_of(bucket, secret="very-secret"))
    assert "very-secret" not in str(info.value)
    assert bucket.keys() == []


def test_store_of_obstore(bucket: Bucket) -> None:
    stores = pytest.importorskip("obstore.store", reason="needs obstore, of the extra remote")
    store = stores.S3Store(
        bucket.name,
        endpoint=bucket.endpoint,
        region=bucket.region,
        access_key_id=bucket.key_id,
        secret_access_key=bucket.secret,
        client_options={"allow_http": True},
    )
    ds.write("a/x.ds", DATASET, store=store)
    assert bucket.get("a/x.ds") == ds.dumps(DATASET)
    memory = stores.MemoryStore()
    ds.write("x.nc", DATASET, store=memory)
    assert bytes(memory.get("x.nc").bytes()) == ds.dumps(DATASET, format="nc")
    with pytest.raises(FileExistsError):
        ds.write("x.nc", DATASET, store=memory, atomic=False)


def test_store_that_is_only_read() -> None:
    class Store:
        def get(self, path: str) -> None:
            raise AssertionError

    with pytest.raises(UnsupportedError, match="has no method `put`"):
        ds.write("x.ds", DATASET, store=Store())


def interrupted(stop: BaseException, after: int) -> Callable[[str], Iterator[bytes]]:
    """Return a function that reads a file, and raises after so many pieces."""
    blocks_of = uploads.blocks_of

    def blocks(file: str) -> Iterator[bytes]:
        for i, block in enumerate(blocks_of(file)):
            if i == after:
                raise stop
            yield block

    return blocks


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), RuntimeError("stop")], ids=repr)
def test_interrupted_upload_leaves_nothing(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    bucket.put("large.ds", b"before")
    monkeypatch.setattr(uploads, "blocks_of", interrupted(stop, 2))
    with pytest.raises((KeyboardInterrupt, OSError)):
        ds.write("s3://bucket/large.ds", LARGE, storage_options=options_of(bucket))
    assert bucket.get("large.ds") == b"before"
    assert bucket.unfinished() == []


@pytest.mark.parametrize("url", ["s3://bucket/x.ds", "s3://bucket/x.json"])
def test_exception_in_the_middle_leaves_nothing(tmp_path: Path, bucket: Bucket, url: str) -> None:
    ds.write(tmp_path / "x.ds", {"a": np.arange(100.0), "b": np.arange(600_000.0)})
    data = (tmp_path / "x.ds").read_bytes()
    (tmp_path / "x.ds").write_bytes(data[:-1_000_000])
    with pytest.raises(ds.FormatError):
        ds.convert(tmp_path / "x.ds", url, storage_options=options_of(bucket))
    assert bucket.keys() == []


def test_other_file_systems() -> None:
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.store.clear()
    for dataset in (DATASET, LARGE):
        ds.write("memory://folder/x.ds", dataset)
        assert system.cat_file("/folder/x.ds") == ds.dumps(dataset)
    with pytest.raises(FileExistsError):
        ds.write("memory://folder/x.ds", DATASET, atomic=False)
    ds.write("folder/y.ds", DATASET, store=system)
    assert system.cat_file("/folder/y.ds") == ds.dumps(DATASET)
    assert sorted(system.find("/")) == ["/folder/x.ds", "/folder/y.ds"]


def test_file_system_that_renames(tmp_path: Path) -> None:
    """Half of a file is never there under its name."""
    local: Any = pytest.importorskip("fsspec.implementations.local").LocalFileSystem

    class Failing(local):  # type: ignore[misc]
        def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
            super().pipe_file(path, value[: len(value) // 2])
            raise OSError("lost")

    path = tmp_path / "x.ds"
    ds.write(str(path), DATASET, store=local())
    assert path.read_bytes() == ds.dumps(DATASET)
    with ds.remote(retries=0), pytest.raises(OSError, match="lost"):
        ds.write(str(path), {"x": [1]}, store=Failing(skip_instance_cache=True))
    assert path.read_bytes() == ds.dumps(DATASET)
    assert sorted(os.listdir(tmp_path)) == ["temporary", "x.ds"]


def test_web_servers_are_read_only(serve: Callable[..., Server]) -> None:
    server = serve({})
    with pytest.raises(UnsupportedError, match="web servers are read only"):
        ds.write(server.url("x.ds"), DATASET)
    assert server.requests == []


def test_conversion_to_a_store(tmp_path: Path, bucket: Bucket) -> None:
    for dataset in (DATASET, LARGE):
        ds.write(tmp_path / "x.nc", dataset)
        ds.convert(tmp_path / "x.nc", tmp_path / "x.ds")
        ds.convert(tmp_path / "x.nc", "s3://bucket/x.ds", storage_options=options_of(bucket))
        assert bucket.get("x.ds") == (tmp_path / "x.ds").read_bytes()


def test_arrays_that_are_appended_are_spooled_in_the_temporary_folder(bucket: Bucket) -> None:
    """Sinks with further temporary files put them next to the local file, not into the current folder."""
    ds.write(
        "s3://bucket/x.csv", {"x": np.arange(200_000), "y": np.arange(200_000)}, storage_options=options_of(bucket)
    )
    assert bucket.get("x.csv") == ds.dumps({"x": np.arange(200_000), "y": np.arange(200_000)}, format="csv")


# objects of xarray


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_objects_of_xarray(tmp_path: Path, bucket: Bucket, is_lazy: bool, suffix: str) -> None:
    xr = pytest.importorskip("xarray")
    x = xr.Dataset({"v": (("t", "y"), np.arange(12.0).reshape(4, 3), {"units": "K"})})
    if is_lazy:
        pytest.importorskip("dask.array")
        x = x.chunk({"t": 2})
    ds.write(f"s3://bucket/x.{suffix}", x, storage_options=options_of(bucket))
    file = io.BytesIO()
    ds.write(file, x, format=suffix)
    assert bucket.get(f"x.{suffix}") == file.getvalue() == ds.dumps(x, format=suffix)
    assert ds.loads(ds.dumps(x))["v"].tolist() == x.v.values.tolist()


def test_objects_of_xarray_written_later(bucket: Bucket) -> None:
    xr, _ = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    x = xr.Dataset({"v": ("t", np.arange(12.0))}).chunk({"t": 5})
    job = ds.write("s3://bucket/x.ds", x, storage_options=options_of(bucket), compute=False)
    assert bucket.keys() == []
    job.compute()
    assert ds.loads(bucket.get("x.ds"))["v"].tolist() == x.v.values.tolist()
    with pytest.raises(UnsupportedError, match=r"<BytesIO>: .*another process: give the path or address"):
        ds.write(io.BytesIO(), x, format="ds", compute=False)


def test_file_objects_stay_in_their_process() -> None:
    with pytest.raises(TypeError, match="give the path or address"):
        pickle.dumps(located(io.BytesIO()))


# many files


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with three files in two folders. The state of programs is kept in another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for i, name in enumerate(("a/1.nc", "a/2.nc", "b/3.nc")):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        ds.write(tmp_path / "in" / name, {"x": np.arange(10.0) + i})
    return tmp_path / "in"


@pytest.mark.parametrize("outdir", ["s3://bucket/out", "s3://bucket/out/", "s3://bucket"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_many_files_are_converted_to_a_bucket(inputs: Path, bucket: Bucket, outdir: str, jobs: int) -> None:
    records = ds.convert_many(inputs, outdir, storage_options=options_of(bucket), verify=True, jobs=jobs)
    names = ["a/1.ds", "a/2.ds", "b/3.ds"]
    top = outdir.removeprefix("s3://bucket").strip("/")
    assert [one.cause for one in records] == [None] * 3
    assert [one.output for one in records] == [f"{outdir.rstrip('/')}/{name}" for name in names]
    assert bucket.keys() == [f"{top}/{name}".strip("/") for name in names]
    for i, key in enumerate(bucket.keys()):
        assert ds.loads(bucket.get(key))["x"][0] == i
    assert not Path("s3:").exists()


def test_many_files_are_resumed_from_the_local_journal(inputs: Path, bucket: Bucket) -> None:
    def convert(**options: Any) -> list[str]:
        records = ds.convert_many(inputs, "s3://bucket/out", storage_options=options_of(bucket), **options)
        return [one.status for one in records]

    bucket.put("out/a/1.ds", b"another file")
    assert convert() == ["failed", "converted", "converted"]
    assert bucket.get("out/a/1.ds") == b"another file"
    assert convert(resume=True) == ["converted", "skipped", "skipped"]
    assert convert(resume=True) == ["skipped"] * 3
    bucket.put("out/b/3.ds", b"changed")
    ds.write(inputs / "a/1.nc", {"x": [1.0]})
    assert convert(resume=True) == ["converted", "skipped", "converted"]
    assert ds.loads(bucket.get("out/b/3.ds"))["x"][0] == 2
    assert convert() == ["failed"] * 3
    assert convert(overwrite=True) == ["converted"] * 3
    assert convert(dry_run=True, resume=True) == ["skipped"] * 3


def test_file_that_cannot_be_uploaded_fails_alone(inputs: Path, bucket: Bucket) -> None:
    (inputs / "a/1.nc").write_bytes(b"CDF\x01")
    records = ds.convert_many(inputs, "s3://bucket/out", storage_options=options_of(bucket))
    assert [one.status for one in records] == ["failed", "converted", "converted"]
    wrong = ds.convert_many(inputs, "s3://missing", storage_options=options_of(bucket))
    assert [one.status for one in wrong] == ["failed"] * 3
    assert all("s3://missing/" in str(one.cause) for one in wrong[1:])


def test_outputs_that_cannot_be_elsewhere(inputs: Path, serve: Callable[..., Server]) -> None:
    with pytest.raises(UnsupportedError, match="web servers are read only"):
        ds.convert_many(inputs, serve({}).url("out"))
    with pytest.raises(DriverError, match="consist of several files"):
        ds.convert_many(inputs, "memory://out", to="zds")
