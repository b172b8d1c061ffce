"""Text and byte strings of open files, by every form of index, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from .formats import DATASETS, RECORDS

NAMES = [*DATASETS, "2.0.1"]
TEXT = np.array([["a", "ž", ""], ["bc", "d", "e"]], object)
INDEXES: list[Any] = [
    *(0, -1, slice(0, 1), [1, 0], [True, False], Ellipsis, (0, 1), (slice(None), 0), (0, [2, 0]), (-1, slice(1, None))),
    *((0, Ellipsis), ([0, 1], [2])),
]


def plain(found: Any) -> Any:
    return found.tolist() if isinstance(found, np.ndarray) else found


def as_grid(data: Any, index: Any) -> Any:
    """Return what an index selects; lists in several dimensions select a grid."""
    if isinstance(index, tuple) and all(isinstance(item, list) for item in index):
        return data[np.ix_(*index)]
    return data[index]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["text", "bytes", "missing"])
def test_all_indexes(tmp_path: Path, name: str, kind: str) -> None:
    data: Any = TEXT
    if kind == "bytes":
        data = np.array([item.encode() for item in TEXT.flat], object).reshape(TEXT.shape)
    if kind == "missing":
        data = np.ma.MaskedArray(TEXT, [[False, False, True], [False, True, False]])
    path = tmp_path / f"x{'.ds' if name == '2.0.1' else name}"
    flat = data.reshape(-1)
    meta = {"x": {".dims": ["i", "j"]}, "flat": {".dims": ["n"]}}
    options: dict[str, Any] = {"version": "2.0.1"} if name == "2.0.1" else {}
    if name in RECORDS:
        options["dim"] = "n"
    ds.write(path, {"flat": flat, "x": data, ".": meta}, **options)
    with ds.open(path) as file:
        for index in INDEXES:
            if not isinstance(index, tuple):
                one = index if index != [True, False] else [True, False, True, False, True, False]
                expected = as_grid(flat, one)
                assert plain(file["flat"][one]) == (None if expected is np.ma.masked else plain(expected)), one
            expected = as_grid(data, index)
            assert plain(file["x"][index]) == (None if expected is np.ma.masked else plain(expected)), index


def test_a_column(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.csv", {"x": ["a", "ž", None], ".": {"x": {".dims": ["i"]}}})
    with ds.open(tmp_path / "x.csv") as file:
        assert (file["x"][0], file["x"][-2], plain(file["x"][2])) == ("a", "ž", None)
        assert file["x"][[1, 0]].tolist() == ["ž", "a"]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RECORDS])
@pytest.mark.parametrize("value", ["text", b"bytes"])
def test_scalars(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / f"x{'.ds' if name == '2.0.1' else name}"
    options: dict[str, Any] = {"version": "2.0.1"} if name == "2.0.1" else {}
    ds.write(path, {"x": value, ".": {"x": {".dims": []}}}, **options)
    with ds.open(path) as file:
        assert plain(file["x"][...]) == plain(file["x"][()]) == value
