"""`ds_format.output` and `ds_format.indent` steer what the functions of `ds_format.cmd` print."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import ds_format as ds

SCRIPT = """
import sys, ds_format as ds
ds.output, ds.indent = sys.argv[2], sys.argv[3] == "True"
ds.cmd.cat("x", sys.argv[1])
ds.cmd.attrs(sys.argv[1])
ds.cmd.ls(sys.argv[1], l=True)
"""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    ds.output, ds.indent = "pst", True


@pytest.fixture
def path(tmp_path: Path) -> str:
    ds.write(tmp_path / "x.ds", {"x": [1, 2], ".": {"x": {".dims": ["t"]}, ".": {"title": "T", "n": [1, 2]}}})
    return str(tmp_path / "x.ds")


@pytest.mark.parametrize("output", ["pst", "json", "other"])
@pytest.mark.parametrize("indent", [True, False])
def test_as_the_reference(
    path: str, output: str, indent: bool, reference_python: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [reference_python, "-I", "-c", SCRIPT, path, output, str(indent)]
    expected = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    ds.output, ds.indent = output, indent
    ds.cmd.cat("x", path)
    ds.cmd.attrs(path)
    ds.cmd.ls(path, l=True)
    assert capfd.readouterr().out == expected


def test_options_go_before(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(**options: bool) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
        monkeypatch.setattr("sys.stdout", stream)
        ds.cmd.attrs(path, **options)
        stream.flush()
        return stream.buffer.getvalue().decode()

    assert (ds.output, ds.indent) == ("pst", True)
    assert printed() == "title: T n: { 1 2 }\n"
    assert printed(j=True).count("\n") > 1
    assert printed(j=True, noindent=True) == '{"title": "T", "n": [1, 2]}\n'
    ds.output = "json"
    assert printed(noindent=True) == '{"title": "T", "n": [1, 2]}\n'
    ds.indent = False
    assert printed() == '{"title": "T", "n": [1, 2]}\n'
