"""Datasets as bytes: the same as files, in both directions."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.errors import DriverError, FormatError, IntegrityError, UnsupportedError

from ..same import same_data, same_metadata
from ..strategies import datasets

NUMBERS = np.arange(12.0).reshape(3, 4)
DATASET: dict[str, Any] = {
    "x": NUMBERS,
    "masked": np.ma.MaskedArray(np.array([1, 2, 3], "i2"), [False, True, False]),
    "text": np.array(["a", "bc", "ž"], object),
    "flag": np.array([True, False, True]),
    "scalar": np.float32(2.5),
    ".": {".": {"title": "a test"}, "x": {".dims": ["t", "i"], "units": "m"}, "masked": {".dims": ["t"]}},
}
OPTIONS: list[dict[str, Any]] = [{}, {"checksum": True}, {"version": "1.0", "checksum": False}, {"version": "2.0.1"}]
READ = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "netcdf", "bpk", "json"]
OF_FILES: list[dict[str, Any]] = [{"atomic": True}, {"durable": True}]
BUFFERS: list[Callable[[bytes], Any]] = [
    bytes,
    bytearray,
    memoryview,
    lambda data: np.frombuffer(data, "u1"),
    lambda data: np.frombuffer(data + bytes(-len(data) % 8), "f8"),
    lambda data: memoryview(b"before" + data)[6:],
]


def same(left: Any, right: Any) -> bool:
    assert list(left) == list(right)
    return all(same_data(left[key], right[key]) for key in left if key != ".") and all(
        same_metadata(entry, right["."][key]) for key, entry in left["."].items()
    )


@given(datasets(), st.sampled_from([{}, {"checksum": True}]))
def test_bytes_are_those_of_the_file_and_read_back(tmp_path_factory: Any, dataset: Any, options: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "same.ds"
    ds.write(path, dataset, **options)
    data = ds.dumps(dataset, **options)
    assert data == path.read_bytes()
    assert same(ds.loads(data), ds.read(path))
    assert same(ds.loads(bytearray(data), full=True), ds.read(path))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_are_those_of_files(tmp_path: Path, options: Any) -> None:
    ds.write(tmp_path / "x.ds", DATASET, **options)
    data = ds.dumps(DATASET, **options)
    assert data == (tmp_path / "x.ds").read_bytes()
    assert same(ds.loads(data), ds.read(tmp_path / "x.ds"))


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("json", {}),
        ("bpk", {"mappable": False}),
        ("nc", {"compression": "zlib"}),
        ("NETCDF3_CLASSIC", {}),
        ("hdf5", {}),
    ],
)
def test_other_formats(tmp_path: Path, format: str, options: Any) -> None:
    if format == "hdf5":
        pytest.importorskip("h5py")
    path = tmp_path / f"x.{'nc' if format.isupper() else format}"
    named: dict[str, Any] = {"format": format} if format.isupper() else {}
    ds.write(path, DATASET, **named, **options)
    assert ds.dumps(DATASET, format=format, **options) == path.read_bytes()


@pytest.mark.parametrize("format", READ)
def test_other_formats_are_read(tmp_path: Path, format: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(ds.dumps(DATASET, format=format))
    named: dict[str, Any] = {"format": format} if format == "json" else {}
    assert same(ds.loads(path.read_bytes(), **named), ds.read(path, **named))


def test_tables() -> None:
    table = {"x": [1, 2], "y": ["a", None]}
    assert ds.dumps(table, format="csv") == b"x,y\r\n1,a\r\n2,\r\n"
    assert ds.dumps(table, format="tsv") == ds.dumps(table, format="csv", delimiter="\t") == b"x\ty\r\n1\ta\r\n2\t\r\n"
    assert ds.loads(b"x\ty\r\n1\ta\r\n2\t\r\n", format="tsv")["y"].tolist() == ["a", None]
    assert ds.dumps(table, format="csv", delimiter=";") == b"x;y\r\n1;a\r\n2;\r\n"
    with pytest.raises(DriverError, match="delimiter: found ';;', expected one character of ASCII"):
        ds.dumps(table, format="csv", delimiter=";;")


@pytest.mark.parametrize("buffer", BUFFERS)
def test_any_buffer(buffer: Callable[[bytes], Any]) -> None:
    assert same(ds.loads(buffer(ds.dumps(DATASET))), ds.loads(ds.dumps(DATASET)))


def test_buffer_that_is_not_contiguous() -> None:
    with pytest.raises(TypeError, match="contiguous"):
        ds.loads(np.frombuffer(ds.dumps(DATASET), "u1")[::2])
    with pytest.raises(TypeError, match="bytes-like"):
        ds.loads("x.ds")


@pytest.mark.parametrize("n", [10, 1_000_000])
def test_numbers_are_views_as_writable_as_the_buffer(n: int) -> None:
    data = bytearray(ds.dumps({"x": np.arange(float(n)), "m": np.ma.MaskedArray([1.0, 2], [False, True]), "s": ["a"]}))
    shared = ds.loads(data)
    shared["x"][0] = 7
    shared["m"][0] = 7
    assert ds.loads(data)["x"][0] == 7
    assert ds.loads(data)["m"][0] == 1
    read_only = ds.loads(bytes(data), ["x", "m"])
    assert np.shares_memory(ds.loads(data, "x")["x"], shared["x"])
    assert (read_only["x"].flags.writeable, read_only["m"].flags.writeable) == (False, True)
    with pytest.raises(BufferError):
        data.append(0)  # the memory of arrays cannot be moved


def test_views_of_a_map(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.ds", DATASET)
    with open(tmp_path / "x.ds", "rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    x = ds.loads(held)["x"]
    x[0] = 7
    assert ds.loads(held)["x"][0, 0] == 7
    assert ds.read(tmp_path / "x.ds")["x"][0, 0] == 0
    with pytest.raises(BufferError):
        held.close()


def test_bytes_that_are_not_aligned_are_copied() -> None:
    data = memoryview(bytearray(b"!" + ds.dumps(DATASET)))[1:]
    x = ds.loads(data)["x"]
    assert x.flags.aligned
    assert not np.shares_memory(x, np.frombuffer(data, "u1"))


def test_selectors(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.ds", DATASET)
    data = ds.dumps(DATASET)
    for options in (
        {"variables": ["x", "text"]},
        {"variables": "x", "sel": {"t": [2, 0]}},
        {"range_": {"i": (1, 3)}},
        {"variables": "x", "full": True},
        {"unpack": True},
    ):
        assert same(ds.loads(data, **options), ds.read(tmp_path / "x.ds", **options))


def test_variables_that_do_not_exist() -> None:
    data = ds.dumps(DATASET)
    with pytest.warns(UserWarning, match='<bytes>: variable "y" not found'):
        assert list(ds.loads(data, ["x", "y"])) == ["x", "."]
    ds.mode = "strict"
    with pytest.raises(ds.MissingError, match="<bytes>"):
        ds.loads(data, ["x", "y"])


def test_text_as_numpy_has_it() -> None:
    pytest.importorskip("numpy", "2.0")
    assert ds.loads(ds.dumps(DATASET), strings="numpy")["text"].dtype == np.dtypes.StringDType()


def test_checksums() -> None:
    data = bytearray(ds.dumps(DATASET, checksum=True))
    assert same(ds.loads(data, verify=True), ds.loads(data))
    data[data.index(NUMBERS.tobytes())] ^= 1
    with pytest.raises(IntegrityError, match='<bytearray>: variable "x"'):
        ds.loads(data, verify=True)


@pytest.mark.parametrize("n", [0, 1, 7, 100, 400])
def test_damaged(n: int) -> None:
    data = ds.dumps(DATASET)
    with pytest.raises((FormatError, DriverError), match="<bytes>: "):
        ds.loads(data[:n])


def test_long_headers_of_every_kind() -> None:
    dataset = {**DATASET, ".": {**DATASET["."], ".": {"note": "x" * 200_000, "nothing": float("nan")}}}
    for options in OPTIONS:
        assert same(ds.loads(ds.dumps(dataset, **options)), ds.loads(bytearray(ds.dumps(dataset, **options))))
        assert len(ds.loads(ds.dumps(dataset, **options))["."]["."]["note"]) == 200_000


def test_what_only_files_have() -> None:
    for options in OF_FILES:
        with pytest.raises(DriverError, match=f"{next(iter(options))}: an option for files"):
            ds.dumps(DATASET, **options)
    with pytest.raises(DriverError, match="no option"):
        ds.dumps(DATASET, level=1)
    with pytest.raises(DriverError, match='unknown file format "wav"'):
        ds.dumps(DATASET, format="wav")
    for format in ("zds", "datadings"):
        with pytest.raises(DriverError, match="consist of several files"):
            ds.dumps({"x": [1, 2]}, format=format)


def test_wrong_datasets() -> None:
    with pytest.raises(UnsupportedError, match='variable "x": found 1 dimension names'):
        ds.dumps({"x": NUMBERS, ".": {"x": {".dims": ["t"]}}})
    with pytest.raises(UnsupportedError, match="must be a dict"):
        ds.dumps([1])
