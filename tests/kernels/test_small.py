"""Small files in one call: what is done, and what is left to others."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.codec.attributes import from_json
from ds_format.codec.header import VERSION_LINE
from ds_format.codec.line import PARSER
from ds_format.drivers.ds.whole import DTYPES_BY_NUMBER
from ds_format.kernels.ds.small import Reader
from ds_format.kernels.files import files

LIMIT = 10_000
READER = Reader(PARSER, from_json, DTYPES_BY_NUMBER, files.read_file, LIMIT)
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
    return out, READER.fill(data, out, keys, full)


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
    assert READER.read(path, {}, None, False) == (None, None, None)
    with pytest.raises(FileNotFoundError, match="absent"):
        READER.read(tmp_path / "absent", {}, None, False)
