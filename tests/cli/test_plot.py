"""`ds plot`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ds_format import write
from ds_format.show.scene import Line, Look, Map

if TYPE_CHECKING:
    from .conftest import Run

ROOT = Path(__file__).parents[2]
BIG = "9" * 400
EXPECTED = "expected { A B }"
MANY = (
    'sample.nc: variable "pressure": found 3 dimensions (time: 14, lat: 5, lon: 8), '
    "expected at most 2: select positions, as in sel: { time: 0 }"
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
    assert rows[:2] == ["air temperature at 2 m, station[0]", "temperature (K)"]
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


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, Look]]:
    """The scene for a picture."""
    found: list[tuple[object, Look]] = []
    monkeypatch.setattr("ds_format.show.picture.save", lambda scene, path, look: found.append((scene, look)))
    return found


def test_how_it_is_to_look(ds: Run, sample: str, picture: list[tuple[object, Look]]) -> None:
    words = ["plot", "pressure", sample, "sel:", "{", "time:", "0", "}", "-o", "x.png"]
    for options, expected in (
        ([], Look()),
        (["limits:", "{", "990", "none", "}"], Look(990)),
        (["limits:", "{ 990 none }"], Look(990)),
        (["limits:", "{", "none", "1e3", "}", "colormap:", "cividis"], Look(None, 1000, "cividis")),
        (["--coastlines"], Look(coastlines=True)),
        (["coastlines:", "false"], Look(coastlines=False)),
    ):  # fmt: skip
        assert ds(*options, *words) == (0, "", "")
        scene, look = picture.pop()
        assert look == expected
        assert isinstance(scene, Map)
        assert (scene.where, scene.file, scene.units) == ("time = 2026-01-01 12:00", "sample.nc", "hPa")


def test_which_part_is_told_where_no_coordinate_tells_it(
    ds: Run, sample: str, picture: list[tuple[object, Look]]
) -> None:
    assert ds("plot", "temperature", sample, "sel:", "{", "station:", "-1", "}", "-o", "x.png") == (0, "", "")
    scene, _ = picture.pop()
    assert isinstance(scene, Line)
    assert scene.where == "station[2]"


def test_a_range_in_the_terminal(ds: Run, sample: str) -> None:
    words = ["plot", "pressure", sample, "sel:", "{", "time:", "0", "}", "limits:", "{", "999", "1000", "}"]
    assert ds(*words).out.splitlines()[1].endswith("999 to \N{BRAILLE PATTERN DOTS-12345678} 1000")
    words = ["plot", "temperature", sample, "sel:", "{", "station:", "0", "}", "limits:", "{", "260", "none", "}"]
    rows = ds(*words).out.splitlines()
    assert any(row.startswith("   260 ") for row in rows)
    assert rows[2].startswith("271.15 ")


def test_coordinates_of_other_names_and_along_both_dimensions(
    ds: Run, folder: Path, picture: list[tuple[object, Look]]
) -> None:
    meta: dict[str, dict[str, object]] = {
        "v": {".dims": ["time", "y", "x"], "coordinates": "where height"},
        "time": {".dims": ["time"], "units": "days since 2000-02-01", "calendar": "360_day"},
        "height": {".dims": [], "units": "m"},
        "x2": {".dims": ["x"], "standard_name": "longitude"},
        "y2": {".dims": ["y"], "units": "degrees_north"},
    }
    dataset: dict[str, object] = {
        "v": np.zeros((2, 2, 3)), "time": [28.0, 29.0], "height": 2.0, "x2": [0.0, 1, 2], "y2": [5.0, 6], ".": meta,
    }  # fmt: skip
    write(folder / "x.ds", dataset)
    words = ["plot", "v", "x.ds", "-o", "x.png", "at:", "{", "time:", "2000-02-30", "}"]
    assert ds(*words) == (0, "", "")
    scene, _ = picture.pop()
    assert isinstance(scene, Map)
    assert (scene.x.kind, scene.y.kind) == ("longitude", "latitude")
    assert scene.where == "time = 2000-02-30, height = 2 m"
    for name, units in (("x2", "degrees_east"), ("y2", "degrees_north")):
        meta[name] = {".dims": ["y", "x"], "units": units}
        dataset[name] = np.arange(6.0).reshape(2, 3)
    write(folder / "x.ds", dataset)
    assert ds(*words) == (0, "", "")
    scene, _ = picture.pop()
    assert isinstance(scene, Map)
    assert scene.grid is not None
    assert scene.grid.longitude.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert scene.grid.labels == ("x2 (degrees_east)", "y2 (degrees_north)")


def test_what_lies_on_no_grid_is_refused(ds: Run, folder: Path, picture: list[tuple[object, Look]]) -> None:
    n = 2000
    meta: dict[str, dict[str, object]] = {
        "v": {".dims": ["cell"]},
        "lon": {".dims": ["cell"], "units": "degrees_east"},
        "lat": {".dims": ["cell"], "units": "degrees_north"},
        ".": {},
    }
    dataset: dict[str, object] = {"v": np.arange(n), "lon": np.zeros(n), "lat": np.zeros(n), ".": meta}
    write(folder / "x.ds", dataset)
    status, _, err = ds("plot", "v", "x.ds", "-o", "x.png")
    assert status == 1
    assert 'its 2000 values lie on no grid: "lon" and "lat" are both along the dimension "cell"' in err
    meta["."]["featureType"] = "trajectory"
    write(folder / "x.ds", dataset)
    assert ds("plot", "v", "x.ds", "-o", "x.png").status == 0
    assert len(picture) == 1


def test_errors_are_one_line(ds: Run, sample: str) -> None:
    for words, message in (
        (["pressure", sample], MANY),
        (["station_code", sample], 'sample.nc: variable "station_code": text cannot be drawn, only numbers'),
        (["lat", "nothing.nc"], "nothing.nc: File does not exist"),
        (["nothing", sample], 'sample.nc: variable "nothing" not found'),
        (["lat", sample, "o:", "5"], "o: invalid type: expected the name of a picture"),
        (["lat", sample, "limits:", "5"], "limits: invalid type: expected { A B }, found 5"),
        (["lat", sample, "limits:", "{", "5", "1", "}"], "limits: expected the lower limit first, found { 5 1 }"),
        (["lat", sample, "limits:", BIG], f"limits: invalid type: expected {{ A B }}, found {BIG}"),
        (["lat", sample, "limits:", f"{{ 0 {BIG} }}"], f"limits: invalid type: {EXPECTED}, found {{ 0 {BIG} }}"),
        (["time", sample, "limits:", "{", "1", "5", "}"], "limits: not possible for values that are times"),
        (["lat", sample, "--coastlines"], "coastlines: only possible for a picture: add -o OUTPUT"),
        (["lat", sample, "colormap:", "x"], "colormap: only possible for a picture: add -o OUTPUT"),
        (["lat", sample, "-o", "x.png", "colormap:", "5"], "colormap: invalid type: expected a name, found 5"),
    ):  # fmt: skip
        assert ds("plot", *words) == (1, "", f"ds plot: {message}\n")
    status, _, err = ds("plot", "lat", sample, "-o")
    assert status == 1
    assert err.startswith("ds plot: -o: expected the name of a picture with one of the suffixes .png ")
    assert ds("plot", sample, "a", "b").err.startswith(
        "ds plot: found 3 arguments, expected VAR INPUT\nUsage: ds plot "
    )
