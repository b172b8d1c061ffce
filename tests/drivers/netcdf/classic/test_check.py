"""`ds verify` of classic files: what is odd about them, beyond what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import ds_format as ds

from ....classic.files import File, Variable, encode

RECORDS = Variable(b"r", [0], 3, [b"\0\1", b"\0\2"])
OTHER = Variable(b"q", [0, 1], 1, [b"abc", b"def"])
FIXED = Variable(b"x", [1], 5, [bytes(12)])
FILE = File(1, [(b"t", 0), (b"n", 3)], [], [FIXED, RECORDS, OTHER])
ODD: dict[str, tuple[File, bytes, list[tuple[str | None, str]]]] = {
    "nothing": (FILE, b"", []),
    "one record variable": (FILE._replace(variables=[FIXED, RECORDS]), b"", []),
    "no variables": (FILE._replace(variables=[]), b"", []),
    "streaming": (
        FILE._replace(n_records=2**32 - 1),
        b"",
        [(None, "header: numrecs: the number of records was never written; found 2 by the size of the file")],
    ),
    "vsize": (
        FILE._replace(variables=[FIXED._replace(vsize=13), RECORDS, OTHER]),
        b"",
        [("x", "header: vsize: found 13, expected 12")],
    ),
    "more": (FILE, b"more", [(None, "found 4 bytes behind the last variable")]),
    "more behind fixed": (FILE._replace(variables=[FIXED]), b"\0", [(None, "found 1 bytes behind the last variable")]),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd(name: str, tmp_path: Path) -> None:
    file, more, expected = ODD[name]
    (tmp_path / "a.nc").write_bytes(encode(file) + more)
    found = ds.verify(tmp_path / "a.nc")
    assert [(problem.variable, problem.message, problem.severity) for problem in found] == [
        (*each, "warning") for each in expected
    ]


def test_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(encode(FILE)[:-8])
    assert [(problem.variable, problem.severity) for problem in ds.verify(tmp_path / "a.nc")] == [
        ("r", "error"),
        ("q", "error"),
    ]
    (tmp_path / "a.nc").write_bytes(encode(FILE)[:50])
    [problem] = ds.verify(tmp_path / "a.nc")
    assert problem.severity == "error" and "header" in problem.message
