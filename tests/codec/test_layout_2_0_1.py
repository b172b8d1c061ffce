"""Files written in the 2.0.1 layout, read by its rules and nothing else."""

from __future__ import annotations

import json
import math
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


def read_by_the_rules(content: bytes) -> dict[str, Any]:
    """Read every variable of a file as the storage format page of documentation 2.0.1 says."""
    line, _, body = content.partition(b"\n")
    out = {}
    for name, entry in json.loads(line).items():
        if name == ".":
            continue
        assert {".offset", ".len", ".type", ".dsize", ".endian", ".missing", ".size"} <= entry.keys()
        n = 1 if entry[".size"] == 1 else math.prod(entry[".size"])
        data = body[entry[".offset"] : entry[".offset"] + entry[".len"]]
        flags = [False] * n
        if entry[".missing"]:
            flags = [bool(bit) for bit in np.unpackbits(np.frombuffer(data, "u1", (n + 7) // 8))[:n]]
            data = data[(n + 7) // 8 :]
        out[name] = place(values(entry, data, flags.count(False)), flags)
    return out


def values(entry: dict[str, Any], data: bytes, m: int) -> list[Any]:
    order = "<" if entry[".endian"] == "l" else ">"
    if entry[".type"] == "bool":
        assert entry[".endian"] == "b"
        return [bool(bit) for bit in np.unpackbits(np.frombuffer(data, "u1"))[:m]]
    if entry[".type"] in ("str", "unicode"):
        lengths = struct.unpack(f"{order}{m}Q", data[: 8 * m])
        out, start = [], 8 * m
        for length in lengths:
            out.append(data[start : start + length])
            start += length
        return [value.decode() for value in out] if entry[".type"] == "unicode" else out
    kind = {"float": "f", "int": "i", "uint": "u"}[entry[".type"]]
    found: list[Any] = np.frombuffer(data, f"{order}{kind}{entry['.dsize'] // 8}").tolist()
    return found


def place(present: list[Any], flags: list[bool]) -> list[Any]:
    rest = iter(present)
    return [None if flag else next(rest) for flag in flags]


def test_every_type(tmp_path: Path) -> None:
    dataset: dict[str, Any] = {
        "b": np.arange(11) % 3 == 0,
        "mb": masked(np.arange(11) % 3 == 0, np.arange(11) % 4 == 1),
        "t": np.array(["a", "žluť", ""], object),
        "mt": masked(np.array(["a", "žluť", ""], object), [0, 1, 0]),
        "s": np.array([b"a", b"\xff\0", b""], object),
        "\\\\name": np.int16(-5),
        "zero": np.zeros((0, 2)),
    }
    for code in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        dataset[code] = np.arange(6).astype(code)
        dataset[f"m{code}"] = masked(np.arange(9).astype(code), np.arange(9) % 2)
    path = tmp_path / "x.ds"
    ds.write(path, dataset, version="2.0.1")
    found = read_by_the_rules(path.read_bytes())
    assert found.keys() == {ds.unescape(key) for key in dataset}
    for key, data in dataset.items():
        assert found[ds.unescape(key)] == np.ma.asanyarray(data).reshape(-1).tolist()


def of_another_writer(path: Path, dataset: dict[str, Any]) -> Path:
    """Write a file whose masks are right, by another program than this one, as far as the file tells."""
    ds.write(path, dataset, version="2.0.1")
    line, _, body = path.read_bytes().partition(b"\n")
    header = json.loads(line)
    assert header["."].pop(".writer")
    path.write_bytes(json.dumps(header).encode() + b"\n" + body)
    return path


A, B, C = ([1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 0, 0, 0])
NUMBERS = np.arange(5)


@pytest.mark.parametrize(
    "dataset",
    [
        {"a": masked(NUMBERS, A), "b": masked(NUMBERS, C)},
        {"time": NUMBERS, "a": masked(NUMBERS, A), "b": masked(NUMBERS, B)},
        {"a": masked(NUMBERS, A), "b": masked(NUMBERS, B), "text": np.array(["a", "b"], object)},
        {"a": masked(NUMBERS, A), "b": masked(np.arange(50), np.arange(50) == 1)},
        {"a": masked(NUMBERS, A), "b": masked(NUMBERS, A), "c": masked(5, False)},
        {"a": masked(NUMBERS, B), "b": masked(NUMBERS.astype("f4"), B)},
        {"a": masked(NUMBERS, A), "b": masked(np.int16(5), True), "c": masked(NUMBERS, A)},
    ],
)
def test_right_masks_are_not_warned_of(dataset: dict[str, Any], tmp_path: Path) -> None:
    path = of_another_writer(tmp_path / "x.ds", dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ds.read(path)
    for key, data in dataset.items():
        assert np.ma.asanyarray(found[key]).tolist() == np.ma.asanyarray(data).tolist()


@pytest.mark.parametrize(
    ("dataset", "names"),
    [
        ({"a": masked(NUMBERS, A), "b": masked(NUMBERS, B)}, "a, b"),
        ({"a": masked(NUMBERS, A), "b": masked(NUMBERS, A), "c": masked(NUMBERS, B)}, "b, c"),
        ({"a": masked(NUMBERS, A), "t": masked(np.array(list("abcde"), object), B)}, "a, t"),
    ],
)
def test_masks_that_may_be_wrong_are_warned_of(dataset: dict[str, Any], names: str, tmp_path: Path) -> None:
    path = of_another_writer(tmp_path / "x.ds", dataset)
    with pytest.warns(UserWarning, match=f"the masks of {names} may be those of other variables"):
        ds.read(path)


def of_half_floats(path: Path) -> Path:
    """Write numbers of a type that only this layout has, the second one missing."""
    values = np.array([1.5, -2], "<f2").tobytes()
    entry = {".dims": ["n"], ".size": [3], ".dsize": 16, ".offset": 0, ".len": 1 + len(values), ".missing": True}
    line = json.dumps({"x": {**entry, ".type": "float", ".endian": "l"}, ".": {}})
    path.write_bytes(line.encode() + b"\n" + b"\x40" + values)
    return path


def test_half_floats_are_read_by_each_reader(tmp_path: Path) -> None:
    path = of_half_floats(tmp_path / "x.ds")
    ds.write(tmp_path / "more.ds", {"x": np.ones(2, "f4"), ".": {"x": {".dims": ["n"]}}})
    with ds.open(path) as file:
        handle = file["x"].handle()
        assert file["x"].dtype == handle.dtype == "f2"
        assert handle.read().tolist() == file["x"][...].tolist() == [1.5, None, -2]
    found = ds.read_many([path, path], dim="n")["x"]
    assert found.dtype == "f2" and found.tolist() == [1.5, None, -2] * 2
    found = ds.read_many([path, tmp_path / "more.ds"], dim="n")["x"]
    assert found.dtype == "f4" and found.tolist() == [1.5, None, -2, 1, 1]


def test_half_floats_in_xarray(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
    path = of_half_floats(tmp_path / "x.ds")
    for found in (xr.open_dataset(path, engine="ds"), ds.open_many(path, "n")):
        assert found["x"].dtype == "f2"
        np.testing.assert_array_equal(found["x"], [1.5, np.nan, -2])


def test_masks_of_own_files_raise_no_doubt(tmp_path: Path) -> None:
    """Each mask could be that of the variable before it, which a warning says of files of ds-format 2.0.1."""
    masks = {name: np.arange(9) % 3 == i for i, name in enumerate("xyz")}
    data = {name: np.ma.MaskedArray(np.arange(9, dtype="i2"), mask) for name, mask in masks.items()}
    ds.write(tmp_path / "a.ds", data, version="2.0.1")
    for found in (ds.read(tmp_path / "a.ds"), ds.read(tmp_path / "a.ds", ["x", "y", "z"])):
        assert {name: found[name].mask.tolist() for name in "xyz"} == {name: masks[name].tolist() for name in "xyz"}
    content = (tmp_path / "a.ds").read_bytes()
    (tmp_path / "a.ds").write_bytes(content.replace(b'".writer"', b'"_writer"', 1))
    with pytest.warns(UserWarning, match="mask"):
        ds.read(tmp_path / "a.ds")
