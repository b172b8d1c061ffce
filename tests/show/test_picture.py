"""Pictures, by matplotlib where it is installed.

The range of colours, and which ones.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from ds_format.errors import DriverError
from ds_format.show import picture
from ds_format.show.picture import DIVERGING, SEQUENTIAL, colour_scale
from ds_format.show.scene import Axis, Line, Look, Map

LINE = Line("a $title", Axis("x $", np.arange(5.0)), Axis("y (K)", np.array([1, 2, np.nan, 3, 4]), downward=True))
MAP = Map(
    "p",
    Axis("lon", np.arange(6.0) * 60, "longitude"),
    Axis("lat", np.array([60.0, 0, -60]), "latitude"),
    "p (Pa)",
    np.where(np.eye(3, 6) > 0, np.nan, 1.0),
)
DATES = Line(
    "t", Axis("time", np.array(["2000-01-01", "NaT", "2000-02-01"], "M8[ms]"), "time"), Axis("t", np.arange(3.0))
)
START = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml", ".eps": b"%!PS", ".jpg": b"\xff\xd8"}


@pytest.fixture
def matplotlib() -> types.ModuleType:
    return pytest.importorskip("matplotlib", reason="needs matplotlib, the extra plot")


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("suffix", START)
def test_each_format(suffix: str, tmp_path: Path) -> None:
    scenes: list[Line | Map] = [LINE, MAP, DATES]
    for i, scene in enumerate(scenes):
        path = tmp_path / f"{i}{suffix}"
        picture.save(scene, str(path))
        assert path.read_bytes().startswith(START[suffix])
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.usefixtures("matplotlib")
def test_pyplot_and_its_windows_stay_out(tmp_path: Path) -> None:
    sys.modules.pop("matplotlib.pyplot", None)
    picture.save(LINE, str(tmp_path / "x.png"))
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.usefixtures("matplotlib")
def test_a_picture_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"old")

    def fail(self: object, target: IO[bytes], **options: object) -> None:
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        picture.save(LINE, str(path))
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["x.png"]


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("name", ["x", "x.xyz", "png"])
def test_unknown_formats_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DriverError, match=r"unknown picture format: expected one of \.eps"):
        picture.save(LINE, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, package: str | None = None) -> types.ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(DriverError, match=r"cannot import matplotlib: pip install 'ds-format-cython\[plot\]'"):
        picture.save(LINE, str(tmp_path / "x.png"))


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize(("n", "common"), [(10, ", 2026-01"), (60, ", 2026"), (800, "")])
def test_a_date_on_the_vertical_axis_leaves_the_subtitle_alone(n: int, common: str) -> None:
    days = np.datetime64("2026-01-01", "ms") + np.arange(1, n) * np.timedelta64(1, "D")
    lon = Axis("lon", np.arange(6.0) * 60, "longitude")
    scene = Map("u", lon, Axis("time", days, "time"), "u (m s-1)", np.ones((len(days), 6)), file="a.ds")
    figure = picture.draw(scene, Look())
    figure.canvas.draw()
    axes = figure.axes[0]
    assert not axes.yaxis.get_offset_text().get_visible() or not axes.yaxis.get_offset_text().get_text()
    assert axes.get_ylabel() == f"time{common}"


WAVE = np.linspace(-1, 1, 201)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (WAVE + 5, (4, 6, SEQUENTIAL, "neither")),
        (WAVE, (-1, 1, DIVERGING, "neither")),
        (WAVE * 2 + 1, (-3, 3, DIVERGING, "neither")),
        (WAVE + 0.9, (-0.1, 1.9, SEQUENTIAL, "neither")),
        (np.r_[WAVE, np.nan], (-1, 1, DIVERGING, "neither")),
        (np.full(5, 7.0), (6.65, 7.35, SEQUENTIAL, "neither")),
        (np.zeros(5), (-1, 1, SEQUENTIAL, "neither")),
        (np.r_[np.zeros(1000), 1], (0, 1, SEQUENTIAL, "neither")),
    ],
)
def test_by_the_values(values: np.ndarray, expected: tuple[float, float, str, str]) -> None:
    found = colour_scale(values, Look())
    assert (found.low, found.high) == pytest.approx(expected[:2])
    assert (found.colormap, found.extend) == expected[2:]


def test_a_few_values_far_away_do_not_count() -> None:
    values = np.r_[np.linspace(10, 20, 1000), 1e6]
    found = colour_scale(values, Look())
    assert 10 <= found.low < 10.2 and 19.8 < found.high <= 20.1
    assert found.extend == "both"
    assert colour_scale(np.linspace(0, 1, 1000) ** 3, Look()).extend == "neither"


def test_as_it_is_chosen() -> None:
    assert colour_scale(WAVE, Look(-0.5, 0.5)) == (-0.5, 0.5, DIVERGING, "both")
    assert colour_scale(WAVE, Look(None, 0.5)) == (-1, 0.5, SEQUENTIAL, "max")
    assert colour_scale(WAVE, Look(-0.5, None, "magma")) == (-0.5, 1, "magma", "min")
    assert colour_scale(WAVE, Look(-9, 10)) == (-9, 10, SEQUENTIAL, "neither")


def test_ends_beyond_all_values() -> None:
    low = colour_scale(WAVE + 5, Look(low=10))
    assert low.low == 10 < low.high and low.extend == "min"
    high = colour_scale(WAVE + 5, Look(high=1))
    assert high.high == 1 > high.low and high.extend == "max"


def test_the_largest_numbers() -> None:
    found = colour_scale(np.array([-1e300, 1e300]), Look())
    assert (found.low, found.high) == (-1e300, 1e300)
