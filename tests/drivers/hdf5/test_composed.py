"""Small files that are written without h5py: they have the same objects as those of h5py, and other programs change
them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.drivers import hdf5
from ds_format.drivers.base import LossWarning
from ds_format.drivers.hdf5.format import HIDDEN, SCALE_ATTRIBUTES
from ds_format.drivers.hdf5.library_sink import LibraryFile
from ds_format.drivers.library.guard import LOCK

from ...hdf5.files import MAKERS
from ...same import same_dataset
from ...strategies import datasets, usual_datasets
from .files import by_library
from .test_write import dataset

STORED = ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset", "maxshape")


def _value(attribute: Any, value: Any, file: h5py.File) -> Any:
    """Return a value that can be compared; references by the names of objects."""
    if isinstance(value, h5py.Empty):
        return "empty", value.dtype.str
    if attribute.get_type().get_class() == h5py.h5t.VLEN:
        return [[file[one].name for one in row] for row in value]
    if attribute.dtype.names:
        return sorted((file[reference].name, int(axis)) for reference, axis in value)
    array = np.asarray(value)
    return array.shape, array.tolist() if array.dtype == object else array.tobytes()


def objects(path: Path) -> dict[str, Any]:
    """Return everything that h5py reports about a file, apart from the shapes of chunks."""
    found: dict[str, Any] = {}

    def visit(name: str, each: Any) -> None:
        attributes = {}
        for key, value in each.attrs.items():
            stored = each.attrs.get_id(key)
            info = stored.get_type().get_class(), stored.dtype.str, h5py.check_enum_dtype(stored.dtype)
            cset = stored.get_type().get_cset() if stored.get_type().get_class() == h5py.h5t.STRING else None
            attributes[key] = info, cset, _value(stored, value, each.file)
        shown = [key for key in attributes if key not in HIDDEN and key not in SCALE_ATTRIBUTES]
        found[name] = [type(each).__name__, attributes, shown]
        if isinstance(each, h5py.Dataset):
            type_ = each.id.get_type()
            raw = each[...]
            values = raw.tolist() if raw.dtype == object else raw.tobytes()
            if type_.get_class() == h5py.h5t.VLEN:
                values = [one.tobytes() for one in raw.ravel()]
            cset = type_.get_cset() if type_.get_class() == h5py.h5t.STRING else None
            settings = {name: getattr(each, name) for name in STORED}
            found[name] += [each.dtype.str, h5py.check_enum_dtype(each.dtype), cset, each.shape, values, settings]
            found[name] += [each.chunks is None, each.fillvalue, [each.dims[i].label for i in range(each.ndim)]]
        else:
            found[name].append(list(each))

    with h5py.File(path) as file:
        visit("/", file["/"])
        file.visititems(visit)
    return found


def write_both(data: dict[str, Any], folder: Path, **options: Any) -> tuple[Path, Path]:
    ours, theirs = folder / "ours.h5", folder / "theirs.h5"
    ds.write(ours, data, **options)
    with by_library():
        ds.write(theirs, data, **options)
    return ours, theirs


def check_both(data: dict[str, Any], folder: Path, **options: Any) -> None:
    ours, theirs = write_both(data, folder, **options)
    assert objects(ours) == objects(theirs)
    assert same_dataset(ds.read(ours), ds.read(theirs))
    assert [problem for problem in ds.verify(ours) if problem.severity == "error"] == []


def filtered() -> dict[str, Any]:
    """Return variables of all kinds of storage."""
    values = np.arange(12, dtype="i4").reshape(3, 4)
    records: dict[str, dict[str, Any]] = {
        "chunked": {"chunks": [2, 3]},
        "deflated": {"chunks": [2, 3], "compression": "gzip", "level": 1},
        "all": {"chunks": [2, 3], "compression": "gzip", "level": 9, "shuffle": True, "fletcher32": True},
        "growing": {"chunks": [2, 3], "maxshape": [None, 4]},
        "no_chunks": {"maxshape": [None, 4], "compression": "gzip"},
        "big": {"endian": "big"},
        "named": {"enum": {"A": 0, "B": 1}, "endian": "big"},
    }
    meta = {name: {".dims": ["y", "x"], ".hdf5": record} for name, record in records.items()}
    return {**dict.fromkeys(records, values), ".": meta}


CASES = {
    "all types": dataset(),
    "filters": filtered(),
    "nothing": {".": {}},
    "empty": {
        "x": np.zeros((0, 3)),
        "y": np.zeros(0, "i2"),
        "z": np.zeros((0, 2)),
        ".": {
            "x": {".dims": ["a", "b"], ".hdf5": {"chunks": [1, 1]}},
            "y": {".dims": ["a"]},
            "z": {".dims": ["a", "c"], ".hdf5": {"maxshape": [None, 2], "chunks": [3, 2], "compression": "gzip"}},
        },
    },
    "strings": {
        "s": "ž",
        "b": b"raw",
        "nul": np.array([b"a\0b", b""], object),
        "gaps": np.ma.masked_array(np.array(["a", "b", "c"], object), np.array([0, 1, 0], bool)),
        "shape": np.array([["a", "b"], ["c", ""]], object),
        ".": {},
    },
    "attributes": {
        "x": np.arange(3),
        ".": {
            "x": {".dims": ["x"], "CLASS": "DIMENSION_SCALE"},
            ".": {
                "b": True,
                "bs": np.array([True, False]),
                "half": np.float16(0.5),
                "shape": np.arange(6.0).reshape(2, 3),
                "none": None,
                "list": ["a", "ž", ""],
                "empty": [],
                "dict": {"a": [1]},
                "text": "",
                "long": "x" * 70_000,
                "ž": np.uint64(2**64 - 1),
            },
        },
    },
    "numbers": {
        **{
            code: np.arange(5, dtype=code)
            for code in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
        },
        "flags": np.ma.masked_array([True, False, True], np.array([0, 1, 0], bool)),
        "full": np.ma.masked_array(np.arange(256, dtype="u1"), np.arange(256) == 3),
        ".": {},
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_objects_of_h5py(name: str, tmp_path: Path, left_to_h5py: list[str]) -> None:
    check_both(CASES[name], tmp_path)
    assert left_to_h5py == []


@pytest.mark.parametrize("options", [{"compression": "gzip"}, {"compression": "gzip", "level": 9}])
def test_compressed(options: dict[str, Any], tmp_path: Path, left_to_h5py: list[str]) -> None:
    check_both(CASES["all types"], tmp_path, **options)
    assert left_to_h5py == []


@given(st.one_of(datasets(), usual_datasets()))
def test_random_datasets(data: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LossWarning)
        check_both(data, Path(folder))


@pytest.mark.parametrize("maker", [name for name, each in MAKERS.items() if not each.is_netcdf and each.is_possible()])
def test_files_of_other_writers(maker: str, tmp_path: Path) -> None:
    MAKERS[maker].make(tmp_path / "a.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = ds.read(tmp_path / "a.h5")
        except ds.errors.DsError:
            pytest.skip("not read")
        check_both(data, tmp_path)


LARGE = np.zeros(5)
LEFT: dict[str, dict[str, Any]] = {
    "an attribute of 64 KiB": {"x": LARGE, ".": {"x": {"long": np.zeros(8192)}}},
    "many chunks": {"x": np.zeros(1025), ".": {"x": {".hdf5": {"chunks": [1]}}}},
    "large chunks": {"x": LARGE, ".": {"x": {".hdf5": {"chunks": [2**18], "maxshape": [None]}}}},
    "a limit of growth": {"x": LARGE, ".": {"x": {".hdf5": {"chunks": [2], "maxshape": [9]}}}},
    "compressed text": {"x": np.array(["a", "b"], object), ".": {"x": {".hdf5": {"compression": "gzip"}}}},
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_h5py(name: str, tmp_path: Path, left_to_h5py: list[str]) -> None:
    data = {**LEFT[name], **{key: value for key, value in dataset().items() if key != "."}}
    data["."] = {**dataset()["."], **LEFT[name]["."]}
    check_both(data, tmp_path)
    assert left_to_h5py == ["ours.h5"]


def test_the_lock_is_held_until_h5py_has_closed_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close, depths = LibraryFile.close, []

    def noted(self: LibraryFile) -> None:
        depths.append(LOCK._depth)
        close(self)

    monkeypatch.setattr(LibraryFile, "close", noted)
    ds.write(tmp_path / "a.h5", LEFT["many chunks"])
    with by_library():
        ds.write(tmp_path / "b.h5", LEFT["many chunks"])
    assert depths == [1, 1]


@pytest.mark.parametrize(
    "data", [{"x": np.zeros(2**17 + 1), ".": {}}, {"x": LARGE, ".": {"x": {".hdf5": {"compression": "lzf"}}}}]
)
def test_what_h5py_writes_at_once(data: dict[str, Any], tmp_path: Path, left_to_h5py: list[str]) -> None:
    check_both(data, tmp_path)
    assert left_to_h5py == []


def test_h5py_changes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    ds.write(path, {**filtered(), "s": np.array(["a", "b"], object)})
    with h5py.File(path, "r+") as file:
        file["growing"].resize(300, 0)
        file["growing"][3:] = 7
        file["s"][1] = "longer than before"
        file["deflated"][0] = 9
        file["big"].attrs["units"] = "K"
        for i in range(40):
            file["big"].attrs[f"a{i}"] = f"text {i}"
            file.create_dataset(f"more/{i}", data=[i])
        file.move("named", "renamed")
        del file["all"]
    with netCDF4.Dataset(path) as file:
        assert file["growing"].shape == (300, 4)
    data = ds.read(path)
    assert data["growing"].shape == (300, 4) and (data["growing"][3:] == 7).all()
    assert data["s"].tolist() == ["a", "longer than before"]
    assert data["deflated"].tolist() == [[9] * 4, [4, 5, 6, 7], [8, 9, 10, 11]]
    assert data["."]["big"]["a39"] == "text 39" and data["."]["big"]["units"] == "K"
    assert data["renamed"].shape == (3, 4) and data["more/39"].tolist() == [39]
    assert "all" not in data


@pytest.mark.parametrize("command", ["h5repack -f GZIP=2 a.h5 b.h5", "h5copy -i a.h5 -o b.h5 -s /all -d /all"])
def test_a_program_changes_a_file(command: str, tmp_path: Path) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"needs {command.split()[0]}")
    ds.write(tmp_path / "a.h5", filtered())
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    before, after = ds.read(tmp_path / "a.h5"), ds.read(tmp_path / "b.h5")
    for name in after:
        assert name == "." or np.array_equal(after[name], before[name])
    assert "all" in after


def test_h5py_is_not_needed(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["h5py"] = None
import numpy as np, ds_format as ds
ds.write("a.h5", {"x": np.arange(3.0), "s": "text", ".": {"x": {".dims": ["x"], "units": "m"}}}, compression="gzip")
assert ds.read("a.h5")["x"].tolist() == [0, 1, 2]
try:
    ds.write("b.h5", {"x": np.zeros(10**6), ".": {}})
except ds.DriverError as error:
    print(error)
try:
    ds.write("c.h5", {"x": 1, ".": {"x": {"long": np.zeros(9000)}}})
except ds.DriverError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ds-format-cython[hdf5]") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.h5"]


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    meta = {"x": {".size": [2], ".type": "int8", ".dims": ["n"]}, ".": {}}
    sink = hdf5.create(tmp_path / "a.h5", meta)
    with pytest.raises(ds.errors.UnsupportedError, match='variable "x": found values of type float64 that do not fit'):
        sink.write("x", [np.array([0.5, 1.0])])
    sink.abort()
    assert [*tmp_path.iterdir()] == []
