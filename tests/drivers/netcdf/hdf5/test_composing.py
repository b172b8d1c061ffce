"""NetCDF-4 files that no library writes: they are what a library writes, and others read and change them.

Small files are composed in memory, large ones are written as their values arrive. Tests write small ones in both ways.
"""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.netcdf import ordinary
from ds_format.drivers.netcdf.hdf5 import composing, sink
from ds_format.drivers.netcdf.hdf5.composing import PROPERTIES

from ....hdf5 import drawn
from ....hdf5.files import MAKERS
from ....same import same_dataset
from ...netcdf_compare import differences

pytestmark = [
    pytest.mark.filterwarnings("ignore:endian-ness"),
    pytest.mark.filterwarnings("ignore:.* is written as JSON text"),
]


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of files that were composed."""
    sizes: list[int] = []
    compose = composing.compose

    def noted(*given: Any) -> bytes:
        data = compose(*given)
        sizes.append(len(data))
        return data

    monkeypatch.setattr("ds_format.drivers.netcdf.hdf5.sink.compose", noted)
    return sizes


@pytest.fixture
def by_library(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after which libraries write all files."""

    def patch() -> None:
        monkeypatch.setattr(sink, "is_small", lambda planned: False)
        monkeypatch.setattr(sink, "is_covered", lambda planned: False)

    return patch


