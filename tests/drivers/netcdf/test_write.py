"""Writing datasets that never were in a NetCDF file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import ds_format as ds
from ds_format.base.dtypes import TYPES
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf import NetCDFWarning
from ds_format.drivers.netcdf.format import CDF5_CODES
from ds_format.errors import UnsupportedError

from ...numpy_versions import needs_numpy_2
from .files import make, read_all, same, var, write_all

NUMBERS = [name for name, row in TYPES.items() if row.code in CDF5_CODES]


def objects(items: list[Any], shape: tuple[int, ...] | None = None) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array if shape is None else array.reshape(shape)


def back(
    folder: Path, meta: dict[str, Any], data: dict[str, Any], **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    write_all(folder / "a.nc", meta, data, **options)
    return read_all(folder / "a.nc")


@pytest.mark.parametrize("known", [True, False], ids=["missing known", "missing unknown"])
@pytest.mark.parametrize("type_name", NUMBERS)
def test_numbers(type_name: str, known: bool, tmp_path: Path) -> None:
    limits: Any = np.finfo(type_name) if "float" in type_name else np.iinfo(type_name)
    values = np.array([[limits.min, 0, limits.max], [1, 2, 3]], type_name)
    options = {"missing": False} if known else {}
    meta = {"x": var(["a", "b"], [2, 3], type_name, units="m", **options), "s": var([], [], type_name, **options)}
    found, data = back(tmp_path, meta, {"x": values, "s": values[0, 0]})
    assert same(data["x"], values) and same(data["s"], values[0, 0])
    assert found["x"] == {**meta["x"], ".missing": False}


def test_default_fill_values_are_plain_values(tmp_path: Path) -> None:
    # a user's image has 255; the library would take it for a missing value
    image = np.arange(256, dtype="u1")
    found, data = back(tmp_path, {"x": var(["a"], [256], "uint8")}, {"x": image})
    assert same(data["x"], image)
    assert found["x"][".missing"] is False


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF4_CLASSIC"])
def test_booleans(format: str, tmp_path: Path) -> None:
    values = np.array([True, False, True])
    masked = np.ma.array([True, True, False], mask=[False, True, False])
    meta = {
        "b": var(["n"], [3], "bool", missing=False),
        "m": var(["n"], [3], "bool", missing=True),
        "u": var(["n"], [3], "bool"),
        "s": var([], [], "bool", missing=False),
    }
    found, data = back(tmp_path, meta, {"b": values, "m": masked, "u": masked, "s": True}, format=format)
    assert same(data["b"], values) and same(data["m"], masked) and same(data["u"], masked)
    assert data["s"] is np.True_
    assert [found[name][".type"] for name in data] == ["bool"] * 4
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file["b"].dtype == np.int8 and file["b"].getncattr("dtype") == "bool"
        assert "_FillValue" in file["m"].ncattrs()


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_strings(format: str, tmp_path: Path) -> None:
    byte_strings = objects([b"abc", b"", b"\xff\x00\xfe", b"x"], (2, 2))
    text = objects(["žluť", "", "😀", "a\nb"], (2, 2))
    meta = {
        "b": var(["i", "j"], [2, 2], "str", long_name="x"),
        "t": var(["i", "j"], [2, 2], "unicode", missing=False),
        "bs": var([], [], "str"),
        "ts": var([], [], "unicode"),
        "none": var(["i"], [2], "str"),
    }
    data = {"b": byte_strings, "t": text, "bs": b"one", "ts": "žluť", "none": objects([b"", b""])}
    found, got = back(tmp_path, meta, data, format=format)
    for name, value in data.items():
        assert same(got[name], value)
        assert found[name][".dims"] == meta[name][".dims"]
        assert found[name][".type"] == meta[name][".type"]
    assert [key for key in found["t"] if key[0] != "."] == []


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("type_name", ["str", "unicode"])
@pytest.mark.parametrize(
    "items", [["a", None, "b"], ["", None, "b"], ["", None, "\x1a"], [None, None, None], ["a", "b", ""]], ids=repr
)
def test_missing_strings(items: list[str | None], type_name: str, format: str, tmp_path: Path) -> None:
    convert: Any = (lambda s: s.encode()) if type_name == "str" else str
    empty: Any = b"" if type_name == "str" else ""
    mask = [item is None for item in items]
    values = objects([empty if item is None else convert(item) for item in items])
    want = np.ma.MaskedArray(values, mask=mask) if any(mask) else values
    found, data = back(tmp_path, {"x": var(["n"], [3], type_name, missing=True)}, {"x": want}, format=format)
    assert same(data["x"], want)
    assert found["x"][".missing"] is any(mask)
    assert [key for key in found["x"] if key[0] != "."] == []
    # ... and once more by way of what was read
    write_all(tmp_path / "b.nc", found, data)
    assert same(read_all(tmp_path / "b.nc")[1]["x"], want)


def test_none_among_strings_is_missing(tmp_path: Path) -> None:
    _, data = back(tmp_path, {"x": var(["n"], [2], "unicode")}, {"x": objects(["a", None])})
    assert same(data["x"], np.ma.array(objects(["a", ""]), mask=[False, True]))


@needs_numpy_2
def test_numpy_strings(tmp_path: Path) -> None:
    meta = {"s": var(["n"], [2], "str"), "u": var(["n"], [2], "unicode"), "d": var(["n"], [2], "unicode")}
    strings = {
        "s": np.array([b"a", b"bc"]),
        "u": np.array(["a", "ž"]),
        "d": np.array(["a", "žž"], np.dtypes.StringDType()),
    }
    _, data = back(tmp_path, meta, strings)
    assert [data[name].tolist() for name in "sud"] == [[b"a", b"bc"], ["a", "ž"], ["a", "žž"]]


@pytest.mark.parametrize(
    ("type_name", "value", "message"),
    [
        ("str", b"ends\0", "has a NUL"),
        ("unicode", "in\0side", "has a NUL"),
        ("unicode", "\ud800", "cannot be encoded in utf-8"),
        ("unicode", 5, "found a value of type int, expected a string"),
    ],
)
def test_strings_that_cannot_be_held(type_name: str, value: Any, message: str, tmp_path: Path) -> None:
    for missing in (True, False):
        with pytest.raises(UnsupportedError, match=rf'a\.nc: variable "x": .*{message}'):
            back(tmp_path, {"x": var(["n"], [1], type_name, missing=missing)}, {"x": objects([value])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("type_name", ["float32", "int8", "bool", "str", "unicode", None])
def test_variables_without_data(type_name: str | None, format: str, tmp_path: Path) -> None:
    meta = {"x": var(["t", "y"], None, type_name, units="m"), "y": var([], None, type_name)}
    found, data = back(tmp_path, meta, {"x": None, "y": None}, format=format)
    assert data == {"x": None, "y": None}
    assert found["x"] | {".missing": None, ".netcdf": None} == meta["x"] | {".missing": None, ".netcdf": None}
    assert found["y"][".dims"] == [] and found["y"][".type"] == type_name


@pytest.mark.parametrize("type_name", ["float32", "bool", "str", "unicode"])
def test_sizes_of_zero(type_name: str, tmp_path: Path) -> None:
    meta = {"x": var(["t", "y"], [0, 3], type_name), "y": var(["y"], [3], "int32")}
    found, data = back(tmp_path, meta, {"x": None, "y": np.arange(3, dtype="i4")})
    assert data["x"].shape == (0, 3)
    assert found["x"][".size"] == [0, 3] and found["x"][".dims"] == ["t", "y"] and found["x"][".type"] == type_name


def test_dimensions_without_names(tmp_path: Path) -> None:
    meta = {"x": {".size": [2, 3], ".type": "int32"}, "g/y": {".size": [1], ".type": "int32"}}
    found, _ = back(tmp_path, meta, {"x": np.ones((2, 3), "i4"), "g/y": np.ones(1, "i4")})
    assert found["x"][".dims"] == ["x_1", "x_2"]
    assert found["g/y"][".dims"] == ["g/y_1"]


def test_a_dataset_of_nothing(tmp_path: Path) -> None:
    assert back(tmp_path, {}, {}) == ({".": {}}, {})


def test_types_that_the_metadata_do_not_tell(tmp_path: Path) -> None:
    meta = {name: {".dims": ["n"], ".size": [2]} for name in "fbsu"} | {"p": {".dims": [], ".size": []}}
    values = {
        "f": np.array([1, 2], "f4"),
        "b": np.array([True, False]),
        "s": objects([b"a", b"b"]),
        "u": np.array(["a", "b"]),
    }
    found, data = back(tmp_path, meta, {**values, "p": 5})
    assert [found[name][".type"] for name in "fbsu"] == ["float32", "bool", "str", "unicode"]
    assert data["p"] == 5


def test_python_and_other_numbers_that_fit(tmp_path: Path) -> None:
    meta = {"i": var([], [], "int32"), "f": var(["n"], [2], "float32"), "b": var(["n"], [2], "uint8")}
    _, data = back(tmp_path, meta, {"i": 5, "f": np.array([1, 2], ">f4"), "b": np.array([1.0, 2.0])})
    assert data["i"] == np.int32(5) and data["f"].tolist() == [1, 2] and data["b"].tolist() == [1, 2]
    for bad in (300, -1, 1.5):
        with pytest.raises(UnsupportedError, match=r'variable "b": found values of type .* that do not fit uint8'):
            back(tmp_path, {"b": var(["n"], [1], "uint8")}, {"b": np.array([bad])})


def test_dimensions_that_contradict(tmp_path: Path) -> None:
    meta = {"x": var(["n"], [3], "int32"), "y": var(["n"], [4], "int32")}
    with pytest.raises(
        UnsupportedError, match='variable "y": dimension "n": found the size 4, expected 3 as in variable "x"'
    ):
        netcdf.create(tmp_path / "a.nc", meta)
    with pytest.raises(UnsupportedError, match='variable "x": found 1 dimensions'):
        netcdf.create(tmp_path / "a.nc", {"x": var(["n"], [3, 3], "int32")})


@pytest.mark.parametrize("name", ["", "\\.", "..", "a//b", "a/", " x", "x ", "a\x01", "\\.x", "e\u0301"])
def test_names_that_netcdf_does_not_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"a\.nc"):
        netcdf.create(tmp_path / "a.nc", {name: var([], [], "int32", missing=False)})
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_would_make_numbers_boolean(tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match='variable "x": attribute "dtype" will make it boolean'):
        back(tmp_path, {"x": var([], [], "int8", dtype="bool", missing=False)}, {"x": np.int8(1)})
    with pytest.warns(NetCDFWarning, match='left out: attribute "dtype"'):
        back(tmp_path, {"x": var([], [], "bool", dtype="mine", missing=False)}, {"x": True})


def any_values(type_name: str) -> st.SearchStrategy[Any]:
    """Arrays, masked or not, of a type."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    if type_name == "str":
        return shapes.flatmap(
            lambda shape: _strings(shape, st.binary(max_size=5).filter(lambda b: b[-1:] != b"\0"), b"")
        )
    if type_name == "unicode":
        text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
        return shapes.flatmap(lambda shape: _strings(shape, text, ""))
    dtype = np.dtype(TYPES[type_name].code)
    return shapes.flatmap(lambda shape: st.builds(_masked, hnp.arrays(dtype, shape), hnp.arrays(bool, shape)))


