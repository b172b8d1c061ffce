"""Reading many files at once: into a list, into one dataset, and whole folders."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.many import reading

from ..same import same_data, same_dataset
from .conftest import a_bit_of_everything


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"f{i:02}.ds" for i in range(9)]
    for i, path in enumerate(found):
        ds.write(path, a_bit_of_everything(i))
    return found


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("variables", [None, "x", ["t", "site", "s"], []])
def test_a_list_is_what_reading_one_by_one_gives(
    paths: list[Path], threads: int | None, variables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH", 2)
    found = ds.read_many(paths, variables, threads=threads)
    assert all(same_dataset(dataset, ds.read(path, variables)) for dataset, path in zip(found, paths, strict=True))


def test_files_of_every_size_and_format(paths: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "SMALL_SIZE", paths[0].stat().st_size - 1)
    ds.convert(paths[0], tmp_path / "a.nc", ["t", "site"])
    ds.write(tmp_path / "old.ds", a_bit_of_everything(5), version="2.0.1")
    ds.write(tmp_path / "tiny.ds", {"x": 1})
    every = [*paths, tmp_path / "a.nc", tmp_path / "old.ds", tmp_path / "tiny.ds", tmp_path / "tiny.ds"]
    for dataset, path in zip(ds.read_many(every), every, strict=True):
        assert same_dataset(dataset, ds.read(path))


def test_datasets_share_nothing(tmp_path: Path) -> None:
    for name in ("a.ds", "b.ds"):
        ds.write(tmp_path / name, {"x": [1, 2], ".": {"x": {".dims": ["i"], "list": [1]}, ".": {"o": {"k": 1}}}})
    first, second = ds.read_many([tmp_path / "a.ds", tmp_path / "b.ds"])
    first["x"][0] = 9
    first["."]["x"]["list"].append(2)
    first["."]["x"][".dims"].append("j")
    first["."]["."]["o"]["k"] = 5
    assert second["x"].tolist() == [1, 2]
    assert second["."]["x"] == {".dims": ["i"], "list": [1], ".size": [2], ".type": "int64"}
    assert second["."]["."] == {"o": {"k": 1}}


@pytest.mark.filterwarnings("ignore:.*so only the first value is kept:ds_format.DsWarning")
@pytest.mark.parametrize("batch", [1, 4, 2048])
def test_into_one_dataset(paths: list[Path], batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", batch)
    oracle = ds.merge([ds.read(path) for path in paths], "t")
    assert same_dataset(ds.read_many(paths, dim="t"), oracle)
    assert same_dataset(
        ds.read_many(paths, ["x", "site"], dim="t"), ds.merge([ds.read(p, ["x", "site"]) for p in paths], "t")
    )
    assert same_dataset(ds.read_many(paths, dim="new"), ds.merge([ds.read(path) for path in paths], "new"))
    along = ds.read_many(paths, "x", dim="y")
    assert same_dataset(along, ds.merge([ds.read(path, "x") for path in paths], "y"))


def test_big_endian_and_unaligned_files(tmp_path: Path) -> None:
    header = b'ds-1.0\n{"x": {".type": "int32", ".size": [2], ".offset": 1, ".endian": "b", ".dims": ["i"]}}\n'
    for i in range(3):
        (tmp_path / f"{i}.ds").write_bytes(header + b"-" + np.array([i, 7], ">i4").tobytes())
    paths = [tmp_path / f"{i}.ds" for i in range(3)]
    assert [d["x"].tolist() for d in ds.read_many(paths)] == [[0, 7], [1, 7], [2, 7]]
    assert same_data(ds.read_many(paths, dim="i")["x"], np.array([0, 7, 1, 7, 2, 7], "i4"))


def test_no_files() -> None:
    assert ds.read_many([]) == []
    assert ds.read_many([], dim="t") == {".": {".": {}}}


def test_a_file_that_cannot_be_read(paths: list[Path]) -> None:
    was_enabled = gc.isenabled()
    for dim in (None, "t"):
        with pytest.raises(FileNotFoundError, match="nope"):
            ds.read_many([*paths, paths[0].with_name("nope.ds")], dim=dim)
    cut = paths[3].read_bytes()
    paths[3].write_bytes(cut[:-30])
    for dim in (None, "t"):
        with pytest.raises(ds.TruncatedError, match=r"f03.ds"):
            ds.read_many(paths, dim=dim)
    paths[3].write_bytes(b"rubbish")
    with pytest.raises(ds.FormatError, match=r"f03.ds: not a ds file"):
        ds.read_many(paths)
    assert gc.isenabled() == was_enabled


def test_names_that_do_not_exist(paths: list[Path]) -> None:
    with ds.with_mode("soft"):
        assert [*ds.read_many(paths, ["nope"])[0]] == ["."]
    for dim in (None, "t"):
        with ds.with_mode("strict"), pytest.raises(NameError, match='"nope" not found'):
            ds.read_many(paths, ["nope"], dim=dim)


def test_a_folder(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "deep").mkdir()
    ds.write(tmp_path / "deep" / "z.ds", {"x": 1})
    found = ds.readdir(tmp_path, ["t"])
    assert [dataset["filename"] for dataset in found] == [str(path) for path in paths]
    assert found[2]["t"].tolist() == [4.0, 5.0]
    assert found[2]["."]["filename"] == {".dims": []}
    assert len(ds.readdir(str(tmp_path), recursive=True)) == 10
    assert len(ds.index(os.fsencode(tmp_path))) == 9
    part = ds.readdir(tmp_path, "x", sel={"t": 0, "y": [0, 2]})
    assert part[1]["x"].shape == (2,)
    with pytest.raises(FileNotFoundError):
        ds.readdir(tmp_path / "nope")


@pytest.mark.parametrize("how", [{}, {"sel": {"y": [0, 1, 2]}}])
def test_a_folder_merged(paths: list[Path], tmp_path: Path, how: dict[str, Any]) -> None:
    merged = ds.readdir(tmp_path, merge="t", **how)
    assert isinstance(merged, dict)
    assert same_data(merged["t"], np.arange(18.0))
    assert merged["n"].tolist() == [i // 2 for i in range(18)]
    assert merged["i"].tolist() == [0, 1] * 9
    assert merged["filename"].tolist() == [str(path) for path in paths]
    assert same_data(merged["site"], np.arange(9))
    assert ds.dims(merged, "site") == ds.dims(merged, "filename") == ["n"]
    assert ds.dims(merged, "i") == ["t"]
    new = ds.readdir(tmp_path, ["site"], merge="new")
    assert isinstance(new, dict)
    assert (new["i"].tolist(), new["n"].tolist()) == ([0] * 9, list(range(9)))


def test_damaged_files_of_a_folder_are_left_out(paths: list[Path], tmp_path: Path) -> None:
    paths[0].write_bytes(b"rubbish")
    paths[4].write_bytes(paths[4].read_bytes()[:-1])
    for merge in (None, "t"):
        told: list[tuple[str, str]] = []
        found = ds.readdir(tmp_path, merge=merge, warnings=told)
        assert len(found["filename"] if isinstance(found, dict) else found) == 7
        assert sorted(message.split(":")[0] for message, _ in told) == [str(paths[0]), str(paths[4])]
        assert all("Traceback" in trace for _, trace in told)
    with pytest.warns(UserWarning, match=r"left out: .*f0[04].ds"):
        ds.readdir(tmp_path)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12 and 3.13, beside other threads
@pytest.mark.parametrize("merge", [None, "t"])
def test_in_any_executor(paths: list[Path], tmp_path: Path, merge: str | None) -> None:
    plain = ds.readdir(tmp_path, ["t", "x"], merge=merge)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        threads = ds.readdir(tmp_path, ["t", "x"], merge=merge, parallel=True, executor=pool)
    processes = ds.readdir(tmp_path, ["t", "x"], merge=merge, parallel=True, njobs=2)
    for found in (threads, processes):
        for left, right in zip(*([d] if isinstance(d, dict) else d for d in (found, plain)), strict=True):
            assert same_dataset(left, right)


WRF = "wrfout_d01_2020-01-0{}_00:00:00"
HOW: list[dict[str, Any]] = [{}, {"merge": "t"}, {"sel": {"y": 0}}, {"variables": ["t"]}, {"parallel": True}]


def simulated(folder: Path, n: int = 2) -> list[str]:
    """Write files without a suffix, as WRF does, and one that no driver knows."""
    meta = {"t": {".dims": ["t"]}, "x": {".dims": ["t", "y"]}}
    for i in range(n):
        ds.to_netcdf(folder / WRF.format(i), {"t": [i], "x": [[i, i]], ".": meta})
    (folder / "namelist.input").write_text("&time_control /")
    (folder / ".hidden").write_text("")
    return [str(folder / WRF.format(i)) for i in range(n)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12 and 3.13, beside other threads
@pytest.mark.parametrize("how", HOW, ids=str)
def test_folders_without_known_suffixes_are_read_by_content(tmp_path: Path, how: dict[str, Any]) -> None:
    paths = simulated(tmp_path)
    with pytest.warns(UserWarning, match=r"namelist.input: left out: neither suffix nor content is known$"):
        found = ds.readdir(tmp_path, **how)
    if "merge" in how:
        assert found["t"].tolist() == [0, 1] and found["filename"].tolist() == paths
    else:
        assert [each["filename"] for each in found] == paths and [each["t"].tolist() for each in found] == [[0], [1]]


def test_files_without_a_suffix_among_others_are_counted_and_left_out(tmp_path: Path) -> None:
    simulated(tmp_path)
    ds.write(tmp_path / "a.ds", {"x": 1})
    message = rf"{WRF.format(0)}: left out: its suffix is unknown.*, and 1 more$"
    with pytest.warns(UserWarning, match=message):
        assert [each["filename"] for each in ds.readdir(tmp_path)] == [str(tmp_path / "a.ds")]
    listed: list[tuple[str, str]] = []
    ds.readdir(tmp_path, warnings=listed)
    assert len(listed) == 1 and listed[0][0].endswith("and 1 more")
    with ds.with_mode("soft"):
        ds.readdir(tmp_path)


def test_files_that_are_no_data_are_no_warning_among_others(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", {"x": 1})
    ds.write(tmp_path / "b.msgpack", {"x": [1, 2]})
    (tmp_path / "README").write_text("text")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    assert len(ds.readdir(tmp_path)) == 2


@pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere scripts have always been run once more")
def test_a_script_that_reads_a_folder_is_run_once(paths: list[Path], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, ds_format as ds\n"
        "multiprocessing.set_start_method('forkserver')\n"  # as Python 3.14 does
        f"print(len(ds.readdir({str(paths[0].parent)!r}, parallel=True, njobs=2)))\n"
    )
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    assert int(done.stdout) > 1


@pytest.mark.filterwarnings("ignore::ds_format.DsWarning")
def test_a_variable_that_does_not_grow_has_the_attributes_of_the_first_file(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.ds" for i in range(3)]
    for path, factor in zip(paths, (0.5, 2.0, 2.0), strict=True):
        entries = {"x": {".dims": ["t"]}, "y": {".dims": ["k"], "scale_factor": factor}}
        ds.write(path, {"x": [1.0], "y": np.array([1, 2], "i2"), ".": entries})
    assert ds.read_many(paths, dim="t")["."]["y"]["scale_factor"] == 0.5
