"""Words → files: folders, patterns, and files that are recognised by their content."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format import convert_many, drivers
from ds_format.errors import DriverError, MissingError, UnsupportedError

from ...same import same_data
from .conftest import Make, dataset, names


def outputs(*words: str, outdir: str = "out", **how: object) -> dict[str, str | None]:
    return {one.input: one.output for one in convert_many(words, outdir, dry_run=True, **how)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("in/a.nc", {"in/a.nc": "out/a.ds"}),
        ("in", {"in/a.nc": "out/a.ds", "in/b/c.ds": "out/b/c.ds", "in/b/d/e.nc": "out/b/d/e.ds"}),
        ("in/", {"in/a.nc": "out/a.ds", "in/b/c.ds": "out/b/c.ds", "in/b/d/e.nc": "out/b/d/e.ds"}),
        ("./in/b", {"./in/b/c.ds": "out/c.ds", "./in/b/d/e.nc": "out/d/e.ds"}),
        ("in/*", {"in/a.nc": "out/a.ds", "in/b/c.ds": "out/b/c.ds", "in/b/d/e.nc": "out/b/d/e.ds"}),
        ("in/*.nc", {"in/a.nc": "out/a.ds"}),
        ("in/**/*.nc", {"in/a.nc": "out/a.ds", "in/b/d/e.nc": "out/b/d/e.ds"}),
        ("**/e.nc", {"in/b/d/e.nc": "out/in/b/d/e.ds"}),
        ("i?/*/c.[a-e]s", {"in/b/c.ds": "out/in/b/c.ds"}),
        ("in/b/**", {"in/b/c.ds": "out/c.ds", "in/b/d/e.nc": "out/d/e.ds"}),
        ("in/**/d", {"in/b/d/e.nc": "out/b/d/e.ds"}),
        ("*/b/**/**/*.nc", {"in/b/d/e.nc": "out/in/b/d/e.ds"}),
    ],
)
def test_files_keep_their_folders_below_what_was_given(word: str, expected: dict[str, str], make: Make) -> None:
    make("in/a.nc", "in/b/c.ds", "in/b/d/e.nc")
    Path("in/README.txt").touch()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "in/README.txt: left out: neither suffix nor content is known$")
        assert outputs(word) == expected
        assert outputs(word, word, word) == expected
    assert not os.path.exists("out")


def test_an_absolute_pattern(make: Make, folder: Path) -> None:
    make("in/a.nc")
    assert outputs(f"{folder}/*/a.nc") == {f"{folder}/in/a.nc": "out/in/a.ds"}


def test_what_begins_with_a_dot_is_left_out_unless_it_is_asked_for(make: Make) -> None:
    make("in/a.nc", "in/._a.nc", "in/.cache/b.nc")
    assert outputs("in") == outputs("in/**/*.nc") == {"in/a.nc": "out/a.ds"}
    assert outputs("in/.*/*.nc") == {"in/.cache/b.nc": "out/.cache/b.ds"}
    assert outputs("in/.*.nc") == {"in/._a.nc": "out/._a.ds"}


def test_a_file_whose_name_is_a_pattern_is_that_file(make: Make) -> None:
    make("a[1].nc", "a1.nc")
    assert outputs("a[1].nc") == {"a[1].nc": "out/a[1].ds"}


def test_links_to_folders_are_not_followed_but_those_that_are_named(make: Make) -> None:
    make("real/a.nc", "in/b.nc")
    os.symlink("../real", "in/link")
    os.symlink(".", "in/loop")
    os.symlink("../real/a.nc", "in/file.nc")
    with pytest.warns(UserWarning, match=r"in/link: a link to a folder is not followed, and 1 more"):
        assert outputs("in") == {"in/b.nc": "out/b.ds", "in/file.nc": "out/file.ds"}
    with pytest.warns(UserWarning, match=r"not followed"):
        assert outputs("in/**/*.nc") == {"in/b.nc": "out/b.ds", "in/file.nc": "out/file.ds"}
    assert outputs("in/link") == {"in/link/a.nc": "out/a.ds"}


def test_the_folder_of_the_outputs_is_left_out(make: Make) -> None:
    make("in/a.nc", "in/out/b.nc")
    assert outputs("in", outdir="in/out") == outputs("in/**/*.nc", outdir="in/out") == {"in/a.nc": "in/out/a.ds"}


def test_a_store_is_one_input(make: Make) -> None:
    make("in/a.nc")
    os.makedirs("in/store/collections")
    assert outputs("in") == {"in/a.nc": "out/a.ds", "in/store": "out/store.ds"}
    assert outputs("in/store") == {"in/store": "out/store.ds"}


def test_a_pattern_that_matches_nothing_is_refused(make: Make) -> None:
    make("in/a.nc")
    Path("in/b.txt").touch()
    for word in ("in/*.cdf", "nope/**/*.nc", "in/a.nc/*"):
        with pytest.raises(MissingError, match=r"no file matches"):
            convert_many(["in/a.nc", word], "out")
    with pytest.raises(
        DriverError,
        match=r"no file that this pattern matches has a known suffix or recognised content: expected one of \.arrow",
    ):
        convert_many("in/*.txt", "out")
    os.mkdir("empty")
    with pytest.raises(DriverError, match=r"no file in this folder has a known suffix"):
        convert_many("empty", "out")
    assert not os.path.exists("out")


def test_what_does_not_exist_is_a_failure_with_the_nearest_name(make: Make) -> None:
    make("january.nc", "february.nc")
    gone, there = convert_many(["januray.nc", "february.nc"], "out")
    assert (gone.status, gone.cause) == ("failed", "File does not exist: did you mean january.nc?")
    assert there.status == "converted"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads all folders")
def test_a_folder_that_cannot_be_read_is_a_failure(make: Make) -> None:
    make("in/a.nc", "in/closed/b.nc")
    os.chmod("in/closed", 0)
    try:
        records = convert_many("in", "out")
    finally:
        os.chmod("in/closed", 0o700)
    assert [(one.input, one.output, one.status, one.cause) for one in records] == [
        ("in/closed", None, "failed", "Permission denied"),
        ("in/a.nc", "out/a.ds", "converted", None),
    ]


def test_a_folder_that_cannot_be_listed_is_a_failure(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("in/a.nc", "in/closed/b.nc")
    listed = os.scandir

    def scandir(path: str | int) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for word in ("in", "in/**/*.nc"):
        records = convert_many(word, "out", overwrite=True)
        assert [(one.input, one.output, one.cause) for one in records] == [
            ("in/closed", None, "Permission denied"),
            ("in/a.nc", "out/a.ds", None),
        ]


def test_two_inputs_with_one_output_are_refused(make: Make) -> None:
    make("a/x.nc", "b/x.nc", "b/x.ds")
    with pytest.raises(
        UnsupportedError, match=r"^out/x.ds: two inputs would become this file: a/x.nc and b/x.nc; give"
    ):
        convert_many(["a/x.nc", "b/x.nc"], "out")
    with pytest.raises(UnsupportedError, match=r"b/x.ds and b/x.nc; leave one out by a pattern"):
        convert_many("b", "out")
    assert not os.path.exists("out")


def test_an_output_that_is_an_input_is_refused(make: Make) -> None:
    make("in/x.nc", "in/y.ds")
    with pytest.raises(UnsupportedError, match=r"^in/x.nc: converting in/x.nc would replace this input"):
        convert_many("in", "in", to="nc", overwrite=True)
    os.symlink("in", "same")
    with pytest.raises(UnsupportedError, match=r"would replace this input"):
        convert_many("in", "same", to="ds", overwrite=True)
    assert names("in") == ["x.nc", "y.ds"]


def test_outputs_may_be_beside_inputs(make: Make) -> None:
    make("in/x.nc")
    assert [one.output for one in convert_many("in", "in")] == ["in/x.ds"]


def test_the_suffix_of_outputs(make: Make) -> None:
    make("x.nc")
    assert outputs("x.nc", to="json") == outputs("x.nc", to=".json") == {"x.nc": "out/x.json"}
    with pytest.raises(DriverError, match=r'unknown file format "jsno": expected one of arrow .*: did you mean json'):
        convert_many("x.nc", "out", to="jsno")


def test_a_file_is_no_folder_of_outputs(make: Make) -> None:
    make("x.nc", "y.nc")
    with pytest.raises(NotADirectoryError):
        convert_many("x.nc", "y.nc")


def test_a_run_that_makes_nothing_leaves_no_folder(make: Make) -> None:
    assert [one.status for one in convert_many("missing.nc", "new/deep/out")] == ["failed"]
    assert not Path("new").exists()
    Path("new").mkdir()
    convert_many("missing.nc", "new/deep/out")
    assert not list(Path("new").iterdir())
    make("in/a.nc")
    convert_many("in", "new/deep/out")
    assert names("new") == ["deep/out/a.ds"]


@pytest.mark.parametrize("words", [["in"], ["in/**"], ["in/a.nc", "in/a.ds", "in/b.nc", "in/b.ds", "in/c.nc"]])
def test_outputs_beside_their_inputs_are_no_inputs(words: list[str], make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    convert_many("in", "in")
    make("in/c.nc")
    records = convert_many(words, "in", resume=True)
    expected = [("in/a.nc", "skipped"), ("in/b.nc", "skipped"), ("in/c.nc", "converted")]
    assert [(one.input, one.status) for one in records] == expected
    with pytest.raises(FileExistsError, match="3 outputs exist"):
        convert_many(words, "in")


def test_what_is_made_of_outputs(make: Make) -> None:
    make("in/a.nc")
    convert_many("in", "in")
    Path("in/a.nc").unlink()
    with pytest.warns(ds_format.LossWarning, match="scalars"):
        done = convert_many("in", "in", to="csv")
    assert [(one.input, one.output) for one in done] == [("in/a.ds", "in/a.csv")]


KINDS: dict[str, tuple[str, Any]] = {
    "classic": ("nc", {"format": "NETCDF3_CLASSIC"}),
    "netcdf4": ("nc", {"format": "NETCDF4"}),
    "hdf5": ("h5", {}),
    "ds": ("ds", {}),
    "older": ("ds", {"version": "2.0.1"}),
    "arrow": ("arrow", {}),
    "parquet": ("parquet", {}),
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


def test_every_format_that_content_tells_is_a_kind() -> None:
    recognised = {format.name for format in drivers.BUILT_IN.values() if format.marks or format.recognises}
    assert {drivers.find(f"x.{suffix}").name for suffix, _ in KINDS.values()} == recognised


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
