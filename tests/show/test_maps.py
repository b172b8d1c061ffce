"""The parts of a matplotlib figure and their positions, not pixels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.errors import DriverError
from ds_format.show import geography, picture
from ds_format.show.scene import Axis, Grid, Line, Look, Map

from .sources import make

matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib, the extra plot")
NORTH, EAST = {".dims": ["lat"], "units": "degrees_north"}, {".dims": ["lon"], "units": "degrees_east"}
COAST = np.array([[-170.0, 0], [-10, 10], [0, 0], [170, 60]])


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with matplotlib.rc_context(picture.STYLE):
        yield


@pytest.fixture
def _coast(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that all packages together know."""
    monkeypatch.setattr(geography, "_folder", lambda: "here")
    monkeypatch.setattr(geography, "_gshhg", lambda folder, box, dots: [COAST])


def globe(lon: Any, lat: Any, **more: Any) -> Map:
    x, y = np.asarray(lon, float), np.asarray(lat, float)
    values = np.arange(float(x.size * y.size)).reshape(y.size, x.size)
    return Map("title", Axis("lon", x, "longitude"), Axis("lat", y, "latitude"), "v (K)", values, **more)


def drawn(scene: Any, **look: Any) -> tuple[Any, Any]:
    """Return the axes of a scene, and those of its bar of colours, at their final places."""
    figure = picture.draw(scene, Look(**look))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    return axes, axes.child_axes[0] if axes.child_axes else None


def coasts(axes: Any) -> Any:
    found = [artist for artist in axes.collections if artist.get_gid() == "coastlines"]
    return found[0] if found else None


SHAPES = {
    "globe": (np.arange(0, 360, 10), np.arange(-90, 91, 10)),
    "strip": (np.arange(0, 360, 10), [-1, 1]),
    "column": ([0, 2], np.arange(-80, 81, 10)),
    "region": (np.arange(10, 20), np.arange(50, 60)),
}


@pytest.mark.usefixtures("_coast")
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("low", [None, 5.0])
def test_the_bar_is_as_tall_as_the_map(name: str, low: float | None) -> None:
    axes, bar = drawn(globe(*SHAPES[name]), low=low)
    of_map, of_bar = axes.get_window_extent(), bar.get_tightbbox(for_layout_only=True)
    figure = axes.figure
    place = bar.get_window_extent()
    if low is None:
        assert (place.y0, place.y1) == pytest.approx((of_map.y0, of_map.y1), abs=0.5)
    else:  # its arrow is a part of it
        assert place.y0 > of_map.y0
        assert bar._colorbar.extend == "min"
    assert 0 < (place.x0 - of_map.x1) / figure.dpi < 0.2
    assert of_bar.y0 < of_map.y1


@pytest.mark.usefixtures("_coast")
def test_degrees_have_the_length_that_they_have_in_the_middle() -> None:
    for name, expected in (("globe", 1), ("region", 1 / np.cos(np.radians(54.5)))):
        axes, _ = drawn(globe(*SHAPES[name]))
        place = axes.get_window_extent()
        (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
        assert (place.height / (north - south)) / (place.width / (east - west)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("_coast")
@pytest.mark.parametrize(
    ("lon", "expected"),
    [
        (np.arange(0, 360, 10), (-5, 355)),
        (np.arange(-180, 180, 10), (-185, 175)),
        (np.arange(0, 361, 10), (0, 360)),
        (np.arange(355, -1, -10), (0, 360)),
        (np.arange(160, 201, 10), (155, 205)),
    ],
)
def test_longitudes_and_the_coasts_in_them(lon: Any, expected: tuple[float, float]) -> None:
    axes, _ = drawn(globe(lon, np.arange(90, -91, -10)))
    assert axes.get_xlim() == expected
    assert axes.get_ylim() == (-90, 90)
    lines = coasts(axes)
    assert lines.get_clip_on() and lines.get_segments()
    for line in lines.get_segments():
        assert line[:, 0].max() >= expected[0] and line[:, 0].min() <= expected[1]


def test_falling_coordinates_are_drawn_where_they_are(tmp_path: Path) -> None:
    lat, lon = [30.0, 20.0, 10.0], [10.0, 5.0, 0.0]
    meta = {"v": {".dims": ["lat", "lon"]}, "lat": NORTH, "lon": EAST}
    scene = make(tmp_path, {"v": np.arange(9.0).reshape(3, 3), "lat": lat, "lon": lon, ".": meta}, "v")
    axes, _ = drawn(scene, coastlines=False)
    image = axes.images[0]
    assert np.diff(image._Ax).min() > 0 and np.diff(image._Ay).min() > 0
    assert image.get_array()[0, 0] == 8  # 10 N, 0 E
    assert image.get_array()[-1, -1] == 0


def test_a_region_across_the_date_line(tmp_path: Path) -> None:
    meta = {"v": {".dims": ["lat", "lon"]}, "lat": NORTH, "lon": EAST}
    dataset = {"v": np.zeros((2, 4)), "lat": [0.0, 10.0], "lon": [170.0, 175, -180, -175], ".": meta}
    scene = make(tmp_path, dataset, "v")
    assert scene.x.values.tolist() == [170, 175, 180, 185]
    axes, _ = drawn(scene, coastlines=False)
    assert axes.get_xlim() == (167.5, 187.5)
    texts = [text.get_text() for text in axes.get_xticklabels()]
    assert "180°" in texts and "175°W" in texts


@pytest.mark.usefixtures("_coast")
def test_coastlines_are_drawn_or_not() -> None:
    scene = globe(*SHAPES["globe"])
    assert coasts(drawn(scene)[0]) is not None
    assert coasts(drawn(scene, coastlines=True)[0]) is not None
    assert coasts(drawn(scene, coastlines=False)[0]) is None
    other = scene._replace(x=scene.x._replace(kind=""))
    assert coasts(drawn(other)[0]) is None
    with pytest.raises(DriverError, match="only maps of longitude and latitude"):
        drawn(other, coastlines=True)


def test_absent_outlines_are_missed_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "coasts_within", lambda box, dots: None)
    assert coasts(drawn(globe(*SHAPES["globe"]))[0]) is None
    with pytest.raises(DriverError, match=r"pip install 'ds-format-cython\[maps\]'"):
        drawn(globe(*SHAPES["globe"]), coastlines=True)


@pytest.mark.usefixtures("_coast")
def test_a_curvilinear_grid_is_drawn_at_its_places() -> None:
    x, y = np.meshgrid(np.arange(0.0, 360, 10), np.arange(-80.0, 81, 10))
    scene = globe(np.arange(36), np.arange(17))._replace(
        x=Axis("x", np.arange(36.0)), y=Axis("y", np.arange(17.0)), grid=Grid(x, y, ("lon (degrees_east)", "lat"))
    )
    axes, _ = drawn(scene)
    mesh, torn, lines = axes.collections
    assert mesh.get_array().mask.sum() == 17
    assert len(torn.get_paths()) == 34
    assert torn.norm is mesh.norm
    assert lines.get_gid() == "coastlines"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lon", "lat")
    assert axes.get_xlim() == (0, 360)


@pytest.mark.usefixtures("_coast")
@pytest.mark.parametrize("lat", [0.0, np.linspace(0, 1, 4)[:, None]])
def test_a_grid_without_extent_is_drawn_by_position(lat: Any) -> None:
    x, y = np.zeros((4, 5)), np.zeros((4, 5)) + lat
    scene = globe(np.arange(5), np.arange(4))._replace(
        x=Axis("x", np.arange(5.0)), y=Axis("y", np.arange(4.0)), grid=Grid(x, y, ("lon", "lat"))
    )
    axes, _ = drawn(scene)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xlim()) == ("x", "y", (-0.5, 4.5))


