"""Packed numbers: what they stand for is what the netCDF4 library says."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import cmd
from ds_format.base.dtypes import HDF5
from ds_format.cli import main
from ds_format.kernels.common.masked import unpack_usual
from ds_format.many.merging import merge_files
from ds_format.model import packing
from ds_format.model.conventions import BOUNDS
from ds_format.model.selection import Selection
from ds_format.views.subset import open_subset

from .numpy_versions import NUMPY_2
from .same import same_data

NUMBERS: tuple[Any, ...] = (0.01, 1.0, np.float32(0.1), np.float32(1), np.float64(273.15), np.float32(0))
if NUMPY_2:
    NUMBERS += (0, 1, 2, np.int16(3))  # with NumPy 1, the library makes integers as narrow as the array
OTHERS = ("x", np.array([1.0, 2.0]))
EARTH = {"units": "K", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-1), "valid_min": np.int16(0)}


MASK = np.array([[0, 0], [0, 1], [0, 0], [0, 0]], bool)


def packed(path: Path) -> Path:
    """Make a file with a packed variable, its packed coordinate and a packed scalar."""
    ds.write(
        path,
        {
            "t": np.array([0, 100, 200, 300], "i2"),
            "x": np.ma.MaskedArray(np.arange(8, dtype="i2").reshape(4, 2), MASK),
            "s": np.int8(-1),
            "floats": np.array([1.5, 2.5]),
            ".": {
                "t": {".dims": ["t"], "units": "days since 2000-01-01", "scale_factor": np.float32(0.01)},
                "x": {".dims": ["t", "i"], **EARTH},
                "s": {".dims": [], "_Unsigned": "true"},
                "floats": {".dims": ["i"], "scale_factor": 2.0},
                ".": {},
            },
        },
    )
    return path


@given(
    code=st.sampled_from(["i1", "i2", "i4", "u1", "u2", "u4", "i8", "f4", "f8"]),
    scale=st.none() | st.sampled_from(NUMBERS + OTHERS),
    offset=st.none() | st.sampled_from(NUMBERS + OTHERS),
    unsigned=st.sampled_from([None, "true", "false"]),
    fill=st.sampled_from([None, 5]),
)
def test_as_the_library_does(
    tmp_path_factory: pytest.TempPathFactory, code: str, scale: Any, offset: Any, unsigned: str | None, fill: int | None
) -> None:
    path = tmp_path_factory.mktemp("packed") / "x.nc"
    given_attributes = {"scale_factor": scale, "add_offset": offset, "_Unsigned": unsigned}
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", 5)
        variable = file.createVariable("x", code, ("n",), fill_value=fill)
        variable.setncatts({name: value for name, value in given_attributes.items() if value is not None})
        variable.set_auto_maskandscale(False)
        # the last one is the default fill value, which is a number like others where it represents an unsigned one
        variable[:] = np.array([0, 1, 5, 100, netCDF4.default_fillvals[code]], code)
    with netCDF4.Dataset(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about attributes that are no numbers
        expected = file["x"][...]
    is_masked = bool(np.ma.getmaskarray(expected).any())
    plain = expected if is_masked else np.ma.getdata(expected)
    ds.convert(path, path.with_suffix(".ds"))
    for found in (ds.read(path, unpack=True), ds.read(path), ds.read(path.with_suffix(".ds"))):
        assert same_data(found["x"], plain)
        assert found["."]["x"][".type"] == found["x"].dtype.name


def test_files_as_the_reference_unpacks_them() -> None:
    found = ds.read(Path(__file__).parent / "golden" / "netcdf" / "packed.nc", unpack=True)
    assert found["p"].tolist() == [273.15, 280.0, 290.54999999999995, None]
    assert same_data(found["p4"], np.array([10.0, 11.0, 12.5, 13.0], "f4"))
    assert same_data(found["si"], np.array([2, 4, 6, 8], "i4"))
    assert same_data(found["u"], np.array([0, 100, 200, 255], "u1"))


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("code", ["u1", "i2", "i4"])
@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (2, "i8"),
        (-1, "i8"),
        (100_000, "i8"),
        (0.5, "f8"),
        (np.int64(2), "i8"),
        (np.float64(0.5), "f8"),
    ],
)
def test_numbers_without_a_type_are_wide(
    tmp_path: Path, shape: tuple[int, ...], code: str, scale: Any, expected: str
) -> None:
    """Numbers of JSON have no type. NumPy takes them as narrow as the array, in which 200 * 2 is 144."""
    values = np.full(shape, 200, code)
    dataset = {"x": values, ".": {"x": {".dims": ["t"][: len(shape)], "scale_factor": scale, "add_offset": scale}}}
    for suffix in ("ds", "json", "nc", "h5"):
        if suffix == "h5":
            pytest.importorskip("h5py")
        path = tmp_path / f"x.{suffix}"
        ds.write(path, dataset)
        found = ds.read(path, unpack=True)
        assert same_data(np.asarray(found["x"]), values.astype(expected) * scale + scale)
        assert found["."]["x"][".type"] == np.dtype(expected).name


def test_a_number_beyond_all_types_packs_nothing() -> None:
    assert not packing.is_packed({"scale_factor": 1 << 64}, "int8")
    assert packing.is_packed({"scale_factor": (1 << 64) - 1}, "int8")


def test_floats_are_packed_where_their_file_follows_netcdf() -> None:
    assert not packing.is_packed({"scale_factor": 2.0}, "float32")
    for record in (".netcdf", ".hdf5"):
        assert packing.is_packed({"scale_factor": 2.0, record: {"packed": True}}, "float32")
        assert not packing.is_packed({"scale_factor": "x", record: {"packed": True}}, "float32")
        assert not packing.is_packed({"scale_factor": 2.0, record: {"packed": True}}, "bool")
    assert not packing.is_packed({"scale_factor": 2.0}, None)
    assert not packing.is_packed({"scale_factor": True}, "int8")
    assert not packing.is_packed({"units": "K"}, "int8")
    assert not packing.is_packed({"_Unsigned": "true"}, "uint8")


@pytest.mark.parametrize("suffix", ["ds", "nc", "h5", "json"])
def test_a_file_that_is_read_unpacked(tmp_path: Path, suffix: str) -> None:
    path = packed(tmp_path / f"x.{suffix}")
    found = ds.read(path, unpack=True)
    values = 10 + 0.5 * np.arange(8).reshape(4, 2)
    assert same_data(found["x"], np.ma.MaskedArray(values, MASK))
    assert same_data(found["t"], np.array([0, 100, 200, 300], "i2") * np.float32(0.01))
    assert (found["s"], found["s"].dtype) == (255, np.uint8)
    follows_netcdf = suffix in ("nc", "h5")
    assert found["floats"].tolist() == ([3.0, 5.0] if follows_netcdf else [1.5, 2.5])
    assert ds.attrs(found, "x") == {"units": "K"}
    assert (ds.meta(found, "x")[".type"], ds.meta(found, "t")[".type"]) == ("float64", "float32")
    assert ds.attrs(found, "floats") == ({} if follows_netcdf else {"scale_factor": 2.0})
    raw = ds.read(path, unpack=False)
    assert raw["x"].dtype == np.int16
    assert ds.attr(raw, "add_offset", var="x") == 10.0
    assert same_data(ds.read(path, "x", {"t": [1, 2], "i": 0}, unpack=True)["x"], np.array([11.0, 12.0]))


def test_the_netcdf_reader_unpacks(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.nc")
    assert ds.from_netcdf(path, ["x"], {"t": 0})["x"].tolist() == [10.0, 10.5]
    assert ds.from_netcdf(path, ["x"], {"t": 0}, unpack=True)["x"].tolist() == [10.0, 10.5]
    assert ds.from_netcdf(path, ["x"], {"t": 0}, unpack=False)["x"].tolist() == [0, 1]


@pytest.mark.parametrize("first", ["nc", "h5"])
@pytest.mark.parametrize("second", [None, "ds", "json", "h5", "bpk", "nc"])
def test_what_netcdf_and_hdf5_packed_is_unpacked_wherever_it_went(
    tmp_path: Path, first: str, second: str | None
) -> None:
    path = origin = packed(tmp_path / f"x.{first}")
    stored = ds.read(origin, unpack=False)
    if second is not None:
        path = tmp_path / f"y.{second}"
        ds.convert(origin, path)
        again = ds.read(path, unpack=False)
        assert same_data(again["x"], stored["x"])
        assert ds.attrs(again, "x") == ds.attrs(stored, "x")
    expected = ds.read(origin, unpack=True)
    assert expected["x"].dtype == np.float64
    for found in (ds.read(path), ds.read(path, sel={"t": slice(None)}), *ds.read_many([path])):
        for key in ("x", "t", "s", "floats"):
            assert same_data(found[key], expected[key]), key
            assert ds.attrs(found, key) == ds.attrs(expected, key)
            assert found["."][key][".type"] == found[key].dtype.name
            assert "packed" not in str(found["."][key])
    some = ds.read(path, ["x"], full=True)
    assert (some["x"].dtype, some["."]["t"][".type"]) == (np.float64, "int16")
    with ds.open(path) as file:
        assert (file["x"].dtype.name, file["x"].type, file["s"].dtype.name) == ("float64", "float64", "uint8")
        assert file["x"][2].tolist() == [12.0, 12.5]
        assert np.ma.concatenate([*file["x"].blocks(32)]).tolist() == expected["x"].tolist()
        assert "scale_factor" not in file["x"].attrs
    with ds.open(path, unpack=False) as file:
        assert (file["x"].dtype.name, file["x"][2].tolist()) == ("int16", [4, 5])


@pytest.mark.parametrize("suffix", ["ds", "json", "bpk"])
def test_what_was_packed_by_somebody_else_stays_as_it_is(tmp_path: Path, suffix: str) -> None:
    path = packed(tmp_path / f"x.{suffix}")
    for found in (ds.read(path), ds.read(path, sel={"t": slice(None)}), *ds.read_many([path])):
        assert found["x"].dtype == np.int16
        assert ds.attr(found, "scale_factor", var="x") == 0.5
    assert ds.read_many([path, path], dim="t")["x"].dtype == np.int16
    with ds.open(path) as file:
        assert (file["x"].dtype.name, file["x"][2].tolist()) == ("int16", [4, 5])
    with ds.open(path, unpack=True) as file:
        assert (file["x"].dtype.name, file["x"][2].tolist()) == ("float64", [12.0, 12.5])
    assert [found["x"].dtype for found in ds.read_many([path, path], unpack=True)] == [np.float64] * 2
    assert ds.read_many([path, path], "x", dim="t", unpack=True)["x"][-1].tolist() == [13.0, 13.5]


@pytest.mark.parametrize("suffix", ["nc", "ds"])
def test_many_files_are_unpacked(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    ds.convert(packed(tmp_path / "x.nc"), folder / f"a.{suffix}")
    ds.convert(tmp_path / "x.nc", folder / f"b.{suffix}")
    paths = sorted(folder.iterdir())
    once = ds.read(paths[0], unpack=True)["x"]
    twice = np.ma.concatenate([once, once])
    assert [same_data(found["x"], once) for found in ds.read_many(paths)] == [True, True]
    assert [same_data(found["x"], once) for found in ds.readdir(folder)] == [True, True]
    for merged in (ds.read_many(paths, dim="t"), ds.readdir(folder, merge="t"), ds.readdir(folder, merge="t", jd=True)):
        assert same_data(merged["x"], twice)
        assert "scale_factor" not in merged["."]["x"]
    for merged in (
        ds.read_many(paths, dim="t", unpack=False),
        ds.readdir(folder, merge="t", unpack=False),
        ds.readdir(folder, unpack=False)[0],
        ds.read_many(paths, unpack=False)[1],
    ):
        assert merged["x"].dtype == np.int16
        assert ds.attr(merged, "scale_factor", var="x") == 0.5


def test_what_is_written_raw_stays_packed(tmp_path: Path) -> None:
    stored = ds.read(packed(tmp_path / "x.nc"), unpack=False)
    ds.write(tmp_path / "y.ds", stored)
    assert ds.read(tmp_path / "y.ds")["x"].dtype == np.float64
    assert same_data(ds.read(tmp_path / "y.ds", unpack=False)["x"], stored["x"])
    ds.write(tmp_path / "z.nc", ds.read(tmp_path / "x.nc"))
    with netCDF4.Dataset(tmp_path / "z.nc") as file:
        assert (file["x"].dtype, "scale_factor" in file["x"].ncattrs()) == (np.float64, False)
        assert file["x"][0].tolist() == [10.0, 10.5]


def test_commands_copy_what_is_packed(tmp_path: Path) -> None:
    path, out = str(packed(tmp_path / "x.nc")), str(tmp_path / "out.ds")
    cmd.select("x", "floats", path, out)
    cmd.set_("x", {"units": "C"}, out, out)
    cmd.rm("floats", out, out)
    cmd.merge("t", out, out, str(tmp_path / "merged.nc"))
    found = ds.read(tmp_path / "merged.nc", unpack=False)
    assert (found["x"].dtype, ds.attr(found, "scale_factor", var="x")) == (np.int16, 0.5)
    assert found["x"].tolist() == 2 * ds.read(path, unpack=False)["x"].tolist()


def test_parts_and_blocks(tmp_path: Path) -> None:
    with open_subset(packed(tmp_path / "x.ds"), unpack=True) as source:
        assert source.stored("t") is None
        assert source.read("x", (2, range(2))).tolist() == [12.0, 12.5]
        blocks = [*source.blocks("x", 32)]
        assert len(blocks) > 1
        assert np.ma.concatenate(blocks).tolist() == source.read("x").tolist()
        assert {block.dtype.name for block in blocks} == {"float64"}
    with open_subset(tmp_path / "x.ds", Selection(["x"], {"i": 1}), unpack=True) as source:
        assert np.ma.concatenate([*source.blocks("x")]).tolist() == [10.5, None, 12.5, 13.5]


def test_what_is_selected_by_packed_numbers(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.ds")
    assert ds.read(path, "t", at={"t": 2.1})["t"] == 200
    assert ds.read(path, "t", between={"t": (1, 3)})["t"].tolist() == [100, 200]
    assert ds.read(path, "t", at={"t": "2000-01-04"})["t"] == 300
    dataset = ds.read(path)
    ds.select(dataset, {}, at={"t": [0, 3]})
    assert dataset["t"].tolist() == [0, 300]


def test_packed_times_become_julian_dates(tmp_path: Path) -> None:
    found = ds.read(packed(tmp_path / "x.ds"), ["t", "x"], at={"t": 2451546.0}, jd=True)
    assert found["t"] == 2451545.5
    assert "scale_factor" not in found["."]["t"]
    assert found["x"].dtype == np.int16
    one = ds.read(tmp_path / "x.ds", ["t"])
    other = {"t": np.array([0.0]), ".": {"t": {".dims": ["t"], "units": "days since 2000-01-11"}}}
    merged = ds.merge([one, other], "t")
    assert merged["t"].tolist() == [2451544.5, 2451545.5, 2451546.5, 2451547.5, 2451554.5]
    assert sorted(merged["."]["t"]) == [".dims", ".size", ".time", ".type", "calendar", "units"]


def test_files_packed_differently_are_merged_unpacked(tmp_path: Path) -> None:
    ds.write(tmp_path / "y.ds", {"x": np.array([[0.25, 1.0]]), ".": {"x": {".dims": ["t", "i"], "units": "K"}}})
    for name in ("x", "y"):
        ds.convert(packed(tmp_path / "x.ds") if name == "x" else tmp_path / "y.ds", tmp_path / f"{name}.ds", ["x"])
    with pytest.warns(UserWarning, match='"x": packed differently in the inputs: written as float64'):
        merge_files("t", [tmp_path / "x.ds", tmp_path / "y.ds"], tmp_path / "merged.ds")
    merged = ds.read(tmp_path / "merged.ds")
    assert merged["x"].tolist() == [[10.0, 10.5], [11.0, None], [12.0, 12.5], [13.0, 13.5], [0.25, 1.0]]
    assert ds.attrs(merged, "x") == {"units": "K"}


@pytest.mark.parametrize("file_format", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize(("suffix", "n"), [("nc", 4), ("nc", 20_000), ("ds", 4), ("ds", 20_000), ("json", 4)])
def test_packed_floats_are_unpacked_by_all_readers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file_format: Any, suffix: str, n: int
) -> None:
    """As in files of reanalyses: 2629 stands for 262.9 K."""
    origins, expected = [], []
    for i, scale in enumerate([0.1, 0.5]):
        origins.append(tmp_path / f"{i}.nc")
        with netCDF4.Dataset(origins[-1], "w", format=file_format) as file:
            file.createDimension("time", None)
            for name, scales in (("t", scale), ("time", np.float32(0.5))):
                variable = file.createVariable(name, "f4", ("time",), fill_value=-1)
                variable.setncatts({"scale_factor": scales, "units": "K"})
                variable.set_auto_maskandscale(False)
                variable[:] = np.arange(n, dtype="f4") + (2629 if name == "t" else n * i)
                variable[3] = -1
        with netCDF4.Dataset(origins[-1]) as file:
            expected.append(file["t"][...])
    paths = [path.with_suffix(f".{suffix}") for path in origins]
    for path, origin in zip(paths, origins, strict=True):
        if path != origin:
            ds.convert(origin, path)
    with ds.open(paths[0]) as file:
        assert same_data(np.ma.concatenate([*file["t"].blocks(1024)]), expected[0])
    assert same_data(ds.read(paths[0], "t", between={"time": (0.5, 1.5)})["t"], np.ma.getdata(expected[0][1:3]))
    with pytest.warns(ds.LossWarning, match="CSV cannot hold"):
        ds.convert(paths[0], tmp_path / "t.csv", ["t"])
    assert ds.read(tmp_path / "t.csv")["t"].tolist() == expected[0].tolist()
    capsys.readouterr()
    assert main(["stats", "-j", "t", str(paths[0])]) == 0
    assert json.loads(capsys.readouterr().out)["min"] == expected[0].min()
    both = np.ma.concatenate(expected)
    assert same_data(ds.read_many(paths, dim="time")["t"], both)
    with pytest.warns(UserWarning, match='"t": packed differently in the inputs: written as float64'):
        merge_files("time", paths, tmp_path / "merged.ds")
    assert same_data(ds.read(tmp_path / "merged.ds")["t"], both)
    found = ds.open_many(paths, "time")["t"]
    assert np.array_equal(found.values, both.filled(np.nan), equal_nan=True)


def test_floats_unpacked_before_are_merged_with_packed_ones(tmp_path: Path) -> None:
    """A ds file of ds-format 5.0.2 has unpacked floats, and still the attributes."""
    entry = {".dims": ["i"], "scale_factor": 0.5}
    ds.write(tmp_path / "old.ds", {"x": np.array([1.5]), ".": {"x": entry}})
    ds.write(tmp_path / "new.nc", {"x": np.array([3.0]), ".": {"x": entry}})
    paths = [tmp_path / "old.ds", tmp_path / "new.nc"]
    assert ds.read(paths[0])["x"] == 1.5
    for merged in (ds.read_many(paths, dim="i"), ds.merge([ds.read(path, unpack=False) for path in paths], "i")):
        assert merged["x"].tolist() == [1.5, 1.5]


def test_unpacked_values_have_no_settings_of_packed_ones(tmp_path: Path) -> None:
    """The default fill value of the packed type marks no unpacked number, whether a value was left unwritten or not."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("i", 4)
        for name, n in (("some", 2), ("all", 4)):
            variable = file.createVariable(name, "u4", ("i",))
            variable.set_auto_maskandscale(False)
            variable.scale_factor = 0.5
            variable[:n] = range(n)
    ds.convert(tmp_path / "a.nc", tmp_path / "a.ds")
    for path in (tmp_path / "a.nc", tmp_path / "a.ds"):
        found = ds.read(path)
        assert found["some"].tolist() == [0, 0.5, None, None]
        assert not any(".netcdf" in found["."][name] for name in ("some", "all"))


