"""Many files that are elsewhere: read, merged and opened as one."""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds

from . import server as behaviours
from .conftest import CODE, check_interrupt, keys, made, urls
from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
N = 20


def times(datasets: Any) -> list[float]:
    return [float(one["time"][0]) for one in datasets]


@pytest.mark.parametrize("suffix", ["ds", "nc", "json"])
def test_small_files_are_one_request_each_side_by_side(suffix: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(made(tmp_path, [f"r{i}.{suffix}" for i in range(N)]), latency=0.01)
    assert times(ds.read_many(urls(server))) == [*range(N)]
    assert len(server.requests) == N and 1 < server.most <= 8
    with ds.remote(lanes=2):
        server.most = 0
        assert times(ds.read_many(urls(server), ["time"])) == [*range(N)]
        assert len(server.requests) == 2 * N and server.most == 2


def test_a_hundred_reports_are_a_hundred_requests(serve: Serve, tmp_path: Path) -> None:
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(100)]), latency=0.005)
    merged = ds.read_many(urls(server), dim="time")
    assert merged["time"].tolist() == [*range(100)] and merged["x"].shape == (100, 3)
    assert len(server.requests) == 100 and 1 < server.most <= 8


def test_larger_files_take_no_second_request_for_their_header(serve: Serve, tmp_path: Path) -> None:
    server = serve(made(tmp_path, ["a.ds", "b.ds"], n=30_000), latency=0.01)
    assert times(ds.read_many(urls(server), "time")) == [0, 1]
    assert len(server.requests) == 2
    np.testing.assert_array_equal(ds.read_many(urls(server), "x", "time")["x"][1], np.arange(30_000) + 1)
    assert len(server.requests) == 6


def test_local_files_and_others_in_any_order(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = made(tmp_path, [f"r{i}.{suffix}" for i, suffix in enumerate(["ds", "nc", "ds", "json", "json", "ds"])])
    server = serve(files)
    mixed: list[Any] = [server.url(name) if i % 2 else name for i, name in enumerate(files)]
    mixed.append(io.BytesIO(files["r2.ds"]))
    assert times(ds.read_many(mixed)) == [0, 1, 2, 3, 4, 5, 2]


def test_the_first_file_with_a_fault_is_reported(serve: Serve, tmp_path: Path) -> None:
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(N)]))
    every = urls(server)
    del server.files["r3.ds"], server.files["r9.ds"]
    with pytest.raises(FileNotFoundError, match=r"r3\.ds") as found:
        ds.read_many(every)
    assert "secret" not in str(found.value)
    server.files["r3.ds"] = b"ds-1.0\n{"
    with pytest.raises(ds.FormatError, match=r"r3\.ds") as found_format:
        ds.read_many(every, dim="time")
    assert "secret" not in str(found_format.value)


