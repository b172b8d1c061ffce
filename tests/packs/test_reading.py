"""Members of packs are read like files in a folder, by all functions and commands."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body import packs
from ds_format.cli.main import main

from ..formats import SUFFIX
from ..same import same_object
from .conftest import N, report

Read = Callable[[str], Any]


def names(top: str) -> list[str]:
    return [f"{top}/r{i}{'.nc' if i == N - 1 else '.ds'}" for i in range(N)]


def test_members_are_the_files(folder: Path) -> None:
    with zipfile.ZipFile("st.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [os.path.basename(name) for name in names("st")]
        for info in archive.infolist():
            assert archive.read(info) == (folder / "st" / info.filename).read_bytes()
            assert info.compress_type == zipfile.ZIP_STORED and info.date_time == (1980, 1, 1, 0, 0, 0)
    data = (folder / "st.zip").read_bytes()
    for path in (folder / "st").iterdir():
        assert data.index(path.read_bytes()) % 64 == 0


@pytest.mark.skipif(shutil.which("unzip") is None, reason="needs the program unzip")
def test_other_programs_accept_a_pack(folder: Path) -> None:
    subprocess.run(["unzip", "-tq", "st.zip"], check=True, capture_output=True)


def test_the_same_files_make_the_same_pack(folder: Path) -> None:
    os.utime("st/r0.ds", (1, 1))
    ds.pack("st/*", "again.zip")
    assert (folder / "again.zip").read_bytes() == (folder / "st.zip").read_bytes()


READERS: dict[str, Read] = {
    "read": lambda top: [ds.read(name) for name in names(top)],
    "read-path": lambda top: [ds.read(Path(name)) for name in names(top)],
    "read-bytes": lambda top: [ds.read(os.fsencode(name)) for name in names(top)],
    "read-part": lambda top: [ds.read(name, "x", sel={"time": [0, 2]}) for name in names(top)],
    "read-mapped": lambda top: [ds.read(name, mmap=True) for name in names(top)[:-1]],
    "open": lambda top: [_opened(name) for name in names(top)],
    "handle": lambda top: [_by_handle(name) for name in names(top)],
    "read_many": lambda top: ds.read_many(names(top)),
    "read_many-some": lambda top: ds.read_many(names(top)[::-1], ["x"]),
    "read_many-dim": lambda top: ds.read_many(names(top), dim="time", stack="lat", attributes="title"),
    "read_many-pattern": lambda top: ds.read_many(f"{top}/*.ds", dim="time", attributes="title"),
    "readdir": lambda top: _without_names(ds.readdir(top if os.path.isdir(top) else "st.zip")),
    "sql": lambda top: ds.sql("select sum(x) s, count(*) n from t", t=f"{top}/*.ds").fetchall(),
}


def _opened(name: str) -> Any:
    with ds.open(name) as file:
        return {key: file[key][...] for key in file}


def _by_handle(name: str) -> Any:
    with ds.open(name) as file:
        handle = pickle.loads(pickle.dumps(file["x"].handle()))
    return handle.read(), handle[1:]


def _without_names(found: list[Any]) -> list[Any]:
    return [{key: value for key, value in one.items() if key not in ("filename", ".")} for one in found]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.filterwarnings("ignore::ds_format.DsWarning")
def test_every_reader_gives_what_the_files_give(reader: str, folder: Path) -> None:
    if reader == "sql":
        pytest.importorskip("duckdb", reason="needs duckdb, of the extra tables")
    expected, found = READERS[reader]("st"), READERS[reader]("st.zip")
    equal(found, expected)
    equal(READERS[reader]("st.zip"), expected)


def equal(found: Any, expected: Any) -> None:
    assert same_object(found, expected)


@pytest.mark.parametrize("suffix", sorted({*SUFFIX.values()} - {SUFFIX["zarr"]}))
def test_files_of_each_format(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = {"x": np.array([1.5, 2.5]), "y": np.array([1, 2]), ".": {"x": {".dims": ["i"]}, "y": {".dims": ["i"]}}}
    try:
        ds.write(f"a{suffix}", dataset)
    except ds.DriverError as error:
        pytest.skip(str(error))
    ds.pack(sorted(os.listdir()), "p.zip")  # with the index of samples
    equal(dict(ds.read(f"p.zip/a{suffix}")), dict(ds.read(f"a{suffix}")))
    assert [one for one in ds.verify(f"p.zip/a{suffix}") if one.severity == "error"] == []


def test_larger_files_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    large: Any = {
        "a": np.arange(300_000.0),
        "b": np.arange(300_000),
        ".": {"a": {".dims": ["i"]}, "b": {".dims": ["i"]}},
    }
    for name in ("a.ds", "b.nc", "c.ds"):
        ds.write(name, large)
    ds.pack(["a.ds", "b.nc", "c.ds"], "p.zip")
    for name in ("a.ds", "b.nc", "c.ds"):
        equal(dict(ds.read(f"p.zip/{name}")), dict(ds.read(name)))
        equal(ds.read(f"p.zip/{name}", "b", sel={"i": slice(7, 900)}), ds.read(name, "b", sel={"i": slice(7, 900)}))
    equal(ds.read("p.zip/c.ds", mmap=True)["b"], large["b"])
    equal(ds.read_many("p.zip/*", "b", dim="i")["b"], np.ma.MaskedArray(np.tile(large["b"], 3)))
    ds.convert("p.zip/c.ds", "out.nc")
    equal(ds.read("out.nc")["a"].data, large["a"])
    with ds.open("p.zip/a.ds") as file:
        handle = pickle.loads(pickle.dumps(file["a"].handle()))
    equal(handle[10:20], large["a"][10:20])


def test_a_folder_of_this_name_has_priority(folder: Path) -> None:
    (folder / "f.zip").mkdir()
    ds.write("f.zip/a.ds", {"x": 5})
    assert ds.read("f.zip/a.ds")["x"] == 5
    assert isinstance(drivers.located("f.zip/a.ds"), str)
    assert isinstance(drivers.located("none.zip/a.ds"), str)
    with pytest.raises(FileNotFoundError):
        ds.read("none.zip/a.ds")
    ds.pack("f.zip/a.ds", "g.zip")
    time.sleep(0.05)  # so old that its directory is remembered
    assert ds.read("g.zip/a.ds")["x"] == 5 and "g.zip" in packs._local
    assert ds.read("g.zip/a.ds")["x"] == 5
    os.unlink("g.zip")
    (folder / "g.zip").mkdir()
    ds.write("g.zip/a.ds", {"x": 6})
    assert ds.read("g.zip/a.ds")["x"] == 6
    shutil.rmtree("g.zip")
    with pytest.raises(FileNotFoundError):
        ds.read("g.zip/a.ds")


def test_missing_members_are_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such member") as found:
        ds.read("st.zip/none.ds")
    assert found.value.filename == "st.zip/none.ds"
    with pytest.raises(FileNotFoundError, match=r"st\.zip/none\.ds"):
        ds.read_many(["st.zip/r0.ds", "st.zip/none.ds"])
    with pytest.raises(FileNotFoundError):
        ds.read_many("st.zip/none*.ds")


def test_a_member_with_the_characters_of_a_pattern(folder: Path) -> None:
    ds.write("a[1].ds", {"x": [1]})
    ds.write("a1.ds", {"x": [2]})
    ds.pack(["a[1].ds", "a1.ds"], "p.zip")
    assert ds.read("p.zip/a[1].ds")["x"].tolist() == [1]
    assert [one["x"].tolist() for one in ds.read_many("p.zip/a[1].ds")] == [[1]]


def test_handles_find_other_contents(folder: Path) -> None:
    with ds.open("st.zip/r0.ds") as file:
        handle = file["x"].handle()
    expected = handle.read()
    ds.write("new.ds", report(9))
    ds.pack("new.ds", "st.zip", append=True)
    equal(handle.read(), expected)
    ds.write("st/r0.ds", report(7))
    ds.pack("st/*", "st.zip")
    with pytest.raises(ds.ReplacedError, match=r"r0\.ds"):
        handle.read()
    (folder / "st.zip").unlink()
    with pytest.raises(ds.ReplacedError):
        handle.read()


def test_a_working_directory_may_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ds.open("st.zip/r0.ds") as file:
        handle = file["x"].handle()
        expected = file["x"][...]
    monkeypatch.chdir("/")
    equal(handle.read(), expected)


def test_many_files_as_one(folder: Path) -> None:
    pytest.importorskip("xarray", reason="needs xarray")
    with (
        ds.open_many("st.zip/*.ds", "time", attributes="title") as found,
        ds.open_many("st/*.ds", "time", attributes="title") as expected,
    ):
        assert found.identical(expected)
        copy = pickle.loads(pickle.dumps(found))
        assert copy.load().equals(expected.load())
    many = ds.open_many("st.zip/*.ds", "time", attributes="title")
    ds.write("st/r0.ds", report(7))
    ds.pack("st/*", "st.zip")
    with pytest.raises(ds.ReplacedError):
        many["x"].load()


def test_the_engine_of_xarray(folder: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    for name, other in zip(names("st.zip"), names("st"), strict=True):
        with xarray.open_dataset(name, engine="ds") as found, xarray.open_dataset(other, engine="ds") as expected:
            assert found.identical(expected)


def test_writing_into_a_pack_is_refused(folder: Path) -> None:
    before = (folder / "st.zip").read_bytes()
    for call in (
        lambda _, b: ds.write(b, {"x": 1}),
        lambda _, b: ds.write(Path(b), {"x": 1}),
        ds.convert,
        lambda a, b: ds.merge_files("time", [a], b),
    ):
        with pytest.raises(ds.UnsupportedError, match="append=True"):
            call("st/r0.ds", "st.zip/new.ds")
    assert (folder / "st.zip").read_bytes() == before


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::ds_format.DsWarning")
def test_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "ls", "st.zip").split() == [os.path.basename(name) for name in names("st")]
    assert run(capsys, "ls", "r0*", "st.zip").split() == ["r0.ds"]
    assert run(capsys, "ls", "st.zip/r0.ds") == run(capsys, "ls", "st/r0.ds")
    assert run(capsys, "verify", "st.zip") == ""
    assert f"{N} files" in run(capsys, "info", "st.zip")
    assert run(capsys, "info", "st.zip/*.ds").count("st.zip/") == N - 1
    run(capsys, "merge", "time", "st.zip/*.ds", "out.ds")
    run(capsys, "merge", "time", *names("st")[:-1], "expected.ds")
    assert (folder / "out.ds").read_bytes() == (folder / "expected.ds").read_bytes()
    run(capsys, "convert", "-q", "st.zip", "out")
    assert sorted(os.listdir(folder / "out"))[1:] == [f"r{i}.ds" for i in range(N)]
    run(capsys, "pack", "st/*.ds", "cli.zip")
    run(capsys, "pack", "--append", "st/r5.nc", "cli.zip")
    assert (folder / "cli.zip").read_bytes() == (folder / "st.zip").read_bytes()


def test_any_order_of_changes_gives_what_a_fresh_process_gives(folder: Path) -> None:
    """The directory that is remembered is that of the file, however often and fast it changes."""
    rng = np.random.default_rng(1)
    for i in range(60):
        for j in range(2):
            ds.write(f"c{j}.ds", {"x": [int(rng.integers(0, 100))] * int(rng.integers(1, 3))})
        how = rng.integers(0, 3)
        if how == 0:
            ds.pack(["c0.ds", "c1.ds"], "c.zip")
        elif how == 1:
            ds.pack(["c1.ds", "c0.ds"], "c.zip")
        else:  # in place, and with the times of before
            ds.pack(["c0.ds", "c1.ds"], "d.zip")
            if os.path.exists("c.zip"):
                status = os.stat("c.zip")
                Path("c.zip").write_bytes(Path("d.zip").read_bytes())
                os.utime("c.zip", ns=(status.st_atime_ns, status.st_mtime_ns))
            else:
                shutil.copy("d.zip", "c.zip")
        for j in rng.permutation(2):
            found, expected = ds.read(f"c.zip/c{j}.ds"), ds.read(f"c{j}.ds")
            equal(found["x"], expected["x"])
        if i % 7 == 0:
            packs._local.clear()


@pytest.fixture
def years(folder: Path) -> list[str]:
    """Return the names of the members of three packs, in folders, and that of a folder with such a name."""
    os.unlink("st.zip")
    for year in ("2024", "2025", "2026"):
        os.mkdir(year)
        for i in range(2):
            ds.write(f"s{i}.ds", {"x": [int(year) + i], ".": {"x": {".dims": ["n"]}}})
        ds.pack("s*.ds", f"{year}/r.zip")
    os.makedirs("2027/r.zip")
    ds.write("2027/r.zip/s0.ds", {"x": [2027], ".": {"x": {".dims": ["n"]}}})
    return [f"{year}/r.zip/s{i}.ds" for year in ("2024", "2025", "2026") for i in range(2)] + ["2027/r.zip/s0.ds"]


def test_patterns_of_packs(years: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = [ds.read(name)["x"].item() for name in years]
    for pattern in ("*/r.zip/*.ds", "*/*.zip/s?.ds", "**/*.zip/*.ds", "20*/r.zip/**/*.ds"):
        assert ds.read_many(pattern, dim="n")["x"].tolist() == expected, pattern
        assert [one.status for one in ds.convert_many(pattern, "out")] == ["converted"] * len(years), pattern
        assert ds.read("out/2024/r.zip/s0.ds")["x"] == 2024
        shutil.rmtree("out")
    assert ds.read_many("*/r.zip/s1.ds", dim="n")["x"].tolist() == expected[1:6:2]
    assert run(capsys, "hash", "*/r.zip/s1.ds").count("\n") == 3
    run(capsys, "merge", "n", "*/r.zip/s1.ds", "merged.ds")
    assert ds.read("merged.ds")["x"].tolist() == expected[1:6:2]
    run(capsys, "verify", "*/r.zip/s1.ds")
    assert run(capsys, "info", "*/r.zip/s1.ds").count("r.zip/s1.ds") == 3
    with pytest.raises(FileNotFoundError):
        ds.read_many("*/r.zip/none*.ds")
    with pytest.raises(ds.MissingError, match="no file matches"):
        ds.pack("*/r.zip/none.ds", "new.zip")
    assert ds.pack("*/r.zip/*.ds", "new.zip") == len(years)
    assert ds.read("new.zip/2026/r.zip/s1.ds")["x"] == 2027
    (folder / "2025/r.zip").write_bytes(b"PK damaged")
    with pytest.raises(ds.FormatError, match=r"2025/r\.zip: not a ZIP archive"):
        ds.read_many("*/r.zip/*.ds")
    with pytest.raises(ds.DsError, match=r"2025/r\.zip: not a ZIP archive"):
        ds.pack("*/r.zip/*.ds", "new.zip")


MANY: dict[str, Read] = {
    "dataset": lambda top: ds.dataset(f"{top}/*.ds").to_table().to_pydict(),
    "dataset-list": lambda top: ds.dataset(names(top)[:-1], dim="time", columns="title").to_table().to_pydict(),
    "diff": lambda top: [
        [(one.kind, one.variable, one.n) for one in ds.diff(f"{top}/r0.ds", other)] for other in names(top)
    ],
    "diff-files": lambda top: [[*ds.diff(f"{top}/r{i}.ds", f"st/r{i}.ds")] for i in range(N - 1)],
    "merge_files": lambda top: _merged(names(top)),
    "merge_files-some": lambda top: _merged(names(top)[3:0:-1]),
    "merge_ragged": lambda top: _ragged(f"{top}/*.ds"),
    "digest": lambda top: [ds.digest(name) for name in names(top)],
    "references": lambda top: _positions(ds.references(f"{top}/r0.ds")),
}


def _merged(paths: Any) -> Any:
    ds.merge_files("time", paths, "merged.ds", stack="lat", attributes="title")
    return ds.read("merged.ds")


def _ragged(pattern: str) -> Any:
    ds.merge_ragged(pattern, "ragged.ds", dim="time")
    return ds.read("ragged.ds")


@pytest.mark.parametrize("reader", MANY)
@pytest.mark.filterwarnings("ignore::ds_format.DsWarning")
def test_functions_of_many_files_give_what_the_files_give(reader: str, folder: Path) -> None:
    if reader.startswith("dataset"):
        pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra tables")
    equal(MANY[reader]("st.zip"), MANY[reader]("st"))


def _positions(found: Any) -> Any:
    """Return references with the bytes that they lead to."""
    data = {}
    for key, value in found["refs"].items():
        data[key] = value
        if isinstance(value, list):
            with open(value[0], "rb") as file:
                file.seek(value[1])
                data[key] = file.read(value[2])
    return data


def test_references_to_members_lead_into_the_pack(folder: Path) -> None:
    for i in range(3):
        ds.write(f"g{i}.ds", {"x": np.arange(1000.0) + i, ".": {"x": {".dims": ["n"]}}})
    ds.pack("g*.ds", "g.zip")
    found = ds.references("g.zip/*.ds", "n")
    assert {value[0] for value in found["refs"].values() if isinstance(value, list)} == {str(folder / "g.zip")}
    equal(_positions(found), _positions(ds.references("g*.ds", "n")))


def test_checksums_of_damaged_members_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray((folder / "st.zip").read_bytes())
    for name in ("r2.ds", "r5.nc"):
        data[data.index((folder / "st" / name).read_bytes()) + 690] ^= 1
    (folder / "st.zip").write_bytes(data)
    assert main(["verify", "st.zip"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "CRC-32 is" in line]
    assert [line.split()[0] for line in lines] == ["st.zip/r2.ds", "st.zip/r5.nc"]
    assert [one.message for one in ds.verify("st.zip/r1.ds")] == []
    [problem] = [one for one in ds.verify("st.zip/r2.ds") if "CRC" in one.message]
    assert problem.severity == "error" and problem.path == "st.zip/r2.ds"
    assert "has no such member" in ds.verify("st.zip/none.ds")[0].message
