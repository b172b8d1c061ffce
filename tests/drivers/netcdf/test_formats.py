"""File formats, storage settings, and what does not fit them."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf import NetCDFWarning
from ds_format.drivers.netcdf.definition import misfit, plan_file
from ds_format.drivers.netcdf.format import is_available
from ds_format.errors import UnsupportedError

from ..netcdf_compare import differences
from .files import convert, make, read_all, same, var, write_all

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"]


def fill(file: Any) -> None:
    file.createDimension("t", None)
    file.createDimension("n", 3)
    file.createDimension("length", 4)
    file.createDimension("unused", 7)
    file.setncattr("title", "žluť".encode())
    for code in ("i1", "i2", "i4", "f4", "f8"):
        v = file.createVariable(code, code, ("t", "n"))
        v.setncattr("units", "m")
        v[0:2] = np.arange(6).reshape(2, 3)
    file.createVariable("chars", "S1", ("t", "length"))[0:2] = (
        np.array([b"ab", b"xyz\0"], "S4").reshape(2, 1).view("S1")
    )
    file.createVariable("fixed", "f8", ("n",), fill_value=-1.0)[:] = [-1, 2, 3]
    file.createVariable("scalar", "i4", ())[...] = 5


@pytest.mark.parametrize("format", FORMATS)
def test_formats_come_back(format: str, tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", format) as file:
        fill(file)
    meta, _ = read_all(tmp_path / "a.nc")
    record = {"unlimited": ["t"], "dimensions": {"unused": 7}}
    assert meta["."][".netcdf"] == ({"format": format, **record} if format != "NETCDF4" else record)
    convert(tmp_path / "a.nc", tmp_path / "b.nc", 20)
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_a_format_can_be_asked_for(source: str, target: str, tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", source) as file:
        fill(file)
    convert(tmp_path / "a.nc", tmp_path / "b.nc", format=target)
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file.data_model == target
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc", storage=False) == []


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "int64": ({"x": var(["n"], [2], "int64", missing=False)}, 'variable "x": .* type int64'),
    "uint8": ({"x": var(["n"], [2], "uint8", missing=False)}, 'variable "x": .* type uint8'),
    "group": ({"g/x": var(["n"], [2], "int32", missing=False)}, 'cannot hold group "g"'),
    "two empty": ({"x": var(["n", "m"], [0, 0], "int32")}, "unlimited dimensions"),
    "last empty": ({"x": var(["n", "m"], [2, 0], "int32")}, 'variable "x": .* not the first'),
    "enum": (
        {
            "x": var(
                ["n"], [2], "int8", missing=False, netcdf={"enum": {"name": "e", "type": "int8", "members": {"a": 1}}}
            )
        },
        'variable "x": .* an enum type',
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_a_recorded_format_cannot_hold(name: str, tmp_path: Path) -> None:
    meta, message = UNFIT[name]
    values = {key: np.ones(2, properties[".type"]) for key, properties in meta.items() if 0 not in properties[".size"]}
    dataset = {**meta, ".": {".netcdf": {"format": "NETCDF3_CLASSIC"}}}
    with pytest.warns(NetCDFWarning, match=rf"a\.nc: .*{message}.*: written as NETCDF4"):
        write_all(tmp_path / "a.nc", dataset, values)
    _, data = read_all(tmp_path / "a.nc")
    assert all(same(data[key], value) for key, value in values.items())
    with pytest.raises(UnsupportedError, match=message):
        write_all(tmp_path / "a.nc", meta, values, format="NETCDF3_CLASSIC")


def test_unsigned_and_long_integers_fit_cdf5(tmp_path: Path) -> None:
    meta = {code: var(["n"], [1], code, missing=False) for code in ("uint8", "int64", "uint64")}
    data = {code: np.array([200], code) for code in meta}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_all(tmp_path / "a.nc", meta, data, format="NETCDF3_64BIT_DATA")
    assert all(same(read_all(tmp_path / "a.nc")[1][code], data[code]) for code in meta)


def test_a_format_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match='found the format "NETCDF9", expected one of'):
        netcdf.create(tmp_path / "a.nc", {}, format="NETCDF9")
    # ... in a record is none
    write_all(tmp_path / "a.nc", {".": {".netcdf": {"format": "NETCDF9"}}}, {})


GIGA = 2**30


@pytest.mark.parametrize(
    ("sizes", "unlimited", "classic", "offset"),
    [
        ([(GIGA // 8,)], [], None, None),
        ([(3 * GIGA // 8,)], [], None, None),
        ([(3 * GIGA // 8,), (1,)], [], "v0", None),
        ([(5 * GIGA // 8,), (1,)], [], "v0", "v0"),
        ([(GIGA // 8,), (GIGA // 8,), (GIGA // 8,)], [], "v2", None),
        ([(1000, GIGA // 80), (1000, 1)], ["d0_0"], None, None),
        ([(1000, 3 * GIGA // 8), (1000, 1)], ["d0_0"], "v0", None),
    ],
)
def test_limits_of_classic_files(sizes: Any, unlimited: list[str], classic: str | None, offset: str | None) -> None:
    meta = {
        f"v{i}": var([f"d{k}_{size[k]}" for k in range(len(size))], list(size), "float64")
        for i, size in enumerate(sizes)
    }
    for i, size in enumerate(sizes):
        meta[f"v{i}"][".dims"] = ["d0_0" if unlimited and k == 0 else f"d{i}_{k}" for k in range(len(size))]
    plan = plan_file({**meta, ".": {".netcdf": {"unlimited": unlimited}}})
    for format, variable in {"NETCDF3_CLASSIC": classic, "NETCDF3_64BIT_OFFSET": offset, "NETCDF4": None}.items():
        reason = misfit(plan, format)
        assert (reason[0] if reason else None) == variable


def test_storage_settings_come_back(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", t=None, y=20, x=30) as file:
        settings: dict[str, dict[str, Any]] = {
            "zlib": {"zlib": True, "complevel": 7, "shuffle": False},
            "shuffled": {"zlib": True, "complevel": 1, "fletcher32": True, "chunksizes": (1, 5, 30)},
            "checked": {"fletcher32": True},
            "big": {"endian": "big", "zlib": True},
            "zstd": {"compression": "zstd", "complevel": 3},
            "bzip2": {"compression": "bzip2", "complevel": 9},
            "szip": {"compression": "szip", "szip_coding": "ec", "szip_pixels_per_block": 16},
            "blosc": {"compression": "blosc_lz4", "complevel": 5, "blosc_shuffle": 2},
        }
        for name, options in settings.items():
            dtype = ">i4" if name == "big" else "i4"
            if not is_available(file, options.get("compression", "zlib")):
                continue
            v = file.createVariable(name, dtype, ("t", "y", "x"), **options)
            v[0:3] = np.arange(1800).reshape(3, 20, 30)
        file.createVariable("fixed", "f4", ("y", "x"), chunksizes=(20, 7))[:] = 1
        file.createVariable("chars", "S1", ("y", "x"), zlib=True, chunksizes=(5, 30))[:] = b"a"
        file.createVariable("text", str, ("y",), chunksizes=(5,))[:] = np.array(["ž"] * 20, object)
    convert(tmp_path / "a.nc", tmp_path / "b.nc", 5000)
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_packed_and_rounded_values_stay_as_they_are(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", n=4) as file:
        v = file.createVariable("v", "f4", ("n",))
        v[:] = [0.12345, 1.23456, 2.34567, 3.45678]
        v.setncattr("least_significant_digit", 1)
        p = file.createVariable("p", "i2", ("n",), fill_value=-1)
        p.set_auto_maskandscale(False)
        p.setncatts({"scale_factor": 0.01, "add_offset": 273.15, "_Unsigned": "true"})
        p[:] = [-1, 2, -300, 4]
    _, data = read_all(tmp_path / "a.nc")
    assert data["v"].tolist() == np.array([0.12345, 1.23456, 2.34567, 3.45678], "f4").tolist()
    assert data["p"].dtype == "i2" and data["p"].tolist() == [None, 2, -300, 4]
    convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert differences(tmp_path / "a.nc", tmp_path / "b.nc") == []


def test_a_part_of_a_file_is_stored_in_smaller_chunks(tmp_path: Path) -> None:
    meta = {"x": var(["n"], [3], "int32", missing=False, netcdf={"chunks": [100], "compression": "zlib", "level": 2})}
    write_all(tmp_path / "a.nc", meta, {"x": np.arange(3, dtype="i4")})
    assert read_all(tmp_path / "a.nc")[0]["x"][".netcdf"] == {"chunks": [3], "compression": "zlib", "level": 2}


def test_compression_that_the_library_lacks(tmp_path: Path) -> None:
    meta = {"x": var(["n"], [3], "int32", missing=False, netcdf={"chunks": [3], "compression": "future"})}
    with pytest.warns(NetCDFWarning, match='variable "x": compression future is not available'):
        write_all(tmp_path / "a.nc", meta, {"x": np.arange(3, dtype="i4")})
    assert read_all(tmp_path / "a.nc")[0]["x"][".netcdf"] == {"chunks": [3]}


@pytest.mark.parametrize(
    "record",
    [
        5,
        {"chunks": "x", "level": [], "shuffle": 7, "endian": 3, "char": 1, "enum": [], "strings": 5, "fill": {}},
        {"chunks": [2, 2], "char": {"dim": 5, "size": "x"}, "strings": [1]},
        {"char": {"dim": "c", "size": -1}},
    ],
    ids=repr,
)
def test_damaged_records_do_no_harm(record: Any, tmp_path: Path) -> None:
    strings = np.array([b"a", b"bc"], object)
    meta = {
        "x": var(["n"], [2], "int32", missing=False, netcdf=record, a="b"),
        "s": var(["n"], [2], "str", missing=False, netcdf=record),
        ".": {
            ".netcdf": {"format": 1, "unlimited": 5, "dimensions": {"z": "x"}, "groups": "g", "enums": [{"name": 1}]}
        },
    }
    write_all(tmp_path / "a.nc", meta, {"x": np.arange(2, dtype="i4"), "s": strings})
    _, data = read_all(tmp_path / "a.nc")
    assert data["x"].tolist() == [0, 1] and data["s"].tolist() == [b"a", b"bc"]


def test_an_enum_type_of_other_values_is_left_out(tmp_path: Path) -> None:
    record = {"enum": {"name": "e", "type": "uint8", "members": {"a": 1}}}
    with pytest.warns(NetCDFWarning, match='variable "x": left out: its enum type'):
        write_all(tmp_path / "a.nc", {"x": var([], [], "float32", missing=False, netcdf=record)}, {"x": 1.5})


def test_strings_longer_than_recorded(tmp_path: Path) -> None:
    record = {"char": {"dim": "length", "size": 3}}
    meta = {"s": var(["n"], [2], "str", missing=False, netcdf=record)}
    write_all(tmp_path / "a.nc", meta, {"s": np.array([b"abc", b""], object)})
    assert read_all(tmp_path / "a.nc")[0]["s"][".netcdf"] == record
    with pytest.raises(UnsupportedError, match='variable "s": found a string of 4 bytes, expected at most the 3'):
        write_all(tmp_path / "a.nc", meta, {"s": np.array([b"abcd", b""], object)})


def test_a_recorded_dimension_of_characters_that_is_taken(tmp_path: Path) -> None:
    meta = {
        "s": var(["n"], [2], "str", missing=False, netcdf={"char": {"dim": "m", "size": 3}}),
        "x": var(["m"], [5], "int32", missing=False),
        "string3": var(["string3"], [1], "int32", missing=False),
    }
    data = {"s": np.array([b"abc", b"x"], object), "x": np.arange(5, dtype="i4"), "string3": np.ones(1, "i4")}
    write_all(tmp_path / "a.nc", meta, data)
    found, got = read_all(tmp_path / "a.nc")
    assert all(same(got[name], data[name]) for name in data)
    assert found["s"][".netcdf"] == {"char": {"dim": "string3_1", "size": 3}}


def test_an_unlimited_dimension_of_a_users_own(tmp_path: Path) -> None:
    meta = {"x": var(["time"], [2], "int32"), ".": {".netcdf": {"unlimited": ["time", "nowhere"]}}}
    write_all(tmp_path / "a.nc", meta, {"x": np.arange(2, dtype="i4")})
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file.dimensions["time"].isunlimited() and list(file.dimensions) == ["time"]


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize("names", [*itertools.permutations(["time", "x", "length", "unused"])][::3])
@pytest.mark.parametrize("n", [3, 600_000])
def test_dimensions_and_variables_keep_their_order(tmp_path: Path, kind: Any, names: tuple[str, ...], n: int) -> None:
    """Small files are read whole, the metadata of larger ones on demand."""
    with netCDF4.Dataset(tmp_path / "x.nc", "w", format=kind) as file:
        groups = [file] if kind == "NETCDF3_CLASSIC" else [file, file.createGroup("g")]
        for group in groups:
            for name in names:
                group.createDimension(name, None if name == "time" else n if name == "x" else 3)
            for name, code, dims in (
                ("flag", "S1", ("time",)),
                ("field", "f4", ("time", "x")),
                ("name", "S1", ("time", "length")),
                ("mark", "S1", ()),
                ("late", "i2", ("x",)),
            ):
                group.createVariable(name, code, dims).setncatts({"units": "1", "long_name": "b", "axis": "X"})
    ds.convert(tmp_path / "x.nc", tmp_path / "x.ds")
    ds.convert(tmp_path / "x.ds", tmp_path / "y.nc")
    ds.write(tmp_path / "z.nc", ds.read(tmp_path / "x.nc"))
    for written in ("y.nc", "z.nc"):
        with netCDF4.Dataset(tmp_path / "x.nc") as file, netCDF4.Dataset(tmp_path / written) as copy:
            for one, two in [(file, copy), *zip(file.groups.values(), copy.groups.values(), strict=True)]:
                assert [*two.dimensions] == [*names]
                assert two.dimensions["time"].isunlimited()
                assert [*two.variables] == [*one.variables]
                for name in one.variables:
                    assert two[name].ncattrs() == one[name].ncattrs()


def test_a_usual_order_of_dimensions_needs_no_setting(tmp_path: Path) -> None:
    for names in (["a", "b"], ["b", "a"]):
        with netCDF4.Dataset(tmp_path / "x.nc", "w") as file:
            for name in names:
                file.createDimension(name, 2)
            file.createVariable("x", "f4", ("a", "b"), fill_value=0.0)
        record = ds.read(tmp_path / "x.nc")["."]["."].get(".netcdf")
        assert record == (None if names == ["a", "b"] else {"order": names})
    dataset = ds.read(tmp_path / "x.nc")
    ds.rename_dim(dataset, "a", "c")
    ds.write(tmp_path / "y.nc", dataset)
    with netCDF4.Dataset(tmp_path / "y.nc") as file:
        assert [*file.dimensions] == ["b", "c"]
