"""Mistakes, and files that nobody should have written: what is said names the file, the variable, and what to do."""

import os
import re

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="xarray is not installed")

import ds_format as ds  # noqa: E402


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "a.ds"
    ds.write(where, {"x": np.arange(3), ".": {"x": {".dims": ["t"]}}})
    return where


def test_options_that_do_not_exist(path):
    with pytest.raises(TypeError, match=r'the engine "ds" has no option .default_fil., .*did you mean default_fill\?'):
        xr.open_dataset(path, engine="ds", default_fil="missing")
    with pytest.raises(TypeError, match=r"to_xarray\(\) has no option .mask_and_scal.*did you mean mask_and_scale\?"):
        ds.to_xarray({"x": 1}, mask_and_scal=False)
    with pytest.raises(ValueError, match=r"group: found 3, which must be a string"):
        xr.open_dataset(path, engine="ds", group=3)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"units": "days since 2000-01-01", "calendar": 7}, "unable to decode time units"),
        ({"coordinates": 5}, "AttributeError: 'int' object has no attribute 'split'"),
        ({"scale_factor": [1.0, 2.0]}, "can only convert an array of size 1"),
        ({"_Unsigned": {}}, None),
    ],
)
@pytest.mark.parametrize("opened", [xr.open_dataset, xr.open_datatree, xr.open_groups])
def test_attributes_that_xarray_cannot_decode(tmp_path, attributes, message, opened):
    meta = {"y": {".dims": ["u"]}, "x": {".dims": ["t"], **attributes}}
    ds.write(tmp_path / "a.ds", {"y": [1.0], "x": [1, 2, 3], ".": meta})
    if message is None:
        opened(tmp_path / "a.ds", engine="ds")
        return
    with pytest.raises(ds.UnsupportedError, match=rf'a\.ds: variable "x": xarray cannot decode it: {message}'):
        opened(tmp_path / "a.ds", engine="ds")
    assert "y" in xr.open_dataset(tmp_path / "a.ds", engine="ds", drop_variables="x")


def test_sizes_that_do_not_fit(path, tmp_path):
    ds.write(path, {"x": [1, 2], "y": [1], ".": {"x": {".dims": ["t"]}, "y": {".dims": ["u"]}}})
    path.write_bytes(path.read_bytes().replace(b'"u"', b'"t"'))
    with pytest.raises(ds.UnsupportedError, match=r"a\.ds: .*conflicting sizes for dimension 't'.* on 'y'"):
        xr.open_dataset(path, engine="ds")


@pytest.mark.parametrize("attribute", ["scale_factor", "add_offset"])
@pytest.mark.parametrize("value", ["0.5", {}])
def test_only_who_reads_it_hears_of_a_scale_that_is_no_number(tmp_path, attribute, value):
    path = tmp_path / "a.ds"
    meta = {"x": {".dims": ["t"], attribute: value}, "y": {".dims": ["t"], attribute: [2.0]}}
    ds.write(path, {"x": [1, 2], "y": [1, 2], ".": meta})
    opened = xr.open_dataset(path, engine="ds")
    assert opened["y"].values.tolist() == ([2, 4] if attribute == "scale_factor" else [3, 4])
    message = (
        rf'a\.ds: variable "x": {attribute}: found {re.escape(repr(value))}, expected a number.*mask_and_scale=False'
    )
    with pytest.raises(ds.UnsupportedError, match=message):
        opened["x"].load()
    assert xr.load_dataset(path, engine="ds", mask_and_scale=False)["x"].values.tolist() == [1, 2]


def test_a_damaged_variable_is_named_with_its_file(path):
    path.write_bytes(path.read_bytes().replace(b'".len": 24', b'".len": -1'))
    for opened in (xr.open_dataset, xr.open_datatree):
        with pytest.raises(ds.FormatError, match=r'a\.ds: variable "x"'):
            opened(path, engine="ds")


