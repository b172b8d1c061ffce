"""Objects → the bytes of an HDF5 file, which this package and h5py read."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from ds_format import hdf5
from ds_format.body.body import MemoryBody
from ds_format.codec.pipeline import encoder
from ds_format.hdf5 import check_unread, place_of, values
from ds_format.hdf5.composing import (
    DATASPACE,
    DATATYPE,
    MAX_CHUNKS,
    MAX_SIZE,
    STRING,
    Filters,
    NewAttribute,
    NewObject,
    NewStorage,
    NotCovered,
    compose_file,
    enum_type,
    fill_message,
    number_type,
    space,
    stored_chunks,
)
from ds_format.kernels.hdf5.compose import compose

ROOT = NewObject(b"", 0, [], [])


def attribute(name: str, array: Any) -> NewAttribute:
    return NewAttribute(name.encode(), number_type(array.dtype), space(array.shape), array)


def dataset(
    name: str, array: Any, chunk: tuple[int, ...] | None = None, filters: Filters | None = None, **more: Any
) -> NewObject:
    is_text = array.dtype == object
    size = 16 if is_text else int(array.dtype.itemsize)
    fill: Any = None if is_text else np.full(1, 7).astype(array.dtype)
    messages = [
        (DATASPACE, 0, space(array.shape, (chunk is not None,) * array.ndim)),
        (DATATYPE, 1, STRING if is_text else number_type(array.dtype)),
        fill_message(None if fill is None else fill.tobytes(), is_written=True, is_chunked=chunk is not None),
    ]
    if filters is not None:
        messages.append(filters.message(size))
    if chunk is None:
        storage = NewStorage(None, size * array.size, array.ravel().tolist() if is_text else array)
    else:
        steps = () if filters is None else filters.steps(size)
        storage = NewStorage(chunk, size, stored_chunks(array, chunk, encoder(steps), b"" if is_text else fill[0]))
    return NewObject(name.encode(), 0, messages, more.pop("attributes", []), more.pop("scales", ()), storage)


def read(data: bytes, name: str) -> Any:
    """Read a dataset by this package, which has to agree with h5py."""
    body = MemoryBody("composed", data)
    check_unread(body)
    found = next(each for each in hdf5.read_file(body).datasets if each.name == name)
    ours, _ = values(body, place_of(found))
    with h5py.File(io.BytesIO(data)) as file:
        theirs = file[name][()]
    if ours.dtype != object:
        np.testing.assert_array_equal(ours, theirs)
    return ours


TYPES = [np.dtype(order + code) for order in "<>" for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
TYPES += [np.dtype(order + code) for order in "<>" for code in ("f2", "f4", "f8")]
FILTERS = [None, Filters(4), Filters(is_shuffled=True), Filters(1, True, True), Filters(has_checksum=True)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_numbers(dtype: np.dtype[Any]) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    data = compose_file([ROOT, dataset("x", array, attributes=[attribute("a", array)]), dataset("s", array[1, 1])])
    with h5py.File(io.BytesIO(data)) as file:
        assert file["x"].dtype == file["x"].attrs["a"].dtype == dtype
        assert file["x"][()].tolist() == file["x"].attrs["a"].tolist() == array.tolist()
        assert file["s"][()] == array[1, 1]
        assert file["x"].fillvalue == 7


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("chunk", [(1, 1), (2, 2), (3, 5), (7, 7), (9, 1)])
def test_chunks(chunk: tuple[int, int], filters: Filters | None) -> None:
    array = np.arange(35, dtype=">i4").reshape(7, 5)
    data = compose_file([ROOT, dataset("x", array, chunk, filters)])
    assert read(data, "x").tolist() == array.tolist()


def test_chunks_that_a_library_adds() -> None:
    data = io.BytesIO(compose_file([ROOT, dataset("x", np.arange(3.0), (1,)), dataset("y", np.zeros(0), (2,))]))
    with h5py.File(data, "r+") as file:
        for name in "xy":
            file[name].resize((100,))
            file[name][3:] = np.arange(3.0, 100)
    assert read(data.getvalue(), "x").tolist() == [*range(100)]
    assert read(data.getvalue(), "y").tolist() == [7, 7, 7, *range(3, 100)]


def test_strings_in_several_collections() -> None:
    texts = np.array([f"{i}".encode() * (i % 40) for i in range(5000)], object)
    data = compose_file([ROOT, dataset("x", texts), dataset("long", np.array([b"y" * 100_000, b""], object))])
    assert data.count(b"GCOL") > 1
    with h5py.File(io.BytesIO(data)) as file:
        assert file["x"][()].tolist() == texts.tolist()
        assert file["long"][()].tolist() == [b"y" * 100_000, b""]


def test_many_objects_and_attributes() -> None:
    attributes = [attribute(f"a{i}", np.arange(i)) for i in range(1, 300)]
    objects = [ROOT._replace(attributes=attributes)]
    objects += [NewObject(f"g{i}".encode(), max(i - 1, 0), [], []) for i in range(20)]
    objects += [dataset(f"x{i}", np.array([i])) for i in range(500)]
    data = compose_file(objects)
    file = hdf5.read_file(MemoryBody("composed", data))
    assert [each.name for each in file.datasets] == [f"x{i}" for i in range(500)]
    assert list(file.groups[0].attributes) == [f"a{i}" for i in range(1, 300)]
    with h5py.File(io.BytesIO(data), "r+") as written:
        written.attrs["more"] = 1
        written["more"] = 2
        assert len(written) == 503


def test_enumerations() -> None:
    members = {"no": 0, "eightlet": 1, "12345678": -2}
    found = dataset("x", np.array([0, 1, -2], "i2"))
    found.messages[1] = (DATATYPE, 1, enum_type(np.dtype("i2"), members))
    with h5py.File(io.BytesIO(compose_file([ROOT, found]))) as file:
        assert h5py.check_enum_dtype(file["x"].dtype) == members
        assert file["x"][()].tolist() == [0, 1, -2]


@pytest.mark.parametrize(
    "objects",
    [
        [ROOT, dataset("x", np.zeros(1), attributes=[attribute("a", np.zeros(MAX_SIZE // 8))])],
        [ROOT, dataset("x", np.zeros(1))._replace(name=b"x" * MAX_SIZE)],
    ],
    ids=["an attribute", "a name"],
)
def test_what_does_not_fit_a_message(objects: list[NewObject]) -> None:
    with pytest.raises(NotCovered, match="a message of 65"):
        compose_file(objects)


def test_the_largest_attribute() -> None:
    array = np.arange(MAX_SIZE - 60, dtype="u1")
    data = compose_file([ROOT._replace(attributes=[attribute("a", array)])])
    with h5py.File(io.BytesIO(data)) as file:
        np.testing.assert_array_equal(file.attrs["a"], array)


@pytest.mark.parametrize("half", [1, 4])
def test_nodes_that_hold_few_chunks(half: int) -> None:
    types = {np.dtype("<f8"): number_type(np.dtype("<f8"))}
    data = compose([ROOT, dataset("x", np.arange(9.0), (1,))], half, types)
    assert read(data, "x").tolist() == [*range(9)]


def test_more_chunks_than_one_leaf() -> None:
    assert read(compose_file([ROOT, dataset("x", np.arange(MAX_CHUNKS), (1,))]), "x")[-1] == MAX_CHUNKS - 1
    with pytest.raises(NotCovered, match="many chunks"):
        dataset("x", np.arange(MAX_CHUNKS + 1), (1,))


@pytest.mark.parametrize(
    ("objects", "half", "message"),
    [
        ([], 4, "no root"),
        ([dataset("x", np.zeros(1))], 4, "no root"),
        ([ROOT, dataset("x", np.zeros(1))._replace(parent=1)], 4, "parent: found 1"),
        ([ROOT, dataset("x", np.zeros(1)), dataset("y", np.zeros(1))._replace(parent=1)], 4, "parent: found 1"),
        ([ROOT, dataset("x", np.zeros(1))._replace(scales=(2,))], 4, "scales: found 2"),
        ([ROOT, dataset("x", np.zeros(1))._replace(scales=(-1,))], 4, "scales: found -1"),
        ([ROOT], 0, "half: found 0"),
        ([ROOT], 40000, "half: found 40000"),
    ],
)
def test_wrong_arguments(objects: list[NewObject], half: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose(objects, half, {})


def test_wrong_records() -> None:
    with pytest.raises(TypeError, match="a tuple of 7 items"):
        compose([()], 4, {})


@pytest.mark.skipif(shutil.which("h5stat") is None, reason="h5stat is not installed")
def test_no_byte_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(compose_file([ROOT, dataset("x", np.arange(30.0)), dataset("y", np.arange(30.0), (10,))]))
    told = subprocess.run(["h5stat", "-S", path], capture_output=True, text=True, check=True).stdout
    lost = re.search(r"Unaccounted space: (\d+) bytes", told)
    assert lost is not None and int(lost[1]) < 16, told  # only what aligns values