def test_options_and_stores(serve: Serve, tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    server = serve(made(tmp_path, ["a.ds", "b.ds"]), behaviours.guarded("Bearer t"))
    with pytest.raises(PermissionError, match=r"a\.ds"):
        ds.read_many(urls(server))
    options: Any = {"storage_options": {"token": "t"}}
    assert times(ds.read_many(urls(server), **options)) == [0, 1]
    ds.merge_files("time", urls(server), tmp_path / "merged.ds", **options)
    assert ds.read(tmp_path / "merged.ds")["time"].tolist() == [0, 1]
    store = obstore.store.MemoryStore()
    for name, data in server.files.items():
        obstore.put(store, f"folder/{name}", data)
    assert times(ds.read_many(["folder/a.ds", "folder/b.ds"], store=store)) == [0, 1]
    ds.merge_files("time", ["folder/b.ds", "folder/a.ds"], tmp_path / "merged.nc", store=store)
    assert ds.read(tmp_path / "merged.nc")["time"].tolist() == [1, 0]
    assert times(ds.readdir("folder", store=store)) == [0, 1]
    assert ds.verify("folder/a.ds", store=store) == []
    assert len(ds.diff("folder/a.ds", "folder/b.ds", store=store)) == 2
    assert not ds.diff(io.BytesIO(server.files["a.ds"]), ds.loads(server.files["a.ds"]))
    ds.convert("folder/a.ds", tmp_path / "a.json", store=store)
    assert ds.read(tmp_path / "a.json")["time"].tolist() == [0]


def test_merging_many_files_opens_each_once(serve: Serve, tmp_path: Path) -> None:
    server = serve(made(tmp_path, [f"r{i:02}.nc" for i in range(80)]), latency=0.005)
    ds.merge_files("time", urls(server), tmp_path / "merged.ds")
    assert ds.read(tmp_path / "merged.ds")["time"].tolist() == [*range(80)]
    assert len(server.requests) == 80 and 1 < server.most <= 8


def test_folders_in_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    files = made(tmp_path, ["a.ds", "b.nc", "c.json"])
    for name, data in files.items():
        bucket.put(f"days/{name}", data)
    bucket.put("days/more/d.ds", files["a.ds"])
    bucket.put("days/notes", b"text")
    options: Any = {"storage_options": keys(bucket)}
    found: Any = ds.readdir("s3://bucket/days", **options)
    assert [str(one["filename"]) for one in found] == [f"s3://bucket/days/{name}" for name in files]
    assert times(found) == [0, 1, 2]
    assert len(ds.readdir("s3://bucket/days/", recursive=True, **options)) == 4
    merged = ds.readdir("s3://bucket/days", ["time"], merge="time", **options)
    assert merged["filename"].tolist() == [f"s3://bucket/days/{name}" for name in files]
    assert [one["time"].tolist() for one in ds.readdir("s3://bucket/days", sel={"time": 0}, **options)] == [0, 1, 2]
    bucket.put("days/b.nc", b"damaged")
    problems: list[tuple[str, str]] = []
    assert times(ds.readdir("s3://bucket/days", warnings=problems, **options)) == [0, 2]
    assert [message.startswith("s3://bucket/days/b.nc") for message, _ in problems] == [True]
    with pytest.raises(FileNotFoundError, match=r"there are no files below this address.*s3://bucket/absent"):
        ds.readdir("s3://bucket/absent", **options)
    with pytest.raises(FileNotFoundError, match="s3://absent/days"):
        ds.readdir("s3://absent/days", **options)
    assert bucket.secret not in "".join(message for message, _ in problems)


def test_folders_of_files_without_suffix(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    files = made(tmp_path, ["a.ds", "b.nc"])
    for name, data in files.items():
        system.pipe_file(f"/plain/{name[0]}", data)
    system.pipe_file("/plain/notes", b"text")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert times(ds.readdir("memory://plain")) == [0, 1]
    assert ["memory://plain/notes" in str(one.message) for one in caught] == [True]


def test_web_servers_do_not_list_files(serve: Serve) -> None:
    with pytest.raises(ds.UnsupportedError, match=r"127.0.0.1:\d+/days: web servers do not list their files"):
        ds.readdir(serve({}).url("days"))


def test_opening_many(serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(N)]), latency=0.01)
    opened = ds.open_many(urls(server), "time")
    assert len(server.requests) == N and 1 < server.most <= 8
    assert str(opened["time"].values[3]) == "2000-01-04T00:00:00.000000000"
    assert len(server.requests) == N
    copied = pickle.loads(pickle.dumps(opened))
    np.testing.assert_array_equal(copied["x"][5:7].values, [[5, 6, 7], [6, 7, 8]])
    assert len(server.requests) == N + 2
    np.testing.assert_array_equal(opened["x"].values[:, 0], np.arange(N))
    assert len(server.requests) == 2 * N + 2
    loaded = ds.open_many(urls(server), "time", load=True)
    assert len(server.requests) == 3 * N + 2
    np.testing.assert_array_equal(loaded["x"].values[:, 0], np.arange(N))


