"""What masked values are shown as: the table of docs/xarray.md, row by row."""

from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="xarray is not installed")

import ds_format as ds  # noqa: E402

MASK = [False, True, False]
NAN = float("nan")


def opened(tmp_path, data, attributes=None, options=None, **meta):
    ds.write(
        tmp_path / "a.ds", {"x": data, ".": {"x": {".dims": ["i"][: np.ndim(data)], **(attributes or {}), **meta}}}
    )
    return xr.open_dataset(tmp_path / "a.ds", engine="ds", **(options or {}))["x"]


def masked(values, dtype):
    return np.ma.MaskedArray(np.array(values, dtype), MASK)


@pytest.mark.parametrize(
    ("dtype", "attributes", "shown"),
    [
        ("f4", {}, "f4"),
        ("f8", {"_FillValue": -1.0}, "f8"),
        ("i1", {}, "f4"),
        ("i2", {"_FillValue": np.int16(-1)}, "f4"),
        ("u2", {"missing_value": np.uint16(9)}, "f4"),
        ("i4", {}, "f8"),
        ("u4", {}, "f8"),
        ("i8", {}, "f8"),
        ("i2", {"scale_factor": np.float32(0.5), "add_offset": np.float32(1), "_FillValue": np.int16(-1)}, "f4"),
        ("i2", {"scale_factor": 0.5}, "f8"),
        ("i1", {"_Unsigned": "true", "_FillValue": np.int8(-1)}, "f4"),
        ("i1", {"_Unsigned": "true"}, "f4"),
    ],
)
def test_numbers_are_nan(tmp_path, dtype, attributes, shown):
    found = opened(tmp_path, masked([1, 0, 3], dtype), attributes)
    factor, offset = attributes.get("scale_factor", 1), attributes.get("add_offset", 0)
    assert found.dtype == shown
    np.testing.assert_array_equal(found, [factor + offset, NAN, 3 * factor + offset])
    assert not found.attrs
    for name, value in attributes.items():
        assert found.encoding[name] == value
    if {"_FillValue", "missing_value"}.isdisjoint(attributes):
        assert found.encoding["ds_missing"] == np.dtype(dtype).name
        assert found.encoding["dtype"].kind == "f" and "_FillValue" not in found.encoding
    else:
        assert found.encoding["dtype"] == dtype and "ds_missing" not in found.encoding


@pytest.mark.parametrize("fill", [{}, {"_FillValue": np.int32(-1)}])
def test_times_are_nat(tmp_path, fill):
    data = masked([1, 0, 3], "i4")
    found = opened(tmp_path, data, {"units": "days since 2000-01-01", **fill})
    assert found.dtype.kind == "M" and np.isnat(found.values).tolist() == MASK
    assert str(found.values[2])[:10] == "2000-01-04"
    raw = opened(tmp_path, data, {"units": "days since 2000-01-01", **fill}, {"decode_times": False})
    assert raw.dtype == "f8" and np.isnan(raw.values).tolist() == MASK


def test_text_and_flags_are_objects(tmp_path):
    found = opened(tmp_path, np.ma.MaskedArray(np.array(["a", "", "c"], object), MASK))
    assert found.dtype == object and found.values[[0, 2]].tolist() == ["a", "c"] and np.isnan(found.values[1])
    found = opened(tmp_path, np.ma.MaskedArray(np.array([b"a", b"", b"c"], object), MASK))
    assert found.values[[0, 2]].tolist() == [b"a", b"c"] and found.encoding["ds_missing"] == "str"
    found = opened(tmp_path, masked([True, False, False], bool))
    assert found.dtype == object and found.values[[0, 2]].tolist() == [True, False] and np.isnan(found.values[1])
    assert found.encoding["ds_missing"] == "bool"


def test_a_present_value_may_equal_the_fill_value(tmp_path):
    found = opened(tmp_path, masked([-1, 0, 3], "f8"), {"_FillValue": -1.0})
    np.testing.assert_array_equal(found, [-1, NAN, 3])
    found = opened(tmp_path, np.array([-1.0, 2.0, 3.0]), {"_FillValue": -1.0})
    np.testing.assert_array_equal(found, [-1, 2, 3])
    found = opened(tmp_path, masked([NAN, 0, 3], "f8"), {"_FillValue": -1.0})
    np.testing.assert_array_equal(found, [NAN, NAN, 3])


RAW = {"mask_and_scale": False}


