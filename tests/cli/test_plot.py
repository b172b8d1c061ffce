"""`ds plot`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Run

ROOT = Path(__file__).parents[2]
MANY = (
    'sample.nc: variable "pressure": found 3 dimensions (time: 14, lat: 5, lon: 8), '
    "expected at most 2: select some, as by sel: { time: 0 }"
)


@pytest.fixture
def sample(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "16")
    shutil.copy(ROOT / "examples" / "sample.nc", folder)
    return "sample.nc"


def test_a_line_in_the_terminal(ds: Run, sample: str) -> None:
    status, out, err = ds("plot", "temperature", sample, "sel:", "{", "station:", "0", "}")
    assert (status, err) == (0, "")
    rows = out.splitlines()
    assert rows[:2] == ["air temperature at 2 m", "temperature (K)"]
    assert rows[2].startswith("271.15 ")
    assert rows[-1].split() == ["2026-01-01", "12:00", "time", "2026-01-14", "12:00"]
    assert len(rows) == 14
    assert max(map(len, rows)) <= 60


def test_a_map_in_the_terminal(ds: Run, sample: str) -> None:
    status, out, _ = ds("plot", "press*", sample, "sel:", "{", "time:", "0", "}")
    assert status == 0
    rows = out.splitlines()
    assert rows[0] == "air pressure at sea level, time = 2026-01-01 12:00"
    assert rows[1].startswith("pressure (hPa): ")
    assert rows[2] == "lat (degrees_north)"
    assert "lon (degrees_east)" in rows[-1]


@pytest.mark.parametrize(("encoding", "is_ascii"), [("utf-8", False), ("ascii", True), ("latin-1", True)])
def test_a_terminal_that_knows_ascii_alone(
    encoding: str, is_ascii: bool, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "ds_format", "plot", "lat", sample], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.isascii() is is_ascii


@pytest.mark.parametrize(
    "words",
    [
        ["lat", "sample.nc", "-o", "x.png"],
        ["-o", "x.png", "lat", "sample.nc"],
        ["lat", "sample.nc", "o:", "x.png"],
        ["o:", "x.png", "lat", "sample.nc"],
    ],
)
def test_a_picture(words: list[str], ds: Run, sample: str, folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib, the extra plot")
    assert ds("plot", *words) == (0, "", "")
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")


def test_errors_are_one_line(ds: Run, sample: str) -> None:
    for words, message in (
        (["pressure", sample], MANY),
        (["station_code", sample], 'sample.nc: variable "station_code": text cannot be drawn, only numbers'),
        (["lat", "nothing.nc"], "nothing.nc: File does not exist"),
        (["nothing", sample], 'sample.nc: variable "nothing" not found'),
        (["lat", sample, "o:", "5"], "o: invalid type: expected the name of a picture"),
    ):  # fmt: skip
        assert ds("plot", *words) == (1, "", f"ds plot: {message}\n")
    status, _, err = ds("plot", "lat", sample, "-o")
    assert status == 1
    assert err.startswith("ds plot: -o: expected the name of a picture: one of .png ")
    assert ds("plot", sample).err.startswith("ds plot: invalid number of arguments\nUsage: ds plot ")
