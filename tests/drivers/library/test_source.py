"""What all formats of a library have the same, above a format that keeps its slabs in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from ds_format.drivers.base import LossWarning
from ds_format.drivers.library.catalog import Catalog, FileVariable
from ds_format.drivers.library.source import LibrarySource
from ds_format.drivers.slabs import Slices
from ds_format.errors import FormatError, UnsupportedError
from ds_format.model import missing


class MemoryWarning(LossWarning):
    """A category of its own."""


class MemorySource(LibrarySource):
    """A file of one variable `x`."""

    category = MemoryWarning

    def __init__(self, raw: NDArray[Any], type: str, chunk: tuple[int, ...] | None = None, **options: Any):
        self.path = "a.memory"
        self.raw = raw
        self.asked: list[Slices] = []
        given = {"kind": "", "length": None, "sentinels": [], "mark": None, "chunk": chunk, **options}
        shape = raw.shape if given["length"] is None else raw.shape[:-1]
        size = raw.dtype.itemsize * (given["length"] or 1)
        catalog: Catalog = Catalog(self.path, False, lambda *said: None)
        catalog.add(FileVariable(name="x", type=type, shape=shape, size=size, **given), {})
        catalog.refuse("c", UnsupportedError("no such type"))
        self._take(catalog)

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        assert len(slices) == self.raw.ndim
        self.asked.append(slices)
        return self.raw[slices]

    def _cast(self, variable: FileVariable, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        return raw.astype(variable.type)

    def close(self) -> None:
        pass


def octets(*items: bytes) -> NDArray[Any]:
    return np.array(items, dtype=object)


STRINGS: dict[str, tuple[NDArray[Any], str, dict[str, Any], list[Any]]] = {
    "characters": (np.array([[b"a", b"b"], [b"", b""]], "S1"), "str", {"length": 2}, [b"ab", b""]),
    "no characters": (np.zeros((2, 0), "S1"), "str", {"length": 0}, [b"", b""]),
    "text in UTF-8": (octets("ž".encode(), b"\0"), "unicode", {}, ["ž", "\0"]),
    "bytes": (octets(b"a\0", b"\xff"), "str", {}, [b"a\0", b"\xff"]),
    "text": (np.array(["ž", "a"], object), "unicode", {"is_decoded": True}, ["ž", "a"]),
    "missing bytes": (octets(b"-", b"a"), "str", {"mark": "-"}, [None, b"a"]),
    "missing text": (octets(b"-", b"a"), "unicode", {"mark": "-"}, [None, "a"]),
}


@pytest.mark.parametrize("name", STRINGS)
def test_strings(name: str) -> None:
    raw, type, options, expected = STRINGS[name]
    source = MemorySource(raw, type, **options)
    assert source.read("x").tolist() == expected
    assert [item for block in source.blocks("x", 1) for item in block.tolist()] == expected
    for i, item in enumerate(expected):
        one = source.read("x", (i,))
        assert (one.tolist() if isinstance(one, np.ma.MaskedArray) else one) == item


def test_bytes_that_are_no_text() -> None:
    source = MemorySource(octets(b"a", b"\xff"), "unicode")
    for act in (lambda: source.read("x"), lambda: list(source.blocks("x"))):
        with pytest.raises(FormatError, match=r'^a\.memory: variable "x": found the bytes .*, expected UTF-8'):
            act()


def test_sentinels_are_a_mask_over_the_values_of_the_file() -> None:
    source = MemorySource(np.array([1, -1, 3], "i2"), "int16", sentinels=[np.int16(-1)])
    found = source.read("x")
    assert (found.tolist(), found.data.tolist(), found.fill_value) == ([1, None, 3], [1, -1, 3], -1)
    assert not isinstance(source.read("x", (range(2, 3),)), np.ma.MaskedArray)
    wide = MemorySource(source.raw, "int32", sentinels=[np.int16(-1)])
    assert wide.read("x").fill_value != -1  # which is no value of the file's type there


@pytest.mark.parametrize("way", ["read", "blocks"])
def test_several_sentinels_of_another_type_are_told_once(way: str) -> None:
    sentinels = [np.int16(-1), np.int16(-2)]
    same = MemorySource(np.array([-1, -2, 0, -2], "i2"), "int16", sentinels=sentinels)
    assert same.read("x").data.tolist() == [-1, -2, 0, -2]
    source = MemorySource(same.raw, "int32", sentinels=sentinels)
    with pytest.warns(MemoryWarning, match=r'a\.memory: variable "x": .* in 2 ways \(1 are -1, 2 are -2\)') as told:
        np.ma.concatenate([source.read("x")] if way == "read" else list(source.blocks("x", 4)))
    assert len(told) == 1


def test_blocks_end_where_chunks_do() -> None:
    source = MemorySource(np.arange(10, dtype="i8"), "int64", chunk=(3,))
    assert [len(block) for block in source.blocks("x", 8 * 7)] == [6, 4]
    assert source.asked == [(slice(0, 6),), (slice(6, 10),)]


def test_a_part_is_fetched_as_slabs() -> None:
    source = MemorySource(np.arange(24, dtype="f4").reshape(4, 6), "float32")
    assert source.read("x", (2, range(1, 3))).tolist() == [13, 14]
    assert source.asked == [(slice(2, 3), slice(1, 3))]


def test_what_is_refused_is_listed() -> None:
    source = MemorySource(np.zeros(1), "float64")
    assert source.meta["c"] == {".dims": [], ".size": None, ".type": None, ".missing": False}
    assert str(source.faults["c"]) == 'a.memory: variable "c": no such type'
    with pytest.raises(UnsupportedError, match="no such type"):
        source.read("c")


VALUES = st.sampled_from([0.0, -1.0, float(np.float32(9e36)), np.nan])


@given(
    values=npst.arrays(np.float32, npst.array_shapes(min_dims=0, max_side=9, min_side=0), elements=VALUES),
    found=st.lists(VALUES.map(np.float32), unique_by=str, max_size=3),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_are_counted_as_the_whole(values: Any, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "BLOCK", 7)
    mask, counts = missing.count(values, found)
    hits = [np.asarray(missing.is_value(values, sentinel)) for sentinel in found]
    assert counts == [int(each.sum()) for each in hits]
    expected = np.logical_or.reduce([np.zeros(values.shape, bool), *hits])
    assert (mask is None) == (not expected.any())
    if mask is not None:
        np.testing.assert_array_equal(mask, expected)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[::2, 1:]])
def test_large_arrays(view: Callable[[Any], Any]) -> None:
    values = view(np.arange(3 * missing.BLOCK, dtype=np.int32).reshape(3, -1) % 1000)
    mask, counts = missing.count(values, [np.int32(999), np.int32(-5), np.int32(3)])
    assert mask is not None
    np.testing.assert_array_equal(mask, (values == 999) | (values == 3))
    assert counts == [int((values == 999).sum()), 0, int((values == 3).sum())]
