"""Corners of the cells of curvilinear grids."""

from __future__ import annotations

import numpy as np
import pytest

from ds_format.plotting.cells import cells, window


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
    assert window(np.array(longitudes, float)) == expected


def regular(lon: list[float], lat: list[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.array(lon, float), np.array(lat, float))
    return x, y


def test_corners_of_a_regular_grid() -> None:
    found = cells(*regular([0, 1, 2], [0, 1]))
    assert found.is_whole.all()
    assert (found.west, found.east) == pytest.approx((-0.5, 2.5), abs=1e-3)
    assert found.longitude[0] == pytest.approx([-0.5, 0.5, 1.5, 2.5], abs=1e-3)
    assert not found.torn_cells.size
    assert found.latitude[:, 0] == pytest.approx([-0.5, 0.5, 1.5], abs=1e-3)


def test_cells_across_the_end_of_the_window_are_drawn_at_both_ends() -> None:
    found = cells(*regular(list(range(0, 360, 10)), [0, 10]))
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
    found = cells(x, y)
    assert (~found.is_whole).nonzero()[0].tolist() == [0, 1]
    assert np.isfinite(found.longitude).all() and np.isfinite(found.latitude).all()


def test_a_cell_around_the_pole_is_left_out() -> None:
    lon = np.array([[0.0, 90], [270, 180]])
    found = cells(lon, np.full((2, 2), 80.0))
    assert not found.torn_cells.size or np.ptp(found.torn[:, :, 0], axis=1).max() <= 180
