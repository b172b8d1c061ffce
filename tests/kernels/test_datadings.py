"""Hashes, filters and lookup of keys, against hashlib and one line of Python each."""

from __future__ import annotations

import hashlib
import random
from itertools import accumulate, pairwise
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.datadings.index import Lookup, count_absent, cut, fill_filter, hash_strings, in_filter
from ds_format.kernels.msgpack.walk import Keys, strings_at

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=150), max_size=40)
salts = st.binary(min_size=8, max_size=8)
SECRET = 0x9E3779B97F4A7C15


def packed(names: list[str]) -> bytes:
    return b"".join(map(msgpack.packb, names))


def digests(names: list[str]) -> Any:
    return np.frombuffer(b"".join(hashlib.blake2s(name.encode()).digest()[:16] for name in names), np.uint8)


def open_keys(names: list[str]) -> Keys:
    return Keys(packed(names), len(names), np.empty(len(names) // 32 + 1, np.int64))


def lookup(names: list[str], salt: bytes = b"saltsalt") -> Lookup:
    return Lookup(salt + b"".join(hash_of(name, salt) for name in names), SECRET)


def hash_of(name: str, salt: bytes) -> bytes:
    return hashlib.blake2s(name.encode(), salt=salt).digest()[:8]


@given(texts, salts)
def test_hashes(names: list[str], salt: bytes) -> None:
    out = np.empty(8 * len(names), np.uint8)
    assert hash_strings(b"?" + packed(names), 1, salt, out) == 1 + len(packed(names))
    assert out.tobytes() == b"".join(hash_of(name, salt) for name in names)
    out = np.empty(16 * len(names), np.uint8)
    hash_strings(packed(names), 0, b"", out, True)
    assert out.tobytes() == digests(names).tobytes()


@pytest.mark.parametrize("size", [0, 1, 31, 32, 63, 64, 65, 127, 128, 129, 255, 256, 65535, 65536, 100_000])
def test_hashes_of_all_lengths(size: int) -> None:
    name = "x" * size
    out = np.empty(8, np.uint8)
    hash_strings(packed([name]), 0, b"saltsalt", out)
    assert out.tobytes() == hash_of(name, b"saltsalt")


@pytest.mark.parametrize(
    ("strings", "salt", "size", "message"),
    [
        (b"\xa1a", b"", 16, "string 1 of 2"),
        (b"\xa2a", b"", 8, "string 0 of 1"),
        (b"\xc4\x01a", b"", 8, "string 0 of 1"),
        (b"", b"", 8, "string 0 of 1"),
        (b"\xdb\xff\xff\xff\xffa", b"", 8, "string 0 of 1"),
        (b"\xa1a", b"1234567", 8, "7 bytes are not a salt"),
        (b"\xa1a", b"", 7, "7 bytes are not hashes"),
    ],
)
def test_hashes_that_cannot_be(strings: bytes, salt: bytes, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hash_strings(strings, 0, salt, np.empty(size, np.uint8))


@given(texts, texts, st.integers(1, 30), st.integers(1, 99))
def test_filter(names: list[str], others: list[str], k: int, size: int) -> None:
    bits = np.zeros(size, np.uint8)
    fill_filter(digests(names), k, bits)
    expected = 0
    for name in names:
        h1, h2 = np.frombuffer(digests([name]), ">u8").tolist()
        expected |= sum({1 << ((h1 + j * h2) % 2**64 % (8 * size)) for j in range(k)})
    assert int.from_bytes(bits.tobytes(), "little") == expected
    assert count_absent(digests(names), k, bits) == 0
    assert all(in_filter(name.encode(), k, bits) for name in names)
    assert count_absent(digests(others), k, bits) == sum(not in_filter(name.encode(), k, bits) for name in others)


def test_a_filter_needs_bits_and_whole_digests() -> None:
    nothing = np.empty(0, np.uint8)
    for call in (
        lambda: fill_filter(np.zeros(16, np.uint8), 1, nothing),
        lambda: count_absent(np.zeros(16, np.uint8), 1, nothing),
        lambda: in_filter(b"a", 1, nothing),
        lambda: fill_filter(np.zeros(15, np.uint8), 1, np.zeros(1, np.uint8)),
    ):
        with pytest.raises(ValueError, match="bytes"):
            call()


@given(texts)
def test_keys(names: list[str]) -> None:
    found = open_keys(names)
    assert [found.get(i) for i in range(found.n)] == names
    assert all(found.matches(i, name.encode()) for i, name in enumerate(names))
    assert not any(found.matches(i, name.encode() + b"x") for i, name in enumerate(names))
    middle = len(names) // 2
    assert found.encoded(0, middle) == packed(names[:middle])
    assert found.encoded(middle, len(names)) == packed(names[middle:])
    places = np.cumsum([0, *(len(packed([name])) for name in names)])[:-1]
    assert strings_at(packed(names), places.astype(np.int64)) == (names, "")


def test_many_keys() -> None:
    names = [f"key {i}" for i in range(1000)]
    found = open_keys(names)
    assert [found.get(i) for i in (999, 0, 31, 32, 33, 500)] == [f"key {i}" for i in (999, 0, 31, 32, 33, 500)]
    for i in (-1, 1000):
        with pytest.raises(IndexError):
            found.get(i)
        with pytest.raises(IndexError):
            found.matches(i, b"")
    with pytest.raises(IndexError):
        found.encoded(5, 4)


@pytest.mark.parametrize(
    ("data", "n", "places", "message"),
    [
        (b"\xa1a\x01", 2, 1, "entry 1 at byte 2: found the type 0x01"),
        (b"\xa1a\xa2b", 2, 1, "entry 1 at byte 2 of 4 is cut off"),
        (b"\xa1a", 2, 1, "entry 1 at byte 2 of 2 is cut off"),
        (b"\xa1a\xa1b", 1, 1, "2 bytes after entry 0"),
        (b"\xd9", 1, 1, "cut off"),
        (b"\xa1a", 1, 2, "2 positions are wrong"),
        (b"", -1, 1, "positions are wrong"),
    ],
)
def test_keys_that_cannot_be(data: bytes, n: int, places: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Keys(data, n, np.empty(places, np.int64))


def test_strings_at_wrong_places() -> None:
    assert strings_at(b"\xa1a", np.array([0, -1])) == (["a"], "not a string")
    assert strings_at(b"\xa1a", np.array([0, 2])) == (["a"], "not a string")
    assert strings_at(b"\xa2a", np.array([0])) == ([], "not a string")
    assert strings_at(b"\xa1a\xa1\xff", np.array([0, 2])) == (["a"], "not UTF-8: invalid start byte")


@given(texts, texts)
def test_lookup(names: list[str], others: list[str]) -> None:
    names = list(dict.fromkeys(names))
    table, found = lookup(names), open_keys(names)
    assert [table.find(name, found) for name in names] == list(range(len(names)))
    assert all(table.find(name, found) == -1 for name in set(others) - set(names))
    assert table.find("\ud800", found) == -1
    assert table.duplicates() is None


def test_lookup_of_many() -> None:
    names = [f"{i:x}" for i in range(20_000)]
    table, found = lookup(names), open_keys(names)
    order = random.Random(1).sample(range(len(names)), 5000)
    assert [table.find(names[i], found) for i in order] == order


def test_equal_hashes() -> None:
    names = ["a", "b", "a", "c"]
    table, found = lookup(names), open_keys(names)
    assert table.find("a", found) == 2
    assert table.duplicates() == (0, 2)
    assert table.find("a", found) == 2


def test_a_hash_of_another_key() -> None:
    assert lookup(["a", "b"]).find("b", open_keys(["a", "x"])) == -3


def test_hashes_that_crowd() -> None:
    salt = b"saltsalt"
    numbers = np.arange(50_000, dtype=">u8").tobytes()
    for hashes in (numbers, bytes(8 * 50_000), np.arange(50_000, dtype="<u8").tobytes()):
        table = Lookup(salt + hashes, SECRET)
        assert (table.duplicates() is None) == (hashes != bytes(8 * 50_000))


@pytest.mark.parametrize("size", [0, 7, 9, 15])
def test_a_lookup_needs_whole_hashes(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes are not a salt"):
        Lookup(bytes(size), SECRET)


def test_a_lookup_needs_as_many_keys() -> None:
    with pytest.raises(ValueError, match="1 keys do not belong to 2 hashes"):
        lookup(["a", "b"]).find("a", open_keys(["a"]))


@given(sizes=st.lists(st.integers(0, 40)), origin=st.integers(0, 1 << 62))
def test_pieces_are_slices(sizes: list[int], origin: int) -> None:
    spans = list(accumulate(sizes, initial=origin))
    data = bytes(i % 251 for i in range(sum(sizes)))
    pieces = [data[start - origin : stop - origin] for start, stop in pairwise(spans)]
    assert cut(data, spans) == cut(memoryview(data), spans) == pieces


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([], "no spans"),
        ([5, 9, 8, 15], "piece 1 goes from byte 4 to 3"),
        ([5, 4, 15], "piece 0 goes from byte 0 to -1"),
        ([5, 10, 16], "piece 1 goes from byte 5 to 11 of 10"),
        ([5, 10], "the pieces end at byte 5 of 10"),
        ([5], "the pieces end at byte 0 of 10"),
    ],
)
def test_wrong_spans(spans: list[int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        cut(bytes(10), spans)


def test_integers_that_are_none() -> None:
    with pytest.raises(OverflowError):
        cut(b"", [0, 1 << 64])
    with pytest.raises(TypeError):
        cut(b"", [0, None])  # type: ignore[list-item]
