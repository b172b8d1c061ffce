"""Plain arrays: read from small files of numbers, and found in datasets as step by step."""

from __future__ import annotations

import json
import os
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.codec.attributes import from_json
from ds_format.codec.header import VERSION_LINE
from ds_format.codec.line import PARSER, parse_usual
from ds_format.dataset import Dataset, arrays_of, check_dims, checked
from ds_format.drivers.ds.whole import DTYPES_BY_NUMBER
from ds_format.errors import UnsupportedError
from ds_format.kernels.ds.plain import Reader, plain_arrays, put_numbers
from ds_format.kernels.files import files

from ..strategies import datasets, usual_datasets

NATIVE, FOREIGN = ("l", "b") if sys.byteorder == "little" else ("b", "l")
BODY = np.arange(6.0).tobytes()


def file_of(entries: dict[str, Any], pad: int = 0) -> tuple[Any, bytearray]:
    """Return header and bytes of a file whose body starts at a multiple of 8, and so many bytes behind."""
    text = json.dumps({key: {".endian": NATIVE, **entry} for key, entry in entries.items()}).encode()
    size = len(VERSION_LINE) + len(text) + 1
    data = bytearray(VERSION_LINE + text + b" " * (-size % 8 + pad) + b"\n" + BODY)
    found = parse_usual(data)
    assert found is not None
    return found[0], data


def put(header: Any, data: Any, share: bool = True, keys: Any = None) -> tuple[dict[str, Any], list[str]]:
    out: dict[str, Any] = {}
    return out, put_numbers(header, DTYPES_BY_NUMBER, data, header.body, share, out, keys)


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("share", [True, False])
def test_arrays_of_numbers(pad: int, share: bool) -> None:
    header, data = file_of({"x": {".size": [2, 2]}, "y": {".size": [2], ".offset": 32}, "s": {".offset": 8}}, pad)
    out, left = put(header, data, share)
    assert left == []
    assert list(out) == ["x", "y", "s"]
    assert out["x"].tolist() == [[0, 1], [2, 3]]
    assert out["y"].tolist() == [4, 5]
    assert type(out["s"]) is np.float64
    assert out["s"] == 1
    assert out["x"].flags.writeable
    assert out["x"].flags.aligned
    assert out["x"].flags.c_contiguous
    is_view = share and not pad  # where bytes are not aligned, they are copied
    assert out["x"].flags.owndata is not is_view
    data[-8:] = bytes(8)
    assert out["y"][1] == (0 if is_view else 5)


@pytest.mark.parametrize(
    "entry",
    [
        {".size": [7]},
        {".size": [1], ".offset": 41},
        {".size": [1], ".offset": 10**17},
        {".size": [1 << 40]},
        {".size": [1 << 20, 1 << 20]},
        {".size": [0]},
        {".size": [2], ".endian": FOREIGN},
        {".size": [2], ".missing": True},
        {".size": [2], ".type": "bool"},
        {".size": [2], ".type": "unicode"},
    ],
    ids=str,
)
def test_what_is_left(entry: dict[str, Any]) -> None:
    header, data = file_of({"a": entry, "b": {".size": [1]}})
    out, left = put(header, data)
    assert left == ["a"]
    assert list(out) == ["a", "b"]
    assert out["a"] is None


def test_bytes_have_no_order() -> None:
    header, data = file_of({"a": {".size": [2], ".endian": FOREIGN, ".type": "uint8", ".offset": 8}})
    assert put(header, data)[0]["a"].tolist() == [0, 0]


def test_no_data() -> None:
    header, data = file_of({"a": {".size": None}})
    assert put(header, data) == ({"a": None}, [])


def test_some() -> None:
    header, data = file_of({"a": {".size": [1]}, "b": {".size": [1]}, "c": {".size": [2], ".missing": True}})
    out, left = put(header, data, keys=["c", "b", "z"])
    assert list(out) == ["b", "c"]
    assert left == ["c"]


def test_wrong_arguments() -> None:
    header, data = file_of({"a": {".size": [1]}})
    with pytest.raises(TypeError, match="expected a dict"):
        put_numbers(header, DTYPES_BY_NUMBER, data, header.body, True, [], None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        put(header, "text")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(data).toreadonly()])
def test_arrays_are_as_writable_as_the_buffer_and_keep_it(kind: Any) -> None:
    header, data = file_of({"x": {".size": [2, 2]}})
    buffer = kind(data)
    out, left = put(header, buffer)
    assert left == []
    assert out["x"].base is buffer
    assert out["x"].flags.writeable is not memoryview(buffer).readonly


