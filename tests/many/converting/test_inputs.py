"""Which files words stand for, and what they become."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from ds_format import convert_many
from ds_format.errors import DriverError, MissingError, UnsupportedError

from .conftest import Make, names


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
        match=r"no file that this pattern matches has a known suffix or recognised content: expected one of \.bpk",
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
    with pytest.raises(UnsupportedError, match=r"^in/x.nc: it would be replaced by what in/x.nc becomes"):
        convert_many("in", "in", to="nc", overwrite=True)
    os.symlink("in", "same")
    with pytest.raises(UnsupportedError, match=r"it would be replaced"):
        convert_many("in", "same", to="ds", overwrite=True)
    assert names("in") == ["x.nc", "y.ds"]


def test_outputs_may_be_beside_inputs(make: Make) -> None:
    make("in/x.nc")
    assert [one.output for one in convert_many("in", "in")] == ["in/x.ds"]


def test_the_suffix_of_outputs(make: Make) -> None:
    make("x.nc")
    assert outputs("x.nc", to="json") == outputs("x.nc", to=".json") == {"x.nc": "out/x.json"}
    with pytest.raises(DriverError, match=r'unknown file format "jsno": expected one of bpk .*: did you mean json'):
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
    assert [(one.input, one.output) for one in convert_many("in", "in", to="csv")] == [("in/a.ds", "in/a.csv")]
