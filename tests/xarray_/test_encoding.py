"""What a ds file holds of a dataset of xarray."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import DsError, MissingError, UnsupportedError

xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
dask_array = pytest.importorskip("dask.array", reason="needs dask (extra dask)")

from ds_format.xarray_.encoding import encode  # noqa: E402

from ..numpy_versions import needs_numpy_2  # noqa: E402

NAN = np.nan


def coded(values: Any, encoding: dict[str, Any] | None = None, attrs: dict[str, Any] | None = None, **options: Any):
    """Return metadata and values of one variable of one dimension."""
    variable = xr.Variable(["t"], values, attrs or {}, encoding or {})
    meta, arrays = encode(xr.Dataset({"x": variable}), **options)
    return meta["x"], arrays["x"]


def mask_of(array: Any) -> list[bool]:
    return np.ma.getmaskarray(array).tolist()


class TestMasks:
    def test_null_with_a_fill_value_is_missing(self) -> None:
        entry, array = coded([1.0, NAN], {"_FillValue": -9.0})
        assert entry[".missing"] and mask_of(array) == [False, True] and array.dtype == "f8"
        assert entry["_FillValue"] == np.float64(-9) and entry["_FillValue"].dtype == "f8"

    def test_a_present_value_equal_to_the_fill_value_stays(self) -> None:
        _, array = coded([1.0, NAN, -9.0], {"_FillValue": -9.0})
        assert mask_of(array) == [False, True, False] and array[2] == -9

    def test_nan_without_a_fill_value_is_a_value(self) -> None:
        entry, array = coded([1.0, NAN])
        assert not entry[".missing"] and type(array) is np.ndarray and np.isnan(array[1])
        assert "_FillValue" not in entry

    def test_nan_as_the_fill_value_is_missing(self) -> None:
        entry, array = coded([1.0, NAN], {"_FillValue": NAN})
        assert mask_of(array) == [False, True] and np.isnan(entry["_FillValue"])

    @pytest.mark.parametrize("fill", [None, -1])
    def test_null_of_packed_numbers_is_missing(self, fill: int | None) -> None:
        packing = {"dtype": "i2", "scale_factor": 0.5, **({} if fill is None else {"_FillValue": fill})}
        entry, array = coded([1.0, NAN, 2.0], packing)
        assert array.dtype == "i2" and array.tolist() == [2, None, 4]
        assert entry["scale_factor"] == 0.5 and entry[".netcdf"] == {"packed": True}
        assert entry.get("_FillValue") == fill

    def test_no_time_is_missing(self) -> None:
        times = np.array(["2000-01-01", "NaT", "2000-01-03"], "M8[ns]")
        entry, array = coded(times)
        assert array.tolist() == [0, None, 2] and entry["units"] == "days since 2000-01-01 00:00:00"
        _, array = coded(times - times[0])
        assert array.tolist() == [0, None, 2]

    def test_no_time_of_another_calendar_is_missing(self) -> None:
        cftime = pytest.importorskip("cftime")
        dates = [
            cftime.datetime(2000, 2, 30, calendar="360_day"),
            None,
            cftime.datetime(2000, 3, 1, calendar="360_day"),
        ]
        given = np.array(dates, dtype=object)
        entry, array = coded(given, {"units": "days since 2000-02-30", "_FillValue": -1})
        assert array.tolist() == [0, None, 1] and entry["calendar"] == "360_day"
        assert given[1] is None

    @pytest.mark.parametrize(
        ("values", "type_name"),
        [
            (["a", None, ""], "unicode"),
            (["a", NAN, ""], "unicode"),
            ([b"a", None, b""], "str"),
            ([True, None, False], "bool"),
            ([np.True_, NAN, np.False_], "bool"),
        ],
    )
    def test_null_objects_are_missing(self, values: list[Any], type_name: str) -> None:
        entry, array = coded(np.array(values, dtype=object))
        assert entry[".type"] == type_name
        assert mask_of(array) == [False, True, False] and array[0] == values[0] and array[2] == values[2]

    def test_numbers_that_are_objects(self) -> None:
        entry, array = coded(np.array([1, None, 2.5], dtype=object))
        assert entry[".type"] == "float64" and np.array_equal(array, [1, NAN, 2.5], equal_nan=True)
        assert coded(np.array([1, 2], dtype=object))[1].dtype == np.int64
        assert coded(np.array([None, None], dtype=object))[0][".type"] == "float64"

    @needs_numpy_2
    def test_null_of_numpy_strings_is_missing(self) -> None:
        dtype = np.dtypes.StringDType(na_object=None)
        entry, array = coded(np.array(["a", None], dtype=dtype))
        assert entry[".type"] == "unicode" and array.tolist() == ["a", None]

    def test_values_equal_to_an_attribute_are_missing(self) -> None:
        """As in files that were opened without decoding."""
        entry, array = coded(np.array([1, -9, -8], "i4"), attrs={"_FillValue": np.int32(-9), "missing_value": [-8]})
        assert array.tolist() == [1, None, None] and entry["_FillValue"] == -9
        assert coded(np.array(["a", ""], dtype=object), attrs={"_FillValue": ""})[1].tolist() == ["a", None]
        assert coded([1.0, NAN], attrs={"_FillValue": np.float64(-9)})[1].tolist()[1] is not None

    def test_booleans_of_files(self) -> None:
        entry, array = coded(np.array([0, 1, -127], "i1"), attrs={"dtype": "bool", "_FillValue": np.int8(-127)})
        assert entry[".type"] == "bool" and "dtype" not in entry and array.tolist() == [False, True, None]
        entry, array = coded(np.array([0, 2], "i1"), attrs={"dtype": "bool"})
        assert entry[".type"] == "int8" and entry["dtype"] == "bool"

    @pytest.mark.parametrize(
        ("values", "type_name", "expected"),
        [
            ([1.0, NAN], "int16", [1, None]),
            ([1.0, NAN], "float32", [1.0, None]),
            (np.array(["a", NAN], object), "unicode", ["a", None]),
            (np.array([NAN, NAN], object), "str", [None, None]),
            (np.array([NAN, NAN], object), "bool", [None, None]),
            (np.array(["2000-01-01", "NaT"], "M8[ns]"), "int32", [0, None]),
        ],
    )
    @pytest.mark.parametrize("chunked", [False, True])
    def test_what_the_engine_marks_was_missing(
        self, values: Any, type_name: str, expected: list[Any], chunked: bool
    ) -> None:
        encoding = {"ds_missing": type_name, "dtype": np.dtype("f8")}
        if np.asarray(values).dtype.kind == "M":
            encoding["units"] = "days since 2000-01-01"
        variable = xr.Variable(["t"], values, {}, encoding)
        meta, arrays = encode(xr.Dataset({"x": variable.chunk() if chunked else variable}), mask=True)
        array = arrays["x"].compute() if chunked else arrays["x"]
        assert meta["x"][".type"] == type_name and array.tolist() == expected
        assert "_FillValue" not in meta["x"] and meta["x"][".missing"]

    def test_default_fill_of_a_file_is_missing_again(self) -> None:
        encoding = {".netcdf": {"fill": "default"}}
        entry, array = coded(np.array([1, -32767], "i2"), encoding)
        assert array.tolist() == [1, None] and entry[".netcdf"] == {"fill": "default"}

    def test_several_values_that_mean_missing(self) -> None:
        encoding = {"_FillValue": np.float32(1e20), "missing_value": np.array([-9, -8], "f4")}
        entry, array = coded(np.array([1, NAN], "f4"), encoding)
        assert array.tolist() == [1, None]
        assert entry["_FillValue"] == np.float32(1e20) and entry["missing_value"].tolist() == [-9, -8]
        entry, array = coded(np.array([1, NAN], "f4"), {"missing_value": np.array([-9, -8], "f4")})
        assert array.tolist() == [1, None] and "_FillValue" not in entry

    def test_unsigned_numbers_without_a_fill_value(self) -> None:
        entry, array = coded(np.array([1, 200], "u1"), {"_Unsigned": "true", "dtype": "i1"})
        assert array.tolist() == [1, -56] and entry["_Unsigned"] == "true" and "_FillValue" not in entry


class TestTypes:
    def test_booleans_and_text_stay(self) -> None:
        meta, arrays = encode(xr.Dataset({"b": ("t", [True, False]), "s": ("t", ["a", "bc"]), "z": b"x"}))
        assert [meta[key][".type"] for key in ("b", "s", "z")] == ["bool", "unicode", "str"]
        assert "dtype" not in meta["b"] and arrays["b"].dtype == bool
        assert arrays["s"].tolist() == ["a", "bc"] and arrays["z"].shape == ()

    def test_characters(self) -> None:
        entry, array = coded(["a", "bcd"], {"dtype": "S1"})
        assert entry[".type"] == "str" and array.tolist() == [b"a", b"bcd"] and entry["_Encoding"] == "utf-8"
        assert entry[".netcdf"] == {"char": {"dim": "string3", "size": 3}}
        entry, _ = coded(np.array([b"a", b"bcd"], "S5"), {"dtype": "S1", "char_dim_name": "n"})
        assert entry[".netcdf"]["char"] == {"dim": "n", "size": 5}
        assert ".netcdf" not in coded(np.array([b"a", b"bcd"]))[0]

    def test_names_of_numbers(self) -> None:
        dtype = np.dtype("i1", metadata={"enum": {"no": 0, "yes": 1}, "enum_name": "answer"})
        entry, array = coded(np.array([0, 1]), {"dtype": dtype})
        assert array.dtype == "i1"
        assert entry[".netcdf"]["enum"] == {"name": "answer", "type": "int8", "members": {"no": 0, "yes": 1}}

    def test_a_variable_without_data(self) -> None:
        dataset = xr.Dataset({"x": ((), NAN, {"a": 1}, {"ds_no_data": {".dims": ["t"], ".type": "int8"}})})
        meta, arrays = encode(dataset)
        assert arrays["x"] is None
        assert meta["x"] == {".dims": ["t"], ".type": "int8", ".size": None, ".missing": False, "a": 1}

    @pytest.mark.parametrize("dtype", ["c8", "c16"])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_what_ds_does_not_have_is_refused(self, dtype: str, chunked: bool) -> None:
        dataset = xr.Dataset({"x": ("t", np.zeros(2, dtype))})
        with pytest.raises(UnsupportedError, match=f'variable "x": values of type {np.dtype(dtype)}'):
            encode(dataset.chunk() if chunked else dataset)

    def test_half_precision_can_be_coded(self) -> None:
        assert coded(np.zeros(2, "f2"), {"dtype": "f4"})[1].dtype == "f4"

    @pytest.mark.parametrize("values", [["a", 1], ["a", b"a"], [{}, {}], [True, 2]])
    def test_objects_of_several_kinds_are_refused(self, values: list[Any]) -> None:
        objects = np.empty(2, object)
        objects[:] = values
        with pytest.raises(UnsupportedError, match='variable "x": an object array holds'):
            coded(objects)

    def test_an_index_of_several_levels_is_refused(self) -> None:
        dataset = xr.Dataset(coords={"y": ("x", [1, 2]), "z": ("x", ["a", "b"])}).set_index(x=["y", "z"])
        with pytest.raises(NotImplementedError, match="MultiIndex"):
            encode(dataset)


class TestAttributes:
    @pytest.mark.parametrize("value", [None, "", {"a": [1]}, [], True, np.float16(1), np.array(["a"])])
    def test_all_that_a_header_holds(self, value: Any) -> None:
        meta, _ = encode(xr.Dataset({"x": ("t", [1], {"a": value})}, attrs={"a": value}))
        assert meta["x"]["a"] is value and meta["."]["a"] is value

    @pytest.mark.parametrize("value", [np.datetime64("2000-01-01"), 1j, object(), b"x", np.array([b"x"]), {1: 2}])
    def test_others_are_refused(self, value: Any) -> None:
        with pytest.raises(UnsupportedError, match='variable "x": attribute "a": a value of type'):
            encode(xr.Dataset({"x": ("t", [1], {"a": value})}))
        with pytest.raises(UnsupportedError, match='attribute "a": a value of type'):
            encode(xr.Dataset(attrs={"a": value}))

    def test_names(self) -> None:
        with pytest.raises(UnsupportedError, match="found the name 1 of an attribute"):
            encode(xr.Dataset(attrs={1: 2}))
        meta, _ = encode(xr.Dataset({".x": ("t", [1], {".a": 1})}, attrs={".a": 2}))
        assert meta["\\.x"]["\\.a"] == 1 and meta["."]["\\.a"] == 2

    def test_bounds_keep_theirs(self) -> None:
        attrs = {"units": "days since 2000-01-01"}
        time = ("time", [0.5], {**attrs, "bounds": "bounds"})
        meta, _ = encode(xr.Dataset({"time": time, "bounds": (("time", "n"), [[0, 1]], attrs)}))
        assert meta["bounds"]["units"] == attrs["units"]

    def test_coordinates(self) -> None:
        meta, _ = encode(xr.Dataset({"x": ("t", [1])}, {"a": ("t", [2]), "b": ("u", [3])}))
        assert meta["x"]["coordinates"] == "a" and meta["."]["coordinates"] == "b"

    def test_units_keep_their_words(self) -> None:
        times = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")
        entry, _ = coded(times, {"units": "days since 2000-1-1 0:0:0"})
        assert entry["units"] == "days since 2000-1-1 0:0:0" and "calendar" not in entry
        for units in ("days since 2001-01-01", "days since 0001-01-01"):
            entry, array = coded(times, {"units": units})
            assert entry["units"] == units and "calendar" not in entry
        assert array.tolist() == [730121, 730122]  # in the calendar of files that name none
        entry, _ = coded(times.astype("M8[s]"), {"units": "days since 2001-01-01"})
        assert entry["calendar"] == "proleptic_gregorian"  # negative numbers may reach beyond the reform
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # xarray chooses finer units, and says so
            entry, _ = coded(times + np.timedelta64(1, "h"), {"units": "days since 2000-01-01", "dtype": "i4"})
        assert entry["units"].startswith("hours since")

    @pytest.mark.parametrize("calendar", ["standard", "noleap"])
    @pytest.mark.parametrize("offset", ["", "Z", " +1:00", " +01:00", " -0530"])
    def test_times_of_units_with_an_offset_come_back(self, tmp_path: Path, calendar: str, offset: str) -> None:
        """The decoder of xarray ignores `+1:00` in calendars of cftime, the coder writes it as it should be."""
        attrs = {"units": f"minutes since 2001-02-03 04:05:06{offset}", "calendar": calendar}
        decoded = xr.decode_cf(xr.Dataset({"x": ("t", [0.0, 1, 2], attrs)}))
        ds.write(tmp_path / "a.ds", decoded)
        assert xr.open_dataset(tmp_path / "a.ds", engine="ds")["x"].equals(decoded["x"])
        units = ds.read(tmp_path / "a.ds")["."]["x"]["units"]
        assert offset not in ("", "Z") or units == attrs["units"]

    def test_units_that_xarray_only_decodes(self) -> None:
        cftime = pytest.importorskip("cftime")
        dates = np.array([cftime.datetime(2000, 2, 30, calendar="360_day")], dtype=object)
        with pytest.raises(UnsupportedError, match=r'variable "x": xarray cannot encode times in months'):
            coded(dates, {"units": "months since 2000-01-01", "calendar": "360_day"})


class TestEncoding:
    def test_instead_of_that_of_the_variable(self) -> None:
        dataset = xr.Dataset({"x": ("t", [1.5, NAN], {}, {"zlib": True})})
        meta, arrays = encode(dataset, {"x": {"dtype": "f4"}})
        assert ".netcdf" not in meta["x"] and arrays["x"].dtype == "f4"
        assert dataset["x"].encoding == {"zlib": True}

    @pytest.mark.parametrize(
        ("encoding", "message"),
        [
            ({"x": {"chunksize": (1,)}}, r"variable \"x\": unexpected encoding.*did you mean chunksizes\?"),
            ({"x": {"units": "m"}}, r"variable \"x\": unexpected encoding parameters \['units'\]"),
            ({"x": "f4"}, "must be castable"),
        ],
    )
    def test_what_has_no_meaning_is_refused(self, encoding: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            encode(xr.Dataset({"x": ("t", [1.0])}), encoding)

    def test_an_unknown_variable(self) -> None:
        with pytest.raises(MissingError, match=r'variable "temperatur": .*did you mean temperature\?'):
            encode(xr.Dataset({"temperature": ("t", [1.0])}), {"temperatur": {}})

    def test_unlimited_dimensions(self) -> None:
        dataset = xr.Dataset({"x": (("t", "u"), np.zeros((2, 3)))})
        assert encode(dataset)[0]["."] == {}
        assert encode(dataset, unlimited_dims="u")[0]["."] == {".netcdf": {"unlimited": ["u"]}}
        dataset.encoding = {"unlimited_dims": {"t"}, ".netcdf": {"format": "NETCDF4_CLASSIC", "unlimited": ["u"]}}
        assert encode(dataset)[0]["."][".netcdf"] == {"format": "NETCDF4_CLASSIC", "unlimited": ["t"]}
        with pytest.raises(UnsupportedError, match="Unlimited dimension"):
            encode(dataset, unlimited_dims=["v"])
        dataset.encoding = {"unlimited_dims": ["v"]}
        with pytest.warns(UserWarning, match="Unlimited dimension"):
            encode(dataset)

    @pytest.mark.parametrize("name", [0, (1, 2)])
    def test_names_are_text(self, name: Any) -> None:
        with pytest.raises(TypeError, match="string or None"):
            encode(xr.Dataset({name: ("t", [1])}))

    def test_a_variable_without_a_name(self) -> None:
        assert list(encode(xr.Dataset({None: ("t", [1])}))[1]) == ["__values__"]
        with pytest.raises(UnsupportedError, match='variable "__values__": found two variables of this name'):
            encode(xr.Dataset({None: ("t", [1]), "__values__": ("t", [1])}))

    def test_names_without_groups(self) -> None:
        with pytest.raises(UnsupportedError, match="expected a DataTree"):
            encode(xr.Dataset({"a/x": ("t", [1])}))
        with pytest.raises(UnsupportedError, match='not allowed in the name "a/t" of a dimension'):
            encode(xr.Dataset({"x": ("a/t", [1])}))

    def test_what_the_coders_refuse_is_named(self) -> None:
        with pytest.raises(UnsupportedError, match=r'variable "x": .*_FillValue'):
            coded([1.0, NAN], {"_FillValue": 1.0}, {"_FillValue": 2.0})


class TestDask:
    def test_nothing_is_computed(self) -> None:
        def refuse(block: Any) -> Any:
            raise AssertionError("computed")

        base = dask_array.zeros(6, chunks=2)
        lazy = base.map_blocks(refuse, dtype=float, meta=np.empty(0))
        times = base.map_blocks(refuse, dtype="M8[ns]", meta=np.empty(0, "M8[ns]"))
        text = base.map_blocks(refuse, dtype="U3", meta=np.empty(0, "U3"))
        dataset = xr.Dataset({"x": ("t", lazy), "p": ("t", lazy), "i": ("t", lazy.astype("i4"))})
        dataset = dataset.assign(time=("t", times), s=("t", text), b=("t", lazy.astype(bool)), f=("t", lazy))
        dataset["p"].encoding = {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}
        dataset["f"].encoding = {"_FillValue": -1.0}
        dataset["i"].attrs = {"_FillValue": np.int32(-1)}
        dataset["o"] = ("t", lazy.astype(object), {}, {"ds_missing": "unicode"})
        meta, arrays = encode(dataset)
        missing = {key: entry[".missing"] for key, entry in meta.items() if key != "."}
        assert missing == {
            "x": False,
            "p": True,
            "i": True,
            "time": False,
            "s": False,
            "b": False,
            "f": False,
            "o": True,
        }
        assert all(isinstance(array, dask_array.Array) for array in arrays.values())

    def test_nan_stays_in_place(self) -> None:
        chunked = dask_array.from_array(np.array([1, NAN, -9]), chunks=1)
        entry, array = coded(chunked, {"_FillValue": -9.0, "missing_value": -9.0})
        assert not entry[".missing"] and entry["_FillValue"] == entry["missing_value"] == -9
        assert np.array_equal(array.compute(), [1, NAN, -9], equal_nan=True)
        entry, array = coded(chunked, {"missing_value": -9.0})
        assert "_FillValue" not in entry and entry["missing_value"] == -9

    def test_nan_is_masked_if_asked_for(self) -> None:
        chunked = dask_array.from_array(np.array([1, NAN, -9]), chunks=1)
        entry, array = coded(chunked, {"_FillValue": -9.0}, mask=True)
        assert entry[".missing"] and array.compute().tolist() == [1, None, -9]
        assert not coded(chunked, mask=True)[0][".missing"]

    def test_integers_are_masked(self) -> None:
        chunked = dask_array.from_array(np.array([1, NAN, 3]), chunks=2)
        entry, array = coded(chunked, {"dtype": "i2", "_FillValue": -9})
        assert entry[".missing"] and array.compute().tolist() == [1, None, 3] and array.dtype == "i2"
        assert array.compute().fill_value == 0  # of this type: what is not cannot be sent to other workers

    def test_sentinels_are_masked(self) -> None:
        chunked = dask_array.from_array(np.array([1, -9, 3], "i2"), chunks=2)
        entry, array = coded(chunked, attrs={"_FillValue": np.int16(-9)})
        assert entry[".missing"] and array.compute().tolist() == [1, None, 3]

    def test_times(self) -> None:
        times = dask_array.from_array(np.array(["2000-01-01", "NaT"], "M8[s]"), chunks=1)
        entry, array = coded(times)
        assert not entry[".missing"] and array.dtype == "i8"  # NaT is a number of its own there
        encoding = {"units": "days since 2000-01-01", "dtype": "i4", "_FillValue": -1}
        entry, array = coded(times, encoding)
        assert entry[".missing"] and array.compute().tolist() == [0, None] and array.dtype == "i4"
        with pytest.raises(UnsupportedError, match=r'variable "x": .*both the units and dtype'):
            coded(times, {"units": "days since 2000-01-01"})

    def test_calendars_keep_their_silence(self) -> None:
        times = dask_array.from_array(np.array(["2000-01-01", "2000-01-02"], "M8[ns]"), chunks=1)
        entry, array = coded(times, {"units": "days since 2001-01-01", "dtype": "f8"})
        assert "calendar" not in entry and array.compute().tolist() == [-366, -365]

    def test_blocks_of_times_are_of_their_type(self) -> None:
        cftime = pytest.importorskip("cftime")
        dates = np.array([cftime.datetime(2000, 2, 30, calendar="360_day")] * 2, dtype=object)
        lazy = dask_array.from_array(dates, chunks=1)
        _, array = coded(lazy, {"units": "days since 2000-02-30", "dtype": np.dtype("f8")})
        assert isinstance(array, dask_array.Array) and array.blocks[0].compute().dtype == array.dtype == "f8"

    def test_text(self) -> None:
        objects = dask_array.from_array(np.array(["a", None], dtype=object), chunks=1)
        with pytest.warns(xr.SerializationWarning, match="dask array with dtype=object"):
            entry, array = coded(objects)
        assert entry[".missing"] and array.tolist() == ["a", None]
        entry, array = coded(objects, {"ds_missing": "unicode"})
        assert entry[".type"] == "unicode" and array.compute().tolist() == ["a", None]

    def test_unknown_sizes_are_refused(self) -> None:
        values = dask_array.from_array(np.arange(4), chunks=2)
        dataset = xr.Dataset({"x": ("t", values)})
        dataset["x"].variable._data = values[values > 1]
        with pytest.raises(DsError, match=r'variable "x": .*unknown sizes'):
            encode(dataset)