@pytest.mark.parametrize(("suffix", "n", "requests"), [("ds", 30_000, 1), ("nc", 30_000, 3)])
def test_opening_many_larger_files(suffix: str, n: int, requests: int, serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    server = serve(made(tmp_path, [f"r{i}.{suffix}" for i in range(4)], n=n))
    opened = ds.open_many(urls(server), "time")
    assert len(server.requests) <= 4 * requests
    np.testing.assert_array_equal(opened["x"][2].values, np.arange(n) + 2)
    server.files[f"r1.{suffix}"] = server.files[f"r1.{suffix}"][:-8] + b"12345678"
    with pytest.raises(ds.ReplacedError, match=rf"r1\.{suffix}"):
        opened["x"][1].values  # noqa: B018


def test_files_that_change_or_vanish(serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    server = serve(made(tmp_path, ["a.ds", "b.ds", "c.ds"]))
    opened = ds.open_many(urls(server), "time")
    server.files["b.ds"] = server.files["b.ds"][:-8] + b"12345678"
    del server.files["c.ds"]
    with pytest.raises(ds.ReplacedError, match=r"b\.ds: .*its size or version differs"):
        opened["x"][1].values  # noqa: B018
    with pytest.raises(ds.ReplacedError, match=r"c\.ds: .*the file was opened, and is not there any more"):
        opened["x"][2].values  # noqa: B018
    np.testing.assert_array_equal(opened["x"][0].values, [0, 1, 2])


def test_patterns_options_and_preprocess(bucket: Bucket, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    pytest.importorskip("xarray")
    for name, data in made(tmp_path, ["a.nc", "b.nc", "c.ds"]).items():
        bucket.put(f"2026/{name[0]}/{name}", data)
    options: Any = {"storage_options": keys(bucket)}
    assert ds.open_many("s3://bucket/2026/**/*.nc", "time", **options).sizes["time"] == 2
    assert ds.open_many("s3://bucket/*/[bc]/*", "time", **options)["x"].values[:, 0].tolist() == [1, 2]
    seen: list[str] = []

    def preprocess(one: Any) -> Any:
        seen.append(one.encoding["source"])
        return one[["x"]]

    opened = ds.open_many("s3://bucket/2026/*/*", "time", preprocess=preprocess, load=True, **options)
    assert opened["x"].values[:, 0].tolist() == [0, 1, 2]
    assert seen == [f"s3://bucket/2026/{name[0]}/{name}" for name in ("a.nc", "b.nc", "c.ds")]
    with pytest.raises(FileNotFoundError, match=r"s3://bucket/2026/\*\.ds"):
        ds.open_many("s3://bucket/2026/*.ds", "time", **options)
    with pytest.raises(ds.UnsupportedError, match="web servers do not list their files"):
        ds.open_many("http://127.0.0.1/*.ds", "time")


def test_tasks_of_dask(serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(N)]), behaviours.guarded("Bearer t"))
    options: Any = {"storage_options": {"token": "t"}}
    opened = ds.open_many(urls(server), "time", chunks=5, **options)
    assert opened["x"].data.npartitions == 4
    np.testing.assert_array_equal(opened["x"].compute().values[:, 0], np.arange(N))
    assert len(server.requests) == 2 * N
    with pytest.raises(TypeError, match="a file object cannot be sent to another process: give the path or address"):
        pickle.dumps(ds.open_many([io.BytesIO(server.files["r0.ds"])], "time", chunks=5))
    again = ds.open_many(urls(server), "time", chunks=5, **options)
    assert again["x"].data.name == opened["x"].data.name


def test_workers_of_distributed(serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    distributed = pytest.importorskip("distributed", reason="dask.distributed is optional")
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(N)]), behaviours.guarded("Bearer t"))
    options: Any = {"storage_options": {"token": "t"}, "chunks": 5}
    cluster = {"n_workers": 1, "threads_per_worker": 2, "processes": True, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**cluster, local_directory=str(tmp_path), silence_logs=50) as workers,
        distributed.Client(workers),
    ):
        opened = ds.open_many(urls(server), "time", **options)
        np.testing.assert_array_equal(opened["x"].compute().values[:, 0], np.arange(N))
    assert len(server.requests) == 2 * N


CALLS = {
    "read_many": "ds.read_many(sys.argv[1:])",
    "merge_files": "ds.merge_files('time', sys.argv[1:], 'merged.ds')",
    "open_many": "ds.open_many(sys.argv[1:], 'time')",
    "verify": "ds.verify(sys.argv[1])",
    "diff": "ds.diff(sys.argv[1], sys.argv[2])",
    "readdir": "ds.readdir('s3://bucket/folder', storage_options=options)",
    "read": "ds.read('s3://bucket/x.ds', storage_options=options)",
}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_ends_at_once(name: str, serve: Serve, tmp_path: Path) -> None:
    n = 3 if "many" in name or "merge" in name else 1
    server = serve(made(tmp_path, [f"r{i}.ds" for i in range(N)]), behaviours.stalling(10, first=n - 1))
    check_interrupt(CODE.format(call=CALLS[name]), urls(server), server, n, tmp_path)
    assert not (tmp_path / "merged.ds").exists()
