"""The range of colours, and which ones."""

from __future__ import annotations

import numpy as np
import pytest

from ds_format.plotting.colours import DIVERGING, SEQUENTIAL, scale
from ds_format.plotting.scene import Look

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
    found = scale(values, Look())
    assert (found.low, found.high) == pytest.approx(expected[:2])
    assert (found.colormap, found.extend) == expected[2:]


def test_a_few_values_far_away_do_not_count() -> None:
    values = np.r_[np.linspace(10, 20, 1000), 1e6]
    found = scale(values, Look())
    assert 10 <= found.low < 10.2 and 19.8 < found.high <= 20.1
    assert found.extend == "both"
    assert scale(np.linspace(0, 1, 1000) ** 3, Look()).extend == "neither"


def test_as_it_is_chosen() -> None:
    assert scale(WAVE, Look(-0.5, 0.5)) == (-0.5, 0.5, DIVERGING, "both")
    assert scale(WAVE, Look(None, 0.5)) == (-1, 0.5, SEQUENTIAL, "max")
    assert scale(WAVE, Look(-0.5, None, "magma")) == (-0.5, 1, "magma", "min")
    assert scale(WAVE, Look(-9, 10)) == (-9, 10, SEQUENTIAL, "neither")


def test_ends_beyond_all_values() -> None:
    low = scale(WAVE + 5, Look(low=10))
    assert low.low == 10 < low.high and low.extend == "min"
    high = scale(WAVE + 5, Look(high=1))
    assert high.high == 1 > high.low and high.extend == "max"


def test_the_largest_numbers() -> None:
    found = scale(np.array([-1e300, 1e300]), Look())
    assert (found.low, found.high) == (-1e300, 1e300)
