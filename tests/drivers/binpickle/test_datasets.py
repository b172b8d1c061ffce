"""Datasets in BinPickle files: what other programs find in them, how they are written and read."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import binpickle, drivers
from ds_format.binpickle.reader import BinPickleFile
from ds_format.drivers.base import BLOCK_SIZE
from ds_format.drivers.binpickle_.sink import BinPickleSink
from ds_format.drivers.binpickle_.source import BinPickleSource
from tests.same import same_data, same_value

Masked: Any = np.ma.MaskedArray
DATASET: dict[str, Any] = {
    "x": np.arange(6.0).reshape(2, 3),
    "flags": np.array([True, False]),
    "big": np.array([1, 2], ">i4"),
    "missing": Masked([1, 2, 3], [0, 1, 0]),
    "text": np.array(["a", "žluť"], object),
    "text, missing": Masked(np.array(["a", "b"], object), [0, 1]),
    "bytes": np.array([b"a\0", b"\xff"], object),
    "empty": np.zeros((0, 3), "f4"),
    "no text": np.zeros(0, object),
    "nothing": None,
    "number": np.float32(1.5),
    "word": "text",
    "missing number": Masked(np.int16(0), True),
    "missing word": Masked(np.array("", object), True),
    "group/x": np.arange(3, dtype="u1"),
    "\\.hidden": 1,
    ".": {
        "x": {".dims": ["a", "b"], "units": "K", "range": np.array([0, 5], "i2"), "limit": np.float32(1)},
        "missing word": {".type": "unicode"},
        ".": {"title": "ž"},
    },
}


def test_the_object_is_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.bpk"
    ds.write(path, DATASET)
    for trusted in (False, True):
        found = binpickle.load(path, trusted=trusted)
        assert type(found) is dict
        assert list(found) == list(DATASET)
        for key in DATASET.keys() - {"."}:
            assert same_data(found[key], DATASET[key]), key
        assert same_value(found["."]["x"]["range"], np.array([0, 5], "i2"))
        assert found["."]["."] == {"title": "ž"}
        assert found["x"].flags.writeable and found["missing"].flags.writeable
    ds.validate(found)
    ds.write(tmp_path / "b.ds", found)
    assert same_value(ds.read(tmp_path / "b.ds")["."], ds.read(path)["."])


def test_the_reference_loads_it_and_needs_nothing_of_this_package(tmp_path: Path, reference_python: str) -> None:
    ds.write(tmp_path / "a.bpk", DATASET)
    code = """
import pickle, sys, binpickle
found = binpickle.load(sys.argv[1])
assert not any(name.startswith("ds_format") for name in sys.modules)
with open(sys.argv[2], "wb") as file:
    pickle.dump(found, file, 5)
with binpickle.BinPickleFile(sys.argv[1], direct=True) as file:
    assert not file.find_errors()
    assert file.load()["x"].tolist() == found["x"].tolist()
"""
    words = [reference_python, "-I", "-c", code, str(tmp_path / "a.bpk"), str(tmp_path / "b.pickle")]
    subprocess.run(words, check=True, cwd=tmp_path)
    with open(tmp_path / "b.pickle", "rb") as file:
        found = pickle.load(file)
    for key in DATASET.keys() - {"."}:
        assert same_data(found[key], DATASET[key]), key


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("mappable", [True, False])
def test_versions(version: int, mappable: bool, tmp_path: Path) -> None:
    ds.write(tmp_path / "a.bpk", DATASET, version=version, mappable=mappable)
    with BinPickleFile(tmp_path / "a.bpk", direct=True) as file:
        assert (file.header.version, file.is_mappable, file.find_errors()) == (version, True, [])
        assert all(entry.offset % 4096 == 0 for entry in file.entries) is mappable
        assert len(file.entries) == 8  # attributes and what is empty or a scalar are in the pickle
    assert same_data(ds.read(tmp_path / "a.bpk")["missing"], DATASET["missing"])
    with pytest.raises(ds.VersionError, match="expected 1 or 2"):
        ds.write(tmp_path / "b.bpk", DATASET, version=3)


def test_a_dataset_that_python_pickles_is_a_dict(tmp_path: Path) -> None:
    """`binpickle.dump(ds.read(...))` is what comes to mind first."""
    dataset = ds.Dataset(DATASET)
    binpickle.dump(dataset, tmp_path / "a.bpk", codec="gz")
    assert type(binpickle.load(tmp_path / "a.bpk")) is dict
    found = ds.read(tmp_path / "a.bpk")
    for key in DATASET.keys() - {"."}:
        assert same_data(found[key], DATASET[key]), key


def test_what_is_written_is_little_endian_and_zero_where_missing(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.bpk", {"x": Masked(np.array([1, 2], ">i4"), [False, True])})
    found = binpickle.load(tmp_path / "a.bpk")["x"]
    assert (found.data.tolist(), found.dtype.str) == ([1, 0], np.dtype("i4").str)


def blocks(n: int, size: int) -> Any:
    for i in range(n):
        values = np.arange(size, dtype="f8") + i
        yield Masked(values, values % 3 == 0) if i > n // 2 else values


@pytest.mark.parametrize("kind", ["float64", "unicode"])
def test_memory_is_bounded(kind: str, tmp_path: Path) -> None:
    n, size = 24, 100_000
    meta = {"x": {".size": [n * size if kind == "float64" else n * size // 10], ".type": kind}}
    sink = BinPickleSink(tmp_path / "a.bpk", meta)
    texts = (np.array([f"{j:0999}" for j in range(size // 1000)], object) for _ in range(n * 100))
    tracemalloc.start()
    sink.write("x", blocks(n, size) if kind == "float64" else texts)
    sink.commit()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "a.bpk").stat().st_size > n * size * 8
    assert peak < (6 * size * 8 if kind == "float64" else 2 * BLOCK_SIZE)
    if kind == "float64":
        expected = np.ma.concatenate(list(blocks(n, size)))
        assert same_data(ds.read(tmp_path / "a.bpk")["x"], np.ma.MaskedArray(expected.filled(0), expected.mask))


def test_reading_a_part_takes_no_memory_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.bpk"
    ds.write(path, {"x": np.zeros((1000, 10_000)), "y": Masked(np.zeros((1000, 1000)), True)})
    ds.read(path, ["x"], {"x_1": 0})
    tracemalloc.start()
    with ds.open(path) as file:
        assert file["x"][-1, ::1000].shape == (10,)
        assert file["y"][0].mask.all()
    source = BinPickleSource(path)
    assert sum(block.size for block in source.blocks("x", 100_000)) == 10_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file with a wrong byte in an array, and another one in a mask."""
    path = tmp_path / "a.bpk"
    missing = Masked(np.arange(100.0), np.arange(100) % 2 == 0)
    ds.write(path, {"x": np.arange(100.0).reshape(10, 10), "m": missing, "good": np.arange(3)})
    with BinPickleFile(path) as file:
        places = [file.entries[i].offset for i in (0, 2)]
    data = bytearray(path.read_bytes())
    for place in places:
        data[place + 7] ^= 1
    path.write_bytes(data)
    return path


