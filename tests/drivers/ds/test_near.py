"""Variables of few bytes lie before all others in a file, in whatever way it is written."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.codec.encode import describe
from ds_format.codec.header import ALIGNMENT, NEAR_SIZE
from ds_format.drivers.ds.composing import compose, compose_any
from ds_format.drivers.ds.header import entries
from ds_format.drivers.ds.shared import SharedFile
from ds_format.drivers.ds.sink import DsSink
from tests.same import same_data

N = 10_000
"""Values of a large variable."""


def dataset(is_masked: bool = False) -> dict[str, Any]:
    """Return variables of few and many bytes in turn, with and without missing values."""
    mask = np.arange(1000) % 3 == 0
    data: dict[str, Any] = {
        "first": np.arange(N),
        "scalar": np.array(2.5),
        "flags": np.arange(1001) % 2 == 0,
        "second": np.arange(N) % 5 == 0 if not is_masked else np.ma.MaskedArray(np.arange(N), np.arange(N) % 2 == 0),
        "medium": np.arange(1000.0),
        "third": np.arange(N, dtype="i2"),
        "lat": np.arange(100, dtype="f4"),
    }
    if is_masked:
        data["few"] = np.ma.MaskedArray(np.arange(1000, dtype="i2"), mask)
        data["words"] = np.array(["a", "bc"], object)
    return {**data, ".": {name: {".dims": [f"n_{name}"][: np.ndim(value)]} for name, value in data.items()}}


def composed(path: Path, data: dict[str, Any]) -> None:
    ds.write(path, data)


def step_by_step(path: Path, data: dict[str, Any]) -> None:
    ds.write(path, data, version="2.0.1")


def converted(path: Path, data: dict[str, Any]) -> None:
    ds.write(path.with_suffix(".nc"), data)
    ds.convert(path.with_suffix(".nc"), path)


def in_blocks(path: Path, data: dict[str, Any]) -> None:
    sink = DsSink(path, properties(data))
    for name, array in data.items():
        if name != ".":
            sink.write(name, [array] if array.size < 70 else [array[:70], array[70:]])
    sink.commit()


def appended(path: Path, data: dict[str, Any]) -> None:
    file = SharedFile(path, properties(data), [])
    made = file.create({name: array for name, array in data.items() if name != "."})
    file.finish(made, {}, {})


def as_a_region(path: Path, data: dict[str, Any]) -> None:
    file = SharedFile(path, properties(data), ["empty"])
    made = file.create({"scalar": data["scalar"]})
    file.finish(made, {}, {"empty": {made.identity: 0}})


def shared(path: Path, data: dict[str, Any]) -> None:
    regions = ["first", "lat", "third"]
    file = SharedFile(path, properties(data), regions)
    made = file.create({name: array for name, array in data.items() if name not in (".", "scalar", *regions)})
    written: dict[str, dict[int, int]] = {}
    for name in regions:
        n = len(data[name])
        written[name] = {made.identity: file.regions[name].write((slice(0, n),), data[name], made.identity)}
    appended = {"scalar": file.append(made, made.end, "scalar", data["scalar"])}
    file.finish(made, appended, written)


def properties(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return describe({name: array for name, array in data.items() if name != "."}, data["."])


def places(path: Path) -> dict[str, tuple[int, int]]:
    return {
        name: (entry.get(".offset", 0), entry.get(".len", 0)) for name, entry in entries(path).items() if name != "."
    }


@pytest.mark.parametrize("write", [composed, step_by_step, converted])
@pytest.mark.parametrize("is_masked", [False, True])
def test_few_bytes_come_first(write: Callable[..., None], is_masked: bool, tmp_path: Path) -> None:
    data = dataset(is_masked)
    write(tmp_path / "a.ds", data)
    found = places(tmp_path / "a.ds")
    if write is not converted:  # a NetCDF file has an order of its own
        assert [*found] == [name for name in data if name != "."]
    assert [name for name in ds.read(tmp_path / "a.ds") if name != "."] == [*found]
    unknown = ("words",) if write is converted else ()  # strings have no size before they are written
    near = [offset for name, (offset, size) in found.items() if size < NEAR_SIZE and name not in unknown]
    far = [offset for offset, size in found.values() if size >= NEAR_SIZE]
    assert max(near) < min(far)
    assert all(offset % ALIGNMENT == 0 for offset in far)
    assert_apart(found)
    assert same(tmp_path / "a.ds", data)


@pytest.mark.parametrize("write", [composed, step_by_step, converted, in_blocks])
def test_less_than_16_kib_is_few(write: Callable[..., None], tmp_path: Path) -> None:
    sizes = {"many": 16 * 1024, "few": 16 * 1024 - 1, "one": 1}
    data: dict[str, Any] = {name: np.zeros(size, "i1") for name, size in sizes.items()}
    write(tmp_path / "a.ds", {**data, ".": {name: {".dims": [f"n_{name}"]} for name in data}})
    found = places(tmp_path / "a.ds")
    assert found["one"] < found["many"]
    assert found["few"] < found["many"] or write is in_blocks  # which reserves a mask, too


@pytest.mark.parametrize("write", [composed, step_by_step, converted])
def test_4096_bytes_start_at_a_multiple_of_64(write: Callable[..., None], tmp_path: Path) -> None:
    data: dict[str, Any] = {"a": np.zeros(2, "i1"), "b": np.zeros(4095, "i1"), "c": np.zeros(4096, "i1")}
    write(tmp_path / "a.ds", {**data, ".": {name: {".dims": [f"n_{name}"]} for name in data}})
    assert [offset for offset, _ in places(tmp_path / "a.ds").values()] == [0, 2, 4160]


@pytest.mark.parametrize("write", [in_blocks, shared])
@pytest.mark.parametrize("is_masked", [False, True])
def test_other_writers(write: Callable[..., None], is_masked: bool, tmp_path: Path) -> None:
    data = dataset(is_masked)
    write(tmp_path / "a.ds", data)
    found = places(tmp_path / "a.ds")
    assert_apart(found)
    assert same(tmp_path / "a.ds", data)
    if write is shared:
        assert found["lat"][0] < found["first"][0]
        assert found["medium"][0] < found["first"][0]


@pytest.mark.parametrize("write", [composed, step_by_step, converted, in_blocks, appended, as_a_region])
def test_no_padding_follows_the_last_byte(write: Callable[..., None], tmp_path: Path) -> None:
    """Padding before a variable without bytes would be written by one writer, and expected by another."""
    meta = {"scalar": {}, "empty": {".dims": ["n"]}}
    data: dict[str, Any] = {"scalar": np.array(1, "f4"), "empty": np.zeros(0), ".": meta}
    write(tmp_path / "a.ds", data)
    assert ds.verify(tmp_path / "a.ds") == []
    assert same(tmp_path / "a.ds", data)


def assert_apart(found: dict[str, tuple[int, int]]) -> None:
    """No variable shares bytes with another one."""
    for (a, n), (b, _) in itertools.pairwise(sorted(place for place in found.values() if place[1])):
        assert a + n <= b


def same(path: Path, data: dict[str, Any]) -> bool:
    found = ds.read(path)
    return all(same_data(found[name], data[name]) for name in data if name != ".")


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["f8", "i1", "?", "masked", "text"]), st.integers(0, 5000)), max_size=6))
def test_kernel_and_python_place_alike(drawn: list[tuple[str, int]]) -> None:
    arrays: dict[str, Any] = {}
    for i, (kind, n) in enumerate(drawn):
        if kind == "masked":
            arrays[str(i)] = np.ma.MaskedArray(np.arange(n), np.arange(n) % 2 == 0)
        elif kind == "text":
            arrays[str(i)] = np.array(["abc"] * n, object)
        else:
            arrays[str(i)] = np.zeros(n, kind)
    (one, size), (other, other_size) = compose(arrays, {}), compose_any(arrays, {}, "1.0")
    assert b"".join(map(bytes, one)) == b"".join(map(bytes, other))
    assert size == other_size == sum(memoryview(part).nbytes for part in one[1:])