@pytest.mark.usefixtures("_coast")
def test_colours() -> None:
    axes, bar = drawn(globe(*SHAPES["globe"]), low=1.0, high=5.0, colormap="magma")
    image = axes.images[0]
    assert (image.norm.vmin, image.norm.vmax, image.cmap.name) == (1, 5, "magma")
    assert bar.get_ylabel() == "v (K)"
    with pytest.raises(DriverError, match='"virids" not found: did you mean viridis'):
        drawn(globe(*SHAPES["globe"]), colormap="virids")


def test_text_is_shown_as_it_stands() -> None:
    hostile = "$\\frac{1}{0}$ a\x1b[31m\nb " + "long " * 100
    line = Line(hostile, Axis("x $", np.arange(3.0)), Axis(hostile, np.arange(3.0)), hostile, "$K$", "a_b.nc")
    axes, _ = drawn(line)
    for text in (axes.get_title(loc="left"), axes.get_ylabel(), axes.texts[0].get_text()):
        assert text.startswith("$\\frac{1}{0}$ a\\x1b[31m b")
        assert text.endswith("...") and len(text) < 200
    assert not axes.title.get_parse_math()
    assert axes.get_xlabel() == "x $"


def test_the_title_says_more_than_the_axis() -> None:
    axes, _ = drawn(globe([0, 10], [0, 10], where="time = 2000-01-01", units="K", file="x.nc"), coastlines=False)
    assert axes.get_title(loc="left") == "title (K)"
    assert axes.texts[0].get_text() == "time = 2000-01-01, x.nc"


def test_lines_are_broken_and_lonely_values_marked() -> None:
    y = np.sin(np.arange(100.0))
    y[[10, 12, 50]] = np.nan
    line = Line("t", Axis("x", np.arange(100.0)), Axis("t", y))
    axes, _ = drawn(line, low=-2.0)
    assert np.isnan(axes.lines[0].get_ydata()).nonzero()[0].tolist() == [10, 12, 50]
    assert axes.lines[1].get_xdata().tolist() == [11]
    assert axes.lines[1].get_marker() == "."
    assert axes.get_ylim()[0] == -2


def test_depth_grows_downwards() -> None:
    values = np.arange(6.0).reshape(2, 3)
    scene = Map("t", Axis("x", np.arange(3.0)), Axis("depth", np.array([0.0, 10]), downward=True), "t", values)
    axes, _ = drawn(scene)
    assert axes.yaxis.get_inverted()
    assert axes.get_ylim() == (15, -5)


def test_dates_of_models_are_written_on_their_axis() -> None:
    days = np.arange(720_000.0, 720_400)
    axes, _ = drawn(Line("t", Axis("time", days, "time", calendar="360_day"), Axis("t", days)))
    assert [text.get_text() for text in axes.get_xticklabels()][:2] == ["2000-01", "2000-03"]


def test_the_largest_numbers_are_drawn() -> None:
    values = np.array([[-1e308, 1e308], [0, np.nan]])
    scene = Map("t", Axis("x", np.arange(2.0)), Axis("y", np.arange(2.0)), "t", values)
    drawn(scene)
    drawn(Line("t", Axis("x", np.arange(3.0)), Axis("t", np.array([-1e308, 0, 1e308]))))


def test_frame_of_what_is_no_map() -> None:
    assert picture.map_frame(Line("t", Axis("x", np.arange(3.0)), Axis("t", np.arange(3.0)))) is None