def test_checksums_are_compared_where_all_is_read(damaged: Path, tmp_path: Path) -> None:
    source = BinPickleSource(damaged)
    assert source.read("good").tolist() == [0, 1, 2]
    for name in ("x", "m"):
        for read in (source.read, lambda name: list(source.blocks(name, 80))):
            with pytest.raises(ds.IntegrityError, match=rf'a.bpk: variable "{name}": entry \d: checksum: found'):
                read(name)
    assert source.read("x", (1, range(10))).tolist() == list(range(10, 20))
    with pytest.raises(ds.IntegrityError):
        ds.convert(damaged, tmp_path / "b.ds")
    assert not (tmp_path / "b.ds").exists()
    assert [problem.message.partition(":")[0] for problem in ds.verify(damaged)] == ["entry 0", "entry 2"]


def test_arrays_in_fortran_order_are_checked_too(tmp_path: Path) -> None:
    binpickle.dump({"x": np.asfortranarray(np.arange(6.0).reshape(2, 3))}, tmp_path / "a.bpk")
    source = BinPickleSource(tmp_path / "a.bpk")
    assert np.concatenate(list(source.blocks("x", 24))).tolist() == [[0, 1, 2], [3, 4, 5]]
    data = bytearray((tmp_path / "a.bpk").read_bytes())
    data[20] ^= 1
    (tmp_path / "a.bpk").write_bytes(data)
    with pytest.raises(ds.IntegrityError):
        list(BinPickleSource(tmp_path / "a.bpk").blocks("x", 24))


def test_what_is_read_is_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "a.bpk"
    ds.write(path, {"x": np.arange(3), "m": Masked([1, 2], [0, 1])})
    for _ in range(2):
        found = ds.read(path)
        assert found["x"].tolist() == [0, 1, 2] and found["m"].tolist() == [1, None]
        found["x"][:] = 9
        found["m"][1] = 9


@pytest.mark.parametrize(
    ("size", "given", "message"),
    [
        ([2], [np.zeros(1), np.zeros(1, "i4")], "found values of type int32, expected float64"),
        ([2], [np.array(["a"], object), np.array([b"a"], object)], "found values of type str, expected unicode"),
        ([1], [np.array(["\ud800"], object)], "surrogate"),
    ],
)
def test_blocks_have_to_be_what_was_promised(size: list[int], given: list[Any], message: str, tmp_path: Path) -> None:
    sink = BinPickleSink(tmp_path / "a.bpk", {"x": {".size": size, ".type": "float64"}})
    with pytest.raises(ds.DsError, match=f'variable "x": .*{message}'):
        sink.write("x", given)
    sink.abort()
    assert not list(tmp_path.iterdir())


def test_times_are_written_in_units_of_choice(tmp_path: Path) -> None:
    times = {"t": np.array([2451545.0]), ".": {"t": {".dims": ["t"], ".time": True}}}
    ds.write(tmp_path / "a.bpk", times, time_units="hours since 2000-01-01", calendar="standard")
    found = binpickle.load(tmp_path / "a.bpk")
    assert found["t"].tolist() == [12.0]
    assert found["."]["t"]["units"] == "hours since 2000-01-01"


def test_nothing_is_lost_between_netcdf_and_back(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "examples" / "sample.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.convert(sample, tmp_path / "b.bpk")
        ds.convert(tmp_path / "b.bpk", tmp_path / "c.nc")
    first, last = ds.read(sample), ds.read(tmp_path / "c.nc")
    assert first.keys() == last.keys()
    assert all(same_data(first[key], last[key]) for key in first if key != ".")
    assert same_value(first["."], last["."])


def test_reading_imports_neither_pandas_nor_scipy(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.bpk", {"x": [1]})
    code = "import sys, ds_format as ds; ds.read(sys.argv[1]); assert not {'pandas', 'scipy'} & {*sys.modules}"
    root = str(Path(__file__).parents[3])
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.bpk")], check=True, cwd=root)


def test_it_is_in_the_table() -> None:
    assert drivers.find("a.BPK") is drivers.FORMATS["binpickle"]
