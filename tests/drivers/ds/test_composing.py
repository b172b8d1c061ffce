"""Files composed in one compiled pass: the same bytes and errors as the code that goes step by step."""

from __future__ import annotations

import datetime
import enum
import json
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given

import ds_format as ds
from ds_format.codec.header import DEPTH
from ds_format.datasets import arrays_of
from ds_format.drivers.ds import composing
from ds_format.drivers.ds.composing import STORED, compose, compose_any
from ds_format.errors import DsError, UnsupportedError
from ds_format.kernels.ds.compose import compose as compiled

from ...strategies import datasets, usual_datasets


def bytes_of(buffers: list[Any]) -> bytes:
    return b"".join(np.asarray(buffer).tobytes() if hasattr(buffer, "nbytes") else buffer for buffer in buffers)


def outcome(call: Any) -> Any:
    try:
        buffers, size = call()
    except (DsError, ValueError, TypeError) as error:
        return type(error), str(error)
    return bytes_of(buffers), size


def check(dataset: dict[str, Any]) -> Any:
    """Return what becomes of a dataset, which must be the same either way."""
    arrays, meta = arrays_of(dataset)
    found = outcome(lambda: compose(arrays, meta))
    assert found == outcome(lambda: compose_any(arrays, meta, "1.0"))
    return found


def is_compiled(dataset: dict[str, Any]) -> bool:
    arrays, meta = arrays_of(dataset)
    assert isinstance(meta, dict)
    composed = compiled(arrays, meta, composing.NAMES, STORED, composing._encoded)
    return composed is not None


@given(datasets())
def test_any_dataset(dataset: dict[str, Any]) -> None:
    check(dataset)


@given(usual_datasets())
@example({})
@example({"x": np.arange(3), "y": None})
@example({"x": np.zeros((0, 2)), "y": np.zeros((2, 3), "f4"), ".": {".": {}}})
def test_usual_datasets_go_one_way(dataset: dict[str, Any]) -> None:
    assert type(check(dataset)[0]) is bytes
    assert is_compiled(dataset)


def test_the_bytes_of_a_file() -> None:
    data = {
        "i": np.array([1, 2], "i1"),
        "x": np.array([[1.5, -2]], "f4"),
        ".": {
            "x": {".dims": ("t", "i"), ".offset": 7, ".len": 1, "units": "\u00b0C", "valid": np.array([0, 0.1], "f4")},
            ".": {"title": "a", "n": np.int16(3), ".dtypes": 1},
        },
    }
    header = (
        b'{"i": {".size": [2], ".offset": 0, ".len": 2, ".type": "int8", ".missing": false, ".endian": "b"}, '
        b'"x": {".dims": ["t", "i"], "units": "\\u00b0C", "valid": [0.0, 0.10000000149011612], '
        b'".dtypes": {"valid": ["float32", 2]}, '
        b'".size": [1, 2], ".offset": 4, ".len": 8, ".type": "float32", ".missing": false, ".endian": "l"}, '
        b'".": {"title": "a", "n": 3, ".dtypes": {"n": "int16"}}}'
    )
    found, size = check(data)
    assert found == (b"ds-1.0\n" + header).ljust(383) + b"\n" + b"\1\2\0\0" + np.array([1.5, -2], "<f4").tobytes()
    assert (size, is_compiled(data)) == (12, True)


class Level(enum.IntEnum):
    LOW = 3


class Word(str):
    __slots__ = ()


Pair = namedtuple("Pair", "a b")


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


ordered = OrderedDict(a=1, b=np.float32(0.1))
ordered.move_to_end("a")
USUAL = [
    *("", "x" * 5000, "\x00\x1f\x7f\x80\uffff\U0001f600", "\ud800", "a\udfff", '"\\/\b\f\n\r\t'),
    *(0, -1, 2**63, -(2**200), True, False, None, 0.0, -0.0, 1e300, 5e-324, float("nan"), float("inf"), -float("inf")),
    *([], (), {}, [[]], [1, None, "a"], ("a", (1.5,)), {"": {"a": [True]}}, nested(DEPTH)),
    *(Level.LOW, Word("w"), [Level.LOW, Word("é")], Pair(1, 2), ordered, {Word("k"): 1}),
    *(np.float32(0.1), np.float16("nan"), np.int8(-1), np.uint64(2**64 - 1), np.bool_(True), np.str_("né")),
    *(
        np.arange(3),
        np.zeros((2, 0)),
        np.array(5, ">i2"),
        np.array([["a"], ["é"]]),
        np.array([True]),
        np.arange(4)[::2],
    ),
    *([np.float32(0.5), np.int64(1)], [np.array([1, 2], "u1")], {"a": [np.str_("b")]}, [np.float64(0.1)]),
]
UNUSUAL = [
    *(np.ma.masked, np.ma.MaskedArray([1, 2]), np.array(["a", 1], object), np.longdouble(1), np.bytes_(b"a")),
    *(
        np.datetime64("2000-01-01"),
        np.zeros(2, "i1,f8"),
        np.complex64(1),
        [np.ma.MaskedArray([1])],
        [np.datetime64(1, "s")],
    ),
    *(b"a", {1, 2}, object, 1j, datetime.date(2000, 1, 1), {1: 2}, [{None: 1}], nested(DEPTH + 1), 10**5000),
]


