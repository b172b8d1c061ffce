"""Data on stdout."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.cli import output


def printed(item: Any, capsysbinary: pytest.CaptureFixture[bytes], **options: bool) -> bytes:
    output.write([item], **options)
    return capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("item", "pst", "json"),
    [
        (None, b"\n", b"null\n"),
        (["a", "b c"], b'a "b c"\n', b'["a", "b c"]\n'),
        ("žč", "žč\n".encode(), b'"\\u017e\\u010d"\n'),
        ("\udcff", b"\xff\n", b'"\\udcff"\n'),
        ("\ud800", b"\xed\xa0\x80\n", b'"\\ud800"\n'),
        (b"\xff", b"\xff\n", b'"\\udcff"\n'),
        (float("nan"), b"nan\n", b"NaN\n"),
        (["v", np.float32(0.5)], b"v 0.500000\n", b'["v", 0.5]\n'),
        (["v", np.array([1, 2], "i2")], b"v { 1 2 }\n", b'["v", [1, 2]]\n'),
        ({"a": (np.int8(1), b"x")}, b"a: { 1 x }\n", b'{"a": [1, "x"]}\n'),
        (["v", np.array([b"x"], object)], b"v { x }\n", b'["v", ["x"]]\n'),
    ],
)
def test_items_are_printed(item: Any, pst: bytes, json: bytes, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert pst == printed(item, capsysbinary)
    assert json == printed(item, capsysbinary, as_json=True, indent=False)


def test_indent(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    item = {"a": {"b": 1}}
    assert printed(item, capsysbinary) == b"a: {{\n\tb: 1\n}}\n"
    assert printed(item, capsysbinary, indent=False) == b"a: {{ b: 1 }}\n"
    assert printed(item, capsysbinary, as_json=True) == b'{\n    "a": {\n        "b": 1\n    }\n}\n'


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_stdout_of_any_encoding_gets_utf8(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    output.write(["ž\udcff"])
    assert raw.getvalue() == b"\xc5\xbe\xff\n"


def test_stdout_without_bytes_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    output.write(["ž", 5])
    assert stream.getvalue() == "ž\n5\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_stdout_is_an_error_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(OSError, match="No space left"):
            output.write(["a"])
        assert stream.closed


def test_an_error_of_the_data_leaves_stdout_open(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def items() -> Any:
        yield "a"
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        output.write(items())
    output.write(["b"])
    assert capsysbinary.readouterr().out == b"a\nb\n"