@pytest.mark.parametrize(
    ("dtype", "attributes", "fill"),
    [
        ("f4", {}, np.float32(9.969209968386869e36)),
        ("i2", {}, np.int16(-32767)),
        ("u1", {}, np.uint8(255)),
        ("i2", {"_FillValue": np.int16(-1)}, np.int16(-1)),
        ("i4", {"missing_value": np.array([-7, -8], "i4")}, np.int32(-7)),
        ("f8", {"_FillValue": NAN}, np.float64(NAN)),
    ],
)
def test_raw_numbers(tmp_path, dtype, attributes, fill):
    found = opened(tmp_path, masked([1, 0, 3], dtype), attributes, RAW)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array([1, fill, 3], dtype))
    given = attributes or {"_FillValue": fill}
    assert all(np.array_equal(found.attrs[name], value, equal_nan=True) for name, value in given.items())


def test_raw_text_and_flags(tmp_path):
    found = opened(tmp_path, np.ma.MaskedArray(np.array(["a", "b", "c"], object), MASK), options=RAW)
    assert found.values.tolist() == ["a", "", "c"] and found.attrs == {"_FillValue": ""}
    found = opened(tmp_path, masked([True, True, False], bool), options=RAW)
    assert found.dtype == "i1" and found.values.tolist() == [1, -127, 0] and found.attrs == {"_FillValue": -127}


@pytest.mark.parametrize(
    ("data", "attributes"),
    [
        (masked([1, 0, -1], "i2"), {"_FillValue": np.int16(-1)}),
        (masked([1, 0, -127], "i1"), {}),
        (masked([1, 0, -1], "f4"), {"missing_value": -1.0}),
        (np.ma.MaskedArray(np.array(["a", "b", ""], object), MASK), {}),
        (np.array([1, 2, -1], "i2"), {"_FillValue": np.int16(-1)}),
    ],
)
def test_raw_values_that_could_not_be_told_apart(tmp_path, data, attributes):
    found = opened(tmp_path, data, attributes, RAW)
    message = r'/a.ds: variable "x": a present value equals [-\'].*mask_and_scale=True'
    with pytest.raises(ds.UnsupportedError, match=message):
        found.load()
    found[:2].load()
    opened(tmp_path, data, attributes).load()


def test_raw_nan_is_nan(tmp_path):
    found = opened(tmp_path, masked([NAN, 0, 3], "f8"), {"_FillValue": NAN}, RAW)
    np.testing.assert_array_equal(found, [NAN, NAN, 3])


@pytest.mark.parametrize(("dtype", "fill"), [("f8", 9.969209968386869e36), ("i4", -2147483647), ("u1", 255)])
def test_what_nobody_wrote_in_a_netcdf_file(tmp_path, dtype, fill):
    data = np.ma.MaskedArray(np.array([1, fill, 3], dtype), [False, True, False])
    record = {".netcdf": {"fill": "default"}}
    for options in ({}, RAW):
        found = opened(tmp_path, data, record, options)
        assert found.dtype == dtype and found.values.tolist() == [1, fill, 3] and not found.attrs
        assert found.encoding[".netcdf"] == {"fill": "default"} and "ds_missing" not in found.encoding
    found = opened(tmp_path, data, record, {"default_fill": "missing"})
    np.testing.assert_array_equal(found, [1, NAN, 3])
    assert found.encoding["ds_missing"] == np.dtype(dtype).name
    found = opened(tmp_path, data, record, {"default_fill": "missing", **RAW})
    assert found.values.tolist() == [1, fill, 3] and found.attrs == {"_FillValue": fill}
    named = {**record, "missing_value": np.dtype(dtype).type(9)}
    np.testing.assert_array_equal(opened(tmp_path, data, named), [1, np.dtype(dtype).type(fill), 3])
    data.data[1] = 9
    np.testing.assert_array_equal(opened(tmp_path, data, named), [1, NAN, 3])


def test_no_data_scalars_and_empty_arrays(tmp_path):
    found = opened(tmp_path, None, {"grid_mapping_name": "x"})
    assert found.dims == () and np.isnan(found) and found.attrs == {"grid_mapping_name": "x"}
    assert ".type" in found.encoding["ds_no_data"]
    found = opened(tmp_path, np.ma.MaskedArray(np.int16(3), True), {"_FillValue": np.int16(-1)})
    assert found.shape == () and np.isnan(found)
    assert opened(tmp_path, np.int16(3)).values == 3
    assert opened(tmp_path, "text").values == "text"
    found = opened(tmp_path, np.zeros(0, "i2"), {"_FillValue": np.int16(-1)})
    assert found.shape == (0,) and found.dtype == "f4"
    found = opened(tmp_path, np.zeros(0, object), **{".type": "unicode"})
    assert found.dtype.metadata["element_type"] is str


def test_attributes_are_those_of_the_file(tmp_path):
    attributes = {"none": None, "empty": "", "dict": {"a": [1]}, "list": [1, "a"], "f4": np.float32(1), "text": "ä"}
    found = opened(tmp_path, [1.0], attributes)
    assert found.attrs == attributes and type(found.attrs["f4"]) is np.float32


