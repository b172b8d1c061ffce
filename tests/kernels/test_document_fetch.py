"""`fetch_document`: what it returns, and when it leaves the rest to others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ds_format.kernels.zds.zdx import Table

if os.name != "posix":
    pytest.skip("needs pread", allow_module_level=True)

from ds_format.kernels.zds.document_fetch import fetch_document

LINES = b'{"_id":"a"}\n{"_id":"b","x":1}\n["_id"]\n{"_id":"c","x":1111111111111111111}\n{"x":1}\n{"_id"\n{"_id":"d"}'


def test_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(LINES)
    table, place = Table(), 0
    for name, line in zip("abncxyd", LINES.splitlines(keepends=True), strict=True):
        table.add(name, place, len(line))
        place += len(line)
    table.add("wrong", 12, 18)
    table.add("middle", 13, 17)
    table.add("two", 12, 27)
    table.add("short", 12, 17)
    table.add("beyond", len(LINES) + 5, 17)
    fd = os.open(path, os.O_RDONLY)
    try:
        assert fetch_document(table, fd, 0, json.loads, "b") == {"_id": "b", "x": 1}
        assert fetch_document(table, fd, 0, json.loads, "none") is None
        assert fetch_document(table, fd, 0, json.loads, "\ud800") is None
        for name in [*"ancxyd", "wrong", "middle", "two", "short", "beyond"]:
            assert fetch_document(table, fd, 0, json.loads, name) is False
        assert fetch_document(table, -1, 0, json.loads, "b") is False
        with pytest.raises(ZeroDivisionError):
            fetch_document(table, fd, 0, lambda line: 1 / 0, "b")
        with pytest.raises(TypeError):
            fetch_document(table, fd, 0, json.loads, 5)  # type: ignore[arg-type]
    finally:
        os.close(fd)
