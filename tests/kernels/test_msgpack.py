"""Steps over messages, and the encoding and decoding of usual ones, against the msgpack library."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.msgpack.objects import pack, unpack
from ds_format.kernels.msgpack.walk import find_messages, measure

from ..conftest import cases

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | texts | st.binary(max_size=300)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(texts, inner, max_size=20), max_leaves=40
)
PREFIXES: dict[Any, bytes] = {}


def hook(entry: dict[Any, Any]) -> Any:
    return ("seen", entry)


def nested(depth: int, kind: bytes = b"\x91") -> bytes:
    return kind * depth + b"\x01"


@given(values)
def test_packs_as_the_library(value: Any) -> None:
    assert pack(value, PREFIXES) == msgpack.packb(value)


@given(values)
def test_unpacks_as_the_library(value: Any) -> None:
    message = msgpack.packb(value)
    found = unpack(message, False, {}, hook)
    assert repr(found) == repr(msgpack.unpackb(message))
    assert msgpack.packb(found) == message
    assert measure(message, 0) == (len(message), 0)


@given(st.binary(max_size=60))
def test_any_bytes_are_taken_as_by_the_library_or_left_to_it(data: bytes) -> None:
    found = unpack(data, False, {}, lambda entry: entry)
    try:
        expected = msgpack.unpackb(data, strict_map_key=False)
    except Exception:  # noqa: BLE001  the library raises many
        assert found is NotImplemented
        return
    end, what = measure(data, 0)
    assert (end, what) == (len(data), 0)
    assert found is NotImplemented or repr(found) == repr(expected)


@given(values, st.data())
def test_a_message_that_is_cut_off(value: Any, data: Any) -> None:
    message = msgpack.packb(value)
    size = data.draw(st.integers(0, len(message) - 1))
    assert measure(message[:size], 0)[1] == 1
    assert unpack(message[:size], False, {}, hook) is NotImplemented


@cases("first", [first for first in range(256) if first != 0xC1])
def test_every_type_is_measured(first: int) -> None:
    lengths = {0xC4: 1, 0xC7: 1, 0xD9: 1, 0xC5: 2, 0xC8: 2, 0xDA: 2, 0xDC: 2, 0xDE: 2, 0xC6: 4, 0xC9: 4, 0xDB: 4}
    lengths |= {0xDD: 4, 0xDF: 4}
    message = bytes([first]) + (3 if first in lengths else 0).to_bytes(lengths.get(first, 0), "big") + bytes(300)
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(message)
    unpacker.skip()
    assert measure(message, 0) == (unpacker.tell(), 0)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", (0, 1)),
        (b"\xc1", (0, 2)),
        (b"\x92\x01\xc1", (2, 2)),
        (b"\xdd\xff\xff\xff\xff", (0, 1)),
        (b"\xdf\xff\xff\xff\xff", (0, 1)),
        (b"\xc6\xff\xff\xff\xff", (0, 1)),
        (b"\xc9\xff\xff\xff\xff\x01", (0, 1)),
        (b"\x81\x91\x01\x02", (1, 4)),
        (b"\x82\x01\x02\xdc\x00\x01\x01\x02", (3, 4)),
        (b"\x91\x81\x90\x02", (2, 4)),
        (b"\x81\x81\x01\x02\x03", (5, 0)),
        (b"\x81\x01\x91\x02", (4, 0)),
        (nested(1024), (1025, 0)),
        (nested(1025), (1024, 3)),
        (nested(20_000), (1024, 3)),
        (nested(5_000, b"\x81\x01"), (2048, 3)),
    ],
    ids=repr,
)
def test_what_is_wrong(data: bytes, found: tuple[int, int]) -> None:
    assert measure(data, 0) == found
    assert unpack(data, False, {}, hook) is NotImplemented or found[1] == 0


def test_measuring_outside_of_the_data() -> None:
    assert measure(b"\x01", 1) == (1, 1)
    assert measure(b"\x01", -1) == (0, 1)


@given(st.lists(st.dictionaries(st.just("key") | texts, values, max_size=4) | values, max_size=20))
def test_messages_are_found_with_their_keys(samples: list[Any]) -> None:
    data = b"".join(map(msgpack.packb, samples))
    ends, keys = np.empty(30, np.int64), np.empty(30, np.int64)
    assert find_messages(data, 0, ends, keys) == len(samples)
    assert ends[: len(samples)].tolist() == np.cumsum([len(msgpack.packb(sample)) for sample in samples]).tolist()
    for sample, place in zip(samples, keys.tolist(), strict=False):
        key = sample.get("key") if isinstance(sample, dict) else None
        assert (place >= 0) == isinstance(key, str)
        if isinstance(key, str):
            assert data[place:].startswith(msgpack.packb(key))


def test_the_last_of_several_keys_counts_and_none_inside() -> None:
    ends, keys = np.empty(9, np.int64), np.empty(9, np.int64)
    message = b"\x83\xa3key\xa1a\xa1x\x81\xa3key\xa1b\xd9\x03key\xa1c"
    assert find_messages(message, 0, ends, keys) == 1
    assert message[keys[0] :] == b"\xa1c"
    assert find_messages(message + b"\xc1" + message, 0, ends, keys) == 1
    assert find_messages(message * 3, 0, ends[:2], keys) == 2
    assert find_messages(b"\x81\xc4\x03key\xa1a", 0, ends, keys) == 1
    assert keys[0] == -1


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, {1}, {(1, 2): 3}, {1: 2}, object(), "\ud800", np.int8(1)])
def test_what_is_left_to_the_library_in_packing(value: Any) -> None:
    assert pack(value, PREFIXES) is NotImplemented
    assert pack({"key": "a", "x": [value]}, PREFIXES) is NotImplemented


def test_a_list_that_contains_itself() -> None:
    value: list[Any] = []
    value.append(value)
    assert pack(value, PREFIXES) is NotImplemented


def test_arrays_are_views_where_they_can() -> None:
    dtypes: dict[str, Any] = {"<f8": np.dtype("<f8"), "|u1": np.dtype("u1")}
    head = bytes.fromhex("85c4026e64c3c40474797065a33c6638c4046b696e64c400c40573686170659102c40464617461c410")
    for padding in range(8):
        message = b"\x92" + msgpack.packb(b"?" * padding) + head + np.array([1.5, 2.5]).tobytes()
        for writable in (False, True):
            array = unpack(message, writable, dtypes, hook)[1]
            assert array.tolist() == [1.5, 2.5]
            assert array.flags.aligned and array.flags.writeable == writable and array.flags.c_contiguous
    assert isinstance(unpack(message, False, {}, hook)[1], tuple)


@pytest.mark.parametrize("shape", ["9103", "91ff", "92cf400000000000000004", "c0", "9100", "92cdffffcdffff"])
def test_other_shapes_are_left_to_the_hook(shape: str) -> None:
    dtypes = {"<f8": np.dtype("<f8")}
    head = "85c4026e64c3c40474797065a33c6638c4046b696e64c400c4057368617065" + shape + "c40464617461c410"
    assert isinstance(unpack(bytes.fromhex(head) + bytes(16), False, dtypes, hook), tuple)
