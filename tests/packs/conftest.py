"""Packs of small files, and how tests change bytes of a ZIP archive."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

N = 6


def report(i: int, n: int = 4) -> dict[str, Any]:
    """Return a dataset with text, missing values, a scalar and attributes."""
    x = np.ma.MaskedArray(np.arange(n) + i, [j == 1 for j in range(n)])
    dims = {"time": {".dims": ["time"], "units": "days since 2000-01-01"}, "x": {".dims": ["time"]}}
    text = np.array([f"s{i}-{j}" for j in range(n)], object)
    named = {"name": {".dims": ["time"]}, "lat": {".dims": []}, ".": {"title": f"report {i}"}}
    return {"time": np.arange(n) + float(i * n), "x": x, "name": text, "lat": np.float64(1), ".": dims | named}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the working directory, with files in `st` and their pack `st.zip`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "st").mkdir()
    for i in range(N):
        suffix = ".nc" if i == N - 1 else ".ds"
        ds.write(f"st/r{i}{suffix}", report(i))
    assert ds.pack("st/*", "st.zip") == N
    return tmp_path


def central(data: bytes, number: int = 0) -> int:
    """Return where an entry of the directory of an archive begins."""
    at = struct.unpack_from("<L", data, len(data) - 6)[0]
    for _ in range(number):
        at += 46 + sum(struct.unpack_from("<3H", data, at + 28))
    return int(at)


def local(data: bytes, number: int = 0) -> int:
    """Return where the local header of a member begins."""
    return int(struct.unpack_from("<L", data, central(data, number) + 42)[0])


def changed(data: bytes, at: int, form: str, *values: Any) -> bytes:
    """Return bytes of which some are others."""
    out = bytearray(data)
    struct.pack_into(form, out, at, *values)
    return bytes(out)
