"""Variables of a small file, against zlib and NumPy."""

from __future__ import annotations

import copy
import pickle
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ds_format.kernels.common.finishing import Finisher
from ds_format.kernels.hdf5.small import SmallArray, read_small

from .chunks import CHUNKS, LEAF, UNDEFINED, VALUES, node, streams


def inflated(stream: bytes, n: int) -> bytes | None:
    """Decode a stream to `n` bytes by the kernel; None: it is damaged."""
    array = SmallArray((n,), (n,), np.dtype("u1"), False, False, True, None)
    found = array.read(node(0, [(0, len(stream), LEAF)]) + stream, 0, None)
    return None if found is None else found[0].tobytes()


@given(streams())
@example((bytes(1), zlib.compress(bytes(1))))
@example((bytes(400_000), zlib.compress(bytes(400_000))))
@example((bytes(range(256)), zlib.compress(bytes(range(256)), 0)))
def test_inflate(drawn: tuple[bytes, bytes]) -> None:
    data, stream = drawn
    assert inflated(stream, len(data)) == data
    assert inflated(stream + b"more", len(data)) == data
    assert inflated(stream, len(data) + 1) is None
    if len(data) > 1:
        assert inflated(stream, len(data) - 1) is None


@given(streams(), st.data())
def test_damaged_streams(drawn: tuple[bytes, bytes], data: st.DataObject) -> None:
    expected, stream = drawn
    damaged = bytearray(stream)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    del damaged[data.draw(st.integers(1, len(damaged))) :]
    found = inflated(bytes(damaged), len(expected))
    if found is not None:
        assert zlib.decompressobj().decompress(bytes(damaged)) == found


@given(st.binary(max_size=120), st.integers(1, 3000))
def test_any_bytes(body: bytes, n: int) -> None:
    """Most of these end early, so that no checksum hides what was decoded."""
    stream = b"\x78\x9c" + body
    found = inflated(stream, n)
    if found is not None:
        assert zlib.decompressobj().decompress(stream) == found


def read(*parts: bytes, n: int = 8) -> list[int] | None:
    array = SmallArray((n,), (2,), np.dtype("u1"), False, False, False, b"\x09")
    found = array.read(b"".join(parts), 0, None)
    return None if found is None else found[0].tolist()


def test_what_was_not_written() -> None:
    assert read(node(0, [(2, 2, LEAF)]), b"\1\2") == [9, 9, 1, 2, 9, 9, 9, 9]


@pytest.mark.parametrize(
    "parts",
    [
        [node(0, [(0, 2, LEAF + 32), (0, 2, LEAF + 32)]), b"\1\2"],  # a chunk twice
        [node(0, [(2, 2, LEAF + 32), (0, 2, LEAF + 32)]), b"\1\2"],  # not in order
        [node(0, [(1, 2, LEAF)]), b"\1\2"],  # between chunks
        [node(0, [(0, 2, LEAF + 1)]), b"\1\2"],  # outside of the file
        [node(0, [(0, 2, UNDEFINED)]), b"\1\2"],
        [node(0, [(0, 2, UNDEFINED - 1)]), b"\1\2"],
        [node(0, [(0, 1, LEAF)]), b"\1\2"],  # too small
        [node(0, [(0, 0, LEAF)]), b"\1\2"],
        [node(0, [(0, 2**32 - 1, LEAF)]), b"\1\2"],
        [node(1, [(0, 2, 0)]), b"\1\2"],  # its own child
        [node(2, [(0, 2, LEAF)]), node(0, [(0, 2, LEAF)])],  # a level is left out
        [node(1, [(0, 2, LEAF + 32), (4, 2, LEAF + 32)]), node(0, [(0, 2, 0)])],  # a node of two parents
        [node(1, [(4, 2, LEAF)]), node(0, [(2, 2, 0)])],  # keys before those of the parent
        [b"TREE" + bytes(LEAF)],
        [b"TREE\1\0\xff\xff" + bytes(LEAF)],
        [b"TREE"],
        [b""],
    ],
)
def test_damaged_trees(parts: list[bytes]) -> None:
    assert read(*parts) is None


# chunks that were listed


def listed(chunks: list[bytes], fill: bytes | None = None, is_deflated: bool = False, **changed: Any) -> Any:
    """Return an array of 4 x 3 of chunks of 2 x 2 big-endian numbers."""
    form: dict[str, Any] = {
        "shape": (4, 3),
        "chunk": (2, 2),
        "dtype": np.dtype("i2"),
        "is_big": True,
        "is_shuffled": False,
        "is_deflated": is_deflated,
        "fill": fill,
    }
    given: dict[str, Any] = {
        "data": np.frombuffer(b"".join(chunks), np.uint8),
        "numbers": np.arange(len(chunks), dtype=np.int64),
        "sizes": np.array(list(map(len, chunks)), np.int64),
        "masks": np.zeros(len(chunks), np.uint32),
        "wanted": np.array([11], "i2"),
    }
    array = SmallArray(**{name: changed.get(name, value) for name, value in form.items()})
    return array.read_listed(**{name: changed.get(name, value) for name, value in given.items()})


