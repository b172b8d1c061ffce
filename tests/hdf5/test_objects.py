"""The metadata of HDF5 files: requests for bytes, memory between files, and old structures."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.body.body import FileBody, MemoryBody
from ds_format.errors import FormatError, TruncatedError
from ds_format.hdf5 import HDF5Attribute, HDF5Dataset, HDF5File, Unusual, read_file
from ds_format.hdf5.reading import read_known
from ds_format.hdf5.records import HDF5Filter, HDF5Group, HDF5Layout, HDF5Type
from ds_format.kernels.hdf5.objects import Parser

from .damage import Anatomy, u8, u64
from .far import FarBody
from .reading import exact

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDS = (HDF5Type, HDF5Attribute, HDF5Filter, HDF5Layout, HDF5Dataset, HDF5Group, HDF5File)


def read(data: bytes, **options: bool) -> HDF5File:
    return read_file(MemoryBody("x.nc", data), **options)


def only(data: bytes, **options: bool) -> HDF5Dataset:
    [dataset] = read(data, **options).datasets
    return dataset


def written(path: Path, make: Callable[[Any], None], **options: Any) -> bytes:
    """Return the bytes of a file of h5py."""
    with h5py.File(path, "w", **options) as file:
        make(file)
    return path.read_bytes()


@functools.cache
def stored() -> list[bytes]:
    """Return files that are taken."""
    files = [path.read_bytes() for kind in ("netcdf", "hdf5") for path in sorted((GOLDEN / kind).iterdir())]
    files = [data for data in files if data.startswith(b"\x89HDF")]
    return [data for data in files if is_taken(data)]


def is_taken(data: bytes) -> bool:
    try:
        read(data)
    except Unusual:
        return False
    return True


# requests for bytes


def _scattered(path: Path) -> bytes:
    """Return a file of 3 MB whose metadata are everywhere: values of each variable come before the next variable."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2000)
        for i in range(180):
            variable = file.createVariable(f"variable_{i:03}", "f8", ("x",))
            variable.setncatts({f"attribute_{j}": f"{i} {j}" for j in range(12)})
            variable.text = str(i) * (5000 if i % 40 == 0 else 5)
            variable[:] = i
            file.sync()
    return path.read_bytes()


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _scattered(tmp_path_factory.mktemp("scattered") / "x.nc")


def test_what_is_missing_is_read_together(scattered: bytes) -> None:
    body = FarBody(scattered)
    assert exact(read_file(body)) == exact(read(scattered))
    assert body.requests <= 12  # as deep as structures lead to each other
    assert body.read_size < len(scattered)