LIMIT = 10_000
READER = Reader(PARSER, from_json, DTYPES_BY_NUMBER, files.read_or_open, LIMIT, LIMIT // 2)
VALUES = np.arange(4.0)


def made(attributes: dict[str, Any] | None = None, n: int = 4, entry: dict[str, Any] | None = None) -> bytearray:
    """Return a file of one variable, whose body starts at a multiple of 8."""
    order = "l" if sys.byteorder == "little" else "b"
    var = {".size": [n], ".type": "float64", ".endian": order, **(entry or {})}
    text = json.dumps({"x": var, ".": attributes or {}}).encode()
    size = len(VERSION_LINE) + len(text) + 1
    return bytearray(VERSION_LINE + text + b" " * (-size % 8) + b"\n" + np.resize(VALUES, n).tobytes())


def fill(data: bytearray, keys: Any = None, full: bool = False) -> tuple[dict[str, Any], Any]:
    out: dict[str, Any] = {}
    return out, READER.fill(data, out, keys, full, keys is None)


@pytest.mark.parametrize("n", [4, 1000])
def test_arrays_keep_no_header_that_is_longer_than_they_are(n: int) -> None:
    data = made(n=n)
    out, rest = fill(data)
    assert rest is None
    assert out["x"].tolist() == np.resize(VALUES, n).tolist()
    assert out["x"].flags.writeable
    assert out["x"].flags.aligned
    assert len(out["x"].base) == (8 * n if n == 4 else len(data))
    assert out["."] == {"x": {".size": [n], ".type": "float64"}, ".": {}}


def test_attributes_have_their_types() -> None:
    data = made({"a": [1], ".dtypes": {"a": ["int16", 1]}})
    for _ in range(3):
        out, rest = fill(data)
        assert rest is None
        assert out["."]["."]["a"].dtype == np.int16
        out["."]["."]["a"][0] = 2


@pytest.mark.parametrize(("full", "known"), [(False, ["."]), (True, ["x", "."])])
def test_some_variables(full: bool, known: list[str]) -> None:
    out, rest = fill(made(), ["y"], full)
    assert rest is None
    assert list(out) == ["."]
    assert list(out["."]) == known


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (made(entry={".type": "unicode"}), ["x"]),
        (made(entry={".missing": True}), ["x"]),
        (made(n=0), ["x"]),
        (made(entry={".size": [5]}), ["x"]),
        (made(entry={".type": "str"}), None),
        (made(entry={".netcdf": {"packed": True}}), []),
    ],
    ids=["text", "mask", "empty", "truncated", "offsets in doubt", "packed perhaps"],
)
def test_what_is_left_to_others(data: bytearray, left: list[str] | None) -> None:
    out, rest = fill(data)
    assert rest is not None
    assert rest[0] is data
    assert rest[1] is not None
    assert rest[2] == left
    assert "." not in out


def test_a_header_that_is_left_to_others() -> None:
    data = bytearray(b'ds-1.0\n{"x": 1}\n')
    assert fill(data) == ({}, (data, None, None))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    path.write_bytes(made())
    out: dict[str, Any] = {}
    assert READER.read(path, out, None, False) is None
    assert out["x"].tolist() == VALUES.tolist()
    os.truncate(path, LIMIT + 1)
    rest = READER.read(path, {}, None, False)
    assert rest is not None
    assert rest[0] is None
    assert rest[2] is None
    fd, size, data, _ = rest[1]
    assert (size, data) == (LIMIT + 1, path.read_bytes()[: LIMIT // 2])
    os.close(fd)
    with pytest.raises(FileNotFoundError, match="absent"):
        READER.read(tmp_path / "absent", {}, None, False)


odd = st.sampled_from([
    None,
    [],
    ["x"],
    ["x", "x"],
    ("x",),
    "x",
    ["x", "y"],
    [1],
    [["x"]],
    np.array(["x"]),
    {"x": 1},
    "",
    1,
    True,
])


def outcome(call: Any) -> Any:
    try:
        arrays, meta = call()
    except (UnsupportedError, TypeError, AttributeError) as error:
        return type(error), str(error)
    return {key: (type(array), id(array) if array is not None else None) for key, array in arrays.items()}, id(meta)


def step_by_step(dataset: Any) -> Any:
    arrays, meta = arrays_of(dataset)
    check_dims(arrays, meta)
    return arrays, meta


def check(dataset: Any) -> None:
    found, expected = outcome(lambda: checked(dataset)), outcome(lambda: step_by_step(dataset))
    if "." not in dataset:  # metadata of their own, each time
        found, expected = found[0], expected[0]
    assert found == expected


@given(datasets() | usual_datasets(), st.data())
def test_datasets_are_judged_as_step_by_step(dataset: dict[str, Any], data: st.DataObject) -> None:
    for kind in (dict, Dataset):
        check(kind(dataset))
    changed = data.draw(st.sampled_from([*dataset]))
    if changed == ".":
        dataset["."] = data.draw(odd)
    else:
        dataset["."] = {**dataset["."], changed: data.draw(odd | odd.map(lambda names: {".dims": names}))}
    check(dataset)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], ["b", "a"]])
def test_names_that_do_not_fit(names: list[str]) -> None:
    dataset = {"x": np.zeros((2, 3)), "y": np.zeros((2, 3)), ".": {"x": {".dims": names}, "y": {".dims": ["a", "b"]}}}
    assert plain_arrays(dataset) is None
    with pytest.raises(UnsupportedError, match=r"dimension names|has size"):
        checked(dataset)


def test_what_is_plain() -> None:
    arrays = {
        "x": np.zeros((2, 3)),
        "y": np.ma.MaskedArray([1, 2], [True, False]),
        "z": np.array(["a"]),
        "n": np.array(1),
    }
    meta = {"x": {".dims": ["a", "b"]}, "y": {".dims": ["a"]}, "absent": {".dims": 5}, ".": {".dims": 5}}
    found = plain_arrays({**arrays, ".": meta})
    assert found is not None
    assert [*found] == [*arrays]
    assert all(found[key] is array for key, array in arrays.items())


@pytest.mark.parametrize("data", [None, 1.5, "a", [1, 2], np.float64(1), np.ma.masked, np.array([None, "a"], object)])
def test_what_is_not(data: Any) -> None:
    assert plain_arrays({"x": np.arange(2), "y": data, ".": {}}) is None
    assert plain_arrays({"x": np.arange(2), ".": data}) is None
    assert plain_arrays({"x": np.arange(2), ".": {"x": data}}) is None


def test_a_dict_with_an_order_of_its_own() -> None:
    dataset = OrderedDict({"x": np.arange(2), "y": np.arange(2), ".": {}})
    dataset.move_to_end("x")
    assert [*checked(dataset)[0]] == ["y", "x"]


def test_no_dataset() -> None:
    with pytest.raises(TypeError, match="expected a dict"):
        plain_arrays([])  # type: ignore[arg-type]
