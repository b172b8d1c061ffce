"""Drawings made of characters."""

from __future__ import annotations

import numpy as np
import pytest

from ds_format.show.scene import Axis, Line, Map
from ds_format.show.terminal import render

NAN = float("nan")


def line(x: list[float], y: list[float], title: str = "t", label: str = "t (K)") -> Line:
    return Line(title, Axis("x (m)", np.array(x, float)), Axis(label, np.array(y, float)))


def test_a_line_in_ascii() -> None:
    assert render(line([0, 1, 2, 3, 5], [0, 1, NAN, 2, 2]), 40, 3, unicode=False).splitlines() == [
        "t",
        "t (K)",
        "2 |                     ***************",
        "  |    ****",
        "0 |****",
        "  +------------------------------------",
        "   0              x (m)               5",
    ]


def test_a_line_in_braille() -> None:
    rows = render(line([0, 1], [0, 1]), 40, 5).splitlines()
    assert rows[2:8] == [
        "1 │                             ⣀⣀⠤⠤⠒⠒⠉",
        "  │                     ⢀⣀⡠⠤⠔⠒⠊⠉",
        "  │              ⢀⣀⠤⠤⠒⠒⠉⠁",
        "  │       ⣀⡠⠤⠔⠒⠊⠉⠁",
        "0 │⣀⠤⠤⠒⠒⠉⠉",
        "  └────────────────────────────────────",
    ]


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    drawn = render(line([0, 1], [0, 1], "a\x1b[2J", "b\nc"), 40, 3)
    assert drawn.splitlines()[:2] == ["a [2J", "b c"]


def grid(values: list[list[float]], *, downward: bool = False) -> Map:
    z = np.array(values, float)
    y = Axis("y", np.arange(z.shape[0], dtype=float), downward=downward)
    return Map("m", Axis("x", np.arange(z.shape[1], dtype=float)), y, "m (K)", z)


def test_a_map_in_ascii() -> None:
    assert render(grid([[0, 1], [2, NAN]]), 43, 2, unicode=False).splitlines() == [
        "m",
        "m (K): . 0 to @ 2",
        "y",
        "1 |@@@@@@@@@@@@@@@@@@@@",
        "0 |....................+++++++++++++++++++",
        "  +---------------------------------------",
        "   0                  x                  1",
    ]
    upside_down = render(grid([[0, 1], [2, NAN]], downward=True), 43, 2, unicode=False).splitlines()
    assert upside_down[3:5] == ["0 |....................+++++++++++++++++++", "1 |@@@@@@@@@@@@@@@@@@@@"]


def test_falling_coordinates_are_turned_round() -> None:
    scene = grid([[0, 1], [2, 3]])
    turned = scene._replace(y=Axis("y", np.array([1.0, 0.0])), values=scene.values[::-1])
    assert render(turned, 40, 4) == render(scene, 40, 4)


@pytest.mark.parametrize("columns", [1, 40, 80, 300])
@pytest.mark.parametrize("unicode", [True, False])
def test_lines_fit_the_terminal(columns: int, unicode: bool) -> None:
    rng = np.random.default_rng(1)
    for scene in (
        line(list(range(500)), rng.random(500).tolist(), "t" * 500, "l" * 500),
        grid(rng.random((30, 40)).tolist()),
    ):
        drawn = render(scene, columns, 6, unicode=unicode)
        assert max(map(len, drawn.splitlines())) <= max(columns, 40)


@pytest.mark.parametrize("unicode", [True, False])
def test_what_is_constant_or_alone_is_drawn(unicode: bool) -> None:
    for scene in (
        line([1], [5]),
        line([1, 1], [5, 5]),
        line([0, 1, 2], [NAN, 5, NAN]),
        grid([[5]]),
        grid([[5, 5], [5, NAN]]),
    ):
        assert len(render(scene, 40, 4, unicode=unicode).splitlines()) >= 8


def test_extreme_values_are_drawn() -> None:
    assert "1e+308" in render(line([0, 1, 2], [-1e308, 0, 1e308]), 60, 4)


def test_dates_are_as_exact_as_they_have_to_be() -> None:
    for dates, told in (
        (["2000-01-01", "2000-03-01"], "2000-03-01"),
        (["2000-01-01T06:00", "2000-01-01T18:00"], "2000-01-01 18:00"),
    ):
        axis = Axis("time", np.array(dates, "datetime64[ms]"), "time")
        rows = render(Line("t", axis, Axis("t", np.array([1.0, 2.0]))), 60, 4).splitlines()
        assert rows[-1].endswith(told)
        assert "time" in rows[-1]
        narrow = render(Line("t", axis, Axis("t", np.array([1.0, 2.0]))), 40, 4).splitlines()
        assert any("time" in row for row in narrow)