def test_an_open_file(scattered: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.nc").write_bytes(scattered)
    body = FileBody.open(tmp_path / "x.nc")
    assert exact(read_file(body)) == exact(read(scattered))


def test_a_file_whose_metadata_are_at_its_ends_takes_two_requests(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        file["x"] = np.arange(200_000)
        file["x"].attrs["units"] = "m"

    data = written(tmp_path / "x.h5", make)
    body = FarBody(data)
    assert exact(read_file(body)) == exact(read(data))
    assert body.requests <= 2


@given(st.data())
def test_any_bytes_may_be_known_first(data: st.DataObject) -> None:
    """However the bytes that are known begin and end, the file is the same, and nothing is asked for twice."""
    content = data.draw(st.sampled_from(stored()))
    ends = sorted(data.draw(st.sets(st.integers(0, len(content)), max_size=12)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    segments: list[tuple[int, Any]] = [(start, content[start:stop]) for start, stop in pairs]
    parser = Parser(RECORDS)
    asked: list[list[tuple[int, int]]] = []

    def parse(known: list[tuple[int, Any]], size: int) -> Any:
        for start, part in known:
            assert content[start : start + len(part)] == part
        assert all(a + len(part) < b for (a, part), (b, _) in itertools.pairwise(known))
        found = parser.parse(known, size)
        if isinstance(found, list):
            asked.append(found)
            for at, n in found:
                assert not any(start <= at and at + n <= start + len(part) for start, part in known)
        return found

    body = FarBody(content)
    assert exact(read_known(body, parse, segments)) == exact(read(content))
    assert len(asked) < 12
    assert body.read_size <= len(content)


def test_a_file_that_has_become_shorter(tmp_path: Path, scattered: bytes) -> None:
    (tmp_path / "x.nc").write_bytes(scattered)
    body = FileBody.open(tmp_path / "x.nc")
    with (tmp_path / "x.nc").open("r+b") as file:
        file.truncate(1_000_000)
    with pytest.raises(TruncatedError, match="ends at byte 1000000"):
        read_file(body)


def test_segments_that_are_not_in_the_file() -> None:
    parser = Parser(RECORDS)
    with pytest.raises(ValueError, match="not within 100 bytes"):
        parser.parse([(60, bytes(50))], 100)
    with pytest.raises(OverflowError):
        parser.parse([(-1, bytes(50))], 100)


# memory between files


@given(st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_any_files_in_any_order(random: Random, netcdf: bool, share: bool) -> None:
    """Memory changes nothing: a parser that has read others says the same as a new one."""
    parser = Parser(RECORDS)
    for data in random.choices(stored(), k=12):
        expected = Parser(RECORDS).parse([(0, data)], len(data), netcdf)
        assert exact(parser.parse([(0, data)], len(data), netcdf, share)) == exact(expected)


def _attributes(file: Any) -> None:
    for name in "ab":
        dataset = file.create_dataset(name, data=1)
        dataset.attrs["range"] = np.array([1, 2], "f4")
        dataset.attrs["names"] = np.array([b"x", b"yz"])
        dataset.attrs["units"] = np.bytes_(b"m")


def test_attributes_can_be_changed(tmp_path: Path) -> None:
    data = written(tmp_path / "x.h5", _attributes, track_order=True)
    for _ in range(2):
        a, b = read(data).datasets
        assert exact(a.attributes) == exact(b.attributes)
        assert a.attributes["range"].tolist() == [1, 2]
        assert a.attributes["names"] == ["x", "yz"]
        a.attributes["range"][0] = 7
        a.attributes["names"].append("changed")
        del a.attributes["units"]


def test_equal_attributes_can_be_shared(tmp_path: Path) -> None:
    data = written(tmp_path / "x.h5", _attributes, track_order=True)
    a, b = read(data, netcdf=True, share=True).datasets
    c, _ = read(data, netcdf=True, share=True).datasets
    assert a.attributes is b.attributes
    assert a.attributes is c.attributes
    assert read(data).datasets[0].attributes is not a.attributes


def test_long_attributes_are_not_shared(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        for name in "ab":
            file.create_dataset(name, data=1).attrs.update({"x": 1, "y": np.arange(200)})

    a, b = read(written(tmp_path / "x.h5", make), netcdf=True, share=True).datasets
    assert exact(a.attributes) == exact(b.attributes)
    assert a.attributes is not b.attributes


def test_strings_with_equal_references_are_those_of_their_file(tmp_path: Path) -> None:
    """A message with a reference is the same in both files, the string that it refers to is not."""
    texts = []
    for text in ("one", "two"):

        def make(file: Any, text: str = text) -> None:
            file.create_dataset("x", data=1).attrs["text"] = text

        data = written(tmp_path / "x.h5", make)
        texts.append(only(data, share=True).attributes["text"])
    assert texts == ["one", "two"]


def test_more_attributes_than_are_remembered(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        for i in range(1500):
            file.create_dataset(f"x{i}", (), "i1").attrs.update({"a": np.int32(i), f"b{i}": np.int8(1)})

    data = written(tmp_path / "x.h5", make)
    for options in ({}, {"share": True}):
        for dataset in read(data, **options).datasets:
            i = int(dataset.name[1:])
            assert dataset.attributes == {"a": i, f"b{i}": 1}


def test_threads() -> None:
    files = stored() * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(functools.partial(read, share=True), files))
    for data, file in zip(files, found, strict=True):
        assert exact(file) == exact(Parser(RECORDS).parse([(0, data)], len(data)))


# options


def test_scalars(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        dataset = file.create_dataset("x", data=1)
        dataset.attrs["number"] = np.array([1.5], ">f4")
        dataset.attrs["text"] = np.array([b"a"])
        dataset.attrs.create("string", ["b"], dtype=h5py.string_dtype())
        dataset.attrs["scalar"] = "c"
        dataset.attrs["two"] = np.array([1, 2], "u1")
        dataset.attrs["square"] = np.array([[1]])

    data = written(tmp_path / "x.h5", make, track_order=True)
    arrays, scalars = only(data), only(data, netcdf=True)
    assert exact(arrays.attributes["number"]) == exact(np.array([1.5], "f4"))
    assert exact(scalars.attributes["number"]) == exact(np.float32(1.5))
    assert [arrays.attributes[name] for name in ("text", "string", "scalar")] == [["a"], ["b"], "c"]
    assert [scalars.attributes[name] for name in ("text", "string", "scalar")] == ["a", "b", "c"]
    assert arrays.strings == scalars.strings == ["text", "string", "scalar"]
    for each in (arrays, scalars):
        assert exact(each.attributes["two"]) == exact(np.array([1, 2], "u1"))
        assert each.attributes["square"].shape == (1, 1)


# old structures, which no program of today writes


def _message(anatomy: Anatomy, name: str, type: int) -> tuple[int, int]:
    """Return where the body of a message begins, and its bytes."""
    [message] = anatomy.messages(name, type)
    return message.at, message.size


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["contiguous", "chunked", "compact"])
def test_layouts_of_version_1_and_2(tmp_path: Path, version: int, kind: str) -> None:
    def make(file: Any) -> None:
        space = h5py.h5s.create_simple((6,))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if kind == "chunked":
            properties.set_chunk((4,))
        else:
            properties.set_layout({"compact": h5py.h5d.COMPACT, "contiguous": h5py.h5d.CONTIGUOUS}[kind])
        dataset = h5py.h5d.create(file.id, b"x", h5py.h5t.py_create(np.dtype("<i2")), space, properties)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(6, dtype="i2"))

    anatomy = Anatomy(written(tmp_path / "x.h5", make))
    expected = only(anatomy.data)
    at, size = _message(anatomy, "x", 8)
    old = struct.pack("<BBBxxxxx", version, 2 if kind == "chunked" else 1, {"compact": 0, "contiguous": 1}.get(kind, 2))
    if kind != "compact":
        old += u64(expected.layout.address or 0)
    old += struct.pack("<II", *((4, 2) if kind == "chunked" else (6, 12)))
    if kind == "compact":
        values = anatomy.data[expected.layout.address :][:12] if expected.layout.address is not None else b""
        # the message is as long as it was, and shorter than this one: the one that follows is of no use
        old += values
    data = _with_message(anatomy, at, size, old)
    (tmp_path / "old.h5").write_bytes(data)
    with h5py.File(tmp_path / "old.h5") as file:
        assert file["x"][:].tolist() == list(range(6))
    found = only(data)
    if kind == "compact":
        address = found.layout.address
        assert address is not None
        assert data[address : address + 12] == np.arange(6, dtype="<i2").tobytes()
        assert found._replace(layout=found.layout._replace(address=expected.layout.address)) == expected
    else:
        assert exact(found) == exact(expected)


def _with_message(anatomy: Anatomy, at: int, size: int, new: bytes) -> bytes:
    """Return the file with another message, which is in a continuation block at the end if it does not fit."""
    new += bytes(-len(new) % 8)
    if len(new) <= size:
        return anatomy.patched((at, new + bytes(size - len(new))))
    type = anatomy.data[at - 8 : at - 6]
    block = type + struct.pack("<HBxxx", len(new), 0) + new
    continuation = struct.pack("<HHBxxx", 16, size, 0) + u64(len(anatomy.data)) + struct.pack("<Q", len(block))
    return anatomy.appended(block, (at - 8, continuation + bytes(size - 16)))


def test_an_old_fill_value(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        file.create_dataset("x", (3,), "i4", fillvalue=7)

    anatomy = Anatomy(written(tmp_path / "x.h5", make))
    at, _ = _message(anatomy, "x", 5)
    data = anatomy.patched((at - 8, u8(0)))
    assert only(data).fill == struct.pack("<i", 7)
    (tmp_path / "old.h5").write_bytes(data)
    with h5py.File(tmp_path / "old.h5") as file:
        assert file["x"][:].tolist() == [7, 7, 7]


def test_a_message_that_must_be_known(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        file.create_dataset("x", (3,), "i4")

    anatomy = Anatomy(written(tmp_path / "x.h5", make))
    at, _ = _message(anatomy, "x", 5)
    assert only(anatomy.patched((at - 8, u8(0x40)))).fill is None
    with pytest.raises(Unusual, match="must be understood"):
        read(anatomy.patched((at - 8, u8(0x40)), (at - 4, u8(0x80))))


# superblocks that are left to the library


LIBVERS = ("earliest", "v108", "v110")
"""Which write superblocks of version 0, 2 and 3."""
FIELDS: dict[str, tuple[tuple[int | None, int | None, int | None], bytes]] = {
    "a superblock of an unknown version": ((8, 8, 8), u8(4)),
    "addresses or sizes that do not have 8 bytes": ((13, 9, 9), u8(4)),
    "a driver that spreads the file": ((48, None, None), u64(96)),
    "the file is open for writing": ((None, None, 11), u8(4)),
    "a user block": ((0, 0, 0), b"\0"),
}
"""Reason → where the field is in each version, and its value."""


@pytest.mark.parametrize(
    ("i", "reason"), [(i, reason) for reason, (places, _) in FIELDS.items() for i in range(3) if places[i] is not None]
)
def test_a_superblock(tmp_path: Path, i: int, reason: str) -> None:
    libver = LIBVERS[i]
    anatomy = Anatomy(written(tmp_path / "x.h5", lambda file: None, libver=(libver, libver if i else "v108")))
    assert anatomy.data[8] == (0, 2, 3)[i]
    places, new = FIELDS[reason]
    at = places[i]
    assert at is not None
    with pytest.raises(Unusual, match=reason):
        read(anatomy.patched((at, new)))


def test_superblock_version_1(tmp_path: Path) -> None:
    """It has 4 bytes more in the middle than version 0."""
    data = written(tmp_path / "x.h5", lambda file: file.create_dataset("x", data=np.arange(3)))
    at, size = struct.unpack_from("<Q", data, 64)[0], struct.unpack_from("<I", data, 104)[0]
    assert at == 96
    # the header of the root is where the superblock ends: put another one at the end
    more = bytearray(Anatomy(data).appended(data[at : at + 16 + size], (64, u64(len(data)))))
    more[8] = 1
    more[24:100] = struct.pack("<HH", 32, 0) + more[24:96]
    with h5py.File.in_memory(bytes(more)) as file:
        assert file["x"][:].tolist() == [0, 1, 2]
    assert exact(read(bytes(more)).datasets) == exact(read(data).datasets)


@pytest.mark.parametrize("n", [0, 7, 47, 99])
def test_files_that_are_too_short(n: int) -> None:
    with pytest.raises(TruncatedError, match=f"superblock: found {n} bytes"):
        read(stored()[0][:n])


def test_every_cut(scattered: bytes) -> None:
    """A file that is cut anywhere is truncated, and says so."""
    for data in (stored()[0], scattered):
        for n in range(100, len(data), 1 + len(data) // 300):
            with pytest.raises(TruncatedError, match=f"found {n} bytes in the file, expected {len(data)}"):
                read(data[:n])


def test_a_checksum_says_where() -> None:
    anatomy = Anatomy(stored()[0])
    for structure in anatomy.structures:
        with pytest.raises(FormatError, match=f" at {structure.start}: checksum 0x[0-9a-f]{{8}}, expected 0x"):
            read(anatomy.flipped(structure))


def test_a_wrong_checksum_goes_before_what_the_bytes_say(tmp_path: Path) -> None:
    """A bit that turns a file into an unusual one is damage, unless its checksum is right."""

    def make(file: Any) -> None:
        for name in "ab":
            file.create_dataset(name, data=1)

    anatomy = Anatomy(written(tmp_path / "x.h5", make, libver="v110"))
    [message] = anatomy.messages("a", 5)
    changes = ((message.at - 4, u8(0x40)), (message.at - 1, u8(0x80)))
    repaired = anatomy.patched(*changes)
    with pytest.raises(Unusual, match="must be understood"):
        read(repaired)
    damaged = bytearray(anatomy.data)
    for at, new in changes:
        damaged[at : at + 1] = new
    address = anatomy.dataset("a").address
    with pytest.raises(FormatError, match=f"object header at {address}: checksum"):
        read(bytes(damaged))


def test_texts_anywhere_in_a_file_are_those_of_another_file(tmp_path: Path) -> None:
    def made(i: int, note: Any, before: str = "") -> dict[str, Any]:
        def make(file: h5py.File) -> None:
            file.attrs["before"] = before
            x = file.create_dataset("x", data=[1])
            x.attrs["units"] = "K"
            x.attrs["note"] = note

        attributes: dict[str, Any] = (
            read(written(tmp_path / f"{i}.h5", make), netcdf=True, share=True).datasets[0].attributes
        )
        return attributes

    texts = h5py.string_dtype()
    lists = [np.array(each, texts) for each in (["é", "b"], ["é", "c"], ["é"])]
    first = made(0, "long text")
    assert made(1, "long text", "a" * 200) is first
    assert first == {"units": "K", "note": "long text"}
    found = [made(2 + i, note, "b" * i) for i, note in enumerate(["another", *lists, lists[0], "long text"])]
    assert [each["note"] for each in found] == ["another", ["é", "b"], ["é", "c"], "é", ["é", "b"], "long text"]
    assert found[1] is found[4]
    assert found[5] is first