@pytest.fixture(params=["composed", "streamed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways."""
    if request.param == "streamed":
        monkeypatch.setattr(sink, "MAX_VALUES", -1)
        monkeypatch.setattr(ordinary, "dumps", lambda *given, **options: None)
    return str(request.param)


def sample() -> dict[str, Any]:
    """Return a dataset with everything that is composed."""
    mask = np.array([[True, False, False]] * 4)
    numbers = {code: np.arange(4).astype(code) for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}
    meta: dict[str, Any] = {name: {".dims": ["t"]} for name in numbers}
    meta |= {
        "t": {".dims": ["t"], "units": "days since 2000-01-01", "calendar": "standard"},
        "gaps": {".dims": ["t", "y"], "_FillValue": np.float32(-9), "valid_range": np.array([0, 20], "f4")},
        "big": {".dims": ["y", "t"], ".netcdf": {"endian": "big", "chunks": [2, 3], "fletcher32": True}},
        "deflated": {".dims": ["t", "y"], ".netcdf": {"compression": "zlib", "level": 5, "shuffle": True}},
        "shuffled": {".dims": ["y"], ".netcdf": {"shuffle": True}},
        "filled": {".dims": ["y"], ".netcdf": {"fill": "unused"}},
        "unicode": {".dims": ["t"]},
        "text": {".dims": ["y"]},
        "label": {".dims": [], "ž": "ž"},
        "flags": {".dims": ["y"]},
        "y": {".dims": ["x"]},
        "x": {".dims": ["x", "y"]},
        "e": {".dims": ["y"], ".netcdf": {"enum": {"name": "level", "type": "int8", "members": {"low": 0, "high": 1}}}},
        "g/h/inner": {".dims": ["g/z", "t"], "in": 1},
        "nothing": {".dims": ["never"]},
        "none": {},
        ".": {
            "title": "all of it",
            "empty": "",
            "texts": ["a", "", "ž"],
            "one": ["b"],
            "numbers": np.array([1, 2], "i2"),
            "no numbers": [],
            "json": {"a": [1, None]},
            "g/h/of": np.uint64(2**64 - 1),
            ".netcdf": {
                "unlimited": ["t", "g/free"],
                "dimensions": {"spare": 7, "g/free": 0},
                "groups": ["g", "g/h", "g/nothing"],
                "enums": [{"name": "g/other", "type": "uint16", "members": {"b": 2}}],
                "strings": ["one"],
            },
        },
    }
    return {
        "t": np.arange(4.0),
        **numbers,
        "gaps": np.ma.MaskedArray(np.arange(12, dtype="f4").reshape(4, 3), mask),
        "big": np.arange(12, dtype="i4").reshape(3, 4),
        "deflated": np.arange(12, dtype="f4").reshape(4, 3),
        "shuffled": np.arange(3, dtype="u4"),
        "filled": np.arange(3, dtype="i2"),
        "unicode": np.array(["a", "ž", "", "longer"], object),
        "text": np.array([b"a", b"bcd", b""], object),
        "label": "ž",
        "flags": np.array([True, False, True]),
        "y": np.arange(2, dtype="i4"),
        "x": np.arange(6.0).reshape(2, 3),
        "e": np.array([0, 1, 0], "i1"),
        "g/h/inner": np.arange(20, dtype="u1").reshape(5, 4),
        "nothing": np.zeros(0),
        "none": None,
        ".": meta,
    }


def write_both(data: Any, tmp_path: Path, by_library: Callable[[], None], **options: Any) -> tuple[Path, Path]:
    """Write a dataset by the composer and by the library."""
    ours, theirs = tmp_path / "ours.nc", tmp_path / "theirs.nc"
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        ds.write(ours, data, **options)
    by_library()
    with warnings.catch_warnings(record=True) as second:
        warnings.simplefilter("always")
        ds.write(theirs, data, **options)
    assert [str(each.message).replace("ours", "theirs") for each in first] == [str(each.message) for each in second]
    return ours, theirs


def dumped(path: Path, *options: str) -> list[str]:
    """Return what ncdump prints, without the name of the file and what libraries write differently."""
    text = subprocess.run(["ncdump", *options, path], capture_output=True, text=True, check=True).stdout
    return text.splitlines()[1:]


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def test_everything(tmp_path: Path, composed: list[int], by_library: Callable[[], None], way: str) -> None:
    ours, theirs = write_both(sample(), tmp_path, by_library)
    assert composed == [ours.stat().st_size] * (way == "composed")
    assert ours.stat().st_size < 0.8 * theirs.stat().st_size or way == "streamed"
    assert differences(theirs, ours) == []
    with netCDF4.Dataset(ours) as a, netCDF4.Dataset(theirs) as b:
        assert [*a.variables] == [*b.variables] and [*a.dimensions] == [*b.dimensions]
        assert [variable.ncattrs() for variable in a.variables.values()] == [
            variable.ncattrs() for variable in b.variables.values()
        ]
    assert same_dataset(ds.read(ours), ds.read(theirs))


def test_the_classic_model(tmp_path: Path, composed: list[int], by_library: Callable[[], None], way: str) -> None:
    data = {"x": np.arange(3, dtype="i4"), "s": np.array([b"a", b"bc", b""], object), ".": {"x": {".dims": ["x"]}}}
    ours, theirs = write_both(data, tmp_path, by_library, format="NETCDF4_CLASSIC")
    assert len(composed) == (way == "composed")
    assert differences(theirs, ours) == []


def test_the_writer_is_named(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.nc", sample())
    with h5py.File(tmp_path / "a.nc") as file:
        assert file.attrs["_NCProperties"] == PROPERTIES
    assert PROPERTIES.decode() == f"version=2,ds_format={ds.__version__}"


@pytest.mark.parametrize("options", [(), ("-v", "t,big,unicode,e")])
def test_ncdump(options: tuple[str, ...], tmp_path: Path, by_library: Callable[[], None], way: str) -> None:
    needs("ncdump")
    ours, theirs = write_both(sample(), tmp_path, by_library)
    assert dumped(ours, *options) == dumped(theirs, *options)


def test_h5netcdf(tmp_path: Path, by_library: Callable[[], None], way: str) -> None:
    h5netcdf = pytest.importorskip("h5netcdf")
    ours, theirs = write_both(sample(), tmp_path, by_library)
    with h5netcdf.File(ours) as a, h5netcdf.File(theirs) as b:
        assert [*a.variables] == [*b.variables]
        for name, variable in a.variables.items():
            assert variable.dimensions == b.variables[name].dimensions
            np.testing.assert_array_equal(variable[...], b.variables[name][...])


@pytest.mark.parametrize("command", ["h5dump", "h5stat", "h5ls -r -v", "ncks", "cdo -s sinfon"])
def test_programs(command: str, tmp_path: Path, way: str) -> None:
    program, *options = command.split()
    needs(program)
    path = tmp_path / "a.nc"
    data = sample()
    ds.write(path, {key: data[key] for key in ("t", "gaps", "deflated", "big", ".")} if program == "cdo" else data)
    done = subprocess.run([program, *options, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


def test_hidefix(tmp_path: Path, way: str) -> None:
    hidefix = pytest.importorskip("hidefix")
    path = tmp_path / "a.nc"
    data = sample()
    ds.write(path, {name: data[name] for name in ("t", "deflated", "shuffled", ".")})  # it lacks Fletcher-32
    index = hidefix.Index(str(path))
    assert {name: list(index[name].shape()) for name in ("t", "deflated", "shuffled")} == {
        "t": [4],
        "deflated": [4, 3],
        "shuffled": [3],
    }


def test_pyfive(tmp_path: Path, way: str) -> None:
    """It reads object headers only without limits of compact attributes."""
    pyfive = pytest.importorskip("pyfive")
    data = sample()
    del data["e"], data["."]["e"]  # enums are no numbers there
    path = tmp_path / "a.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds.write(path, data)
    with pyfive.File(path) as a, h5py.File(path) as b:
        names: list[str] = []
        b.visititems(lambda name, each: names.append(name) if isinstance(each, h5py.Dataset) else None)
        assert len(names) > 20
        for name in names:
            assert a[name].attrs.keys() == b[name].attrs.keys()
            found, expected = a[name][...], b[name][...]
            if b[name].dtype == object:
                expected = np.array([each.decode() for each in expected.ravel()], object).reshape(expected.shape)
                found = np.array([getattr(each, "decode", lambda each=each: each)() for each in found.ravel()], object)
                found = found.reshape(expected.shape)
            np.testing.assert_array_equal(found, expected, name)


# --- changed by others ---


def test_netcdf4_changes_a_file(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a.nc"
    ds.write(path, sample())
    with netCDF4.Dataset(path, "a") as file:
        for i in range(4, 300):
            file["t"][i] = file["f8"][i] = i
        file["unicode"][300] = "appended"
        file["label"][...] = "another text"
        file.createDimension("more", 2)
        file.createVariable("added", "f4", ("t", "more"), zlib=True)[:] = 1
        file.renameVariable("gaps", "renamed")
        file.renameAttribute("title", "heading")
        file["t"].setncatts({f"a{i}": f"text {i}" for i in range(30)})
        file["t"].delncattr("calendar")
        file["g"].createVariable("v", str, ())[...] = "in a group"
    data = ds.read(path)
    assert data["t"].size == 301
    assert data["t"][:300].tolist() == data["f8"][:300].tolist() == [*range(300)]
    assert data["unicode"][:4].tolist() == ["a", "ž", "", "longer"] and data["unicode"][300] == "appended"
    assert data["label"] == "another text"
    assert data["added"].shape == (301, 2) and (data["added"] == 1).all()
    assert data["renamed"][0].mask.tolist() == [True, False, False]
    assert data["."]["."]["heading"] == "all of it"
    assert data["."]["t"]["a29"] == "text 29" and "calendar" not in data["."]["t"]
    assert data["g/v"] == "in a group"


CHANGES = [
    "nccopy a.nc b.nc",
    "ncatted -O -a title,global,o,c,changed a.nc b.nc",
    "h5repack -f GZIP=2 a.nc b.nc",
]
CHANGES += ["ncks -O a.nc b.nc", "ncrcat -O a.nc a.nc b.nc"]


@pytest.mark.parametrize("command", CHANGES)
def test_a_program_changes_a_file(command: str, tmp_path: Path, way: str) -> None:
    program, *arguments = command.split()
    needs(program)
    data = sample()
    if program.startswith("nc") and program != "nccopy":  # NCO drops enum types and text in groups
        kept = ("t", "f8", "gaps", "deflated", "shuffled", "filled")
        data = {key: data[key] for key in (*kept, ".")}
        data["."] = {key: data["."][key] for key in (*kept, ".")}
        data["."]["."] = {"title": "all of it", ".netcdf": {"unlimited": ["t"]}}
    ds.write(tmp_path / "a.nc", data)
    done = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = ds.read(tmp_path / "a.nc"), ds.read(tmp_path / "b.nc")
    assert list(before) == [key for key in before if key in after]
    for key in before:
        if key != "." and before[key] is not None:
            values = after[key][:4] if program == "ncrcat" and before["."][key][".dims"][:1] == ["t"] else after[key]
            np.testing.assert_array_equal(values, before[key])
    if program == "ncatted":
        assert after["."]["."]["title"] == "changed"


# --- what is left to the library ---

MANY = {"x": np.zeros((1025, 2)), ".": {"x": {".dims": ["t", "y"]}, ".": {".netcdf": {"unlimited": ["t"]}}}}
LEFT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an attribute of 64 KiB": ({"x": np.zeros(2), ".": {"x": {"long": "x" * 65536}}}, {}),
    "many chunks": (MANY, {}),
    "another filter": (
        {"x": np.zeros(5000), ".": {"x": {".dims": ["t"], ".netcdf": {"compression": "szip", "chunks": [5000]}}}},
        {},
    ),
    "large chunks": (
        {
            "x": np.zeros(2),
            ".": {"x": {".dims": ["t"], ".netcdf": {"chunks": [2**18]}}, ".": {".netcdf": {"unlimited": ["t"]}}},
        },
        {},
    ),
    "the classic format": ({"x": np.zeros(2), ".": {}}, {"format": "NETCDF3_CLASSIC"}),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_the_library_writes(
    name: str, tmp_path: Path, composed: list[int], by_library: Callable[[], None]
) -> None:
    data, options = LEFT[name]
    ours, theirs = write_both(data, tmp_path, by_library, **options)
    assert composed == []
    assert differences(theirs, ours) == []


def test_everything_that_the_library_writes_from_records(
    tmp_path: Path, composed: list[int], by_library: Callable[[], None]
) -> None:
    data = sample()
    data["."]["t"]["long"] = "x" * 65536
    ours, theirs = write_both(data, tmp_path, by_library)
    assert composed == []
    assert differences(theirs, ours) == []


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    data = {"x": np.array(["a\0"], object), ".": {}}
    with pytest.raises(ds.errors.UnsupportedError, match="NUL"):
        ds.write(tmp_path / "a.nc", data)
    assert [*tmp_path.iterdir()] == []


# --- random files ---


@pytest.mark.parametrize("seed", [*range(60), *[pytest.param(i, marks=pytest.mark.slow) for i in range(60, 2000)]])
def test_random_files_of_the_library(seed: int, tmp_path: Path, by_library: Callable[[], None], way: str) -> None:
    drawn.netcdf4(tmp_path / "a.nc", Random(seed))
    ours, theirs = write_both(ds.read(tmp_path / "a.nc"), tmp_path, by_library)
    assert differences(theirs, ours) == []
    assert same_dataset(ds.read(ours), ds.read(theirs))
    assert [problem for problem in ds.verify(ours) if problem.severity == "error"] == []


@pytest.mark.parametrize("maker", [name for name, each in MAKERS.items() if each.is_netcdf and each.is_possible()])
def test_files_of_all_writers(maker: str, tmp_path: Path, by_library: Callable[[], None], way: str) -> None:
    MAKERS[maker].make(tmp_path / "a.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = ds.read(tmp_path / "a.nc")
        except ds.errors.DsError:
            pytest.skip("not read")
    ours, theirs = write_both(data, tmp_path, by_library)
    assert differences(theirs, ours) == []