@pytest.mark.parametrize("value", USUAL, ids=lambda value: type(value).__name__)
def test_attributes_of_any_value(value: Any) -> None:
    data = {"x": np.arange(2), ".": {"x": {"before": 1, "\\.a": value, "behind": "b"}, ".": {"y": value}}}
    found = check(data)
    assert is_compiled(data)
    header = json.loads(found[0].split(b"\n")[1])
    assert [*header["x"]][:3] == ["before", "\\.a", "behind"]


@pytest.mark.parametrize("value", UNUSUAL, ids=lambda value: type(value).__name__)
def test_attributes_that_are_left_to_others(value: Any) -> None:
    for meta in ({"x": {"a": value}}, {".": {"b": 1, "a": value}}):
        data = {"x": np.arange(2), ".": meta}
        check(data)
        assert not is_compiled(data)


@pytest.mark.parametrize("key", [1, None, 1.5, True, Word("w"), ("a",)])
def test_names_that_are_no_plain_strings(key: Any) -> None:
    for data in ({key: np.arange(2)}, {"x": np.arange(2), ".": {"x": {key: 1}}}):
        check(data)
        assert not is_compiled(data)


def test_metadata_that_are_no_plain_dicts() -> None:
    class Meta(dict[str, Any]):
        pass

    entry = OrderedDict(a=1, b=2)
    entry.move_to_end("a")
    found = check({"x": np.arange(2), ".": {"x": entry}})
    assert b'{"b": 2, "a": 1, ".size"' in found[0]
    assert check({"x": np.arange(2), ".": Meta(x={"a": 1})}) == check({"x": np.arange(2), ".": {"x": {"a": 1}}})


def test_errors_name_the_first_variable_that_is_wrong() -> None:
    bad = np.array([1j])
    meta = {"a": {"u": 1}, "b": {"bad": {1}}}
    for data, message in [
        ({"a": np.arange(2), "b": bad, ".": meta}, 'variable "b": dtype'),
        ({"a": np.arange(2), "b": np.arange(2), "c": bad, ".": meta}, 'variable "b": attribute "bad"'),
    ]:
        kind, text = check(data)
        assert (kind, message in text) == (UnsupportedError, True), text


class Tagged(np.ndarray[Any, Any]):
    """An array of another class, without a mask."""


@pytest.mark.parametrize("n", [3, 511, 512, 5000])
@pytest.mark.parametrize("kind", [Tagged, np.ma.MaskedArray, np.ndarray])
def test_large_arrays_are_not_copied(kind: Any, n: int) -> None:
    arrays = {"a": np.arange(3, dtype="i1"), "x": np.arange(float(n)).view(kind), "b": np.arange(5, dtype="u2")}
    buffers, _ = compose(dict(arrays), {})
    assert any(buffer is arrays["x"] for buffer in buffers) == (8 * n >= 4096)
    assert len(buffers) == (4 if 8 * n >= 4096 else 2)
    check(arrays)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<i2", ">u4", "i1", "?", "U3", "S2", "O"])
def test_arrays_of_any_layout_and_mask(dtype: str, order: Any) -> None:
    values = np.array([["a", "bc"], ["d", ""]]) if dtype in ("U3", "S2", "O") else np.arange(4).reshape(2, 2)
    plain = np.asarray(values.astype(dtype), order=order)
    masks: list[Any] = [np.ma.nomask, np.zeros((2, 2), bool), np.eye(2, dtype=bool), np.ones((2, 2), bool)]
    for array in (plain, plain[::-1], plain[:0], *(np.ma.MaskedArray(plain, mask) for mask in masks)):
        check({"first": np.arange(3, dtype="i1"), "x": array, "last": array, ".": {"x": {".dims": ["a", "b"]}}})


@pytest.mark.parametrize("version", ["1.0", "2.0.1"])
def test_a_memory_map_is_written_as_what_it_maps(tmp_path: Path, version: str) -> None:
    np.arange(600.0).tofile(tmp_path / "raw")
    data = {"x": np.memmap(tmp_path / "raw", "<f8"), "y": np.memmap(tmp_path / "raw", "<f8", shape=(3, 2))}
    ds.write(tmp_path / "x.ds", data, version=version)
    read = ds.read(tmp_path / "x.ds")
    assert np.array_equal(read["x"], np.arange(600.0))
    assert np.array_equal(read["y"], np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("size", [1, 200, 200_000])
def test_strings_that_change_while_they_are_written(size: int) -> None:
    texts = np.array(["abc"] * 10, object)

    def encode(*_: Any) -> Any:
        texts[:] = "x" * size  # as another thread may
        return composing._encoded(*_)

    arrays = {"a": texts, "b": np.arange(10)[::2]}
    assert compiled(arrays, {}, composing.NAMES, STORED, encode) is None


@pytest.mark.parametrize("values", [np.arange(10), np.arange(10) > 4, ["abc"] * 10])
@pytest.mark.parametrize("others", [slice(0), slice(8), slice(10)])
def test_a_mask_that_changes_while_it_is_written(values: Any, others: slice) -> None:
    masked = np.ma.MaskedArray(np.array(values, object) if isinstance(values, list) else values, np.arange(10) < 5)

    def encode(*_: Any) -> Any:
        masked.mask = False
        np.ma.getmaskarray(masked)[others] = True
        return composing._encoded(*_)

    arrays = {"a": masked, "b": np.arange(10)[::2]}
    assert compiled(arrays, {}, composing.NAMES, STORED, encode) is None