def test_what_is_wrong_when_it_is_read_is_named_with_its_file(tmp_path):
    values = np.ma.MaskedArray([1, 2, 3], [False, True, False])
    ds.write(tmp_path / "a.ds", {"x": values, ".": {"x": {".dims": ["t"], "_FillValue": 3}}})
    opened = xr.open_dataset(tmp_path / "a.ds", engine="ds", mask_and_scale=False)
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "x": a present value equals'):
        opened["x"].load()


@pytest.mark.parametrize("name", ["/", "/x", "//", "a//x", "a/b//c/x", r"\../x", "a/./x"])
def test_groups_without_a_name(tmp_path, name):
    ds.write(tmp_path / "a.ds", {name: [1], "y": [2]})
    for opened in (xr.open_dataset, xr.open_datatree, xr.open_groups):
        with pytest.raises(ds.UnsupportedError, match=r"a\.ds: the group \".*\": a tree of xarray has no such group"):
            opened(tmp_path / "a.ds", engine="ds")


def test_groups_that_make_no_tree(tmp_path):
    ds.write(tmp_path / "a.ds", {"a": [1], "a/b": [2]})
    with pytest.raises(ds.UnsupportedError, match=r"a\.ds: its groups do not form a tree: .*use `open_groups`"):
        xr.open_datatree(tmp_path / "a.ds", engine="ds")
    assert sum(len(group) for group in xr.open_groups(tmp_path / "a.ds", engine="ds").values()) == 2


def test_many_files_with_what_xarray_cannot_decode(tmp_path):
    for i in range(2):
        ds.write(tmp_path / f"{i}.ds", {"x": [i], ".": {"x": {".dims": ["t"], "coordinates": 5}}})
    with pytest.raises(ds.UnsupportedError, match=r'0\.ds: variable "x": xarray cannot decode it'):
        ds.open_many(sorted(tmp_path.glob("*.ds")), "t")


@pytest.mark.parametrize("chunks", [None, {}])
def test_a_removed_file(path, chunks):
    if chunks is not None:
        pytest.importorskip("dask", reason="dask is not installed")
    opened = xr.open_dataset(path, engine="ds", chunks=chunks)
    os.unlink(path)
    with pytest.raises(ds.ReplacedError, match=r'a\.ds: variable "x": the file was opened, and is not there any more'):
        opened["x"].load()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"variables": ["x", "temp"]}, ds.MissingError, 'variable "temp": in none of the files, but in `variables`'),
        ({"stack": ["xx"]}, ds.MissingError, r'variable "xx": in none of the files, but in `stack`: did you mean x\?'),
        ({"dim": None}, TypeError, "dim: found None, expected the name of a dimension"),
        ({"sortby": 3}, TypeError, "sortby: found 3, expected the name of a variable"),
        ({"threads": 0}, ValueError, "threads: found 0, expected 1 or more"),
        ({"threads": "2"}, ValueError, "threads: found '2', expected 1 or more"),
        ({"attributes": "history"}, ds.MissingError, r'1\.ds: attribute "history" of the dataset not found$'),
    ],
    ids=str,
)
def test_what_many_files_are_not_asked_for(tmp_path, options, error, message):
    ds.write(tmp_path / "0.ds", {"x": [1], ".": {"x": {".dims": ["t"]}, ".": {"history": "a"}}})
    ds.write(tmp_path / "1.ds", {"x": [1], ".": {"x": {".dims": ["t"]}}})
    with pytest.raises(error, match=message):
        ds.open_many(tmp_path / "*.ds", **{"dim": "t", **options})


@pytest.mark.parametrize("load", [False, True])
def test_a_date_that_the_first_calendar_does_not_have(tmp_path, load):
    for i, (calendar, day) in enumerate([("noleap", 1), ("standard", 59)]):
        times = {".dims": ["i"], "units": "days since 2000-01-01", "calendar": calendar}
        ds.write(tmp_path / f"{i}.ds", {"late": [day], ".": {"late": times}})
    with pytest.raises(ds.UnsupportedError, match=r'1\.ds: variable "late": the date 2000-02-29 does not exist'):
        ds.open_many(tmp_path / "*.ds", "i", load=load)["late"].load()
