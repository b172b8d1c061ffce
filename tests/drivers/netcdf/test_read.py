"""Reading: types, strings, booleans, enums, groups, parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from ds_format.api.conversion import convert as convert_file
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf import NetCDFWarning
from ds_format.errors import FormatError, UnsupportedError

from ..netcdf_compare import differences
from .files import convert, make, read_all, same


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.nc"


def test_characters_are_joined_along_the_last_dimension(path: Path) -> None:
    with make(path, n=2, m=3, length=4) as file:
        v = file.createVariable("v", "S1", ("n", "m", "length"))
        v[:] = np.array([["abcd", "", "x"], ["a b", " y ", "zz"]], "S4").reshape(2, 3, 1).view("S1")
    meta, data = read_all(path)
    assert meta["v"] == {
        ".dims": ["n", "m"],
        ".size": [2, 3],
        ".type": "str",
        ".missing": False,
        ".netcdf": {"char": {"dim": "length", "size": 4}},
    }
    assert data["v"].tolist() == [[b"abcd", b"", b"x"], [b"a b", b" y ", b"zz"]]


def test_inner_nuls_and_bytes_beyond_ascii_are_kept(path: Path, tmp_path: Path) -> None:
    with make(path, n=2, length=3) as file:
        v = file.createVariable("v", "S1", ("n", "length"))
        v.setncattr("_Encoding", "latin-1")
        v.set_auto_chartostring(False)
        v[:] = np.array([b"a\0b", b"\xe9"], "S3").reshape(2, 1).view("S1")
    meta, data = read_all(path)
    assert data["v"].tolist() == [b"a\0b", b"\xe9"]
    assert meta["v"]["_Encoding"] == "latin-1"
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_one_dimensional_characters_and_single_ones_are_scalars(path: Path, tmp_path: Path) -> None:
    with make(path, length=4) as file:
        file.createVariable("line", "S1", ("length",))[:] = np.array(list("abc\0"), "S1")
        file.createVariable("one", "S1", ())[...] = b"q"
        file.createVariable("none", "S1", ())[...] = b""
    meta, data = read_all(path)
    assert data == {"line": b"abc", "one": b"q", "none": b""}
    assert [meta[name][".size"] for name in data] == [[], [], []]
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_empty_dimension_of_characters(path: Path, tmp_path: Path) -> None:
    with make(path, n=2, length=None) as file:
        file.createVariable("v", "S1", ("n", "length"))
    _, data = read_all(path)
    assert data["v"].tolist() == [b"", b""]
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_strings_are_text(path: Path, tmp_path: Path) -> None:
    with make(path, n=3) as file:
        file.createVariable("v", str, ("n",))[:] = np.array(["žluť", "", "a\nb"], object)
        file.createVariable("s", str, ())[...] = "😀"
        file.createVariable("unwritten", str, ("n",))
    meta, data = read_all(path)
    assert data["v"].tolist() == ["žluť", "", "a\nb"] and data["v"].dtype == object
    assert data["s"] == "😀"
    assert data["unwritten"].tolist() == ["", "", ""]
    assert meta["v"] == {".dims": ["n"], ".size": [3], ".type": "unicode", ".missing": False}
    convert(path, tmp_path / "b.nc", 64)
    assert differences(path, tmp_path / "b.nc") == []


def test_strings_in_another_encoding(path: Path, tmp_path: Path) -> None:
    with make(path, n=2) as file:
        v = file.createVariable("v", str, ("n",))
        v.setncattr("_Encoding", "latin-1")
        v[:] = np.array(["é", "b"], object)
    assert read_all(path)[1]["v"].tolist() == ["é", "b"]
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_strings_that_are_not_utf8_are_an_error(path: Path) -> None:
    with make(path, n=1) as file:
        file.createVariable("v", str, ("n",))[:] = np.array([b"\xff\xfe"], object)
    with pytest.raises(FormatError, match='variable "v"'):
        read_all(path)


def test_booleans_as_xarray_writes_them(path: Path, tmp_path: Path) -> None:
    with make(path, n=3) as file:
        v = file.createVariable("v", "i1", ("n",), fill_value=False)
        v.setncattr("dtype", "bool")
        v[:] = [1, 0, 1]
        file.createVariable("w", "i1", ("n",)).setncattr("dtype", "float")
    meta, data = read_all(path)
    assert meta["v"] == {".dims": ["n"], ".size": [3], ".type": "bool", ".missing": False}
    assert same(data["v"], np.array([True, False, True]))
    assert meta["w"][".type"] == "int8" and meta["w"]["dtype"] == "float"
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_booleans_with_missing_ones(path: Path, tmp_path: Path) -> None:
    with make(path, n=3) as file:
        v = file.createVariable("v", "i1", ("n",), fill_value=-1)
        v.setncattr("dtype", "bool")
        v[:] = [1, -1, 0]
    _, data = read_all(path)
    assert same(data["v"], np.ma.array([True, False, False], mask=[False, True, False]))
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_booleans_other_than_0_and_1_are_an_error(path: Path) -> None:
    with make(path, n=3) as file:
        v = file.createVariable("v", "i1", ("n",))
        v.setncattr("dtype", "bool")
        v[:] = [1, 7, 0]
    with pytest.raises(FormatError, match=r'a\.nc: variable "v": found the value 7, expected 0 or 1'):
        read_all(path)


def test_enums_keep_their_names_and_unnamed_values(path: Path, tmp_path: Path) -> None:
    with make(path, n=3) as file:
        group = file.createGroup("g")
        enum = file.createEnumType("i2", "sky", {"clear": 0, "cloudy": 300, "rain": -5})
        file.createEnumType("u1", "unused", {"x": 1})
        v = group.createVariable("v", enum, ("n",), fill_value=300)
        enum.enum_dict = {"any": 7, **enum.enum_dict}
        v[:] = np.array([0, 7, 300], "i2")
        group.createVariable("unwritten", enum, ("n",))
    meta, data = read_all(path)
    members = {"clear": 0, "cloudy": 300, "rain": -5}
    assert meta["g/v"][".netcdf"] == {"enum": {"name": "sky", "type": "int16", "members": members}}
    assert same(data["g/v"], np.ma.array([0, 7, 0], "i2", mask=[False, False, True]))
    assert meta["."][".netcdf"]["enums"] == [{"name": "unused", "type": "uint8", "members": {"x": 1}}]
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_groups_dimensions_and_attributes_of_groups(path: Path, tmp_path: Path) -> None:
    with make(path, n=2, t=None) as file:
        file.setncattr("title", "root")
        inner = file.createGroup("g/h")
        inner.createDimension("n", 3)
        inner.createDimension("spare", None)
        inner.setncattr("title", "inner")
        file.createGroup("g/empty")
        file.createVariable("x", "i4", ("n",))[:] = [1, 2]
        inner.createVariable("x", "i4", ("t", "n"))[:] = np.arange(6).reshape(2, 3)
        inner.createVariable("s", "S1", ("n",))[:] = np.array(list("abc"), "S1")
    meta, data = read_all(path)
    assert set(data) == {"x", "g/h/x", "g/h/s"}
    assert meta["g/h/x"][".dims"] == ["t", "g/h/n"]
    assert meta["."]["title"] == "root" and meta["."]["g/h/title"] == "inner"
    assert meta["."][".netcdf"] == {
        "unlimited": ["t", "g/h/spare"],
        "dimensions": {"g/h/spare": 0},
        "groups": ["g", "g/h", "g/empty"],
    }
    assert data["g/h/s"].tolist() == [b"a", b"b", b"c"]  # their dimension is that of numbers, too
    convert(path, tmp_path / "b.nc")
    assert differences(path, tmp_path / "b.nc") == []


def test_names_of_properties_are_escaped(tmp_path: Path) -> None:
    # the library refuses to write such names, and reads them
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file[".v"] = np.arange(2)
        file.attrs[".dims"] = "x"
        file[".v"].attrs["\\a"] = 1
    meta, _ = read_all(tmp_path / "a.nc")
    assert "\\.v" in meta and meta["."]["\\.dims"] == "x" and meta["\\.v"]["\\\\a"] == 1


@pytest.mark.parametrize("kind", ["compound", "ragged", "opaque"])
def test_types_unknown_to_ds(kind: str, path: Path) -> None:
    h5py = pytest.importorskip("h5py") if kind == "opaque" else None
    if h5py is not None:
        with h5py.File(path, "w") as hdf:
            hdf["bad"] = np.array([b"ab"], dtype="V2")
            hdf["good"] = np.arange(2)
    else:
        with make(path, n=2) as file:
            types: dict[str, Any] = {
                "compound": lambda: file.createCompoundType(np.dtype([("a", "i4")]), "kind_t"),
                "ragged": lambda: file.createVLType("i4", "kind_t"),
            }
            file.createVariable("bad", types[kind](), ("n",))
            file.createVariable("good", "i4", ("n",))[:] = [0, 1]
    message = rf'a\.nc: variable "bad": the .*{"opaque" if h5py else "kind_t"}'
    source = netcdf.open(path)
    assert set(source.meta) == {".", "bad", "good"}
    assert source.read("good").tolist() == [0, 1]
    with pytest.raises(UnsupportedError, match=message):
        source.read("bad")
    with pytest.raises(UnsupportedError, match=message):
        list(source.blocks("bad"))
    source.close()
    with pytest.raises(UnsupportedError, match=message):
        convert_file(path, path.with_suffix(".ds"))
    assert not path.with_suffix(".ds").exists()
    convert_file(path, path.with_suffix(".ds"), ["good"])
    with pytest.warns(NetCDFWarning, match='variable "bad": left out: the '):
        meta, data = read_all(path, skip_unsupported=True)
    assert data["good"].tolist() == [0, 1] and set(meta) == {".", "good"}


def test_a_type_without_variables_is_told(path: Path) -> None:
    with make(path) as file:
        file.createVLType("i4", "ragged_t")
    with pytest.warns(NetCDFWarning, match='the type "ragged_t" is not supported by ds'):
        read_all(path)


PARTS: list[tuple[Any, ...]] = [
    (0, 1, 2),
    (range(5), range(4), range(6)),
    (range(4, -1, -2), 3, range(1, 6, 3)),
    (np.array([4, 0, 0, 2]), range(0), 5),
    (np.array([4, 0, 0, 2]), np.array([3, 1]), range(5, -1, -1)),
    (np.array([], np.int64), 0, 0),
]


@pytest.mark.parametrize("index", PARTS, ids=range(len(PARTS)))
@pytest.mark.parametrize("layout", ["contiguous", "chunked", "big-endian", "strings", "characters", "classic"])
def test_parts(layout: str, index: tuple[Any, ...], path: Path) -> None:
    numbers = np.arange(120).reshape(5, 4, 6)
    dims = ("a", "b", "c")
    want: Any = numbers.astype("i4")
    with make(path, "NETCDF3_CLASSIC" if layout == "classic" else "NETCDF4", a=5, b=4, c=6, length=3) as file:
        if layout == "strings":
            want = np.array([str(n) for n in range(120)], object).reshape(5, 4, 6)
            file.createVariable("v", str, dims)[:] = want
        elif layout == "characters":
            want = np.array([str(n).encode() for n in range(120)], object).reshape(5, 4, 6)
            file.createVariable("v", "S1", (*dims, "length"))[:] = netCDF4.stringtochar(want.astype("S3"))
        else:
            options: dict[str, Any] = {
                "chunked": {"chunksizes": (2, 3, 4), "zlib": True},
                "big-endian": {"endian": "big"},
            }
            dtype = ">i4" if layout == "big-endian" else "i4"
            file.createVariable("v", dtype, dims, fill_value=27, **options.get(layout, {}))[:] = numbers
            want = np.ma.MaskedArray(want, mask=want == 27)
    for axis, item in enumerate(index):
        want = want.take([item] if isinstance(item, int) else np.asarray(item, np.int64), axis=axis)
    want = want[tuple(0 if isinstance(item, int) else slice(None) for item in index)]
    if isinstance(want, np.ma.MaskedArray) and not np.ma.getmaskarray(want).any():
        want = want.data
    source = netcdf.open(path)
    found = source.read("v", index)
    source.close()
    assert same(found, want)
    if isinstance(found, np.ndarray):
        assert found.flags.writeable and found.dtype.isnative


def test_the_source_closes_twice(path: Path) -> None:
    make(path).close()
    source = netcdf.open(path)
    source.close()
    source.close()
