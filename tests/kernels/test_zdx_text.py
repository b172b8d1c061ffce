"""The index as text, against what Python's own splitting makes of it."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ds_format.kernels.zds import zdx_text
from ds_format.kernels.zds.zdx import Table

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
BLANKS = [chr(i) for i in range(0x3001) if chr(i).isspace()]


def read_as_others(text: bytes) -> dict[str, tuple[int, int]]:
    """Return what the program that first wrote this form reads: it strips lines, and splits them at tabs."""
    rows = (line.strip().split("\t") for line in io.TextIOWrapper(io.BytesIO(text), "utf-8"))
    return {row[0]: (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


@given(st.dictionaries(st.one_of(ids, st.sampled_from([*"ab", *BLANKS, "\ud7ff", "x y"])), st.integers(1, 10**7)))
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
        (b"b\t5\t0\n", "found a length that no line has"),
        (b"b\t5\t4294967296\n", "found a length that no line has"),
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


def test_ids_that_are_listed_twice() -> None:
    table = zdx_text.decode(b"a\t0\t5\nb\t5\t5\na\t10\t5\n", 15)
    assert table.duplicates() == (0, 2)
    assert table.span("a") == (10, 5)
