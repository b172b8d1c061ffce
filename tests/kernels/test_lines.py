"""From lines to a table, against the json module."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.kernels.json.check import FAULTS
from ds_format.kernels.zds.lines import KINDS, REMARKS, add_lines
from ds_format.kernels.zds.zdx import Table

ids = st.one_of(
    st.sampled_from(["a", "b", "doc-1", ".x", "a..b", "é", 'q"\n\\', "\U0001f600", "x" * 256]), st.text(max_size=9)
)
documents = st.builds(
    lambda id, more: {"_id": id, **more} if len(more) < 3 else {**more, "_id": id},
    ids,
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
    (b" \n", [("nothing but white space", 0, 2, 1)], []),
    (b'\xef\xbb\xbf{"_id":"a"}\n', [("a byte order mark", 0, 3, 0)], [("a", 3, 12)]),
    (b'{"_id":"a"}\n\xef\xbb\xbf{"_id":"b"}\n', [("a byte order mark", 12, 15, 12)], [("a", 0, 12)]),
    (b'{"_id":"a"}\r\n', [("a carriage return at the end", 0, 13, 11)], [("a", 0, 13)]),
    (b'{"_id":"a"}', [("no line feed at the end", 0, 11, 11)], [("a", 0, 11)]),
    (b'{"_id":"a"}\n{"_id', [("no line feed at the end", 12, 5, 17), ("cut off", 12, 5, 17)], [("a", 0, 12)]),
    (b'{"_id":"a"}\n{"_id":"a"}\n', [("an id that an earlier line has", 12, 12, 0)], [("a", 12, 12)]),
    (b'{"_id":"a/b"}\n', [("an id with unusual characters", 0, 14, 8)], [("a/b", 0, 14)]),
    (
        b'{"_id":"\\u00e9\\ud83d\\ude00\\t"}\n',
        [("an id that is written with escapes", 0, 31, 8), ("an id with unusual characters", 0, 31, 8)],
        [("é\U0001f600\t", 0, 31)],
    ),
    (b'{"_id":"a","b":1e400}\n', [("a number outside of the range of 64 bits", 0, 22, 0)], [("a", 0, 22)]),
    (b'{"_id":"a","_id":"a"}\n', [("the key _id comes twice", 0, 22, 18)], []),
    (b'{"id":"a"}\n', [("no _id", 0, 11, 0)], []),
    (b'{"_id":["a"]}\n', [("the _id is not a string", 0, 14, 7)], []),
    (b'{"_id":""}\n', [("the _id is empty", 0, 11, 8)], []),
    (b'{"_id":"' + b"x" * 65536 + b'"}\n', [("the _id is longer than 65535 bytes", 0, 65547, 8)], []),
    (b'{"_id":"a",\n"b":1}\n', [("cut off", 0, 12, 11), ("not an object", 12, 7, 12)], []),
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
