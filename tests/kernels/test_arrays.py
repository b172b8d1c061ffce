"""Numbers of a small file as arrays: which variables the kernel takes, and which it leaves to others."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from ds_format.codec.header import VERSION_LINE
from ds_format.codec.line import compiled
from ds_format.drivers.ds.whole import DTYPES_BY_NUMBER
from ds_format.kernels.ds.arrays import put_numbers

NATIVE, FOREIGN = ("l", "b") if sys.byteorder == "little" else ("b", "l")
BODY = np.arange(6.0).tobytes()


def made(entries: dict[str, Any], pad: int = 0) -> tuple[Any, bytearray]:
    """Return header and bytes of a file whose body starts at a multiple of 8, and so many bytes behind."""
    text = json.dumps({key: {".endian": NATIVE, **entry} for key, entry in entries.items()}).encode()
    size = len(VERSION_LINE) + len(text) + 1
    data = bytearray(VERSION_LINE + text + b" " * (-size % 8 + pad) + b"\n" + BODY)
    found = compiled(data)
    assert found is not None
    return found[0], data


def put(header: Any, data: Any, share: bool = True, keys: Any = None) -> tuple[dict[str, Any], list[str]]:
    out: dict[str, Any] = {}
    return out, put_numbers(header, DTYPES_BY_NUMBER, data, header.body, share, out, keys)


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("share", [True, False])
def test_arrays_of_numbers(pad: int, share: bool) -> None:
    header, data = made({"x": {".size": [2, 2]}, "y": {".size": [2], ".offset": 32}, "s": {".offset": 8}}, pad)
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
    header, data = made({"a": entry, "b": {".size": [1]}})
    out, left = put(header, data)
    assert left == ["a"]
    assert list(out) == ["a", "b"]
    assert out["a"] is None


def test_bytes_have_no_order() -> None:
    header, data = made({"a": {".size": [2], ".endian": FOREIGN, ".type": "uint8", ".offset": 8}})
    assert put(header, data)[0]["a"].tolist() == [0, 0]


def test_no_data() -> None:
    header, data = made({"a": {".size": None}})
    assert put(header, data) == ({"a": None}, [])


def test_some() -> None:
    header, data = made({"a": {".size": [1]}, "b": {".size": [1]}, "c": {".size": [2], ".missing": True}})
    out, left = put(header, data, keys=["c", "b", "z"])
    assert list(out) == ["b", "c"]
    assert left == ["c"]


def test_wrong_arguments() -> None:
    header, data = made({"a": {".size": [1]}})
    with pytest.raises(TypeError, match="expected a dict"):
        put_numbers(header, DTYPES_BY_NUMBER, data, header.body, True, [], None)  # type: ignore[arg-type]
    with pytest.raises((BufferError, TypeError)):
        put(header, bytes(data))
