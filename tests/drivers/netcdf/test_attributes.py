"""Attributes and names."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.drivers.netcdf import NetCDFWarning, format
from ds_format.drivers.netcdf.attributes import encode
from ds_format.errors import UnsupportedError

from ..netcdf_compare import differences
from .files import convert, make, read_all, var, write_all

CLASSIC = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4_CLASSIC"]
FORMATS = [*CLASSIC, "NETCDF3_64BIT_DATA", "NETCDF4"]


def round_trip(folder: Path, attributes: dict[str, Any], format: str = "NETCDF4") -> dict[str, Any]:
    """Return attributes of dataset and variable after they were written and read."""
    meta = {"x": var([], [], "int32", missing=False, **attributes), ".": dict(attributes)}
    write_all(folder / "a.nc", meta, {"x": np.int32(1)}, format=format)
    found, _ = read_all(folder / "a.nc")
    of_variable = {key: value for key, value in found["x"].items() if key[0] != "."}
    of_dataset = {key: value for key, value in found["."].items() if key[0] != "."}
    assert repr(of_variable) == repr(of_dataset)
    return of_dataset


NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("code", NUMBERS)
@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT_DATA"])
def test_numbers_keep_their_type(code: str, format: str, tmp_path: Path) -> None:
    limits: Any = np.finfo(code) if code[0] == "f" else np.iinfo(code)
    array = np.array([limits.min, 0, limits.max], code)
    found = round_trip(tmp_path, {"array": array, "scalar": array[2], "zero": array[:0]}, format)
    assert found["array"].dtype == code and found["array"].tolist() == array.tolist()
    assert found["scalar"].dtype == code and np.ndim(found["scalar"]) == 0 and found["scalar"] == array[2]
    assert found["zero"].dtype == code and found["zero"].shape == (0,)


def test_byte_order_and_zero_dimensions_are_no_obstacle(tmp_path: Path) -> None:
    found = round_trip(tmp_path, {"big": np.array([1, 256], ">i2"), "point": np.array(2.5, "f4")})
    assert found["big"].dtype == np.dtype("i2") and found["big"].tolist() == [1, 256]
    assert isinstance(found["point"], np.float32) and found["point"] == 2.5


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_any_text(text: str) -> None:
    form, value, note = encode(text, "NETCDF4")
    assert (form, value.decode(), note) == ("text", text, "")


@pytest.mark.parametrize("format", FORMATS)
def test_text(format: str, tmp_path: Path) -> None:
    attributes = {"ascii": "plain", "uni": "žluť 😀", "empty": "", "lines": "a\n\tb", "nul": "a\0b", "bytes": "\udce9x"}
    assert round_trip(tmp_path, attributes, format) == attributes


def test_characters_and_strings_are_told_apart(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc") as file:
        v = file.createVariable("v", "i4", ())
        for owner in (file, v, file.createGroup("g")):
            owner.setncattr("characters", "žluť".encode())
            owner.setncattr_string("string", "plain")
            owner.setncattr_string("strings", ["a", "žluť", ""])
            owner.setncattr("damaged", b"caf\xe9\0x")
            owner.setncattr_string("damaged_string", b"caf\xe9")
            owner.setncattr("padded", b"m/s")
    meta, _ = read_all(tmp_path / "a.nc")
    assert meta["v"]["characters"] == "žluť" and meta["v"]["string"] == "plain"
    assert meta["v"]["strings"] == ["a", "žluť", ""]
    assert meta["v"]["damaged"] == "caf\udce9\0x" and meta["v"]["damaged_string"] == "caf\udce9"
    assert meta["v"][".netcdf"]["strings"] == ["string", "damaged_string"]
    assert meta["."][".netcdf"]["strings"] == ["string", "damaged_string", "g/string", "g/damaged_string"]
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_the_order_is_that_of_the_file(tmp_path: Path) -> None:
    names = ["z", "b", "a", "y"]
    with make(tmp_path / "a.nc", n=2) as file:
        v = file.createVariable("v", "i4", ("n",))
        v.setncatts({"z": 1, "b": b"x", "_FillValue": np.int32(5), "a": 2.0, "y": b"y"})
        file.setncatts(dict.fromkeys(names, 1))
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file.ncattrs() == names
        assert file["v"].ncattrs() == ["z", "b", "_FillValue", "a", "y"]


@pytest.mark.parametrize("format", FORMATS)
def test_python_numbers(format: str, tmp_path: Path) -> None:
    integer = np.int32 if format in CLASSIC else np.int64
    found = round_trip(tmp_path, {"i": -5, "f": 0.1, "li": [1, 2**31 - 1], "lf": [1, 2.5], "none": []}, format)
    assert (type(found["i"]), found["i"]) == (integer, -5)
    assert (type(found["f"]), found["f"]) == (np.float64, 0.1)
    assert found["li"].dtype == integer and found["li"].tolist() == [1, 2**31 - 1]
    assert found["lf"].dtype == np.float64 and found["lf"].tolist() == [1.0, 2.5]
    assert found["none"].size == 0


@pytest.mark.parametrize("format", CLASSIC)
def test_numbers_too_large_for_classic_files_do_not_wrap(format: str, tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match='attribute "i" is written as float64'):
        found = round_trip(tmp_path, {"i": 2**40}, format)
    assert found["i"] == 2.0**40
    with pytest.warns(NetCDFWarning, match="is written as JSON text"):
        assert round_trip(tmp_path, {"i": 2**60 + 1}, format) == {"i": 2**60 + 1}
    with pytest.warns(NetCDFWarning, match='attribute "u" is written as int32'):
        assert round_trip(tmp_path, {"u": np.array([1, 255], "u1")}, format)["u"].tolist() == [1, 255]


def test_large_python_integers(tmp_path: Path) -> None:
    assert round_trip(tmp_path, {"u": 2**64 - 1})["u"] == np.uint64(2**64 - 1)
    with pytest.warns(NetCDFWarning, match='attribute "i" .* JSON text'):
        assert round_trip(tmp_path, {"i": 10**30}) == {"i": 10**30}


AWKWARD: list[Any] = [
    None,
    True,
    {"b": 1, "c": [1, None]},
    [1, "a", None],
    [True, False],
    [[1, 2], [3, 4]],
    "ends with NUL\0",
    "\ud800",
    {"n": float("inf")},
    [1, 2**70],
]


@pytest.mark.parametrize("value", AWKWARD, ids=repr)
@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_what_netcdf_cannot_hold_comes_back_from_json_text(format: str, value: Any, tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match=r'attribute "a" \(\w+\) is written as JSON text'):
        found = round_trip(tmp_path, {"a": value, "b": "x"}, format)
    assert found == {"a": value, "b": "x"}
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert isinstance(file.getncattr("a"), str)


def test_arrays_of_other_kinds(tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match="JSON text"):
        assert round_trip(tmp_path, {"m": np.eye(2)}) == {"m": [[1.0, 0.0], [0.0, 1.0]]}
    with pytest.warns(NetCDFWarning, match='attribute "h" is written as float64'):
        assert round_trip(tmp_path, {"h": np.float16(0.5)})["h"] == 0.5
    assert round_trip(tmp_path, {"s": np.array(["a", "bc"])}) == {"s": ["a", "bc"]}
    with pytest.warns(NetCDFWarning, match=r'attribute "b" \(bytes\) is written as text'):
        assert round_trip(tmp_path, {"s": np.str_("a"), "b": b"bytes"}) == {"s": "a", "b": "bytes"}


def test_lists_of_text_in_classic_files(tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match="JSON text"):
        assert round_trip(tmp_path, {"s": ["a", "žb"]}, "NETCDF3_CLASSIC") == {"s": ["a", "žb"]}


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(2000, 1, 1),
        1j,
        np.ma.array([1], mask=True),
        np.datetime64("2000-01-01"),
        {1, 2},
        {"a": 1j},
        {1: 2},
    ],
)
def test_what_cannot_be_written_is_named(value: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r'a\.nc: variable "x": attribute "bad": '):
        write_all(tmp_path / "a.nc", {"x": var([], [], "int32", bad=value)}, {"x": 1})
    with pytest.raises(UnsupportedError, match=r'a\.nc: attribute "bad": '):
        write_all(tmp_path / "a.nc", {".": {"bad": value}}, {})
    assert list(tmp_path.iterdir()) == []


def test_attributes_named_as_the_marker(tmp_path: Path) -> None:
    assert round_trip(tmp_path, {"ds_format": "hello"}) == {"ds_format": "hello"}
    with pytest.raises(UnsupportedError, match='attribute "ds_format"'), pytest.warns(NetCDFWarning):
        round_trip(tmp_path, {"ds_format": "hello", "a": None})


def test_attributes_of_unknown_groups(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match='attribute "km/h": there is no group "km"'):
        write_all(tmp_path / "a.nc", {".": {"km/h": 1}}, {})


def test_attributes_of_compound_type(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc") as file:
        dtype = np.dtype([("a", "i4"), ("b", "i4")])
        file.createCompoundType(dtype, "pair")
        file.setncattr("bad", np.array([(1, 2)], dtype))
        file.setncattr("good", 1)
    with pytest.raises(UnsupportedError, match='attribute "bad": a compound type'):
        read_all(tmp_path / "a.nc")
    with pytest.warns(NetCDFWarning):
        meta, _ = read_all(tmp_path / "a.nc", skip_unsupported=True)
    assert meta["."] == {"good": 1}


@given(hnp.arrays(st.sampled_from(NUMBERS), st.integers(0, 4)), st.sampled_from(FORMATS))
def test_encoded_numbers_are_equal_or_json(array: Any, format: str) -> None:
    form, value, note = encode(array, format)
    if form == "number":
        assert np.array_equal(np.atleast_1d(value), array, equal_nan=True)
        assert bool(note) == (np.asarray(value).dtype != array.dtype)
    else:
        assert form == "json" and note


ODD = ["", ".", "..", " a", "a ", "a\n", "-a", "a/b", "a\x7f", "é", "e\u0301", "a" * 255, "a" * 257, "ž" * 129, "\x85"]


def is_possible(name: str, check: Any, *arguments: str) -> bool:
    try:
        check(name, *arguments)
    except UnsupportedError:
        return False
    return True


def is_held_by_the_library(folder: str, kind: str, name: str) -> bool:
    """Return whether the library takes the name of a variable or attribute, and tells it as it was given."""
    try:
        with netCDF4.Dataset(f"{folder}/a.nc", "w") as file:
            if kind == "variable":
                file.createVariable(name, "i1")
            else:
                file.setncattr(name, 1)
    except (RuntimeError, AttributeError, ValueError):
        return False
    with netCDF4.Dataset(f"{folder}/a.nc") as file:
        return name in (file.variables if kind == "variable" else file.ncattrs())


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6))
def test_any_name_is_taken_or_refused_as_by_the_library(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "/" not in name and name not in ("", ".", ".."):
            assert is_possible(name, format.check_path) == is_held_by_the_library(folder, "variable", name)
            assert is_possible(name, format.check_attribute, "NETCDF4") == is_held_by_the_library(folder, "", name)


for odd in ODD:
    test_any_name_is_taken_or_refused_as_by_the_library = example(odd)(
        test_any_name_is_taken_or_refused_as_by_the_library
    )


@pytest.mark.parametrize("name", sorted(format.RESERVED))
def test_reserved_names_of_attributes(name: str, tmp_path: Path) -> None:
    data = {"x": np.int8(1)}
    for meta in ({"x": var([], [], "int8", **{name: 1}), ".": {}}, {"x": var([], [], "int8"), ".": {name: 1}}):
        with pytest.raises(UnsupportedError, match=f'attribute "{name}": the name is not valid .*reserved'):
            write_all(tmp_path / "a.nc", meta, data)
        write_all(tmp_path / "a.nc", meta, data, format="NETCDF3_CLASSIC")
        (tmp_path / "a.nc").unlink()


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"a\n": var([], [], "int8")}, r'variable "a\\n": the name "a\\n" is not valid'),
        ({"x": var(["a "], [2], "int8")}, 'variable "x": the name "a " is not valid'),
        ({"x": var(["e\u0301"], [2], "int8")}, 'variable "x": the name "e\u0301" .* composed form'),
        ({"x": var(["d"], [2], "int8", **{"a/b": 1})}, 'variable "x": attribute "a/b": the name is not valid'),
        ({"x": var([], [], "int8"), "x/y": var([], [], "int8")}, 'variable "x": the name "x" is also that of a group'),
        ({"x": var([], [], "int8"), ".": {"/a": 1}}, 'attribute "/a": there is no group ""'),
        (
            {"y": var(["g"], [2], "int8"), "g/y": var([], [], "int8")},
            'variable "y": the name "g" is also that of a group',
        ),
    ],
    ids=range(7),
)
def test_the_variable_is_named(meta: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=message):
        write_all(tmp_path / "a.nc", meta, {key: np.zeros(meta[key][".size"], "i1") for key in meta if key != "."})
    assert not list(tmp_path.iterdir())


def test_names_that_look_odd_come_back(tmp_path: Path) -> None:
    meta = {name: var([name], [1], "int8", **{name: 1}) for name in ("é", "a b", "a-b", "0", "_x", "😀", "a\x85")}
    write_all(tmp_path / "a.nc", meta, {name: np.zeros(1, "i1") for name in meta})
    found, _ = read_all(tmp_path / "a.nc")
    assert [key for key in found if key != "."] == list(meta)
    assert all(found[name][name] == 1 for name in meta)


def test_a_tuple_is_written_as_a_list(tmp_path: Path) -> None:
    meta = {"x": var(["i"], [2], "int16", valid_range=(0, 10), flag_values=[1, 2])}
    write_all(tmp_path / "a.nc", meta, {"x": np.zeros(2, "i2")})
    found, _ = read_all(tmp_path / "a.nc")
    assert found["x"]["valid_range"].dtype == found["x"]["flag_values"].dtype == "i2"
    assert found["x"]["valid_range"].tolist() == [0, 10] and found["x"]["flag_values"].tolist() == [1, 2]
