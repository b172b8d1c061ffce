"""The table of ids, against a dict and against the bytes of an index that `struct` makes."""

from __future__ import annotations

import re
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.kernels.zds.zdx import Table

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
few_ids = st.one_of(st.sampled_from(["a", "b", "c", "Zürich", "x" * 300]), ids)


def index(
    entries: list[tuple[bytes, int, int]], magic: bytes = b"ISDZ", version: int = 1, n: int | None = None
) -> bytes:
    body = b"".join(
        struct.pack("<H", len(id)) + id + struct.pack("<QI", offset, length) for id, offset, length in entries
    )
    return struct.pack("<4sIQ", magic, version, len(entries) if n is None else n) + body


def listed(table: Table) -> dict[str, tuple[int, int]]:
    """Return the living in the order of their entries."""
    found = {}
    for i in range(table.n):
        span = table.entry(i)
        if span is not None:
            found[table.id(i)] = span
    return found


@given(
    st.lists(st.tuples(few_ids, st.sampled_from(["add", "add", "add", "discard", "sort", "encode", "relocate"]))),
    st.booleans(),
)
def test_a_table_is_a_dict(steps: list[tuple[str, str]], decoded: bool) -> None:
    model: dict[str, tuple[int, int]] = {}
    table, end = Table(), 0
    if decoded:
        table, model, end = Table.decode(index([(b"a", 0, 7), (b"q", 7, 3)]), 10), {"a": (0, 7), "q": (7, 3)}, 10
    for id, what in steps:
        if what == "add":
            length = len(id) + 5
            assert table.add(id if len(id) % 2 else id.encode(), end, length) == (id in model)
            model.pop(id, None)
            model[id] = (end, length)
            end += length
        elif what == "discard":
            assert table.discard(id) == (model.pop(id, None) is not None)
        elif what == "sort":
            table.sort()
            assert table.n_dead == 0
        elif what == "encode":
            assert table.encode() == index([(key.encode(), *span) for key, span in model.items()])
        else:
            table.relocate()
            end = 0
            for key, (_, length) in model.items():
                model[key] = (end, length)
                end += length
            assert table.contiguous
        assert len(table) == len(model) == table.n - table.n_dead
    assert table.end == end
    assert table.in_order
    assert table.contiguous == (sum(length for _, length in model.values()) == end)
    assert listed(table) == model
    assert list(listed(table)) == table.ids(0, table.n) == table.ids(-5, table.n + 5) == list(model)
    for id in [*model, *(id for id, _ in steps), "another", "\ud800"]:
        i = table.find(id)
        assert (i >= 0) == table.has(id) == (id in model)
        assert table.span(id) == model.get(id)
        assert i < 0 or (table.id(i), table.entry(i)) == (id, model[id])


entry_lists = st.lists(
    st.tuples(ids.map(str.encode), st.integers(0, 300), st.integers(1, 60)),
    max_size=12,
    unique_by=lambda entry: entry[0],
)


@given(entry_lists, st.sampled_from([b"ISDZ", b"ZDSI"]))
def test_entries_in_any_order(entries: list[tuple[bytes, int, int]], magic: bytes) -> None:
    table = Table.decode(index(entries, magic), 360)
    by_offset = sorted(enumerate(entries), key=lambda item: (item[1][1], item[0]))
    ends = [0, *(offset + length for _, offset, length in entries)]
    assert listed(table) == {id.decode(): (offset, length) for id, offset, length in entries}
    assert table.in_order == all(entry[1] >= end for entry, end in zip(entries, ends, strict=False))
    assert table.end == max(ends)
    offsets, lengths, numbers = table.in_file_order()
    assert np.frombuffer(offsets, np.uint64).tolist() == [entry[1] for _, entry in by_offset]
    assert np.frombuffer(lengths, np.uint32).tolist() == [entry[2] for _, entry in by_offset]
    assert np.frombuffer(numbers, np.uint64).tolist() == [i for i, _ in by_offset]
    lines = [entry for _, entry in by_offset]
    overlaps = [(i, j) for (i, a), (j, b) in pairwise(by_offset) if a[1] + a[2] > b[1]]
    assert table.overlap() == (overlaps[0] if overlaps else None)
    assert table.duplicates() is None
    assert table.encode() == index(lines)
    assert table.in_order == (not overlaps)
    assert table.ids(0, table.n) == [id.decode() for id, _, _ in lines]
    table.relocate()
    assert table.contiguous and [length for _, length in listed(table).values()] == [length for _, _, length in lines]