@pytest.mark.parametrize("is_deflated", [False, True])
def test_read_listed(is_deflated: bool) -> None:
    chunks = list(map(zlib.compress, CHUNKS)) if is_deflated else CHUNKS
    array, is_there = listed(chunks, None, is_deflated)
    assert array.tolist() == VALUES[:, :3].tolist()
    assert is_there is True
    array, is_there = listed(chunks[:2], b"\0\7", is_deflated, numbers=np.array([0, 3]))
    assert array.tolist() == [[1, 2, 7], [5, 6, 7], [7, 7, 3], [7, 7, 7]]
    assert is_there is False
    assert listed([], None, is_deflated)[0].tolist() == np.zeros((4, 3)).tolist()
    assert listed(chunks, None, is_deflated, masks=np.array([0, 0, 0, 1], np.uint32)) is None
    assert listed([*chunks[:3], chunks[3][:-1]], None, is_deflated) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"numbers": np.array([0, 1, 2, 4])},
        {"numbers": np.array([0, 1, 1, 2])},
        {"numbers": np.array([-1, 0, 1, 2])},
        {"numbers": np.arange(3)},
        {"sizes": np.full(4, 9)},
        {"sizes": np.full(4, -1)},
        {"masks": np.zeros(5, np.uint32)},
        {"shape": (4, 3, 1)},
        {"shape": (4, -3)},
        {"fill": b"1"},
        {"chunk": None},
        {"dtype": np.dtype("S3"), "wanted": None},
    ],
)
def test_read_listed_refuses(changed: Any) -> None:
    if "fill" in changed:
        changed["numbers"], changed["sizes"], changed["masks"] = np.arange(0), np.arange(0), np.zeros(0, np.uint32)
    with pytest.raises((ValueError, OverflowError), match=r"\d|negative"):
        listed(CHUNKS, **changed)


# values in one piece, and several variables


FILE = b"head" + np.arange(6, dtype=">i4").tobytes() + np.arange(3, dtype="<f8").tobytes()
NUMBERS = SmallArray((2, 3), None, np.dtype("i4"), True, False, False, None)
FLOATS = SmallArray((3,), None, np.dtype("f8"), False, False, False, None)
SCALAR = SmallArray((), None, np.dtype("i4"), True, False, False, None)


def one(array: SmallArray, address: int, wanted: Any = None) -> tuple[Any, bool]:
    """Read an array that is in the file."""
    found = array.read(FILE, address, wanted)
    assert found is not None
    return found


def test_values_in_one_piece() -> None:
    for array in (NUMBERS, pickle.loads(pickle.dumps(NUMBERS)), copy.deepcopy(NUMBERS)):
        values, is_there = one(array, 4, np.array([5], "i4"))
        assert values.dtype == np.dtype("i4")
        assert values.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert is_there is True
    assert one(NUMBERS, 4, np.array([9, -1], "i4"))[1] is False
    assert one(SCALAR, 8)[0].tolist() == 1
    assert one(FLOATS, 28, np.array([np.nan]))[0].tolist() == [0, 1, 2]
    empty = SmallArray((0, 2**40), None, np.dtype("i4"), False, False, False, None)
    assert one(empty, len(FILE))[0].shape == (0, 2**40)


@pytest.mark.parametrize("address", [29, len(FILE) - 23, len(FILE) + 1, 2**63, 2**64 - 1])
def test_values_beyond_the_end(address: int) -> None:
    assert FLOATS.read(FILE, address, None) is None


def test_shapes_that_are_larger_than_the_file() -> None:
    for shape in ((2**40, 2**40), (2**62, 4), (3, 2**62)):
        assert SmallArray(shape, None, np.dtype("i4"), False, False, False, None).read(FILE, 0, None) is None


def test_half_precision_is_not_searched() -> None:
    halves = SmallArray((2,), None, np.dtype("f2"), False, False, False, None)
    assert halves.read(FILE, 0, np.array([1], "f2")) is None
    assert halves.read(FILE, 0, None) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": (1,) * 33},
        {"shape": (-1,)},
        {"chunk": (0,)},
        {"chunk": (1, 1)},
        {"dtype": np.dtype("c16")},
        {"fill": b"12345"},
    ],
)
def test_forms_that_are_refused(changed: Any) -> None:
    usual: dict[str, Any] = {"shape": (2,), "chunk": (2,), "dtype": np.dtype("i4"), "fill": None}
    usual |= {"is_big": False, "is_shuffled": False, "is_deflated": False}
    with pytest.raises(ValueError, match=r"\d|expected"):
        SmallArray(**(usual | changed))


def test_sentinels_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="sentinels"):
        NUMBERS.read(FILE, 4, np.array([1.0]))


def test_several_variables() -> None:
    chunked = SmallArray((2,), (2,), np.dtype("u1"), False, False, False, None)
    tree = len(FILE)
    content = FILE + node(0, [(0, 2, tree + LEAF)]) + b"\1\2"
    forms = [NUMBERS, None, FLOATS, NUMBERS, chunked, FLOATS, chunked]
    addresses = [4, 4, 28, 4, tree, None, 0]
    three = Finisher("number", np.array([3], "i4"), None, False, False, None)
    plain = Finisher("number", None, None, False, False, None)
    requests = [((2, 3), three), ((2, 3), plain), ((3,), plain), ((3, 3), plain), ((2,), plain), None, None]
    values, left = read_small(content, forms, addresses, requests, False)
    assert [None if each is None else each.tolist() for each in values] == [
        [[0, 1, 2], [None, 4, 5]], None, [0, 1, 2], None, [1, 2], None, None,
    ]  # fmt: skip
    assert left == [1, 3, 5, 6]
    with pytest.raises(ValueError, match="2 forms, 1 addresses"):
        read_small(content, [None, None], [0], [None, None], True)