def test_a_dataset_in_memory(tmp_path):
    numbers = np.arange(3.0)
    dataset = {
        "t": numbers,
        "m": masked([1, 0, 3], "i2"),
        "s": np.array(["a", "b", "c"], object),
        "g/x": np.zeros(2),
        ".": {"t": {".dims": ["t"], "units": "s"}, "m": {".dims": ["t"]}, "s": {".dims": ["t"]}, ".": {"title": "x"}},
    }
    found = ds.to_xarray(dataset)
    assert set(found.variables) == {"m", "s", "t"} and found.attrs == {"title": "x"} and "t" in found.coords
    assert found["m"].variable._in_memory
    np.testing.assert_array_equal(found["m"], [1, NAN, 3])
    assert dataset["m"].mask.tolist() == MASK and dataset["m"].data.tolist() == [1, 0, 3]
    ds.write(tmp_path / "a.ds", dataset)
    xr.testing.assert_identical(found, xr.open_dataset(tmp_path / "a.ds", engine="ds"))
    plain = ds.to_xarray({"x": numbers})
    assert np.shares_memory(plain["x"].values, numbers)
    with pytest.raises(ValueError, match="dimension names"):
        ds.to_xarray({"x": numbers, ".": {"x": {".dims": ["a", "b"]}}})


MARKED: dict[str, tuple[str, list[float], dict[str, Any]]] = {
    "list": ("i2", [1, -999, 999, 0, -999], {"missing_value": np.array([-999, 999, 0], "i2")}),
    "other_type": ("f4", [1, -999, 999, 0, 5], {"missing_value": np.array([-999.0, 999.0])}),
    "both": ("f4", [1, -999, 999, 0, 5], {"_FillValue": np.float32(-999), "missing_value": np.float32(999)}),
    "nan": ("f8", [1, NAN, 999, 0, 5], {"_FillValue": NAN, "missing_value": 999.0}),
    "packed": ("i2", [1, -9, 9, 0, 5], {"_FillValue": np.int16(-9), "missing_value": np.int16(9), "scale_factor": 0.5}),
    "unsigned": ("i1", [1, -9, 9, 0, 5], {"_FillValue": np.int8(-9), "missing_value": np.int8(9), "_Unsigned": "true"}),
    "time": (
        "i4",
        [1, -999, 999, 0, 5],
        {"_FillValue": np.int32(-999), "missing_value": np.int32(999), "units": "days since 2000-01-01"},
    ),
    "unwritten": ("f4", [1, -999, 9.969209968386869e36, 0, 5], {"missing_value": np.float32(-999)}),
    "unwritten_packed": ("i2", [1, -9, -32767, 0, 5], {"missing_value": np.int16(-9), "scale_factor": 0.5}),
    "unwritten_time": (
        "i4",
        [1, -9, -2147483647, 0, 5],
        {"missing_value": np.int32(-9), "units": "seconds since 2000-01-01"},
    ),
    "named_default": ("i4", [1, -9, -2147483647, 0, 5], {"missing_value": np.array([-9, -2147483647], "i4")}),
}


@pytest.mark.filterwarnings(
    "ignore:.*multiple fill values", "ignore:.*are marked in", "ignore:.*left out", "ignore:.*'v'"
)
@pytest.mark.parametrize("options", [RAW, {**RAW, "decode_times": False}, {"decode_cf": False}, {}], ids=str)
@pytest.mark.parametrize("kind", ["NETCDF4", "compressed", "by the library", "NETCDF3_CLASSIC"])
def test_several_marks_in_a_netcdf_file_are_as_netcdf4_shows_them(tmp_path, kind, options):
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=kind if kind.startswith("NETCDF") else "NETCDF4") as file:
        file.createDimension("i", 5)
        if kind == "by the library":
            file.createVariable("v", file.createVLType("i4", "ragged"), ("i",))
        for name, (dtype, values, attributes) in MARKED.items():
            fill = attributes.get("_FillValue")
            variable = file.createVariable(name, dtype, ("i",), fill_value=fill, zlib=kind == "compressed")
            variable.set_auto_maskandscale(False)
            variable[:] = np.array(values, dtype)
            variable.setncatts({key: value for key, value in attributes.items() if key != "_FillValue"})
    with xr.open_dataset(path, engine="netcdf4", drop_variables="v", **options) as expected:
        found = xr.open_dataset(path, engine="ds", **options)
        xr.testing.assert_identical(found, expected)
        assert {name: found[name].dtype for name in found} == {name: expected[name].dtype for name in expected}
        xr.testing.assert_identical(found.isel(i=slice(1, 3)), expected.isel(i=slice(1, 3)))
        if options == RAW:
            assert found["list"].values.tolist() == MARKED["list"][1]
            assert xr.load_dataset(path, engine="ds", default_fill="missing", **RAW)["list"].identical(found["list"])