def test_the_bytes_of_an_index() -> None:
    table = Table()
    assert (table.encode(), len(table), table.contiguous) == (b"ISDZ" + bytes([1, 0, 0, 0]) + bytes(8), 0, True)
    table.add("doc_002", 52, 63)
    table.add("doc_001", 0, 52)
    assert table.encode() == bytes.fromhex(
        "4953445a 01000000 0200000000000000"
        "0700 646f635f303031 0000000000000000 34000000"
        "0700 646f635f303032 3400000000000000 3f000000"
    )


def test_ids_that_are_listed_twice() -> None:
    table = Table.decode(index([(b"a", 0, 5), (b"b", 5, 5), (b"a", 10, 5), (b"a", 15, 5)]), 20)
    assert table.duplicates() == (0, 2)
    assert (table.span("a"), table.n_dead, len(table), table.contiguous) == ((15, 5), 2, 2, False)


def test_many_entries() -> None:
    n = 50_000
    table = Table()
    for i in range(n):
        assert not table.add(f"record_{i:08d}", 10 * i, 10)
    again = Table.decode(table.encode(), 10 * n)
    assert all(again.span(f"record_{i:08d}") == (10 * i, 10) for i in range(0, n, 7))
    assert again.find("record") == again.find("") == -1
    assert all(again.add(f"record_{i:08d}", 10 * (n + i), 10) for i in range(n))
    assert (again.n, again.n_dead) == (2 * n, n)
    again.relocate()
    assert again.encode() == table.encode()


good = (b"abc", 0, 10)
WRONG = [
    (b"", "found 0 bytes, expected a header of 16"),
    (index([])[:15], "found 15 bytes, expected a header of 16"),
    (index([good], b"SDZI"), "found the magic bytes b'SDZI', expected b'ISDZ' or b'ZDSI'"),
    (index([good], version=2), "found version 2, expected 1"),
    (index([], n=1), "found a count of 1, expected at most 0 for 0 bytes"),
    (index([good], n=2**63), f"found a count of {2**63}, expected at most 1 for 17 bytes"),
    (index([good, good], n=1), "found 17 bytes at byte 33, expected no more than 1 entries"),
    (index([good])[:-1], "entry 0 of 1 at byte 16: found the end of the file, expected an entry"),
    (index([good, (b"x" * 30, 0, 1)], n=3), "entry 2 of 3 at byte 77: found the end of the file, expected an entry"),
    (index([good, (b"", 0, 1)]) + b"x", "entry 1 of 2 at byte 33: found an empty id"),
    (index([(b"\xed\xa0\x80", 0, 1)]), "entry 0 of 1 at byte 16: found an id that is not UTF-8"),
    (index([(b"abcdefg\xc3", 0, 1)]), "entry 0 of 1 at byte 16: found an id that is not UTF-8"),
    (index([(b"abc", 0, 0)]), "entry 0 of 1 at byte 16: found a line of 0 bytes"),
    (index([(b"abc", 90, 11)]), "entry 0 of 1 at byte 16: found a line beyond the end of the data"),
    (index([(b"abc", 2**64 - 1, 2)]), "entry 0 of 1 at byte 16: found a line beyond the end of the data"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_an_index_that_is_wrong(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Table.decode(data, 100)


@given(entry_lists.filter(bool), st.data())
def test_a_damaged_index_is_refused_or_read(entries: list[tuple[bytes, int, int]], data: st.DataObject) -> None:
    damaged = bytearray(index(entries))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    try:
        table = Table.decode(damaged, 360)
    except ValueError:
        return
    assert all(0 <= offset < offset + length <= 360 for offset, length in listed(table).values())
    table.duplicates(), table.overlap()
    assert len(table.encode()) == 16 + sum(14 + len(id.encode()) for id in listed(table))


MISFITS = [
    lambda table: table.add("", 0, 1),
    lambda table: table.add("x" * 65536, 0, 1),
    lambda table: table.add(b"\xff", 0, 1),
    lambda table: table.add("\ud800", 0, 1),
    lambda table: table.add("a", 0, 0),
    lambda table: table.add("a", 0, 2**32),
    lambda table: table.add("a", 2**64 - 1, 1),
    lambda table: table.id(2),
    lambda table: table.id(-1),
    lambda table: table.entry(2),
]


@pytest.mark.parametrize("call", MISFITS)
def test_what_a_table_cannot_do(call) -> None:
    table = Table.decode(index([(b"a", 0, 5), (b"b", 5, 5)]), 10)
    with pytest.raises((ValueError, IndexError)):
        call(table)
    assert listed(table) == {"a": (0, 5), "b": (5, 5)}
    assert table.add("c", 10, 2**32 - 1) is False
