"""Inputs without a known suffix, and those that cannot be read: nothing is left out without a word."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ds_format
from ds_format import convert_many, drivers
from ds_format.errors import DriverError, UnsupportedError

from ...same import same_data
from .conftest import Make, dataset

KINDS = {
    "classic": ("nc", {"format": "NETCDF3_CLASSIC"}),
    "netcdf4": ("nc", {"format": "NETCDF4"}),
    "hdf5": ("h5", {}),
    "ds": ("ds", {}),
    "older": ("ds", {"version": "2.0.1"}),
    "binpickle": ("bpk", {}),
    "zds": ("zds", {}),
    "datadings": ("msgpack", {}),
}
WRF = "wrfout_d01_2020-01-01_00:00:00"


def made(kind: str, name: str) -> str:
    """Make a file that has no known suffix; return the suffix that it could have."""
    if kind == "hdf5":
        pytest.importorskip("h5py", reason="h5py is not installed")
    suffix, options = KINDS[kind]
    os.makedirs("made")
    ds_format.write(f"made/x.{suffix}", {"x": [1.0, 2.0], ".": {"x": {".dims": ["t"]}}}, **options)
    for path in Path("made").iterdir():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        shutil.move(path, name + path.name.removeprefix(f"x.{suffix}"))
    return suffix


@pytest.mark.parametrize("kind", KINDS)
def test_content_tells_the_format(kind: str, folder: Path) -> None:
    suffix = made(kind, f"in/{WRF}")
    Path("in/notes").write_text("notes")
    Path("in/more.txt").touch()
    expected = ds_format.read(f"in/{WRF}")
    assert expected["x"].tolist() == [1, 2]
    # what we write has the marks of netCDF-4, too
    assert drivers.find_existing(f"in/{WRF}") is drivers.find("x.nc" if kind == "hdf5" else f"x.{suffix}")
    assert same_data(ds_format.read(f"in/{WRF}", "x")["x"], expected["x"])
    with ds_format.open(f"in/{WRF}") as file:
        assert file["x"][:].tolist() == [1, 2]
    with pytest.warns(UserWarning, match=r"^in/more.txt: left out: neither suffix nor content is known, and 1 more$"):
        [record] = convert_many("in", "out", to="json")
    assert (record.input, record.status, record.cause) == (f"in/{WRF}", "converted", None)
    assert ds_format.read(str(record.output))["x"].tolist() == [1, 2]
    [record] = convert_many(f"in/{WRF}", "other", to="json")
    assert record.status == "converted"


@pytest.mark.parametrize("size", [0, 512, 2048])
@pytest.mark.parametrize("is_netcdf", [True, False])
def test_hdf5_behind_a_user_block(folder: Path, size: int, is_netcdf: bool) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File("x", "w", userblock_size=size) as file:
        file["x"] = [1.0, 2.0]
        if is_netcdf:
            file["t"] = [0.0, 1.0]
            file["t"].make_scale("t")
            file["x"].dims[0].attach_scale(file["t"])
    assert drivers.find_existing("x") is drivers.find("x.nc" if is_netcdf else "x.h5")
    assert ds_format.read("x")["x"].tolist() == [1, 2]


def test_what_is_not_recognised_is_refused(folder: Path) -> None:
    Path("x").write_text("t,x\n1,2\n")
    for read in (ds_format.read, ds_format.open):
        with pytest.raises(DriverError, match="recognised content"):
            read("x")
    assert ds_format.read("x", format="csv")["x"].tolist() == [2]
    with ds_format.open("x", format="csv") as file:
        assert file["x"][:].tolist() == [2]
    Path("y").write_text("t\tx\n1\t2\n")
    assert ds_format.read("y", format="tsv")["x"].tolist() == [2]
    for read in (ds_format.read, ds_format.open):
        with pytest.raises(DriverError, match=r'^unknown file format "netcfd": .*: did you mean netcdf'):
            read("x", format="netcfd")


def test_format_holds_against_the_suffix(folder: Path) -> None:
    ds_format.write("x.nc", {"x": [1.0, 2.0]}, format="NETCDF3_CLASSIC")
    os.rename("x.nc", "x.ds")
    assert ds_format.read("x.ds", format="netcdf")["x"].tolist() == [1, 2]
    assert ds_format.read("x.ds", "x", {}, format="nc")["x"].tolist() == [1, 2]


def test_a_link_to_itself_is_one_failure(make: Make) -> None:
    make("in/a.nc", "in/sub/b.nc")
    os.symlink("loop.nc", "in/loop.nc")
    os.symlink("loop", "in/loop")
    for words in (["in"], ["in/**"], ["in/**/*"], ["in/loop", "in/loop.nc", "in/a.nc", "in/sub/b.nc"]):
        records = convert_many(words, "out", overwrite=True)
        failed = {one.input: one.cause for one in records if one.status == "failed"}
        assert failed == dict.fromkeys(("in/loop", "in/loop.nc"), "Too many levels of symbolic links")
        assert sorted(one.input for one in records if one.status == "converted") == ["in/a.nc", "in/sub/b.nc"]


@pytest.fixture
def other_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a user that may not read everything."""
    is_root = os.geteuid() == 0
    top = Path(tempfile.mkdtemp(dir="/tmp" if is_root else None))
    monkeypatch.chdir(top)
    os.makedirs("before")  # all modules are imported that this user may not read
    ds_format.write("before/x.ds", dataset())
    os.symlink("y.ds", "before/y.ds")
    convert_many("before", "before/out", to="json")
    if is_root:
        os.chown(top, 65534, -1)
        os.seteuid(65534)
    try:
        yield top
    finally:
        if is_root:
            os.seteuid(0)
        for path in [top, *top.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(top)


def test_folders_that_may_not_be_entered_are_failures(other_user: Path) -> None:
    for path in ("in/a.ds", "in/closed/b.ds", "in/listed/c.ds", "far/inside/d.ds"):
        (other_user / path).parent.mkdir(parents=True, exist_ok=True)
        ds_format.write(other_user / path, dataset())
    (other_user / "in/link.ds").symlink_to(other_user / "far/inside/d.ds")
    (other_user / "in/link").symlink_to(other_user / "far/inside")
    for closed, mode in (("in/closed", 0o300), ("in/listed", 0o400), ("far", 0)):
        (other_user / closed).chmod(mode)
    for word in ("in", "in/**"):
        records = convert_many(word, "out", to="json", overwrite=True)
        failed = sorted(one.input for one in records if one.status == "failed")
        assert failed == ["in/closed", "in/link", "in/link.ds", "in/listed"]
        assert {one.cause for one in records if one.status == "failed"} == {"Permission denied"}
        assert [one.input for one in records if one.status == "converted"] == ["in/a.ds"]
    for closed in ("in/closed", "in/listed", "far"):
        (other_user / closed).chmod(0o700)


def test_parts_of_a_dataset_are_no_files_of_their_own(make: Make) -> None:
    ds_format.write("in.msgpack", {"x": np.arange(3)})
    os.makedirs("in")
    for path in Path().glob("in.msgpack*"):
        path.rename(Path("in", path.name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [one.input for one in convert_many("in", "out")] == ["in/in.msgpack"]
    make("in/in.ds")
    assert len(convert_many("in/*.ds", "again")) == 1


def test_inputs_in_the_folder_for_unfinished_outputs_are_kept(make: Make) -> None:
    make("out/.ds-convert.tmp/a.nc", "b.nc", "out/c.nc")
    for words in (["out/.ds-convert.tmp"], ["out/.ds-convert.tmp/a.nc", "b.nc"], ["out/.*/*.nc"]):
        with pytest.raises(UnsupportedError, match=r"is for unfinished outputs, and is removed; move the input"):
            convert_many(words, "out")
    Path("out/.ds-convert.jsonl").touch()
    os.symlink("out", "same")
    with pytest.raises(UnsupportedError, match=r"is for unfinished outputs"):
        convert_many("same/.ds-convert.tmp", "out")
    with pytest.raises(UnsupportedError, match=r"runs keep this file"):
        convert_many("out/.ds-convert.jsonl", "out")
    os.symlink("../../b.nc", "out/.ds-convert.tmp/link.nc")
    os.makedirs("linked")
    os.symlink("../in", "linked/.ds-convert.tmp")
    make("in/a.nc")
    for path, outdir in (
        ("out/.ds-convert.tmp/link.nc", "out"),
        ("same/.ds-convert.tmp/link.nc", "out"),
        ("linked/.ds-convert.tmp/a.nc", "linked"),
    ):
        with pytest.raises(UnsupportedError, match=r"is for unfinished outputs"):
            convert_many(path, outdir)
        assert Path(path).is_file()
    assert Path("out/.ds-convert.tmp/a.nc").is_file()
    os.unlink("out/.ds-convert.tmp/link.nc")
    assert [one.status for one in convert_many("out/.ds-convert.tmp", "other")] == ["converted"]


@pytest.mark.parametrize("place", ["{folder}/in/a.nc", "../in/a.nc", "x/../../in/a.nc"])
def test_a_journal_cannot_hide_inputs(place: str, make: Make, folder: Path) -> None:
    """A line that names an output outside of the folder is ignored."""
    make("in/a.nc", "in/b.nc")
    convert_many("in/b.nc", "out")
    journal = Path("out/.ds-convert.jsonl")
    line = json.loads(journal.read_text().splitlines()[-1])
    line["output"] = place.format(folder=folder)
    journal.write_text(json.dumps(line) + "\n")
    assert sorted(one.input for one in convert_many("in", "out", overwrite=True)) == ["in/a.nc", "in/b.nc"]
