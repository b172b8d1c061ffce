"""Missing values: sentinels of files, and those chosen for datasets without any."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf import NetCDFWarning
from ds_format.errors import UnsupportedError
from ds_format.model.missing import count, default_fill, filled, fitting, sentinels

from ..netcdf_compare import differences
from .files import convert, make, read_all, same, var, write_all


def masked(values: Any, mask: Any, dtype: str) -> Any:
    return np.ma.MaskedArray(np.array(values, dtype), mask=mask)


def file_with(
    path: Path, dtype: str, values: Any, fill_value: Any = None, format: str = "NETCDF4", **attributes: Any
) -> None:
    with make(path, format, n=len(values)) as file:
        v = file.createVariable("v", dtype, ("n",), fill_value=fill_value)
        v.set_auto_maskandscale(False)
        v.setncatts(attributes)
        v[:] = values


@pytest.mark.parametrize(
    ("dtype", "values", "fill", "attributes", "mask"),
    [
        ("i2", [1, -5, 3], -5, {}, [0, 1, 0]),
        ("i2", [1, -5, 3], None, {"missing_value": np.int16(3)}, [0, 0, 1]),
        ("i2", [1, -5, 3], -5, {"missing_value": np.int16(-5)}, [0, 1, 0]),
        ("f4", [1, np.nan, 3], np.nan, {}, [0, 1, 0]),
        ("f4", [1, np.nan, 3], None, {}, [0, 0, 0]),
        ("f4", [1, 1e20, 3], None, {"missing_value": 1e20}, [0, 1, 0]),
        ("f4", [1, np.inf, 3], None, {"missing_value": 1e300}, [0, 0, 0]),
        ("i4", [1, -2147483647, 3], None, {}, [0, 1, 0]),
        ("i4", [1, -2147483647, 3], False, {}, [0, 0, 0]),
        ("i4", [1, -2147483647, 3], 3, {}, [0, 0, 1]),
        ("u1", [1, 255, 3], None, {}, [0, 1, 0]),
        ("i4", [1, 2, 3], None, {"missing_value": "2"}, [0, 0, 0]),
        ("i4", [1, 2, 3], None, {"missing_value": 2.0}, [0, 1, 0]),
        ("i4", [1, 2, 3], None, {"missing_value": 2.5}, [0, 0, 0]),
        ("u1", [1, 255, 3], False, {"missing_value": np.int8(-1)}, [0, 0, 0]),
        ("i1", [1, -1, 3], False, {"_Unsigned": "true", "missing_value": np.int8(-1)}, [0, 1, 0]),
        ("i4", [1, 2, 3], None, {"missing_value": np.zeros(0, "i4")}, [0, 0, 0]),
        ("i4", [-5, 5, 50], None, {"valid_range": np.array([0, 10], "i4")}, [0, 0, 0]),
        ("i2", [1, 2, 3], 2, {"scale_factor": 0.5, "add_offset": 7.0}, [0, 1, 0]),
    ],
)
def test_masks(dtype: str, values: Any, fill: Any, attributes: Any, mask: list[int], tmp_path: Path) -> None:
    file_with(tmp_path / "a.nc", dtype, values, fill, **attributes)
    _, data = read_all(tmp_path / "a.nc")
    want = np.array(values, dtype)
    assert same(data["v"], masked(want, mask, dtype) if any(mask) else want)
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_missing_scalars(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc") as file:
        file.createVariable("v", "i2", (), fill_value=-1)[...] = -1
        file.createVariable("unwritten", "f8", ())
    _, data = read_all(tmp_path / "a.nc")
    assert same(data["v"], masked(-1, True, "i2")) and data["v"].shape == ()
    assert data["unwritten"].mask.item() is True and data["unwritten"].dtype == "f8"
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_what_lies_beneath_the_mask_goes_from_netcdf_to_netcdf(tmp_path: Path) -> None:
    values = [1, -9, -8, 4]
    file_with(tmp_path / "a.nc", "i4", values, missing_value=np.array([-9, -8], "i4"))
    meta, data = read_all(tmp_path / "a.nc")
    assert data["v"].data.tolist() == values
    write_all(tmp_path / "b.nc", meta, data)
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_several_ways_are_told_once_for_all_blocks(tmp_path: Path) -> None:
    file_with(tmp_path / "a.nc", "i1", [1, -9, -8, -9], missing_value=np.array([-9, -8], "i1"))
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        file["v"].setncattr("dtype", "bool")
    with pytest.warns(NetCDFWarning) as caught:  # below the mask of booleans is nothing
        read_all(tmp_path / "a.nc", budget=1)
    assert [str(warning.message).split(": ", 2)[2] for warning in caught] == [
        "missing values are marked in 2 ways (2 are -9, 1 are -8): a mask does not tell them apart"
    ]


def test_fill_values_of_another_type(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", "NETCDF3_CLASSIC", n=3) as file:
        for name, value in {"f": np.float32(2.5), "two": np.array([1, 2], "i4"), "text": b"none", "fit": 2.0}.items():
            v = file.createVariable(name, "i4", ("n",))
            v[:] = [1, 2, 3]
            # the library would not write to a variable that has one
            v.setncatts({"_FillValue": value})
    meta, data = read_all(tmp_path / "a.nc")
    assert same(data["f"], np.array([1, 2, 3], "i4")) and same(data["text"], np.array([1, 2, 3], "i4"))
    assert same(data["fit"], masked([1, 2, 3], [0, 1, 0], "i4"))
    assert meta["f"]["_FillValue"] == np.float32(2.5) and meta["text"]["_FillValue"] == "none"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_all(tmp_path / "b.nc", meta, data)
    messages = "\n".join(str(warning.message) for warning in caught)
    for name in ("f", "text"):
        assert f'variable "{name}": left out: attribute "_FillValue"' in messages
    two, fit, whole = np.int32(1), np.int32(2), np.float64(2.0)  # NumPy 1 prints them without their types
    assert f'variable "two": attribute "_FillValue", array([1, 2], dtype=int32), is written as {two!r}' in messages
    assert f'variable "fit": attribute "_FillValue", {whole!r}, is written as {fit!r}' in messages
    _, back = read_all(tmp_path / "b.nc")
    assert all(same(back[name], data[name]) for name in ("f", "text", "fit"))


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("fill", [None, -1, False], ids=["default", "own", "none"])
def test_fill_modes_are_kept(fill: Any, format: str, tmp_path: Path) -> None:
    file_with(tmp_path / "a.nc", "i4", [1, 2], fill, format)
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


@pytest.mark.parametrize("type_name", ["int8", "uint8", "int16", "int32", "uint64", "float32", "float64"])
def test_a_fill_value_is_chosen(type_name: str, tmp_path: Path) -> None:
    values = masked([1, 2, 3], [0, 1, 0], type_name)
    write_all(tmp_path / "a.nc", {"x": var(["n"], [3], type_name, missing=True, units="m")}, {"x": values})
    meta, data = read_all(tmp_path / "a.nc")
    assert same(data["x"], values)
    assert meta["x"]["_FillValue"] == default_fill(np.dtype(type_name)) and meta["x"]["units"] == "m"
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert np.ma.getmaskarray(file["x"][:]).tolist() == [False, True, False]


def test_the_chosen_fill_value_does_not_collide(tmp_path: Path) -> None:
    values = np.ma.MaskedArray(np.arange(256, dtype="u1"), mask=np.arange(256) == 77)
    write_all(tmp_path / "a.nc", {"x": var(["n"], [256], "uint8", missing=True)}, {"x": values})
    meta, data = read_all(tmp_path / "a.nc")
    assert same(data["x"], values)
    assert meta["x"]["_FillValue"] == 77


def test_no_fill_value_is_left(tmp_path: Path) -> None:
    values = np.ma.MaskedArray(np.arange(257).astype("u1"), mask=np.arange(257) == 256)
    with pytest.raises(UnsupportedError, match='variable "x": every value of its type is present'):
        write_all(tmp_path / "a.nc", {"x": var(["n"], [257], "uint8", missing=True)}, {"x": values})


def test_a_late_collision_is_an_error(tmp_path: Path) -> None:
    values = masked([1, -2147483647, 3], [1, 0, 0], "i4")
    meta = {"x": var(["n"], [3], "int32", missing=True)}
    with pytest.raises(UnsupportedError, match=r'"x": 1 present values equal -2147483647, .* attribute "_FillValue"'):
        write_all(tmp_path / "a.nc", meta, {"x": values})
    write_all(tmp_path / "a.nc", {"x": {**meta["x"], "_FillValue": -1}}, {"x": values})
    assert same(read_all(tmp_path / "a.nc")[1]["x"], values)


@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
def test_present_values_that_equal_the_users_own_sentinel_are_told(name: str, tmp_path: Path) -> None:
    meta = {"x": var(["n"], [3], "float32", **{name: -9.0})}
    with pytest.warns(NetCDFWarning, match=r'a\.nc: variable "x": 2 present values equal -9\.0, which means missing'):
        write_all(tmp_path / "a.nc", meta, {"x": np.array([-9, 1, -9], "f4")})


def test_default_fill_values_in_classic_files_are_told(tmp_path: Path) -> None:
    meta = {"x": var(["n"], [1], "int16", missing=False)}
    with pytest.warns(NetCDFWarning, match="1 present values equal -32767, which means missing"):
        write_all(tmp_path / "a.nc", meta, {"x": np.array([-32767], "i2")}, format="NETCDF3_CLASSIC")


def test_attributes_get_the_type_of_the_variable(tmp_path: Path) -> None:
    attributes = {"_FillValue": -9999, "missing_value": [-9999, -1.0], "valid_range": [0, 10], "valid_min": 0.5}
    write_all(tmp_path / "a.nc", {"x": var(["n"], [1], "float32", **attributes)}, {"x": np.ones(1, "f4")})
    meta, _ = read_all(tmp_path / "a.nc")
    assert {name: (meta["x"][name].dtype.name, meta["x"][name].tolist()) for name in attributes} == {
        "_FillValue": ("float32", -9999),
        "missing_value": ("float32", [-9999, -1]),
        "valid_range": ("float32", [0, 10]),
        "valid_min": ("float32", 0.5),
    }


def test_a_fill_value_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning, match=r'"x": left out: attribute "_FillValue", 1e\+30 does not fit int16'):
        write_all(tmp_path / "a.nc", {"x": var([], [], "int16", _FillValue=1e30)}, {"x": 1})


def test_missing_values_where_there_should_be_none(tmp_path: Path) -> None:
    for type_name in ("int32", "unicode"):
        meta = {"x": var(["n"], [2], type_name, missing=False)}
        array = np.array([1, 2], "i4") if type_name == "int32" else np.array(["a", "b"], object)
        if type_name == "unicode":
            # known length: defined before the values are seen
            meta["x"][".netcdf"] = {"char": {"dim": "c", "size": 1}}
        with pytest.raises(UnsupportedError, match=r"found missing .*, expected none"):
            write_all(tmp_path / "a.nc", meta, {"x": np.ma.MaskedArray(array, mask=[False, True])})


def test_several_blocks_of_which_the_last_has_missing_values(tmp_path: Path) -> None:
    sink = netcdf.create(tmp_path / "a.nc", {"x": var(["n"], [6], "float64")})
    sink.write("x", iter([np.arange(4.0), np.ma.array([4.0, 5.0], mask=[False, True])]))
    sink.commit()
    assert same(read_all(tmp_path / "a.nc")[1]["x"], masked(range(6), [0] * 5 + [1], "f8"))


CODES = ["i1", "u1", "i2", "i4", "u8", "f4", "f8"]


@given(
    st.sampled_from(CODES), st.floats() | st.integers(-(2**70), 2**70) | st.text(max_size=3) | st.booleans() | st.none()
)
def test_any_sentinel_fits_or_does_not(code: str, value: Any) -> None:
    for sentinel in fitting(value, np.dtype(code)):
        assert sentinel.dtype == code
        assert code[0] == "f" or sentinel == value


@given(st.data(), st.sampled_from(["i2", "f4"]))
def test_filling_is_the_inverse_of_masking(data: st.DataObject, code: str) -> None:
    values = np.array(data.draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=8)), code)
    found = sentinels({"missing_value": np.array([1, 2], code)}, np.dtype(code), True)
    assert [value.item() for value in found] == [1, 2, default_fill(np.dtype(code)).item()]
    mask, counts = count(values, found)
    assert counts == [(values == 1).sum(), (values == 2).sum(), 0]
    if mask is not None:
        assert filled(values, mask, found).tolist() == values.tolist()
        blank = np.where(mask, 0, values)
        assert filled(blank, mask, found).tolist() == np.where(mask, 1, values).tolist()


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("way", ["ds", "json", "h5", "nc", "memory"])
def test_a_scalar_keeps_the_mark_that_it_has(tmp_path: Path, way: str, format: Any) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=format) as file:
        file.createVariable("never", "i4", ()).missing_value = np.int32(-5)
        file.createVariable("floats", "f8", ()).missing_value = np.float64(-5)
        file.createVariable("other", "i4", (), fill_value=-7).missing_value = np.int32(-5)
        file["other"][...] = -5
        file.createVariable("first", "i4", ()).missing_value = np.int32(-5)
        file["first"][...] = -5
        file.createVariable("present", "i4", ()).missing_value = np.int32(-5)
        file["present"][...] = 3
        file.set_auto_maskandscale(False)
        expected = {name: variable[...].item() for name, variable in file.variables.items()}
    assert expected["never"] == -2147483647
    if way == "memory":
        ds.write(tmp_path / "b.nc", ds.read(tmp_path / "a.nc"))
    else:
        ds.convert(tmp_path / "a.nc", tmp_path / f"c.{way}")
        ds.convert(tmp_path / f"c.{way}", tmp_path / "b.nc")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        file.set_auto_maskandscale(False)
        found = {name: variable[...].item() for name, variable in file.variables.items()}
    names = ("first", "present") if way == "h5" else tuple(expected)
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}


@pytest.mark.parametrize("mark", ["x", None, [1, 2], 7, True, {}])
def test_a_wrong_mark_is_passed_over(tmp_path: Path, mark: Any) -> None:
    meta = {"x": {".dims": [], "missing_value": np.int32(-5), ".netcdf": {"fill": "default", "mark": mark}}}
    ds.write(tmp_path / "x.nc", {"x": np.ma.MaskedArray(np.int32(1), True), ".": meta})
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        file.set_auto_maskandscale(False)
        assert file["x"][...] == -5