def _strings(shape: tuple[int, ...], elements: st.SearchStrategy[Any], empty: Any) -> st.SearchStrategy[Any]:
    n = int(np.prod(shape))
    lists = st.lists(st.none() | elements, min_size=n, max_size=n)
    return lists.map(
        lambda items: _masked(
            objects([empty if item is None else item for item in items], shape),
            np.array([item is None for item in items], bool).reshape(shape),
        )
    )


def _masked(values: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(values, mask=mask) if mask.any() else values


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_dataset_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    type_name = data.draw(st.sampled_from([*NUMBERS, "bool", "str", "unicode"]))
    values = data.draw(any_values(type_name))
    format = data.draw(st.sampled_from(["NETCDF4", "NETCDF3_CLASSIC", "NETCDF4_CLASSIC", "NETCDF3_64BIT_DATA"]))
    properties = var([f"d{i}" for i in range(values.ndim)], list(values.shape), type_name)
    is_masked = isinstance(values, np.ma.MaskedArray)
    properties |= data.draw(st.sampled_from([{}, {".missing": True}, {} if is_masked else {".missing": False}]))
    cut = data.draw(st.integers(0, values.size))
    flat = values.reshape(-1)
    blocks = data.draw(st.sampled_from([[values], [flat[:cut], flat[cut:]]]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sink = netcdf.create(tmp_path / "a.nc", {"x": properties, ".": {".netcdf": {"format": format}}})
        try:
            sink.write("x", blocks)
            sink.commit()
        except UnsupportedError as error:
            sink.abort()
            if "which was chosen to mark missing ones" not in str(error):
                raise
            return
    if any("which means missing" in str(warning.message) for warning in caught):
        # a classic file has a default fill value always; it was told
        return
    meta, found = read_all(tmp_path / "a.nc")
    assert same(found["x"], values[()] if values.ndim == 0 and not is_masked else values)
    assert all(meta["x"][key] == properties[key] for key in (".dims", ".size", ".type"))


def test_groups_keep_their_order(tmp_path: Path) -> None:
    """Groups without variables are not moved to the end."""
    with make(tmp_path / "a.nc") as file:
        for name in ("z", "empty", "a", "a/in", "empty/too"):
            file.createGroup(name).note = name
        file["a/in"].createVariable("x", "i4")[...] = 1
    ds.convert(tmp_path / "a.nc", tmp_path / "a.ds")
    ds.convert(tmp_path / "a.ds", tmp_path / "b.nc")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert [*file.groups] == ["z", "empty", "a"]
    found = [ds.read(tmp_path / name)["."]["."] for name in ("a.nc", "a.ds", "b.nc")]
    assert [*found[0]] == [*found[1]] == [*found[2]]
