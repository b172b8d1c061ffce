"""Collections of ZDS: tables of ids and places, as bytes, as text and from lines of JSON; documents by their ids."""

from __future__ import annotations

import io
import json
import os
import re
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ds_format.kernels.json.values import FAULTS
from ds_format.kernels.zds import zdx_text
from ds_format.kernels.zds.lines import KINDS, REMARKS, add_lines
from ds_format.kernels.zds.zdx import Table

if os.name == "posix":
    from ds_format.kernels.zds.document_fetch import fetch_document

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
    (index([good, good], n=1), "found 17 bytes at byte 33, expected the end after 1 entries"),
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


short_ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
BLANKS = [chr(i) for i in range(0x3001) if chr(i).isspace()]


def read_as_others(text: bytes) -> dict[str, tuple[int, int]]:
    """Return what the program that first wrote this form reads: it strips lines, and splits them at tabs."""
    rows = (line.strip().split("\t") for line in io.TextIOWrapper(io.BytesIO(text), "utf-8"))
    return {row[0]: (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


@given(st.dictionaries(st.one_of(short_ids, st.sampled_from([*"ab", *BLANKS, "\ud7ff", "x y"])), st.integers(1, 10**7)))
def test_all_read_the_same(lengths: dict[str, int]) -> None:
    table, end = Table(), 0
    for id, length in lengths.items():
        table.add(id, end, length)
        end += length
    text = zdx_text.encode(table)
    fits = all(id.lstrip() == id and not any(character < " " for character in id) for id in lengths)
    assert (text is not None) == fits
    if text is not None:
        assert text == b"".join(b"%s\t%d\t%d\n" % (id.encode(), *(table.span(id) or ())) for id in lengths)
        again = zdx_text.decode(text, end)
        assert again.encode() == table.encode()
        assert (again.n, again.end, again.in_order) == (table.n, table.end, True)
        assert read_as_others(text) == {id: table.span(id) for id in lengths}


@pytest.mark.parametrize("blank", BLANKS)
def test_blanks(blank: str) -> None:
    for id, fits in ((blank + "a", False), ("a" + blank, blank >= " ")):
        table = Table()
        table.add(id, 0, 5)
        assert (zdx_text.encode(table) is not None) == fits


def test_numbers() -> None:
    table = Table()
    entries = [("a", 0, 9), ("b", 9, 1), ("c", 10, 99), ("d", 10**17, (1 << 32) - 1)]
    for entry in reversed(entries):
        table.add(*entry)
    table.add("dead", 10**18 - 1, 1)
    table.discard("dead")
    text = zdx_text.encode(table)
    assert text == b"a\t0\t9\nb\t9\t1\nc\t10\t99\nd\t100000000000000000\t4294967295\n"
    again = zdx_text.decode(text, 1 << 60)
    assert [(again.id(i), *(again.entry(i) or ())) for i in range(again.n)] == entries
    assert again.span("dead") is None
    again.add("e", 1 << 60, 4)
    assert again.discard("a") and len(again) == 4
    assert zdx_text.encode(Table()) == b"" and zdx_text.decode(b"", 0).n == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"b\t5\t5", "expected an id, an offset and a length, in b'b"),
        (b"b\t5\n", "expected an id, an offset and a length"),
        (b"b\t5\t\n", "expected an id, an offset and a length"),
        (b"b\t\t5\n", "expected an id, an offset and a length"),
        (b"\t5\t5\n", "expected an id, an offset and a length"),
        (b"\n", "expected an id, an offset and a length"),
        (b"b\t5\t5\tx\n", "expected an id, an offset and a length"),
        (b"b\tc\t5\t5\n", "expected an id, an offset and a length"),
        (b"b\t-5\t5\n", "expected an id, an offset and a length"),
        (b"b\t5\t5\r\n", "expected an id, an offset and a length"),
        (b"b\t5\t0000000000000000005\n", "expected an id, an offset and a length"),
        (b"b" * 65536 + b"\t5\t5\n", "expected an id, an offset and a length"),
        (b"\xff\t5\t5\n", "found an id that is not UTF-8"),
        (b"b\t5\t0\n", "found a length of 0, or of 4 GiB or more"),
        (b"b\t5\t4294967296\n", "found a length of 0, or of 4 GiB or more"),
        (b"b\t5\t6\n", "found a line beyond the end of the data"),
        (b"b\t999999999999999999\t5\n", "found a line beyond the end of the data"),
    ],
)
def test_what_is_wrong(line: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=f"line 2: {told}"):
        zdx_text.decode(b"a\t0\t5\n" + line, 10)