def test_the_kernel_removes_what_unpacked_variables_do_not_have() -> None:
    names = (*packing.ATTRIBUTES, *packing.OF_PACKED, "units")
    record = dict.fromkeys((*packing.SETTINGS_OF_PACKED, "chunks"), True)
    entry = {".type": "int16", ".netcdf": record, **dict.fromkeys(names, 2.0), "_Unsigned": "false"}
    meta = {"x": dict(entry)}
    assert unpack_usual({"x": np.arange(3, dtype="i2")}, meta)
    assert meta["x"] == packing.unpacked_meta(entry) == {".type": "float64", ".netcdf": {"chunks": True}, "units": 2.0}
    for name in (HDF5, *BOUNDS):
        assert not unpack_usual({"x": np.arange(3, dtype="i2")}, {"x": {**entry, name: "b"}})


FLOATS = st.sampled_from([None, 1.0, 0.0, 0.1, -2.5, np.float32(0.1), np.float32(1), np.float64(1e300), np.nan, 3, "x"])


@given(
    code=st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]),
    scale=FLOATS,
    offset=FLOATS,
    unsigned=st.sampled_from([None, "true", "false", 1]),
    record=st.sampled_from([None, {}, {"packed": True}, {"packed": True, "fill": "none"}, {"packed": False}]),
    mask=st.sampled_from([None, [0, 1, 0], [1, 1, 1], [0, 0, 0]]),
    fill_value=st.none() | st.integers(0, 5),
)
def test_all_of_a_dataset_is_unpacked_as_one_variable_after_another(
    code: str, scale: Any, offset: Any, unsigned: Any, record: Any, mask: Any, fill_value: Any
) -> None:
    given = {"scale_factor": scale, "add_offset": offset, "_Unsigned": unsigned, ".netcdf": record}
    entry = {".type": np.dtype(code).name, "units": "K", **{k: v for k, v in given.items() if v is not None}}
    entry |= {"_FillValue": np.dtype(code).type(3), "long_name": "x"}
    values: Any = np.array([0, 100, -100 if code[0] != "u" else 250]).astype(code)
    if mask is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = np.ma.MaskedArray(values, mask, fill_value=fill_value)
    found, meta = {"x": values, "y": np.arange(3)}, {"x": dict(entry), "y": {".type": "int64"}, ".": {}}
    with np.errstate(all="ignore"):
        if not unpack_usual(found, meta):
            packing.unpack_all(found, meta, None)
        expected, changed = values, entry
        if packing.is_unpacked_by(None, entry):
            expected, changed = numpy_unpacks(values, entry), packing.unpacked_meta(entry)
    assert same_data(found["x"], expected)
    assert [*meta["x"].items()] == [*changed.items()]
    if mask is not None:
        assert found["x"].fill_value == expected.fill_value
    assert found["y"].tolist() == [0, 1, 2]


def numpy_unpacks(values: Any, attrs: dict[str, Any]) -> Any:
    """Return what packed numbers represent, in NumPy's words."""
    data = np.ma.getdata(values)
    if attrs.get("_Unsigned") == "true" and data.dtype.kind == "i":
        data = data.view(f"u{data.itemsize}")
    scale, offset = (None if name not in attrs else np.asarray(attrs[name]) for name in ("scale_factor", "add_offset"))
    if scale is not None and offset is not None and scale == 1 and offset == 0:
        data = data.astype(scale.dtype)
    else:
        if scale is not None and (scale != 1 or offset is not None):
            data = np.multiply(data, scale, dtype=np.result_type(data.dtype, scale.dtype))
        if offset is not None and (offset != 0 or scale is not None):
            data = np.add(data, offset, dtype=np.result_type(data.dtype, offset.dtype))
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.MaskedArray(data, np.ma.getmask(values), fill_value=values.fill_value)
    return data
