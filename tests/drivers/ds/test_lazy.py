"""Files that are opened: what is checked at once, what is made when it is asked for, and what stays open."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body.body import FIRST_SIZE
from ds_format.codec.header import VERSION_LINE
from ds_format.drivers.ds import header as ds_header
from ds_format.drivers.ds.source import DsSource
from tests.descriptors import n_open, needs_proc

DATASET = {
    "x": np.arange(3.0),
    "s": ["a", "b", None],
    ".": {"x": {".dims": ["i"], "valid_range": np.array([0, 9], "f4")}, "s": {".dims": ["i"]}, ".": {"title": "a"}},
}


@pytest.fixture(params=["small", "large", "long header", "2.0.1"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file that is read whole, one of which only the beginning is, one whose header goes on, and one of the past."""
    dataset: dict[str, Any] = {key: value for key, value in DATASET.items() if key != "."}
    meta = {key: dict(entry) for key, entry in DATASET["."].items()}  # type: ignore[attr-defined]
    if request.param == "large":
        dataset["large"] = np.arange(FIRST_SIZE)
    if request.param == "long header":
        meta["."]["history"] = "h" * 3 * FIRST_SIZE
    path = tmp_path / "a.ds"
    ds.write(path, {**dataset, ".": meta}, version="2.0.1" if request.param == "2.0.1" else "1.0")
    return path


def test_it_says_what_reading_says(path: Path) -> None:
    expected = ds.read(path)
    with ds.open(path) as file:
        assert list(file) == [key for key in expected if key != "."]
        assert file.attrs == expected["."]["."]
        for key, variable in file.items():
            assert str(variable[...]) == str(expected[key])
        assert str(file.meta["x"]["valid_range"]) == "[0. 9.]"
        assert file.meta is file.meta
        plain = {
            key: {name: value for name, value in entry.items() if name != ".missing"}
            for key, entry in file.meta.items()
        }
    assert str(plain) == str(expected["."])


def test_metadata_of_a_closed_file(path: Path) -> None:
    file = ds.open(path)
    file.close()
    assert file.meta["x"][".size"] == [3]
    assert file["s"].dims == ("i",)


def test_metadata_are_not_shared_with_what_reads(path: Path) -> None:
    with ds.open(path) as file:
        file.meta["x"].clear()
        del file.meta["s"]
        assert [*file] == [key for key in file.meta if key != "."]
        source: Any = file._source
        assert source.read("x").tolist() == [0, 1, 2]
        assert source.read("s").tolist() == ["a", "b", None]


def test_arrays_are_not_shared(path: Path) -> None:
    with ds.open(path) as file:
        file["x"][...][:] = 5
        file["x"][1:][:] = 5
        assert file["x"][...].tolist() == [0, 1, 2]


def test_threads_that_ask_at_once_get_the_same(path: Path) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            with ds.open(path) as file, ThreadPoolExecutor(4) as pool:
                metas = list(pool.map(lambda _, file=file: file.meta, range(8)))
                assert all(meta is metas[0] for meta in metas)
                assert str(metas[0]["x"]["valid_range"]) == "[0. 9.]"
    finally:
        sys.setswitchinterval(interval)


def test_no_other_file_is_read_after_closing(tmp_path: Path) -> None:
    paths = [tmp_path / "a.ds", tmp_path / "b.ds"]
    for i, path in enumerate(paths):
        ds.write(path, {"x": np.full(FIRST_SIZE, i)})
    file = ds.open(paths[0])
    variable = file["x"]
    assert variable[0] == 0
    file.close()
    with ds.open(paths[1]), pytest.raises(OSError, match="descriptor"):
        variable[0]


@needs_proc
def test_a_small_file_is_not_kept_open(path: Path) -> None:
    source = DsSource(path)
    assert n_open(path) == (path.stat().st_size > FIRST_SIZE)
    source.close()
    source.close()
    assert not n_open(path)


@needs_proc
@pytest.mark.parametrize("mmap", [False, True])
def test_a_damaged_header_is_refused_at_once(mmap: bool, path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b'"x"')
    path.write_bytes(data[:at] + b"'" + data[at + 1 :])
    with pytest.raises(ds.FormatError, match=r"a\.ds: header: Expecting property name.* at character \d+"):
        ds.open(path, mmap=mmap)
    assert not n_open(path)


def test_a_damaged_entry_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    path.write_bytes(VERSION_LINE + b'{"x": {".size": [-1]}, "y": {".size": []}, ".": {}}\n' + bytes(8))
    with ds.open(path) as file:
        assert list(file) == ["x", "y"]
        assert file["y"][...] == 0
        with pytest.raises(ds.FormatError, match=r'a\.ds: variable "x": \.size: found \[-1\]'):
            file["x"][...]


def test_a_header_that_ends_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    path.write_bytes(VERSION_LINE + b'{"x": "' + b"x" * 3 * FIRST_SIZE)
    for read in (ds.open, ds.read, ds_header.read):
        with pytest.raises(ds.FormatError, match=r"a\.ds: the header ends after \d+ bytes: the file is truncated"):
            read(path)


def test_a_header_line_without_its_end(tmp_path: Path) -> None:
    """Of exactly as many bytes as are read at first, and one more or less."""
    for size in range(FIRST_SIZE - 1, FIRST_SIZE + 2):
        path = tmp_path / f"{size}.ds"
        head, tail = VERSION_LINE + b'{"x": {".size": null}, ".": {"a": "', b'"}}'
        path.write_bytes(head + b"a" * (size - len(head) - len(tail)) + tail)
        with ds.open(path) as file:
            assert len(file.attrs["a"]) == size - len(head) - len(tail)
            assert file["x"][...] is None
        assert ds_header.read(path)[1]["x"][".size"] is None


def test_a_larger_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ds"
    ds.write(path, {"x": np.arange(100_000), ".": {}})
    monkeypatch.delattr(ds_header, "open_body")  # the kernel that finds the file too large hands it over
    assert ds.read(path)["x"][-1] == 99_999