@given(st.binary(max_size=60) | st.lists(st.sampled_from(list(b"a1\t\t\n")), max_size=40).map(bytes))
@example(b"a\t0\t5\na\t5\t5\n")
def test_any_bytes(data: bytes) -> None:
    try:
        table = zdx_text.decode(data, 100)
    except ValueError:
        return
    found = [(table.id(i).encode(), *(table.entry(i) or ())) for i in range(table.n)]
    rows = [line.split(b"\t") for line in data.split(b"\n")[:-1]]
    assert found == [(id, int(offset), int(length)) for id, offset, length in rows]


def test_ids_that_are_listed_twice_as_text() -> None:
    table = zdx_text.decode(b"a\t0\t5\nb\t5\t5\na\t10\t5\n", 15)
    assert table.duplicates() == (0, 2)
    assert table.span("a") == (10, 5)


written_ids = st.one_of(
    st.sampled_from(["a", "b", "doc-1", ".x", "a..b", "é", 'q"\n\\', "\U0001f600", "x" * 256]), st.text(max_size=9)
)
documents = st.builds(
    lambda id, more: {"_id": id, **more} if len(more) < 3 else {**more, "_id": id},
    written_ids,
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=4),
)
encoded = st.builds(
    lambda document, ascii_only: json.dumps(document, ensure_ascii=ascii_only).encode(errors="surrogatepass"),
    documents,
    st.booleans(),
)
others = st.sampled_from([
    b"",
    b"  ",
    b"{}",
    b"[]",
    b'{"_id":5}',
    b'{"_id":""}',
    b'{"_id":"a","_id":"b"}',
    b'{"_id":"a"',
    b"\xff",
    b'{"_id":"a"}x',
    b"\0",
])
files = st.builds(
    lambda lines, ends, last: b"".join(line + end for line, end in zip(lines, ends, strict=False)) + last,
    st.lists(st.one_of(encoded, encoded, encoded, others), max_size=12),
    st.lists(st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"]), min_size=12, max_size=12),
    st.one_of(st.just(b""), encoded, others),
)


def oracle(data: bytes, base: int) -> dict[str, tuple[int, int]]:
    """Return the lines of documents, the last one of each id."""
    found: dict[str, tuple[int, int]] = {}
    for line in (
        data.splitlines(keepends=True)
        if b"\r" not in data
        else [*(part + b"\n" for part in data.split(b"\n")[:-1]), data.split(b"\n")[-1]]
    ):
        try:
            pairs = json.loads(line.decode(), object_pairs_hook=list)
            id = dict(pairs)["_id"]
            json.dumps(dict(pairs), ensure_ascii=False).encode()
        except (ValueError, KeyError, TypeError):
            pairs, id = [], None
        if isinstance(id, str) and id and sum(key == "_id" for key, _ in pairs) == 1:
            found.pop(id, None)
            found[id] = (base, len(line))
        base += len(line)
    return found


@given(files, st.sampled_from([0, 1, 10**12]))
def test_lines_as_the_json_module_sees_them(data: bytes, base: int) -> None:
    table = Table()
    consumed, found = add_lines(table, data, base, True)
    assert consumed == len(data)
    assert {table.id(i): table.entry(i) for i in range(table.n) if table.entry(i)} == oracle(data, base)
    assert [offset for _, offset, _, _ in found] == sorted(offset for _, offset, _, _ in found)
    for kind, offset, length, _ in found:
        assert KINDS[kind]
        line = data[offset - base : offset - base + length]
        assert line and line.count(b"\n") <= 1 and b"\n" not in line[:-1]
        assert offset == base or data[offset - base - 1 : offset - base] == b"\n"
    cut = Table()
    consumed, _ = add_lines(cut, data, base, False)
    assert consumed == data.rfind(b"\n") + 1
    add_lines(cut, data[consumed:], base + consumed, True)
    assert cut.encode() == table.encode()


@given(files)
def test_strict_adds_all_or_nothing(data: bytes) -> None:
    table, lenient = Table(), Table()
    consumed, found = add_lines(table, data, 7, True, True)
    _, all_found = add_lines(lenient, data, 7, True)
    if found:
        assert (consumed, len(table)) == (0, 0)
        assert found[0] in all_found
    else:
        assert consumed == len(data)
        assert table.encode() == lenient.encode()
        assert {KINDS[kind] for kind, *_ in all_found} <= {
            "an id that an earlier line has",
            "a number outside of the range of 64 bits",
        }


ODD = [
    (b" \n", [("only white space", 0, 2, 1)], []),
    (b'\xef\xbb\xbf{"_id":"a"}\n', [("a byte order mark", 0, 3, 0)], [("a", 3, 12)]),
    (b'{"_id":"a"}\n\xef\xbb\xbf{"_id":"b"}\n', [("a byte order mark", 12, 15, 12)], [("a", 0, 12)]),
    (b'{"_id":"a"}\r\n', [("a carriage return at the end", 0, 13, 11)], [("a", 0, 13)]),
    (b'{"_id":"a"}', [("no line feed at the end", 0, 11, 11)], [("a", 0, 11)]),
    (b'{"_id":"a"}\n{"_id', [("no line feed at the end", 12, 5, 17), ("truncated", 12, 5, 17)], [("a", 0, 12)]),
    (b'{"_id":"a"}\n{"_id":"a"}\n', [("an id that an earlier line has", 12, 12, 0)], [("a", 12, 12)]),
    (b'{"_id":"a/b"}\n', [("an id with unusual characters", 0, 14, 8)], [("a/b", 0, 14)]),
    (
        b'{"_id":"\\u00e9\\ud83d\\ude00\\t"}\n',
        [("an id that is written with escapes", 0, 31, 8), ("an id with unusual characters", 0, 31, 8)],
        [("é\U0001f600\t", 0, 31)],
    ),
    (b'{"_id":"a","b":1e400}\n', [("a number outside of the range of 64 bits", 0, 22, 0)], [("a", 0, 22)]),
    (b'{"_id":"a","_id":"a"}\n', [("the key _id occurs twice", 0, 22, 18)], []),
    (b'{"id":"a"}\n', [("no _id", 0, 11, 0)], []),
    (b'{"_id":["a"]}\n', [("the _id is not a string", 0, 14, 7)], []),
    (b'{"_id":""}\n', [("the _id is empty", 0, 11, 8)], []),
    (b'{"_id":"' + b"x" * 65536 + b'"}\n', [("the _id is longer than 65535 bytes", 0, 65547, 8)], []),
    (b'{"_id":"a",\n"b":1}\n', [("truncated", 0, 12, 11), ("not an object", 12, 7, 12)], []),
]


@pytest.mark.parametrize(("data", "expected", "spans"), ODD)
def test_what_is_odd(data: bytes, expected: list[tuple[str, int, int, int]], spans: list[tuple[str, int, int]]) -> None:
    table = Table()
    consumed, found = add_lines(table, data, 0, True)
    assert consumed == len(data)
    assert [(KINDS[kind], *rest) for kind, *rest in found] == expected
    assert [(id, *(table.span(id) or ())) for id in table.ids(0, table.n)] == spans
    assert all(kind in REMARKS for kind, offset, *_ in found if any(start == offset for _, start, _ in spans))


def test_kinds_have_words() -> None:
    assert FAULTS.items() <= KINDS.items()
    assert KINDS.keys() >= REMARKS


def test_many_lines_in_pieces() -> None:
    data = b"".join(b'{"_id":"%d","text":"%s"}\n' % (i, b"y" * (i % 90)) for i in range(5000))
    whole, pieces, start = Table(), Table(), 0
    assert add_lines(whole, data, 0, False) == (len(data), [])
    while start < len(data):
        consumed, found = add_lines(pieces, data[start : start + 10_000], start, False)
        assert consumed > 0 and not found
        start += consumed
    assert whole.encode() == pieces.encode()
    assert whole.contiguous and len(whole) == 5000
    strict = Table()
    assert add_lines(strict, data, 0, True, True) == (len(data), [])
    assert strict.encode() == whole.encode()


needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs pread")

LINES = b'{"_id":"a"}\n{"_id":"b","x":1}\n["_id"]\n{"_id":"c","x":1111111111111111111}\n{"x":1}\n{"_id"\n{"_id":"d"}'


@needs_posix
def test_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(LINES)
    table, place = Table(), 0
    for name, line in zip("abncxyd", LINES.splitlines(keepends=True), strict=True):
        table.add(name, place, len(line))
        place += len(line)
    table.add("wrong", 12, 18)
    table.add("middle", 13, 17)
    table.add("two", 12, 27)
    table.add("short", 12, 17)
    table.add("beyond", len(LINES) + 5, 17)
    fd = os.open(path, os.O_RDONLY)
    try:
        assert fetch_document(table, fd, 0, json.loads, "b") == {"_id": "b", "x": 1}
        assert fetch_document(table, fd, 0, json.loads, "none") is None
        assert fetch_document(table, fd, 0, json.loads, "\ud800") is None
        for name in [*"ancxyd", "wrong", "middle", "two", "short", "beyond"]:
            assert fetch_document(table, fd, 0, json.loads, name) is False
        assert fetch_document(table, -1, 0, json.loads, "b") is False
        with pytest.raises(ZeroDivisionError):
            fetch_document(table, fd, 0, lambda line: 1 / 0, "b")
        with pytest.raises(TypeError):
            fetch_document(table, fd, 0, json.loads, 5)  # type: ignore[arg-type]
    finally:
        os.close(fd)
