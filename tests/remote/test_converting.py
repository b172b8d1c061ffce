"""Converting files that are elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.cli.main import main
from ds_format.zds import ZDSStore

from . import server as behaviours
from .conftest import CODE, check_interrupt, keys, made, urls
from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
N = 20


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, which has the folder for the state of programs, too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def statuses(records: list[ds.Conversion]) -> list[str]:
    assert not [record.cause for record in records if record.status == "failed"]
    return [record.status for record in records]


@pytest.mark.parametrize("jobs", [None, 3])
@pytest.mark.parametrize("to", ["ds", "nc"])
def test_urls_are_requested_side_by_side(jobs: int | None, to: str, serve: Serve, here: Path) -> None:
    server = serve(made(here, [f"r{i}.ds" for i in range(N)]), behaviours.guarded("Bearer t"), latency=0.05)
    records = ds.convert_many(urls(server), "out", to=to, jobs=jobs, storage_options={"token": "t"})
    assert statuses(records) == ["converted"] * N
    assert [record.output for record in records] == [f"out/r{i}.{to}" for i in range(N)]
    assert len(server.requests) == N and server.most > 1
    assert [float(ds.read(f"out/r{i}.{to}")["time"][0]) for i in range(N)] == [*range(N)]
    assert "secret" not in Path("out/.ds-convert.jsonl").read_text() + repr(records)


def test_finished_files_are_skipped_by_their_version(serve: Serve, here: Path) -> None:
    server = serve(made(here, ["a.ds", "b.ds"]))
    assert statuses(ds.convert_many(urls(server), "out", to="json")) == ["converted"] * 2
    assert statuses(ds.convert_many(urls(server), "out", to="json", resume=True)) == ["skipped"] * 2
    server.files["b.ds"] = server.files["a.ds"]
    assert statuses(ds.convert_many(urls(server), "out", to="json", resume=True)) == ["skipped", "converted"]
    assert ds.read("out/b.json")["time"].tolist() == [0]
    with pytest.raises(FileExistsError, match=r"out/a\.json"):
        ds.convert_many(urls(server), "out", to="json")


def test_an_unknown_version_is_not_taken_to_be_unchanged(serve: Serve, here: Path) -> None:
    server = serve(made(here, ["a.ds"]), etag=None)
    for _ in range(2):
        assert statuses(ds.convert_many(urls(server), "out", to="json", resume=True)) == ["converted"]


def test_verification_compares_the_version(serve: Serve, here: Path) -> None:
    files = made(here, ["a.ds", "b.ds"])
    server = serve({"a.ds": files["a.ds"]})
    assert statuses(ds.convert_many(urls(server), "out", to="nc", verify=True)) == ["converted"]
    assert len(server.requests) == 2
    other = serve({"a.ds": files["a.ds"]}, behaviours.changing({"a.ds": files["b.ds"]}))
    [record] = ds.convert_many(urls(other), "other", to="nc", verify=True)
    assert record.status == "failed" and "changed while it was converted" in (record.cause or "")
    assert not Path("other/a.nc").exists()


def test_failures_are_reported_and_the_others_converted(serve: Serve, here: Path) -> None:
    server = serve(made(here, ["a.ds", "b.ds"]))
    records = ds.convert_many([server.url("absent.ds?token=secret"), *urls(server)], "out", to="nc", jobs=2)
    assert [record.status for record in records] == ["failed", "converted", "converted"]
    assert "404" in (records[0].cause or "") and "secret" not in repr(records)


def test_patterns_and_folders(bucket: Bucket, here: Path) -> None:
    pytest.importorskip("obstore")
    files = made(here, ["a.ds", "b.nc", "c.json"])
    others = {"plain": files["a.ds"], ".hidden.ds": files["a.ds"], "notes": b"text"}
    for name, data in {**others, **{f"{name[0]}/{name}": data for name, data in files.items()}}.items():
        bucket.put(f"2026/{name}", data)
    options: dict[str, Any] = {"storage_options": keys(bucket), "to": "nc"}
    records = ds.convert_many("s3://bucket/2026/**/*.ds", "out", **options)
    assert [(record.input, record.output) for record in records] == [("s3://bucket/2026/a/a.ds", "out/a/a.nc")]
    with pytest.warns(UserWarning, match="s3://bucket/2026/notes"):
        records = ds.convert_many("s3://bucket/2026/", "all", **options)
    assert [record.output for record in records] == ["all/a/a.nc", "all/b/b.nc", "all/c/c.nc", "all/plain.nc"]
    assert statuses(records) == ["converted"] * 4
    with pytest.warns(UserWarning, match="notes"):
        assert statuses(ds.convert_many("s3://bucket/2026/", "all", resume=True, **options)) == ["skipped"] * 4
    with pytest.raises(ds.MissingError, match=r"s3://bucket/2026/\*\.csv"):
        ds.convert_many("s3://bucket/2026/*.csv", "none", **options)
    with pytest.raises(ds.UnsupportedError, match="web servers do not list their files"):
        ds.convert_many("http://127.0.0.1/2026/", "none", to="nc")


def test_containers(bucket: Bucket, here: Path) -> None:
    for i in range(2):
        with ZDSStore.open(f"in/people{i}", mode="w") as store:
            store.put("ada", {"_id": "ada", "age": 36 + i})
    samples = {"age": np.arange(3), ".": {"age": {".dims": ["n"]}}}
    ds.write("in/c.msgpack", samples, dim="n")
    ds.write("in/d.bpk", samples)
    for path in filter(Path.is_file, Path("in").rglob("*")):
        bucket.put(str(path), path.read_bytes())
    options: dict[str, Any] = {"storage_options": keys(bucket)}
    ages = {"c": [0, 1, 2], "d": [0, 1, 2], "people0": [36], "people1": [37]}
    places: list[tuple[str, str, dict[str, Any]]] = [("near", "in", {}), ("far", "s3://bucket/in/", options)]
    for place, folder, given in places:
        assert statuses(ds.convert_many([folder], place, **given)) == ["converted"] * 4
        assert {path.stem: ds.read(path)["age"].tolist() for path in Path(place).glob("*.ds")} == ages
        assert statuses(ds.convert_many([folder], place, resume=True, **given)) == ["skipped"] * 4
        every = ds.readdir(folder, recursive=True, **given)
        assert {Path(each["filename"]).stem: each["age"].tolist() for each in every} == ages
        people = f"{folder.rstrip('/')}/people1"
        assert statuses(ds.convert_many([people], f"one {place}", **given)) == ["converted"]
        assert [each["age"].tolist() for each in ds.readdir(people, **given)] == [[37]]
        assert [each["age"].tolist() for each in ds.read_many([people, people], **given)] == [[37], [37]]
        with ds.open(people, **given) as file:
            assert file["age"][:].tolist() == [37]
    for name in ("people0", "c.msgpack"):
        problems = ds.verify(f"s3://bucket/in/{name}", **options)
        assert [(each.severity, "by a local path" in each.message) for each in problems] == [("warning", True)]
    assert ds.verify("s3://bucket/in/d.bpk", **options) == []
    with pytest.raises(FileNotFoundError, match="s3://bucket/in/absent"):
        ds.read("s3://bucket/in/absent", **options)


def test_from_a_bucket_to_a_bucket(bucket: Bucket, here: Path) -> None:
    pytest.importorskip("obstore")
    for name, data in made(here, ["a.ds", "b.ds"]).items():
        bucket.put(f"in/{name}", data)
    options: dict[str, Any] = {"storage_options": keys(bucket)}
    assert statuses(ds.convert_many("s3://bucket/in/*", "s3://bucket/out", to="nc", **options)) == ["converted"] * 2
    assert sorted(bucket.keys()) == ["in/a.ds", "in/b.ds", "out/a.nc", "out/b.nc"]
    with pytest.raises(ds.UnsupportedError, match="would replace this input"):
        ds.convert_many("s3://bucket/in/*", "s3://bucket/in", to="ds", overwrite=True, **options)


def test_stores_and_equal_names(serve: Serve, here: Path) -> None:
    obstore = pytest.importorskip("obstore")
    store = obstore.store.MemoryStore()
    for name, data in made(here, ["a.ds", "b.ds"]).items():
        obstore.put(store, f"in/{name}", data)
    assert statuses(ds.convert_many(["in/a.ds", "in/b.ds"], "out", to="json", store=store)) == ["converted"] * 2
    assert statuses(ds.convert_many("in/*.ds", "out", to="json", store=store, resume=True)) == ["skipped"] * 2
    server = serve({"get": b""})
    with pytest.raises(ds.UnsupportedError, match="two inputs would become this file"):
        ds.convert_many([server.url("x/a.ds"), server.url("y/a.ds")], "other", to="json")


def test_the_command(serve: Serve, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = serve(made(here, ["a.ds", "b.ds"]))
    url = server.url("a.ds?token=secret")
    assert main(["convert", "-q", url, server.url("b.ds"), "out", "to:", "json", "jobs:", "2"]) == 0
    assert ds.read("out/b.json")["time"].tolist() == [1]
    assert main(["convert", "-q", "--dry-run", "-j", url, "one.nc"]) == 0
    [planned] = json.loads(capsys.readouterr().out)
    assert planned["status"] == "planned" and planned["input"] == server.url("a.ds")
    assert main(["convert", "-q", "--verify", url, "one.nc"]) == 0
    assert main(["convert", "-q", url, "one.nc"]) == 1
    assert "one.nc exists" in capsys.readouterr().err
    assert main(["convert", "-q", server.url("absent.ds?token=secret"), "x.nc"]) == 1
    told = capsys.readouterr().err
    assert "absent.ds: " in told and "404" in told and "secret" not in told


def test_the_command_with_one_output_elsewhere(serve: Serve, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fsspec")
    server = serve(made(here, ["a.ds"]))
    assert main(["convert", "-q", server.url("a.ds"), "memory://converted/one.nc"]) == 0
    assert ds.read("memory://converted/one.nc")["time"].tolist() == [0]
    assert main(["convert", "-q", "a.ds", "memory://converted/one.nc"]) == 1
    assert "File exists" in capsys.readouterr().err
    assert main(["convert", "-q", "--overwrite", "a.ds", "memory://converted/one.nc"]) == 0
    assert main(["convert", "-q", "a.ds", server.url("one.nc")]) == 1
    assert "web servers are read only" in capsys.readouterr().err


def test_verifying_files_of_a_pattern(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    files = made(here, ["a.ds", "b.ds"])
    system.pipe_file("/verified/a.ds", files["a.ds"])
    system.pipe_file("/verified/b.ds", files["b.ds"][:-8])
    assert main(["verify", "memory://verified/*.ds"]) == 1
    told = capsys.readouterr()
    assert "memory://verified/b.ds" in told.out and "1 of 2 files failed" in told.err
    assert main(["verify", "memory://verified/a.ds"]) == 0
    assert main(["verify", "http://127.0.0.1:1/*.ds"]) == 1
    assert "web servers do not list their files" in capsys.readouterr().out


@pytest.mark.parametrize(("jobs", "first"), [(1, 2), (2, 2), (2, 0)])
def test_an_interrupt_ends_at_once(jobs: int, first: int, serve: Serve, here: Path) -> None:
    pytest.importorskip("netCDF4")
    server = serve(made(here, [f"r{i}.ds" for i in range(N)]), behaviours.stalling(10, first=first))
    call = f"ds.convert_many(sys.argv[1:], 'out', jobs={jobs}, to='{'ds' if first else 'nc'}')"
    check_interrupt(CODE.format(call=call), urls(server), server, first + 1, here)
    assert len(list(here.glob("out/[!.]*"))) <= first  # no more than the server has sent
